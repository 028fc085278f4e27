"""The help of every command: its place under `tileir`, its examples, its exit codes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from tileir_tools.cli import tileir
from tileir_tools.cli.tileir import command as root

import tileir_tools

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def _below(context: click.Context) -> Iterator[click.Context]:
    """A command and all below it, each with its name."""
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _below(_context(found, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(command, parent, info_name=name, terminal_width=80, max_content_width=80)


CONTEXTS = {c.command_path: c for c in _below(_context(root, "tileir", None))}


def _examples(path: str) -> list[tuple[str, str]]:
    """Calls and what they are said to be good for."""
    _, found, text = CONTEXTS[path].get_help().partition("\n  Examples:\n")
    assert found, f"{path} shows no examples"
    rows = re.findall(r"^    (\S.*)\n        (\S.*)$", text, re.MULTILINE)
    assert "".join(f"    {call}\n        {why}\n" for call, why in rows) == f"{text}\n"
    return rows


def _parsed(call: str) -> click.Context:
    """The command of a line of shell that is ours, and its arguments as it takes them; nothing is run."""
    inner = re.fullmatch(r'eval "\$\((.*)\)"', call)
    words = shlex.split(inner[1] if inner else call)
    for position, word in enumerate(words):
        if word in ("|", "<", ">"):
            words = words[:position]
            break
    name, *words = words
    if name == "tileir-diff":
        name, words = "tileir", ["diff", *words]
    assert name == "tileir"
    context = CONTEXTS[name]
    while isinstance(context.command, click.Group) and words and words[0] != "--help":
        below = CONTEXTS.get(f"{context.command_path} {words[0]}")
        if below is None:
            break
        context, words = below, words[1:]
    if "--help" in words:
        return context
    return context.command.make_context(context.info_name, words, parent=context.parent)


def _run(*words: str, name: str = "tileir", before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    module = name.rpartition("-")[2]
    code = f"import sys; sys.argv[0] = '{name}'; from tileir_tools.cli.{module} import main; main()"
    # Not in the root of the repository, whose folders stand before the installed package.
    return subprocess.run(
        [sys.executable, "-c", before + code, *words],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_said_beside_a_command_is_its_own_first_line() -> None:
    for name, entry in tileir._COMMANDS.items():
        command = CONTEXTS[f"tileir {name}"].command
        assert command.name == name
        assert command.help is not None
        assert command.help.partition("\n")[0] == entry.about


def test_every_command_stands_under_one_heading() -> None:
    names = [name for group in tileir._GROUPS.values() for name in group]
    assert len(names) == len(set(names))
    modules = {p.stem for p in (ROOT / "cli").glob("*.py")} - {"__init__", "tileir"}
    commands = {m for m in modules if hasattr(import_module(f"tileir_tools.cli.{m}"), "command")}
    assert {entry.module for entry in tileir._COMMANDS.values()} == commands


@pytest.mark.parametrize("path", CONTEXTS)
def test_help_fits_the_screen(path: str) -> None:
    lines = CONTEXTS[path].get_help().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    # What click cuts off ends so.
    usage, *rest = lines
    assert usage.startswith(f"Usage: {path} ")
    assert [line for line in rest if line.endswith("...")] == []


@pytest.mark.parametrize("path", CONTEXTS)
def test_exit_codes_are_listed(path: str) -> None:
    text = CONTEXTS[path].command.help
    assert text is not None
    last = " ".join(text.split("\n\n")[-1].split())
    assert re.fullmatch(r"Exit codes: 0 .*\b3 .*[^.]\.", last), last


@pytest.mark.parametrize("path", CONTEXTS)
def test_examples_are_taken_by_the_command(path: str) -> None:
    rows = _examples(path)
    assert 2 <= len(rows) <= 4
    for call, why in rows:
        assert why.endswith((".", "?"))
        assert f"{_parsed(call).command_path} ".startswith(f"{path} ")


def test_examples_that_are_wrong_would_be_found() -> None:
    for wrong in (
        "tileir show",
        "tileir show k.mlir --no-such-option",
        "tileir equal a.mlir b.mlir --level none",
        "tileir query | cat",
    ):
        with pytest.raises(click.UsageError):
            _parsed(wrong)
    assert _parsed("tileir show k.mlir | head").params["file"] == "k.mlir"


def test_help_imports_no_command() -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*(m for m in sys.modules if m.startswith('tileir_tools.cli.'))))\n"
    )
    done = _run("--help", before=code)
    modules = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert modules == {"tileir", "running", "completing"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("shwo", "No such command 'shwo'. Did you mean 'show'?"),
        ("whatif", "No such command 'whatif'. Did you mean 'what-if'?"),
        ("aliasdump", "No such command 'aliasdump'. Did you mean 'alias-dump' or 'alias'?"),
        ("frobnicate", "No such command 'frobnicate'."),
    ],
)
def test_a_misspelt_command(word: str, said: str) -> None:
    done = _run(word)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"Error: {said}"


@pytest.mark.parametrize("name", ["tileir", "tileir-diff"])
def test_version_is_what_a_report_needs(name: str) -> None:
    done = _run("--version", name=name)
    assert done.stdout.splitlines() == [
        f"{name}, version {tileir_tools.__version__}",
        f"Python {sys.version.split()[0]} on {sys.platform}",
        f"installed in {Path(tileir_tools.__file__).parent}",
    ]


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "tileir_tools.__version__"
    }
    assert f"\n## [{tileir_tools.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
