"""The elements of constants, and numbers as bit patterns, from their text.

Place in the flow: part of bytes -> Module for text; imports `literals`, `types`, `model`.
"""

from __future__ import annotations

import re

from ..model import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseElementsAttr,
    ElementType,
    FloatAttr,
    IntegerAttr,
    TileType,
    Type,
)
from ..model.floats import FLOAT_FORMATS, encode_decimal, encode_special
from .literals import LiteralCursor, LiteralError, shown, signed
from .types import read_type

# A tile has no more elements than this (the dialect's own limit).
MAX_ELEMENTS = 1 << 24


def parse_dense(text: str, type: Type) -> DenseElementsAttr:
    """The elements of a constant from the text `i32: [1, 2]` and the type after it."""
    cursor = LiteralCursor(text)
    start = cursor.start
    element = read_type(cursor)
    cursor.expect(":")
    if not isinstance(type, TileType):
        raise LiteralError(f"expected a tile type for a constant, found {type}", start)
    if element is not type.element:
        raise LiteralError(f"the elements are {element}, the tile holds {type.element}", start)
    found = read_elements(cursor, type)
    cursor.finish()
    return found


def parse_identities(text: str, elements: list[Type]) -> ArrayAttr:
    """The identities of a reduction from a text that names no types, `[0, -inf]`.

    Each has the type of its operand's elements. Raises LiteralError.
    """
    cursor = LiteralCursor(text)
    cursor.expect("[")
    items: list[Attribute] = []
    for element in elements:
        if items:
            cursor.comma("]")
        bits = _element(cursor, element)
        assert isinstance(element, ElementType)
        if element.is_float:
            items.append(FloatAttr(bits, element))
        else:
            items.append(BoolAttr(bool(bits)) if element.width == 1 else IntegerAttr(bits, element))
    if not cursor.accept("]"):
        wanted = f"{len(elements)} {'identity' if len(elements) == 1 else 'identities'}"
        raise cursor.error(f"expected {wanted}, one for each operand")
    cursor.finish()
    return ArrayAttr(tuple(items))


def read_elements(c: LiteralCursor, type: TileType) -> DenseElementsAttr:
    start = c.start
    if c.kind == "string":
        return DenseElementsAttr(type, _packed_elements(c, type))
    raw: list[int] = []
    shape = _nested(c, type, 0, raw)
    if c.token == "," and type.rank == 1:
        # `1, 2, 3` without brackets: the cutile-rs printer, for tiles of one dimension.
        while c.accept(","):
            raw.append(_element(c, type.element))
        shape = (len(raw),)
    if shape and shape != type.shape:
        raise LiteralError(
            f"the elements have shape {list(shape)}, the tile has {list(type.shape)}", start
        )
    return DenseElementsAttr(type, tuple(raw))


def _nested(c: LiteralCursor, type: TileType, level: int, raw: list[int]) -> tuple[int, ...]:
    """Reads one number or a bracketed list into `raw`; the shape read."""
    if c.token != "[":
        value = _element(c, type.element)
        if 0 < level < type.rank - 1:
            # One number for a block of equal ones: the cutile-rs printer, inside of lists.
            inner = type.shape[level:]
            raw += [value] * _product(inner)
            return inner
        raw.append(value)
        return ()
    c.nest()
    c.take()
    if c.token == "]":
        raise c.error("expected an element")
    shapes: set[tuple[int, ...]] = set()
    count = 0
    while not c.accept("]"):
        if count:
            c.comma("]")
        start = c.start
        shapes.add(_nested(c, type, level + 1, raw))
        if len(shapes) > 1:
            raise LiteralError("the elements are not of one shape", start)
        count += 1
    c.depth -= 1
    return (count, *shapes.pop())


def _product(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
        if count > MAX_ELEMENTS:
            raise LiteralError(f"a constant of more than {MAX_ELEMENTS} elements", 0)
    return count


def _element(c: LiteralCursor, element: Type) -> int:
    """One element: a signed integer, or the bit pattern of a float."""
    if not isinstance(element, ElementType):
        raise c.error(f"expected elements of a number type, not {element}")
    if element.name == "i1" and c.token in ("true", "false"):
        return int(c.take() == "true")
    start = c.start
    if element.is_float:
        return float_bits(_float_text(c), element.name, start)
    if c.kind != "number":
        raise c.error("expected a number")
    value = c.integer()
    try:
        value = signed(value, element.width)
    except ValueError:
        raise LiteralError(f"{value} does not fit in {element}", start) from None
    return int(value != 0) if element.name == "i1" else value


def _float_text(c: LiteralCursor) -> str:
    """`1.5`, `-0x1p`, or `inf`, `-inf`, `nan` as the cutile-rs printer writes them."""
    sign = "-" if c.token == "-" and c.accept("-") else ""
    if c.kind == "word" and c.token.lower() in ("inf", "nan"):
        return sign + c.take().lower()
    if c.kind != "number" or sign:
        raise c.error("expected a number")
    return c.take()


def float_bits(text: str, element: str, start: int) -> int:
    """The bit pattern that a number written for a float format stands for."""
    form = FLOAT_FORMATS[element]
    # An integer for an element of a byte or less is its bits: the cutile-rs printer writes them so, and
    # MLIR allows no other meaning.
    if "x" in text or (form.width <= 8 and "." not in text and text[-1].isdigit()):
        bits = to_bits(text)
        if not 0 <= bits < 1 << form.width:
            raise LiteralError(f"{shown(text)} does not fit in {element}", start)
        return bits
    try:
        if text[-1].isalpha():
            return encode_special(text, form)
        return encode_decimal(text, form)
    except ValueError as error:
        raise LiteralError(str(error), start) from None


def to_bits(text: str) -> int:
    """A bit pattern, hexadecimal or decimal; -1 where it is longer than any format."""
    return int(text, 16 if "x" in text else 10) if len(text) <= 40 else -1


def _packed_elements(c: LiteralCursor, type: TileType) -> tuple[int, ...]:
    """`"0x0102.."`: the bytes of the elements, little-endian, as MLIR prints large constants."""
    start = c.start
    text = c.string()
    element = type.element
    whole = re.fullmatch(r"0x[0-9A-Fa-f]*", text) and len(text) % 2 == 0
    if not isinstance(element, ElementType) or not whole:
        raise LiteralError("expected elements as a hexadecimal string", start)
    data = bytes.fromhex(text[2:])
    # Whole bytes, also where elements are packed in memory (i1, f4).
    size = (element.width + 7) // 8
    count = len(data) // size
    if count > MAX_ELEMENTS:
        raise LiteralError(f"a constant of more than {MAX_ELEMENTS} elements", start)
    if len(data) % size or count not in (1, type.elements):
        raise LiteralError(f"{len(data)} bytes are not the elements of {type}", start)
    signed = element.is_integer
    return tuple(
        int.from_bytes(data[k : k + size], "little", signed=signed)
        for k in range(0, len(data), size)
    )
