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
        # Entry -> the number of each operation in it, for entries whose operations have no place in a text.
        self._numbers: dict[Operation, dict[Operation, int]] = {}

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
            message += self._place_in_words(op)
        self.found.append(Diagnostic(severity, message, span))
        if severity == "error":
            self.broken.add(op)

    def in_order(self) -> list[Diagnostic]:
        """Everything, in the order of the text; what has no place in it comes in the order of finding."""
        return sorted(self.found, key=lambda d: d.span.start if d.span else -1)

    def _place_in_words(self, op: Operation) -> str:
        """` (operation 7 of @k, kernel.py:12)`: counted from 1, in the order of a disassembler."""
        parts = []
        entry = op
        while entry.parent_op is not None:
            entry = entry.parent_op
        if isinstance(entry, Entry):
            name = f"@{entry.symbol}"
            parts.append(name if entry is op else f"operation {self._number(op, entry)} of {name}")
        try:
            place = op.location.file_line
        except BytecodeError:
            place = None
        if place is not None:
            parts.append(f"{place[0]}:{place[1]}")
        return f" ({', '.join(parts)})" if parts else ""

    def _number(self, op: Operation, entry: Operation) -> int:
        numbers = self._numbers.get(entry)
        if numbers is None:
            numbers = {other: k for k, other in enumerate(entry.walk())}
            self._numbers[entry] = numbers
        return numbers[op]
