"""Parts of Markdown reports: lists, tables, blocks of code, whatever the texts in them hold.

Place in the flow: facts and records -> **report**; imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def one_line(text: str) -> str:
    """Text as one line: it cannot begin a heading, a table or a verdict, and every character is seen."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))


def bullets(items: Iterable[str]) -> str:
    """A list; "- none" for no items."""
    return "\n".join(f"- {one_line(item)}" for item in items) or "- none"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def code_block(text: str) -> str:
    """Text as it is, behind a fence that it does not hold."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text.rstrip()}\n{fence}"
