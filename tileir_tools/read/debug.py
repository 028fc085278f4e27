"""Debug information in bytecode: the location of each operation.

Place in the flow: part of bytes -> Module for bytecode; imports `binary`, `model`, `dialect`.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from ..dialect.bytecode import DEBUG_TAGS, ENTRY_ATTRIBUTES_SINCE
from ..model import (
    UNKNOWN,
    CallSiteLoc,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DIScope,
    DISubprogram,
    FileLineColLoc,
    Location,
)
from .binary import Cursor, Table
from .container import Container

_KINDS = {tag: kind for kind, tag in DEBUG_TAGS.items()}
_MAX_NESTING = 64

_Record = Location | DIScope


class DebugInfo:
    """The debug section of a file; records are decoded when they are asked for."""

    def __init__(self, file: Container):
        self._file = file
        self._records: dict[int, _Record] = {}
        self._open: set[int] = set()
        self._cursor = cursor = file.open("Debug")
        self._starts: list[int] = []
        self._indices: tuple[int, ...] = ()
        if cursor is None:
            return
        functions = cursor.count("functions", 4)
        cursor.align(4)
        self._starts = [cursor.fixed(4) for _ in range(functions)]
        number = cursor.count("locations", 8)
        cursor.align(8)
        self._indices = struct.unpack(f"<{number}Q", cursor.take(8 * number))
        self._items: Table = cursor.table("debug records", 4)
        highest = max(self._indices, default=0)
        if highest > len(self._items):
            raise cursor.error(f"debug record {highest}, but there are {len(self._items)}")

    def of_function(self, function: int) -> Iterator[Location | tuple[DebugInfo, int]]:
        """What to give a function (by its number, 0 for none) and its operations as location, in order."""
        cursor = self._cursor
        if function == 0 or cursor is None:
            return itertools.repeat(UNKNOWN)
        if function > len(self._starts):
            raise cursor.error(f"debug list {function}, but there are {len(self._starts)}")
        return zip(itertools.repeat(self), self._indices[self._starts[function - 1] :])

    def location(self, index: int) -> Location:
        """The location with a number (0: unknown). Raises BytecodeError."""
        if index == 0:
            return UNKNOWN
        found = self._records.get(index)
        if not isinstance(found, Location):
            assert self._cursor is not None
            found = self._record(index, Location, self._cursor)
        return found  # type: ignore[return-value]

    def _record(self, index: int, kind: type, cursor: Cursor) -> _Record:
        """A record by its number (from 1); it must be of a kind."""
        found = self._records.get(index)
        if found is None:
            if not 0 < index <= len(self._items):
                raise cursor.error(f"debug record {index}, but there are {len(self._items)}")
            if index in self._open or len(self._open) > _MAX_NESTING:
                raise cursor.error(f"debug record {index} refers to itself")
            self._open.add(index)
            try:
                found = self._records[index] = self._decode(self._items[index - 1])
            finally:
                self._open.discard(index)
        if not isinstance(found, kind):
            name = type(found).__name__
            raise cursor.error(f"debug record {index} is a {name}, expected a {kind.__name__}")
        return found

    def _scope(self, c: Cursor, kind: type) -> _Record:
        return self._record(c.varint(), kind, c)

    def _location(self, c: Cursor) -> Location:
        return self.location(c.varint())

    def _decode(self, c: Cursor) -> _Record:
        at = c.pos
        kind = _KINDS.get(c.byte())
        if kind is None:
            raise c.error("unknown kind of debug record", at)
        if kind == "file":
            return DIFile(self._string(c), self._string(c))
        if kind == "callsite":
            return CallSiteLoc(self._location(c), self._location(c))
        if kind == "loc":
            scope = self._scope(c, DIScope)
            if not isinstance(scope, (DISubprogram, DILexicalBlock)):
                raise c.error("the scope of a location must be a subprogram or lexical block", at)
            return DILoc(FileLineColLoc(self._string(c), c.varint(), c.varint()), scope)
        if kind == "compile_unit":
            return DICompileUnit(self._scope(c, DIFile))  # type: ignore[arg-type]
        if kind == "lexical_block":
            scope, file = self._scope(c, DIScope), self._scope(c, DIFile)
            return DILexicalBlock(scope, file, c.varint(), c.varint())  # type: ignore[arg-type]
        return self._subprogram(c)

    def _subprogram(self, c: Cursor) -> DISubprogram:
        file = self._scope(c, DIFile)
        line, name, linkage = c.varint(), self._string(c), self._string(c)
        unit = self._scope(c, DICompileUnit)
        found = DISubprogram(file, line, name, linkage, unit, c.varint())  # type: ignore[arg-type]
        if self._file.at_least(ENTRY_ATTRIBUTES_SINCE):
            # Flags that nothing uses yet.
            c.varint()
        return found

    def _string(self, c: Cursor) -> str:
        return self._file.string(c.varint(), c)
