"""Attributes in bytecode that say themselves what they are.

Place in the flow: part of bytes -> Module for bytecode; imports `binary`, `model`, `dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..dialect.bytecode import ATTRIBUTE_TAGS
from ..model import (
    I64,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    DictAttr,
    DivByAttr,
    ElementType,
    FloatAttr,
    IntegerAttr,
    OptimizationHintsAttr,
    SameElementsAttr,
    StringAttr,
    TypeAttr,
)
from ..model.floats import FLOAT_FORMATS
from .binary import Cursor

if TYPE_CHECKING:
    from .container import Container

_MAX_NESTING = 16


def read_tagged(c: Cursor, file: Container, depth: int = 0) -> Attribute:
    """One attribute with its tag. Raises BytecodeError."""
    at = c.pos
    read = _READERS.get(c.byte())
    if read is None:
        raise c.error("unknown attribute tag", at)
    if depth > _MAX_NESTING:
        raise c.error(f"attributes are nested deeper than {_MAX_NESTING} levels")
    return read(c, file, depth)


def refuse_extremes(values: Sequence[int], width: int, c: Cursor) -> None:
    """Arrays never hold the lowest and the highest number of `width` bytes: the format forbids them."""
    highest = (1 << (8 * width - 1)) - 1
    for value in values:
        if value >= highest or value < -highest:
            raise c.error(f"an array holds {value}, which no array may")


def read_array(c: Cursor, file: Container, depth: int = 0) -> ArrayAttr:
    """A counted list of tagged attributes."""
    number = c.count("attributes")
    return ArrayAttr(tuple(read_tagged(c, file, depth + 1) for _ in range(number)))


def read_dictionary(c: Cursor, file: Container, depth: int = 0) -> DictAttr:
    entries: dict[str, Attribute] = {}
    for _ in range(c.count("entries", 2)):
        at = c.pos
        key = file.string(c.varint(), c)
        if not key:
            raise c.error("the name of an attribute is empty", at)
        if key in entries:
            raise c.error(f"attribute '{key}' is given twice", at)
        entries[key] = read_tagged(c, file, depth + 1)
    return DictAttr(tuple(entries.items()))


def read_hints(c: Cursor, file: Container, depth: int = 0) -> OptimizationHintsAttr:
    """Hints by target. Their integers are i64, as text has them."""
    targets = []
    for arch, entries in read_dictionary(c, file, depth).items:
        if not isinstance(entries, DictAttr):
            raise c.error(f"the hints for '{arch}' are no dictionary")
        plain = tuple((key, _plain_integer(value)) for key, value in entries.items)
        targets.append((arch, DictAttr(plain)))
    return OptimizationHintsAttr(DictAttr(tuple(targets)))


def _plain_integer(value: Attribute) -> Attribute:
    return IntegerAttr(value.value, I64) if isinstance(value, IntegerAttr) else value


def _integer(c: Cursor, file: Container, depth: int) -> Attribute:
    at = c.pos
    type = file.type(c.varint(), c)
    if not isinstance(type, ElementType) or not type.is_integer:
        raise c.error(f"an integer attribute is said to be of type {type}", at)
    value = c.byte() if type.width == 1 else c.varint()
    if value >> type.width:
        raise c.error(f"{value} does not fit in {type}", at)
    if type.width == 1:
        return BoolAttr(bool(value))
    signed = value - (1 << type.width) if value >> (type.width - 1) else value
    return IntegerAttr(signed, type)


def _float(c: Cursor, file: Container, depth: int) -> Attribute:
    at = c.pos
    type = file.type(c.varint(), c)
    if not isinstance(type, ElementType) or not type.is_float:
        raise c.error(f"a floating-point attribute is said to be of type {type}", at)
    width = FLOAT_FORMATS[type.name].width
    bits = c.byte() if width <= 8 else c.signed() & ((1 << 64) - 1)
    if bits >> width:
        raise c.error(f"0x{bits:x} does not fit in {type}", at)
    return FloatAttr(bits, type)


def _bool(c: Cursor, file: Container, depth: int) -> Attribute:
    return BoolAttr(c.byte() != 0)


def _type(c: Cursor, file: Container, depth: int) -> Attribute:
    return TypeAttr(file.type(c.varint(), c))


def _string(c: Cursor, file: Container, depth: int) -> Attribute:
    return StringAttr(file.string(c.varint(), c))


def _dense(c: Cursor, file: Container, depth: int) -> Attribute:
    type = file.type(c.varint(), c)
    return file.dense(c.varint(), type, c)


def _same_elements(c: Cursor, file: Container, depth: int) -> Attribute:
    values = c.signed_list("numbers", 8)
    refuse_extremes(values, 8, c)
    return SameElementsAttr(values)


def _bounded(c: Cursor, file: Container, depth: int) -> Attribute:
    flags = c.byte()
    lower = c.signed() if flags & 1 else None
    upper = c.signed() if flags & 2 else None
    return BoundedAttr(lower, upper)


def _div_by(c: Cursor, file: Container, depth: int) -> Attribute:
    divisor = c.varint()
    flags = c.byte()
    if flags == 0:
        return DivByAttr(divisor)
    if flags & 3 != 3:
        raise c.error("div_by has one of 'every' and 'along' without the other")
    return DivByAttr(divisor, c.signed(), c.signed())


_READERS: dict[int, Callable[[Cursor, Container, int], Attribute]] = {
    ATTRIBUTE_TAGS[kind]: read
    for kind, read in {
        "integer": _integer,
        "float": _float,
        "bool": _bool,
        "type": _type,
        "string": _string,
        "array": read_array,
        "dense": _dense,
        "dict": read_dictionary,
        "hints": read_hints,
        "same_elements": _same_elements,
        "bounded": _bounded,
        "div_by": _div_by,
    }.items()
}
