"""What Jupyter shows of modules and comparisons: HTML that needs nothing around it.

Place in the flow: Module and findings -> **bridges**; imports `report.markup`. Colours are left to the
notebook, so that both themes can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model import Module, TileType
from ..report.markup import Html, joined, tag

if TYPE_CHECKING:
    from ..diff import Diff, Place

# A notebook keeps what it shows: what is longer is for a file.
_MOST_ROWS = 50
_MOST_LINES = 300
_LONGEST = 300

_LEFT = "text-align: left; vertical-align: top"


def module_html(module: Module) -> str:
    """Entries with their arguments and main operations, and the text behind a fold.

    Beyond 50 entries, 300 lines or 300 characters in a line a note says what was left out.
    """
    entries = module.entries
    rows = []
    for entry in entries[:_MOST_ROWS]:
        ops = [op for op in entry.walk() if op is not entry]
        counts = Counter(op.name for op in ops if _is_telling(op.name))
        arguments = entry.arguments if entry.regions[0].blocks else []
        tiles = [str(v.type) if isinstance(v.type, TileType) else "view" for v in arguments]
        rows.append(
            (
                f"@{entry.symbol}",
                ", ".join(f"{name} \u00d7{count}" for name, count in Counter(tiles).items()),
                ", ".join(f"{name} \u00d7{count}" for name, count in sorted(counts.items())),
                str(len(ops)),
            )
        )
    parts = [
        tag("strong", f"Module @{module.name}" if module.name else "Module"),
        _table(("entry", "arguments", "loops, memory, products", "operations"), rows),
        _more(len(entries) - _MOST_ROWS, "entries: module.entries"),
        _text(module),
    ]
    return tag("div", *parts)


def _is_telling(name: str) -> bool:
    return name in ("for", "loop", "if", "reduce", "scan") or name.startswith(
        ("mma", "load_", "store_", "atomic_")
    )


def _text(module: Module) -> Html:
    lines = module.to_text().rstrip("\n").split("\n")
    shown = "\n".join(_cut(line) for line in lines[:_MOST_LINES])
    return tag(
        "details",
        tag("summary", f"text, {len(lines)} lines"),
        tag("pre", shown, style="line-height: 1.3; overflow-x: auto"),
        _more(len(lines) - _MOST_LINES, "lines: print(module.to_text())"),
    )


def diff_html(diff: Diff) -> str:
    """Verdict and findings; beyond 50 findings a note says how many were left out."""
    rows = [
        (
            f"{f.severity}, ignored: {f.ignored}" if f.ignored else f.severity,
            f.code,
            f.status,
            f.message,
            _place(f.reference),
            _place(f.generated),
        )
        for f in diff.findings[:_MOST_ROWS]
    ]
    compared = len(diff.entries)
    head = f"{compared} {'entry' if compared == 1 else 'entries'} compared"
    if diff.arches:
        head += f"; hints for {', '.join(diff.arches)}"
    columns = ("severity", "rule", "status", "message", "reference", "generated")
    return tag(
        "div",
        tag("strong", diff.verdict),
        f" {head}",
        _table(columns, rows) if rows else tag("p", "No findings."),
        _more(len(diff.findings) - _MOST_ROWS, "findings: diff.findings"),
        *(tag("p", note) for note in diff.notes),
    )


def _place(place: Place | None) -> str:
    if place is None:
        return "\u2014"
    return f"{place.file}:{place.line}" if place.line else place.text


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Html:
    head = tag("tr", *(tag("th", column, style=_LEFT) for column in columns))
    body = (tag("tr", *(tag("td", _cut(cell), style=_LEFT) for cell in row)) for row in rows)
    return tag("table", head, *body)


def _more(count: int, what: str) -> Html:
    """A note on what was left out; nothing where nothing was."""
    return tag("p", tag("em", f"and {count} more {what}")) if count > 0 else joined(())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"
