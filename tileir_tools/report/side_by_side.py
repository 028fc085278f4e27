"""The answer of a comparison with both texts side by side around each difference.

Place in the flow: findings -> **report**; imports `diff` records and the texts of the modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..diff import Diff, Finding, Place
from ..model import Module
from .diff_report import counted, entry_name, finding_head, verdict_line

# Lines shown before and behind the one that differs.
_CONTEXT = 2
# Characters shown before a difference at least, where a line is cut.
_SEEN = 24


def diff_side_by_side(
    diff: Diff,
    reference: Iterable[Module],
    generated: Iterable[Module],
    width: int,
    colour: bool = False,
) -> str:
    """For a terminal of so many columns.

    A finding of bytecode has no text to show: there its operations stand alone.
    """
    sources = {
        m.source.name: m.source.text.split("\n")
        for m in (*reference, *generated)
        if m.source is not None
    }
    lines: list[str] = []
    for entry in diff.entries:
        lines.append(f"{entry_name(entry)}: {counted(entry)}")
        for finding in entry.findings:
            lines += ["", finding_head(finding, colour)]
            if finding.ignored is None:
                lines += _hunk(finding, sources, max(20, (width - 3) // 2))
        lines.append("")
    lines += [f"note: {note}" for note in diff.notes]
    return "\n".join([*lines, verdict_line(diff, colour)])


def _hunk(finding: Finding, sources: dict[str, list[str]], column: int) -> list[str]:
    left = _around(finding.reference, sources)
    right = _around(finding.generated, sources)
    rows = []
    for k, (one, other) in enumerate(zip(left, right)):
        if not (one or other):
            continue
        differs = k == _CONTEXT
        # Long lines are cut so that what differs can be seen.
        start = _first_difference(one, other) if differs and one and other else 0
        shown = [_cut(text, start, column) for text in (one, other)]
        rows.append(f"{shown[0]:<{column}} {'|' if differs else ' '} {shown[1]}".rstrip())
    return rows


def _around(place: Place | None, sources: dict[str, list[str]]) -> Sequence[str]:
    """The line of a place in the middle, those before and behind it around; "" where there is none."""
    size = 2 * _CONTEXT + 1
    if place is None:
        return [""] * size
    lines = sources.get(place.file, [])
    if not 0 < place.line <= len(lines):
        return [place.text if k == _CONTEXT else "" for k in range(size)]
    numbers = range(place.line - _CONTEXT, place.line + _CONTEXT + 1)
    return [_numbered(n, lines) for n in numbers]


def _numbered(number: int, lines: list[str]) -> str:
    if not 0 < number <= len(lines):
        return ""
    return f"{number:>5} {lines[number - 1].expandtabs(2)}"


def _first_difference(one: str, other: str) -> int:
    """Where two lines part, their numbers left out."""
    for index in range(6, min(len(one), len(other))):
        if one[index] != other[index]:
            return index
    return min(len(one), len(other))


def _cut(text: str, start: int, column: int) -> str:
    """As much of a line as fits: its beginning, or what is around `start`."""
    if len(text) > column and start > column - _SEEN:
        text = f"{text[:6]}...{text[start - _SEEN :]}"
    return text if len(text) <= column else f"{text[: column - 3]}..."
