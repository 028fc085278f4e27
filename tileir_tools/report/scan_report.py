"""What a scan found, and answers to questions, as text, CSV or JSON.

Place in the flow: tables -> **report**; imports `scan` records and `plain`.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from .plain import document, plain

if TYPE_CHECKING:
    from ..scan import Answer, Summary

QUERY_SCHEMA = "tileir-query/1"

# A cell of more characters is cut in a text; CSV and JSON have it whole.
_WIDEST = 80


def scan_text(summary: Summary) -> str:
    """For a terminal."""
    lines = [
        f"{_count(summary.files, 'file')}, {_count(summary.contents, 'content')}, "
        f"{_count(summary.entries, 'entry', 'entries')}; "
        f"{_count(summary.read, 'file')} read and {_count(summary.analyzed, 'content')} analysed now"
    ]
    if summary.errors:
        lines.append(
            f"{_count(summary.errors, 'file')} could not be read: tileir query --named errors"
        )
    if summary.verdicts:
        verdicts = ", ".join(f"{count} {name}" for name, count in summary.verdicts.items())
        lines.append(f"compared: {verdicts}")
    return "\n".join(lines)


def answer_text(answer: Answer) -> str:
    """A table for a terminal, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in answer.rows]
    heads = [_cell(name) for name in answer.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells)]
    right = [
        bool(answer.rows) and all(_is_number(row[k]) for row in answer.rows)
        for k in range(len(answer.columns))
    ]

    def line(texts: list[str]) -> str:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right)
        ]
        return "  ".join(padded).rstrip()

    head = [line(heads), "  ".join("-" * width for width in widths)]
    return "\n".join([*head, *map(line, cells), f"({_count(len(cells), 'row')})"])


def answer_csv(answer: Answer) -> str:
    """CSV with a head; nothing where a value is null."""
    text = io.StringIO()
    # As RFC 4180 has it; a line break of one character would let the other one stand in a cell unquoted.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(answer.columns)
    writer.writerows(answer.rows)
    return text.getvalue()


def answer_json(answer: Answer) -> str:
    """A document of schema `tileir-query/1`."""
    rows = [[_json_value(value) for value in row] for row in answer.rows]
    return document(QUERY_SCHEMA, {"columns": list(answer.columns), "rows": rows})


def _json_value(value: Any) -> Any:
    """A value as JSON has it; dates, decimals and the like as texts."""
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return plain(value)
    return str(value)


def _cell(value: Any) -> str:
    """A value on one line, with nothing that a terminal would obey: names come from anywhere."""
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
