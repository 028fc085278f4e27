"""Numbers out of bytes, with every length checked against what is left.

Place in the flow: the first step of bytes -> Module for bytecode; imports `errors`.
"""

from __future__ import annotations

import functools
import struct

from ..errors import BytecodeError

# A varint holds seven bits per byte; numbers have at most 64 bits.
_LONGEST_VARINT = 10


@functools.lru_cache(maxsize=4096)
def _signed(data: bytes, width: int) -> tuple[int, ...]:
    # Kept: files are full of the same few shapes.
    letter = {1: "b", 4: "i", 8: "q"}[width]
    return struct.unpack(f"<{len(data) // width}{letter}", data)


class Cursor:
    """A position in one part of a file.

    `base` is the offset of the part in the file, so that errors name offsets in the file.
    """

    __slots__ = ("base", "data", "name", "pos", "section", "version")

    def __init__(self, data: bytes, base: int, name: str, section: str, version: str | None):
        self.data = data
        self.base = base
        self.name = name
        self.section = section
        self.version = version
        self.pos = 0

    def error(self, message: str, at: int | None = None) -> BytecodeError:
        offset = self.base + (self.pos if at is None else at)
        return BytecodeError(self.name, message, offset, self.section, self.version)

    def part(self, start: int, end: int, section: str) -> Cursor:
        """A cursor over the bytes from `start` to `end`, which must be inside this one."""
        return Cursor(self.data[start:end], self.base + start, self.name, section, self.version)

    @property
    def left(self) -> int:
        return len(self.data) - self.pos

    def byte(self) -> int:
        pos = self.pos
        if pos >= len(self.data):
            raise self.error("expected a byte, found the end of the section")
        self.pos = pos + 1
        return self.data[pos]

    def take(self, count: int) -> bytes:
        start = self.pos
        end = start + count
        if end > len(self.data):
            raise self.error(f"expected {count} bytes, {self.left} are left")
        self.pos = end
        return self.data[start:end]

    def fixed(self, size: int) -> int:
        """An unsigned little-endian number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def varint(self) -> int:
        """An unsigned number, seven bits per byte, lowest first."""
        pos = self.pos
        data = self.data
        # Nearly all numbers take one byte or two.
        try:
            first = data[pos]
            if first < 0x80:
                self.pos = pos + 1
                return first
            second = data[pos + 1]
            if second < 0x80:
                self.pos = pos + 2
                return first & 0x7F | second << 7
        except IndexError:
            pass
        return self._long_varint()

    def _long_varint(self) -> int:
        value = shift = 0
        for pos in range(self.pos, min(self.pos + _LONGEST_VARINT, len(self.data))):
            byte = self.data[pos]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.pos = pos + 1
                return value
            shift += 7
        if self.left < _LONGEST_VARINT:
            raise self.error("expected a number, found the end of the section")
        raise self.error(f"a number takes more than {_LONGEST_VARINT} bytes")

    def signed(self) -> int:
        """A varint whose lowest bit is the sign."""
        value = self.varint()
        return ~(value >> 1) if value & 1 else value >> 1

    def count(self, what: str, size: int = 1) -> int:
        """A number of items of at least `size` bytes each; checked against the bytes left."""
        at = self.pos
        number = self.varint()
        if number * size > len(self.data) - self.pos:
            raise self.error(f"{number} {what} do not fit in the {self.left} bytes left", at)
        return number

    def signed_list(self, what: str, width: int) -> tuple[int, ...]:
        """A counted list of signed little-endian numbers of 1, 4 or 8 bytes each."""
        number = self.count(what, width)
        return _signed(self.take(number * width), width)

    def align(self, alignment: int) -> None:
        """Pass over padding up to a multiple of `alignment` bytes from the start of the part."""
        self.take(-self.pos % alignment)

    def table(self, what: str, index_size: int) -> Table:
        """A table of byte strings: count, offsets (of 4 or 8 bytes), data."""
        number = self.count(what, index_size)
        self.align(index_size)
        letter = {4: "I", 8: "Q"}[index_size]
        offsets = struct.unpack(f"<{number}{letter}", self.take(number * index_size))
        return Table(self, what, offsets)


class Table:
    """Byte strings one after the other; `table[k]` is a cursor over number k."""

    __slots__ = ("_cursor", "_ends")

    def __init__(self, cursor: Cursor, what: str, offsets: tuple[int, ...]):
        """`cursor` stands where the data begins, from which the offsets count."""
        start, size = cursor.pos, len(cursor.data)
        self._cursor = cursor
        self._ends = [start + offset for offset in offsets]
        self._ends.append(size)
        if self._ends != sorted(self._ends):
            k = next(k for k, end in enumerate(self._ends) if end > self._ends[k + 1])
            raise cursor.error(f"entry {k} of the table of {what} lies outside the table")

    def __len__(self) -> int:
        return len(self._ends) - 1

    def bytes(self, index: int) -> bytes:
        """The bytes of number `index`."""
        return self._cursor.data[self._ends[index] : self._ends[index + 1]]

    def __getitem__(self, index: int) -> Cursor:
        cursor = self._cursor
        return cursor.part(self._ends[index], self._ends[index + 1], cursor.section)
