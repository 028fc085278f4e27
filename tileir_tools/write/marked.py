"""The pretty form in pieces that know which values they name, and where each operation is printed.

Place in the flow: part of Module -> text, for reports that link values; imports `model`, `source`,
`names`, `text`. The words are those of `text`: names are printed as marks, which are taken out of the
lines again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model import Module, Operation, Value
from ..source import Source, Span
from .names import Names
from .text import Printer

# A text that was read holds no NUL, and strings print it as an escape: nothing else looks like a mark.
_MARK = "\0"


class Piece(NamedTuple):
    """A stretch of a line: the name of `values` (several for `%1:2`), or plain text without any.

    `defines` tells the definition of the values from their uses.
    """

    text: str
    values: tuple[Value, ...] = ()
    defines: bool = False


class Line(NamedTuple):
    """One printed line, and the operation that begins on it, if one does."""

    op: Operation | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


def marked_lines(op: Operation) -> list[Line]:
    """An entry or a global, printed; every value that it names has one definition."""
    printer = _MarkedPrinter()
    printer.top_level(op, 0)
    return printer.marked()


def place_in_text(module: Module, name: str) -> None:
    """Make a module that was read from bytecode stand in the text that it prints as.

    Its operations get spans in that text (`tileir print` prints it), so that findings have lines.
    Modules that were read from text stay as they are.

    Args:
        module: what to place.
        name: what the text is called in places.
    """
    if module.source is not None:
        return
    printer = _MarkedPrinter()
    for op in module.operations:
        printer.top_level(op, 0)
    lines = [line.text for line in printer.marked()]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    module.source = Source("".join(f"{line}\n" for line in lines), name)
    printed = _Printed(module.source)
    for op, (first, last) in printer.extents.items():
        indent = len(lines[first]) - len(lines[first].lstrip())
        op.place(printed, starts[first] + indent, starts[last + 1] - 1)


class _Printed:
    """Spans in a printed text, by offsets."""

    def __init__(self, source: Source):
        self.source = source

    def span(self, first: int, last: int | None = None) -> Span:
        return Span(self.source, first, first if last is None else last)


class _MarkedPrinter(Printer):
    """Prints `\\0number\\0` where a name belongs."""

    def __init__(self) -> None:
        super().__init__(None)
        # Operation -> its first and its last line, counted from 0.
        self.extents: dict[Operation, tuple[int, int]] = {}
        self._marks: list[tuple[str, tuple[Value, ...]]] = []

    def top_level(self, op: Operation, depth: int) -> None:
        names = Names(op)
        self.uses = {value: self._mark(name, [value]) for value, name in names.uses.items()}
        self.definitions = {
            inner: ", ".join(self._mark(text, values) for text, values in groups)
            for inner, groups in names.groups.items()
        }
        self.operation(op, depth)

    def operation(self, op: Operation, depth: int) -> None:
        first = len(self.lines)
        super().operation(op, depth)
        self.extents[op] = (first, len(self.lines) - 1)

    def _mark(self, text: str, values: Sequence[Value]) -> str:
        self._marks.append((text, tuple(values)))
        return f"{_MARK}{len(self._marks) - 1}{_MARK}"

    def marked(self) -> list[Line]:
        """The lines; a value's first mention is its definition."""
        begins = {first: op for op, (first, _) in reversed(self.extents.items())}
        seen: set[Value] = set()
        return [Line(begins.get(k), self._pieces(line, seen)) for k, line in enumerate(self.lines)]

    def _pieces(self, line: str, seen: set[Value]) -> tuple[Piece, ...]:
        found = []
        for k, part in enumerate(line.split(_MARK)):
            if k % 2:
                text, values = self._marks[int(part)]
                found.append(Piece(text, values, not seen.issuperset(values)))
                seen.update(values)
            elif part:
                found.append(Piece(part))
        return tuple(found)
