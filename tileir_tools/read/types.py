"""Types from their text, with and without the dialect's prefix.

Place in the flow: part of bytes -> Module for text; imports `literals`, `model`, `dialect`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..dialect import KEYWORDS
from ..dialect.bytecode import POINTER_ATTRIBUTES
from ..model import (
    TOKEN,
    ElementType,
    FunctionType,
    GatherScatterViewType,
    OpaqueType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
)
from ..model.types import ELEMENT_NAMES
from .literals import Aliases, LiteralCursor, LiteralError, to_integer

# Far more dimensions than any compiler takes.
MAX_RANK = 64

_DIM = re.compile(r"\s*(\d+|\?)\s*x", re.ASCII)
_FOREIGN_INTEGER = re.compile(r"(?:u|s)?i\d+|index")

# Element types by name: `f8E4M3FN` and `f8e4m3fn` are both in use.
ELEMENTS: dict[str, ElementType] = {
    spelling: ElementType(name) for name in ELEMENT_NAMES for spelling in (name, name.lower())
}
ELEMENTS["f8E5M3FNU"] = ELEMENTS["f8e5m3fnu"] = ElementType("fnv8E5M3FNU")


def parse_type(text: str, aliases: Aliases | None = None) -> Type:
    """A type from its whole text. Raises LiteralError."""
    cursor = LiteralCursor(text, aliases)
    found = read_type(cursor)
    cursor.finish()
    return found


def read_type(c: LiteralCursor) -> Type:
    if c.token == "(":
        return _function_type(c)
    if c.kind != "word":
        raise c.error("expected a type")
    word = c.token
    name = word.removeprefix("!cuda_tile.")
    element = ELEMENTS.get(name)
    if element is not None:
        c.take()
        return element
    if name == "token":
        c.take()
        return TOKEN
    reader = _TYPE_READERS.get(name)
    if reader is not None:
        return _in_brackets(c, reader)
    if word.startswith("!"):
        return _aliased_or_opaque_type(c)
    if _FOREIGN_INTEGER.fullmatch(name) or re.fullmatch(r"none|b?f\d+\w*", name):
        c.take()
        return OpaqueType(word)
    raise c.error("expected a type")


def read_elements_type(c: LiteralCursor) -> Type:
    """The type behind `dense<..>`: a tile's, or a `tensor<4xf32>`, all that MLIR itself takes."""
    return _in_brackets(c, _tile) if c.token == "tensor" else read_type(c)


def _in_brackets(c: LiteralCursor, read: Callable[[LiteralCursor], Type]) -> Type:
    """What stands in the angle brackets behind a name."""
    c.take()
    c.nest()
    c.expect("<")
    found = read(c)
    c.expect(">")
    c.depth -= 1
    return found


def _aliased_or_opaque_type(c: LiteralCursor) -> Type:
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c, read_type)
        assert isinstance(found, Type)
        return found
    if "." not in c.token:
        raise c.error("expected a type, or an alias that the text defines")
    return OpaqueType(c.balanced())


def _dims(c: LiteralCursor) -> tuple[int | None, ...]:
    """The `4x?x` in front of an element type. The tokens do not help: `0xf32` is no number here."""
    dims: list[int | None] = []
    while (match := _DIM.match(c.text, c.start)) is not None:
        if len(dims) == MAX_RANK:
            raise LiteralError(f"more than {MAX_RANK} dimensions", c.start)
        try:
            dims.append(None if match[1] == "?" else to_integer(match[1]))
        except ValueError as error:
            raise LiteralError(str(error), c.start) from None
        c.seek(match.end())
    return tuple(dims)


def _static_dims(c: LiteralCursor) -> tuple[int, ...]:
    start = c.start
    dims = _dims(c)
    if None in dims:
        raise LiteralError("expected static sizes, found '?'", start)
    return tuple(d for d in dims if d is not None)


def _element_type(c: LiteralCursor, or_pointer: bool = False) -> Type:
    """The type of one element: a number format, or a pointer where a tile may hold pointers."""
    wanted = f"expected an element type such as {'f32 or ptr<f32>' if or_pointer else 'f32'}"
    start = c.start
    if c.kind != "word":
        raise c.error(wanted)
    found = read_type(c)
    allowed = (ElementType, OpaqueType, PointerType) if or_pointer else (ElementType, OpaqueType)
    # Floats that this version does not know may come; integers of other widths will not.
    misspelt = isinstance(found, OpaqueType) and (
        _FOREIGN_INTEGER.fullmatch(found.text) or found.text.lower() in ELEMENTS
    )
    if not isinstance(found, allowed) or misspelt:
        raise LiteralError(f"{wanted}, found {found}", start)
    return found


def _tile(c: LiteralCursor) -> Type:
    return TileType(_static_dims(c), _element_type(c, or_pointer=True))


def _pointer(c: LiteralCursor) -> Type:
    pointee = _element_type(c)
    return PointerType(pointee, _pointer_attribute(c) if c.accept(",") else None)


