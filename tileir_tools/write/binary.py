"""Numbers into bytes, and tables of byte strings.

Place in the flow: the last step of Module -> bytecode; imports `dialect.bytecode`.
"""

from __future__ import annotations

from ..dialect.bytecode import PADDING


def put_varint(out: bytearray, value: int) -> None:
    """An unsigned number, seven bits per byte, lowest first."""
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def put_signed(out: bytearray, value: int) -> None:
    """A signed 64-bit number whose lowest bit is the sign."""
    put_varint(out, (value << 1) if value >= 0 else (~value << 1) | 1)


def put_numbers(out: bytearray, values: tuple[int, ...], width: int) -> None:
    """A counted list of signed numbers of `width` bytes."""
    put_varint(out, len(values))
    for value in values:
        out += value.to_bytes(width, "little", signed=True)


def pad(out: bytearray, alignment: int) -> None:
    """Pad to a multiple of `alignment` bytes."""
    out += PADDING * (-len(out) % alignment)


class Table:
    """Byte strings with numbers, in the order in which they were first asked for."""

    def __init__(self, first: int = 0):
        self._numbers: dict[bytes, int] = {}
        self._first = first

    def number(self, item: bytes) -> int:
        return self._numbers.setdefault(item, len(self._numbers) + self._first)

    def __len__(self) -> int:
        return len(self._numbers)

    def put(self, out: bytearray, index_size: int) -> None:
        """Count, offsets, data; padded with respect to the start of `out`, a section."""
        put_varint(out, len(self._numbers))
        pad(out, index_size)
        offset = 0
        for item in self._numbers:
            out += offset.to_bytes(index_size, "little")
            offset += len(item)
        for item in self._numbers:
            out += item

    def encode(self, index_size: int) -> bytes:
        """The table as a section of its own."""
        out = bytearray()
        self.put(out, index_size)
        return bytes(out)
