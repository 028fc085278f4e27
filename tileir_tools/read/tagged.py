"""Attributes in bytecode that say themselves what they are.

Place in the flow: part of bytes -> Module for bytecode; imports `binary`, `model`, `dialect`.
"""

from __future__ import annotations

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

_KINDS = {tag: kind for kind, tag in ATTRIBUTE_TAGS.items()}
_MAX_NESTING = 16


def read_tagged(c: Cursor, file: Container, depth: int = 0) -> Attribute:
    """One attribute with its tag. Raises BytecodeError."""
    at = c.pos
    if depth > _MAX_NESTING:
        raise c.error(f"attributes are nested deeper than {_MAX_NESTING} levels")
    kind = _KINDS.get(c.byte())
    if kind is None:
        raise c.error("unknown attribute tag", at)
    if kind == "integer":
        return _integer(c, file)
    if kind == "float":
        return _float(c, file)
    if kind == "bool":
        return BoolAttr(c.byte() != 0)
    if kind == "type":
        return TypeAttr(file.type(c.varint(), c))
    if kind == "string":
        return StringAttr(file.string(c.varint(), c))
    if kind == "array":
        return read_array(c, file, depth)
    if kind == "dense":
        type = file.type(c.varint(), c)
        return file.dense(c.varint(), type, c)
    if kind == "dict":
        return read_dictionary(c, file, depth)
    if kind == "hints":
        return read_hints(c, file, depth)
    return _predicate(c, kind)


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


def _integer(c: Cursor, file: Container) -> Attribute:
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


def _float(c: Cursor, file: Container) -> Attribute:
    at = c.pos
    type = file.type(c.varint(), c)
    if not isinstance(type, ElementType) or not type.is_float:
        raise c.error(f"a floating-point attribute is said to be of type {type}", at)
    width = FLOAT_FORMATS[type.name].width
    bits = c.byte() if width <= 8 else c.signed() & ((1 << 64) - 1)
    if bits >> width:
        raise c.error(f"0x{bits:x} does not fit in {type}", at)
    return FloatAttr(bits, type)


def _predicate(c: Cursor, kind: str) -> Attribute:
    if kind == "same_elements":
        number = c.count("numbers", 8)
        values = [int.from_bytes(c.take(8), "little", signed=True) for _ in range(number)]
        return SameElementsAttr(tuple(values))
    divisor = c.varint() if kind == "div_by" else 0
    flags = c.byte()
    first = c.signed() if flags & 1 else None
    second = c.signed() if flags & 2 else None
    if kind == "bounded":
        return BoundedAttr(first, second)
    if (first is None) != (second is None):
        raise c.error("div_by has one of 'every' and 'along' without the other")
    return DivByAttr(divisor, first, second)