def _pointer_attribute(c: LiteralCursor) -> str:
    if c.token in ("#cuda_tile.ptr_attr", "ptr_attr"):
        c.take()
    c.expect("<")
    if c.token not in POINTER_ATTRIBUTES:
        raise c.error(f"expected one of {', '.join(POINTER_ATTRIBUTES)}")
    word = c.take()
    c.expect(">")
    return word


def _tensor_view(c: LiteralCursor) -> Type:
    shape = _dims(c)
    # `tensor_view<xf32, strides=[]>`: the cutile-rs printer, for a view without dimensions.
    lone_x = not shape and c.token.startswith("x")
    if lone_x:
        c.seek(c.start + 1)
    element = _element_type(c)
    strides: tuple[int | None, ...] = ()
    attribute = None
    if shape:
        c.expect(",")
        strides = _strides(c, len(shape))
    elif c.token == "," and c.ahead() == "strides":
        if not lone_x:
            raise LiteralError("a tensor_view without dimensions has no strides", c.start)
        c.take()
        strides = _strides(c, 0)
    if c.accept(","):
        attribute = _pointer_attribute(c)
    return TensorViewType(shape, strides, element, attribute)


def _strides(c: LiteralCursor, wanted: int) -> tuple[int | None, ...]:
    """`strides=[64, ?]`, one for each dimension."""
    _key(c, "strides")
    start = c.start
    c.expect("[")
    strides: list[int | None] = []
    while not c.accept("]"):
        if strides:
            c.comma("]")
        strides.append(None if c.accept("?") else c.integer())
    if len(strides) != wanted:
        message = f"expected {wanted} strides, one for each dimension, found {len(strides)}"
        raise LiteralError(message, start)
    return tuple(strides)


def _key(c: LiteralCursor, word: str) -> None:
    """`word =`."""
    c.expect(word)
    c.expect("=")


def _view_head(c: LiteralCursor) -> tuple[int, ...]:
    """`tile=(64x32),`."""
    _key(c, "tile")
    c.expect("(")
    close = c.text.find(")", c.start)
    inside = c.text[c.start : close] if close >= 0 else ""
    if not re.fullmatch(r"\s*\d+(\s*x\s*\d+)*\s*|\s*", inside):
        raise c.error("expected sizes such as 64x32")
    try:
        sizes = tuple(to_integer(size.strip()) for size in inside.split("x") if size.strip())
    except ValueError as error:
        raise LiteralError(str(error), c.start) from None
    c.seek(close)
    c.expect(")")
    c.expect(",")
    return sizes


def _padding(c: LiteralCursor) -> str | None:
    """`padding_value = zero,` where it stands."""
    if c.token != "padding_value":
        return None
    _key(c, "padding_value")
    if c.token not in KEYWORDS["padding_value"]:
        raise c.error(f"expected one of {', '.join(KEYWORDS['padding_value'])}")
    padding = c.take()
    c.expect(",")
    return padding


def _tensor_view_inside(c: LiteralCursor) -> TensorViewType:
    start = c.start
    view = read_type(c)
    if not isinstance(view, TensorViewType):
        raise LiteralError(f"expected a tensor_view, found {view}", start)
    return view


def _dim_map(c: LiteralCursor) -> tuple[int, ...] | None:
    if not c.accept(","):
        return None
    _key(c, "dim_map")
    return c.integers()


def _partition_view(c: LiteralCursor) -> Type:
    tile = _view_head(c)
    padding = _padding(c)
    view = _tensor_view_inside(c)
    return PartitionViewType(tile, view, _dim_map(c), padding)


def _strided_view(c: LiteralCursor) -> Type:
    tile = _view_head(c)
    # The cutile-rs printer writes the padding first.
    padding = _padding(c)
    _key(c, "traversal_strides")
    strides = c.integers()
    c.expect(",")
    padding = padding or _padding(c)
    view = _tensor_view_inside(c)
    return StridedViewType(tile, strides, view, _dim_map(c), padding)


def _gather_scatter_view(c: LiteralCursor) -> Type:
    tile = _view_head(c)
    padding = _padding(c)
    view = _tensor_view_inside(c)
    c.expect(",")
    _key(c, "sparse_dim")
    return GatherScatterViewType(tile, view, c.integer(), padding)


_TYPE_READERS: dict[str, Callable[[LiteralCursor], Type]] = {
    "tile": _tile,
    "ptr": _pointer,
    "tensor_view": _tensor_view,
    "partition_view": _partition_view,
    "strided_view": _strided_view,
    "gather_scatter_view": _gather_scatter_view,
}


def _function_type(c: LiteralCursor) -> FunctionType:
    """`(a, b) -> (c)` or `(a) -> c`."""
    inputs = _type_list(c)
    if c.token != "->":
        raise c.error("expected '->'")
    c.take()
    results = _type_list(c) if c.token == "(" else (read_type(c),)
    return FunctionType(inputs, results)


def _type_list(c: LiteralCursor) -> tuple[Type, ...]:
    return tuple(c.items("(", ")", read_type))
