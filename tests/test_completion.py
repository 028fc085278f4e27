"""Completion in shells, by the protocol that click's scripts speak, and by bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tileir_tools.analyze.levels import LEVELS
from tileir_tools.dialect import ARCHES, VERSIONS
from tileir_tools.diff import RULES
from tileir_tools.scan.named import NAMED

# Not the root of the repository, whose folders stand before the installed package.
HERE = Path(__file__).resolve().parent
# What no key press should wait for.
HEAVY = {
    *(
        "mcp",
        "anyio",
        "pydantic",
        "pyarrow",
        "duckdb",
        "pandas",
        "numpy",
        "networkx",
        "distributed",
    ),
    *("rich", "pygments", "torch", "triton", "mlir", "asyncio"),
}


def _asked(line: str, shell: str = "bash", tail: str = "") -> subprocess.CompletedProcess[str]:
    """Ask for what completes the last word of a line."""
    name, *words = line.split(" ")
    module = name.rpartition("-")[2]
    code = (
        f"import atexit, sys; sys.argv[0] = '{name}'\n{tail}\n"
        f"from tileir_tools.cli.{module} import main; main()"
    )
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    protocol = {variable: f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    if shell == "fish":
        protocol["COMP_CWORD"] = words[-1]
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE,
        env={**os.environ, **protocol},
        capture_output=True,
        text=True,
        check=True,
    )


def _values(line: str, kind: str = "plain") -> list[str]:
    rows = [row.partition(",") for row in _asked(line).stdout.splitlines()]
    return [value for found, _, value in rows if found == kind]


def test_commands() -> None:
    assert _values("tileir sh") == ["show"]
    assert {"show", "what-if", "completion"} <= set(_values("tileir "))
    assert _values("tileir validate perf") == ["perf-investigation", "perf-log"]


def test_options() -> None:
    assert _values("tileir show --a") == ["--arch"]
    assert _values("tileir-diff --b") == ["--baseline"]
    assert set(_values("tileir --")) == {"--version", "--help"}


def test_choices() -> None:
    assert _values("tileir-diff --format s") == ["sarif"]
    assert _values("tileir equal --level ") == list(LEVELS)
    assert _values("tileir completion ") == ["bash", "zsh", "fish"]
    assert _values("tileir as --bytecode-version ") == list(VERSIONS)


def test_names() -> None:
    assert _values("tileir rules mem") == [code for code in RULES if code.startswith("MEM")]
    assert _values("tileir-diff --why MEM007") == ["MEM007"]
    assert _values("tileir-diff --severity MEM007") == [
        "MEM007=CRITICAL",
        "MEM007=WARN",
        "MEM007=INFO",
    ]
    assert _values("tileir-diff --policy l") == ["legacy"]
    assert _values("tileir verify --bytecode-version ") == list(VERSIONS)
    assert _values("tileir query --named ") == list(NAMED)


@pytest.mark.parametrize(
    "line",
    ["tileir show --arch ", "tileir-diff --arch ", "tileir compile --arch ", "tileir dump --arch "],
)
def test_targets(line: str) -> None:
    assert _values(line) == list(ARCHES)
    assert _values(f"{line}sm_12") == [arch for arch in ARCHES if arch.startswith("sm_12")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("tileir show ge", "file"),
        ("tileir-diff ref.mlir ge", "file"),
        ("tileir verify one.mlir two.mlir ge", "file"),
        ("tileir-diff --policy ge", "file"),
        ("tileir show -o ge", "file"),
        ("tileir dump --from ge", "dir"),
        ("tileir agent a --project ge", "dir"),
        ("tileir mcp --root ge", "dir"),
    ],
)
def test_files_are_left_to_the_shell(line: str, kind: str) -> None:
    assert _values(line, kind) == ["ge"]
    assert _values(line) == []


def test_other_shells_are_told_what_each_is() -> None:
    assert _asked("tileir sh", "zsh").stdout.splitlines() == [
        "plain",
        "show",
        "Show the facts about each entry in FILE.",
    ]
    said = _asked("tileir rules MEM007", "fish").stdout
    assert "MEM007" in said
    assert RULES["MEM007"].title in said


@pytest.mark.parametrize(
    "line",
    [
        "tileir ",
        "tileir mcp --r",
        "tileir query --named ",
        "tileir rules ",
        "tileir-diff --policy ",
    ],
)
def test_nothing_heavy_is_imported(line: str) -> None:
    names = "{m.partition('.')[0] for m in sys.modules}"
    tail = f"atexit.register(lambda: print(*{names}, file=sys.stderr))"
    loaded = set(_asked(line, tail=tail).stderr.split())
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_completing_a_command_imports_no_command() -> None:
    names = "(m for m in sys.modules if m.startswith('tileir_tools.cli.'))"
    tail = f"atexit.register(lambda: print(*{names}, file=sys.stderr))"
    loaded = {m.rpartition(".")[2] for m in _asked("tileir ", tail=tail).stderr.split()}
    assert loaded == {"tileir", "running", "completing"}


def _script(shell: str) -> str:
    code = "import sys; sys.argv[0] = 'tileir'; from tileir_tools.cli.tileir import main; main()"
    command = [sys.executable, "-c", code, "completion", shell]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_for_both_commands(shell: str) -> None:
    script = _script(shell)
    assert f"_TILEIR_COMPLETE={shell}_complete" in script
    assert f"_TILEIR_DIFF_COMPLETE={shell}_complete" in script


def test_bash_completes(tmp_path: Path) -> None:
    binaries = Path(sys.executable).parent
    bash = shutil.which("bash")
    if bash is None or not (binaries / "tileir-diff").is_file():
        pytest.skip("needs bash and the installed commands")
    version = subprocess.run(
        [bash, "-c", "echo ${BASH_VERSINFO[@]:0:2}"], capture_output=True, text=True, check=True
    ).stdout
    if tuple(map(int, version.split())) < (4, 4):
        pytest.skip("needs bash 4.4")
    script = tmp_path / "completion.bash"
    script.write_text(
        _script("bash")
        + "COMP_WORDS=(tileir vari) COMP_CWORD=1\n_tileir_completion tileir\n"
        + 'echo "${COMPREPLY[@]}"; COMPREPLY=()\n'
        + "COMP_WORDS=(tileir-diff --why MEM007) COMP_CWORD=2\n_tileir_diff_completion tileir-diff\n"
        + 'echo "${COMPREPLY[@]}"\ncomplete -p tileir tileir-diff\n'
    )
    done = subprocess.run(
        [bash, "--norc", str(script)],
        cwd=HERE,
        env={**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "variants",
        "MEM007",
        "complete -o nosort -F _tileir_completion tileir",
        "complete -o nosort -F _tileir_diff_completion tileir-diff",
    ]
