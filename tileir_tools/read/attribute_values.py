"""Attributes from their text, with and without the dialect's prefix.

Place in the flow: part of bytes -> Module for text; imports `literals`, `types`, `constants`, `model`,
`dialect`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dialect import KEYWORDS, enum_attribute
from ..model import (
    F64,
    I64,
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    DenseArrayAttr,
    DictAttr,
    DivByAttr,
    ElementType,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    OpaqueType,
    OptimizationHintsAttr,
    SameElementsAttr,
    StringAttr,
    SymbolRefAttr,
    TileType,
    Type,
    TypeAttr,
)
from .constants import float_bits, read_elements
from .literals import Aliases, LiteralCursor, LiteralError, signed, symbol_name, to_integer
from .types import read_elements_type, read_type


def parse_attribute(text: str, aliases: Aliases | None = None) -> Attribute:
    """An attribute from its whole text. Raises LiteralError."""
    cursor = LiteralCursor(text, aliases)
    found = _attribute(cursor)
    cursor.finish()
    return found


def parse_hints(text: str, aliases: Aliases | None = None) -> OptimizationHintsAttr:
    """`<sm_100 = {latency = 4}>`, with or without `#cuda_tile.optimization_hints` in front."""
    cursor = LiteralCursor(text, aliases)
    wanted = "expected hints such as <sm_100 = {latency = 4}>"
    if cursor.kind == "word":
        if cursor.token[0] != "#" and cursor.token != "optimization_hints":
            raise cursor.error(wanted)
        found = _attribute(cursor)
    elif cursor.accept("<"):
        found = _hints(cursor)
        cursor.expect(">")
    else:
        raise cursor.error(wanted)
    cursor.finish()
    if not isinstance(found, OptimizationHintsAttr):
        raise LiteralError(wanted, 0)
    return found


def _attribute(c: LiteralCursor) -> Attribute:
    if c.kind == "string":
        return StringAttr(c.string())
    if c.kind == "symbol":
        return SymbolRefAttr(symbol_name(c.take()))
    if c.kind == "number":
        return _number(c)
    if c.token == "[":
        return ArrayAttr(tuple(_items(c)))
    if c.token == "{":
        return DictAttr(tuple(_dict(c)))
    if c.token == "(":
        return TypeAttr(read_type(c))
    if c.kind == "word":
        return _word(c)
    raise c.error("expected an attribute")


def _number(c: LiteralCursor) -> Attribute:
    """`4`, `4 : i32`, `1.5 : f16`, `0xFF800000 : f32`."""
    start, text = c.start, c.take()
    type: Type = F64 if "." in text else I64
    type_at = c.next
    if c.accept(":"):
        type_at = c.start
        type = read_type(c)
    if isinstance(type, ElementType) and type.is_float:
        return FloatAttr(float_bits(text, type.name, start), type)
    if not isinstance(type, (ElementType, OpaqueType)) or "." in text:
        kind = "floating-point" if "." in text else "number"
        raise LiteralError(f"expected a {kind} type behind '{text}', found {type}", type_at)
    try:
        value = to_integer(text)
        return IntegerAttr(signed(value, _width(type)), type)
    except ValueError as error:
        raise LiteralError(str(error), start) from None


def _width(type: ElementType | OpaqueType) -> int:
    """Bits of an integer type; 64 for what this version does not know, such as `index`."""
    return type.width if isinstance(type, ElementType) else 64


def _items(c: LiteralCursor) -> list[Attribute]:
    return c.items("[", "]", _attribute)


def _dict(c: LiteralCursor) -> list[tuple[str, Attribute]]:
    c.nest()
    c.expect("{")
    entries: dict[str, Attribute] = {}
    while not c.accept("}"):
        if entries:
            c.comma("}")
        start = c.start
        key = c.string() if c.kind == "string" else c.take() if c.kind == "word" else None
        if key is None:
            raise c.error("expected an attribute name")
        if key in entries:
            raise LiteralError(f"attribute '{key}' is given twice", start)
        entries[key] = _attribute(c) if c.accept("=") else UNIT
    c.depth -= 1
    return list(entries.items())


def _word(c: LiteralCursor) -> Attribute:
    word = c.token
    if word in ("true", "false"):
        c.take()
        return BoolAttr(word == "true")
    if word == "unit":
        c.take()
        return UNIT
    name = word.removeprefix("#cuda_tile.")
    reader = _ATTRIBUTE_READERS.get(name)
    if reader is not None or name in KEYWORDS:
        c.take()
        c.nest()
        c.expect("<")
        found = reader(c) if reader is not None else _keyword(c, name)
        c.expect(">")
        c.depth -= 1
        return _typed_dense(c, found)
    if word.startswith("#"):
        return _aliased_or_opaque_attribute(c)
    return TypeAttr(read_type(c))


def _keyword(c: LiteralCursor, kind: str) -> EnumAttr:
    found = enum_attribute(kind, c.token)
    if found is None:
        raise c.error(f"expected one of {', '.join(KEYWORDS[kind])}")
    c.take()
    return found


def _aliased_or_opaque_attribute(c: LiteralCursor) -> Attribute:
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c, _attribute)
        assert isinstance(found, Attribute)
        return found
    if "." not in c.token:
        raise c.error("expected an attribute, or an alias that the text defines")
    return OpaqueAttr(c.balanced())


def _div_by(c: LiteralCursor) -> Attribute:
    divisor = c.integer()
    if not c.accept(","):
        return DivByAttr(divisor)
    c.expect("every")
    every = c.integer()
    c.expect("along")
    return DivByAttr(divisor, every, c.integer())


def _bounded(c: LiteralCursor) -> Attribute:
    lower = None if c.accept("?") else c.integer()
    c.expect(",")
    upper = None if c.accept("?") else c.integer()
    return BoundedAttr(lower, upper)


def _same_elements(c: LiteralCursor) -> Attribute:
    return SameElementsAttr(c.integers())


def _hints(c: LiteralCursor) -> OptimizationHintsAttr:
    entries: dict[str, Attribute] = {}
    while c.token != ">":
        if entries:
            c.comma(">")
        start = c.start
        if c.kind not in ("word", "string"):
            raise c.error("expected an arch such as sm_100, or 'default'")
        key = c.string() if c.kind == "string" else c.take()
        if key in entries:
            raise LiteralError(f"hints for '{key}' are given twice", start)
        c.expect("=")
        if c.token != "{":
            raise c.error("expected '{'")
        entries[key] = DictAttr(tuple(_dict(c)))
    return OptimizationHintsAttr(DictAttr(tuple(entries.items())))


def _array(c: LiteralCursor) -> Attribute:
    """`array<i32: 1, 0>`, `array<i32>` when empty."""
    if c.kind != "word":
        raise c.error("expected an element type")
    element = c.take()
    values: list[int] = []
    if c.accept(":"):
        while c.token != ">":
            if values:
                c.comma(">")
            if c.token in ("true", "false"):
                values.append(int(c.take() == "true"))
            else:
                values.append(c.integer())
    return DenseArrayAttr(element, tuple(values))


class _PendingDense(Attribute):
    """`dense<..>` before its type has been read."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> _PendingDense:
        return cls._of(text)


def _dense(c: LiteralCursor) -> Attribute:
    start = c.start
    while c.token != ">":
        if c.kind == "end":
            raise c.error("expected '>'")
        c.take()
    return _PendingDense(c.text[start : c.start])


def _typed_dense(c: LiteralCursor, found: Attribute) -> Attribute:
    if not isinstance(found, _PendingDense):
        return found
    c.expect(":")
    start = c.start
    type = read_elements_type(c)
    if not isinstance(type, TileType):
        raise LiteralError(f"expected a tile type, found {type}", start)
    inner = LiteralCursor(found.text)
    elements = read_elements(inner, type)
    inner.finish()
    return elements


_ATTRIBUTE_READERS: dict[str, Callable[[LiteralCursor], Attribute]] = {
    "div_by": _div_by,
    "bounded": _bounded,
    "same_elements": _same_elements,
    "optimization_hints": _hints,
    "array": _array,
    "dense": _dense,
}
