"""What the pages show is run, and prints what they say (`pages.py` says how)."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from pages import ROOT, PageRun, blocks, faults, furnish, is_shown, pages
from tileir_tools.cli.diff import command as diff_command
from tileir_tools.cli.tileir import command as tileir_command

PAGES = pages()


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_page_is_true(page: Path, tmp_path: Path) -> None:
    furnish(tmp_path)
    page_run = PageRun(tmp_path)
    assert "\n".join(page_run.run(page)) == ""
    if page_run.skipped:
        pytest.skip(
            f"the rest holds; not here, or of another version: {', '.join(sorted(page_run.skipped))}"
        )


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    assert faults(page) == []


def test_blocks_and_marks_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\ntrue\n```\n\n```text\nout\n```\n\nWords.\n\n<!-- exit: 1 -->\n<!-- needs: graph -->\n"
        "```sh\nfalse\n```\n\nWords.\n\n```text\nnothing checks this\n```\n\n"
        "<!-- not run: I would rather not -->\n```sh\nfalse\n```\n"
    )
    found = blocks(page)
    assert [(b.line, b.language, b.follows) for b in found] == [
        (1, "sh", False),
        (5, "text", True),
        (13, "sh", False),
        (19, "text", False),
        (24, "sh", True),
    ]
    assert found[2].marks == {"exit": "1", "needs": "graph"}
    assert faults(page) == [
        "page.md:19: a block of text that nothing checks",
        "page.md:24: not run: I would rather not: not known",
    ]


def test_what_is_untrue_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\necho one; echo two\n```\n```text\none\n```\n\n```sh\nexit 3\n```\n\n"
        "```python\nx = 1\nprint(x + 1)\n```\n```text\n2\n```\n\n```python\n>>> x\n2\n```\n\n"
        "```python\nraise ValueError(x)\n```\n\n```sh\npip install 'tileir-tools[nonsense]'\n```\n"
    )
    wrong = PageRun(tmp_path).run(page)
    assert [w.splitlines()[0] for w in wrong] == [
        "page.md:4: the page shows",
        "page.md:8: exit code 3, not 0:",
        "page.md:20: " + "*" * 70,
        "page.md:25: ValueError: 1",
        "page.md:29: no such extra: nonsense",
    ]


def test_dots_stand_for_any_lines() -> None:
    assert is_shown("a\n...\nd\n", "a\nb\nc\nd\n")
    assert is_shown("a\n...\n", "a\n")
    assert not is_shown("a\n...\nd\n", "a\nb\n")
    assert not is_shown("a ...\n", "a b\n")


# `tileir show FILE --arch sm_90` in the middle of a sentence, or of a table, where bars are escaped.
_INLINE = re.compile(r"`(tileir(?:-diff)?(?: [^`]*)?)`")


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=_name
)
def test_commands_named_in_sentences_exist(page: Path) -> None:
    text = re.sub(
        r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    wrong = []
    for said in _INLINE.findall(text):
        first, *words = said.split()
        command: click.Command = diff_command if first == "tileir-diff" else tileir_command
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            below = command.get_command(click.Context(command), words[0])
            if below is None:
                wrong.append(f"{said}: no command {words[0]}")
                break
            command, words = below, words[1:]
        options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
        wrong += [
            f"{said}: no option {word}"
            for word in re.findall(r"--[a-z][a-z-]*", " ".join(words).partition(" -- ")[0])
            if word not in options
        ]
    assert wrong == []
