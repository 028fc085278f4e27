"""What was found so far, and where.

Place in the flow: beside Module; imports `model`, `errors`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import BytecodeError, Diagnostic
from ..model import Entry, Operation


class Breaches:
    """Diagnostics in the order of finding."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        # The operations with errors.
        self.broken: set[Operation] = set()

    def add_all(self, found: Iterable[tuple[Operation, str]], severity: str = "error") -> None:
        """Note messages about operations."""
        for op, message in found:
            self.add(op, message, severity)

    def add(self, op: Operation, message: str, severity: str = "error") -> None:
        """Note a message about an operation; where it has no place in a text, say in words where it is.

        A terminator that the text leaves out stands where the operation around it does.
        """
        span = op.span
        if span is None and op.terminator and op.parent_op is not None:
            span = op.parent_op.span
        if span is None:
            message += _place_in_words(op)
        self.found.append(Diagnostic(severity, message, span))
        if severity == "error":
            self.broken.add(op)

    def in_order(self) -> list[Diagnostic]:
        """Everything, in the order of the text; what has no place in it comes in the order of finding."""
        return sorted(self.found, key=lambda d: d.span.start if d.span else -1)


def _place_in_words(op: Operation) -> str:
    """` (operation 7 of @k, kernel.py:12)`: counted from 1, as a disassembler prints them."""
    entry, parts = op, []
    while entry.parent_op is not None:
        entry = entry.parent_op
    if isinstance(entry, Entry) and entry is not op:
        number = next(k for k, other in enumerate(entry.walk()) if other is op)
        parts.append(f"operation {number} of @{entry.symbol}")
    elif isinstance(entry, Entry):
        parts.append(f"@{entry.symbol}")
    try:
        place = op.location.file_line
    except BytecodeError:
        place = None
    if place is not None:
        parts.append(f"{place[0]}:{place[1]}")
    return f" ({', '.join(parts)})" if parts else ""
