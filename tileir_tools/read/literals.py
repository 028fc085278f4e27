"""Types, attributes and locations from their text.

Place in the flow: part of bytes -> Module for text; imports `model` and `dialect`. The op reader hands
over whole texts (`tile<4xf32>`, `div_by<16>`, `loc(callsite(..))`) and remembers the answers, so this
code runs once per distinct text. It accepts the spellings with and without the dialect's prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..dialect import KEYWORDS, enum_attribute
from ..model import (
    F64,
    I64,
    TOKEN,
    UNIT,
    UNKNOWN,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    CallSiteLoc,
    DenseArrayAttr,
    DenseElementsAttr,
    DICompileUnit,
    DictAttr,
    DIFile,
    DILexicalBlock,
    DILoc,
    DIScope,
    DISubprogram,
    DivByAttr,
    ElementType,
    EnumAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    FusedLoc,
    GatherScatterViewType,
    IntegerAttr,
    Location,
    NameLoc,
    OpaqueAttr,
    OpaqueLoc,
    OpaqueType,
    OptimizationHintsAttr,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    StridedViewType,
    StringAttr,
    SymbolRefAttr,
    TensorViewType,
    TileType,
    Type,
    TypeAttr,
)
from ..model.floats import FLOAT_FORMATS, encode_decimal
from ..model.types import ELEMENT_NAMES

# Deeper nesting than any real file has; it keeps hostile input from exhausting the stack.
MAX_NESTING = 64

_LEX = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<symbol>@(?:[\w$.\-]+|"(?:[^"\\]|\\.)*"))'
    r"|(?P<number>-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+\-]?\d+)?)?))"
    r"|(?P<word>[#!]?[A-Za-z_][\w$.]*)|(?P<arrow>->)|(?P<char>\S))",
    re.DOTALL | re.ASCII,
)
_DIM = re.compile(r"\s*(\d+|\?)\s*x")
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

# Element type names by their lower-case spelling: `f8E4M3FN` and `f8e4m3fn` are both in use.
ELEMENTS: dict[str, ElementType] = {name.lower(): ElementType(name) for name in ELEMENT_NAMES}
ELEMENTS["f8e5m3fnu"] = ElementType("fnv8E5M3FNU")


class LiteralError(Exception):
    """What is wrong with a literal, and at which offset of its text."""

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.message = message
        self.offset = offset


class Aliases:
    """`#name = ..` and `!name = ..` definitions of a text, resolved when they are asked for."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._done: dict[str, object] = {}
        self._open: set[str] = set()

    def resolve(self, name: str, read: Callable[[_Cursor], object]) -> object:
        """The object that `name` stands for; `read` reads its text.

        Raises:
            KeyError: nobody defines `name`.
            LiteralError: the definition is malformed, or refers to itself.
        """
        if name in self._done:
            return self._done[name]
        text = self.texts[name]
        if name in self._open:
            raise LiteralError(f"alias {name} is defined by itself", 0)
        if len(self._open) > MAX_NESTING:
            raise LiteralError(f"aliases nested deeper than {MAX_NESTING} levels", 0)
        self._open.add(name)
        try:
            cursor = _Cursor(text, self)
            self._done[name] = found = read(cursor)
            cursor.finish()
            return found
        finally:
            self._open.discard(name)


class _Cursor:
    """A position in a literal's text, one token at a time."""

    def __init__(self, text: str, aliases: Aliases | None = None):
        self.text = text
        self.aliases = aliases
        self.offset = 0
        self.depth = 0
        self._advance()

    def _advance(self) -> None:
        match = _LEX.match(self.text, self.offset)
        if match is None:
            self.kind, self.token = "end", ""
            self.start = self.next = len(self.text)
        else:
            self.kind = match.lastgroup or ""
            self.token = match[self.kind]
            self.start = match.start(self.kind)
            self.next = match.end()

    def take(self) -> str:
        """The current token; moves on."""
        token = self.token
        self.offset = self.next
        self._advance()
        return token

    def seek(self, offset: int) -> None:
        self.offset = offset
        self._advance()

    def accept(self, token: str) -> bool:
        if self.token != token or self.kind == "string":
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected '{token}'")

    def error(self, expected: str) -> LiteralError:
        found = f"'{self.token}'" if self.token else "the end"
        return LiteralError(f"{expected}, found {found}", self.start)

    def integer(self) -> int:
        if self.kind != "number" or "." in self.token:
            raise self.error("expected an integer")
        return int(self.take(), 0) if "x" in self.token else int(self.take())

    def string(self) -> str:
        if self.kind != "string":
            raise self.error("expected a string")
        return unescape(self.take()[1:-1])

    def nest(self) -> None:
        """Called on the way into every bracket."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise LiteralError(f"nested deeper than {MAX_NESTING} levels", self.start)

    def finish(self) -> None:
        if self.kind != "end":
            raise self.error("expected nothing more")

    def integers(self) -> tuple[int, ...]:
        """`[1, 0]`."""
        self.expect("[")
        values: list[int] = []
        while not self.accept("]"):
            if values:
                self.expect(",")
            values.append(self.integer())
        return tuple(values)


def unescape(text: str) -> str:
    """The string that the inside of a quoted token stands for.

    MLIR writes bytes as two hex digits (`\\22`); Rust printers write `\\n` and `\\u{e9}`.
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> bytes:
        hexadecimal, unicode, simple = match.groups()
        if hexadecimal:
            return bytes([int(hexadecimal, 16)])
        if unicode:
            code = int(unicode, 16)
            return chr(code if code <= 0x10FFFF else 0xFFFD).encode("utf-8", "surrogatepass")
        return _SIMPLE_ESCAPES.get(simple, simple).encode("utf-8", "surrogatepass")

    pieces, last = [], 0
    for match in _ESCAPE.finditer(text):
        pieces.append(text[last : match.start()].encode("utf-8", "surrogatepass"))
        pieces.append(replace(match))
        last = match.end()
    pieces.append(text[last:].encode("utf-8", "surrogatepass"))
    return b"".join(pieces).decode("utf-8", "surrogateescape")


# -- types ------------------------------------------------------------------------------------------


def parse_type(text: str, aliases: Aliases | None = None) -> Type:
    """A type from its whole text. Raises LiteralError."""
    cursor = _Cursor(text, aliases)
    found = _type(cursor)
    cursor.finish()
    return found


def _type(c: _Cursor) -> Type:
    if c.token == "(":
        return _function_type(c)
    if c.kind != "word":
        raise c.error("expected a type")
    word = c.token
    name = word.removeprefix("!").removeprefix("cuda_tile.")
    element = ELEMENTS.get(name.lower())
    if element is not None:
        c.take()
        return element
    if name == "token":
        c.take()
        return TOKEN
    reader = _TYPE_READERS.get(name)
    if reader is not None:
        c.take()
        c.nest()
        c.expect("<")
        found = reader(c)
        c.expect(">")
        c.depth -= 1
        return found
    if word.startswith("!"):
        return _aliased_or_opaque_type(c)
    if re.fullmatch(r"(?:u|s)?i\d+|index|none|f\d+\w*", name):
        c.take()
        return OpaqueType(word)
    raise c.error("expected a type")


def _aliased_or_opaque_type(c: _Cursor) -> Type:
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c.token, _type)
        c.take()
        assert isinstance(found, Type)
        return found
    if "." not in c.token:
        raise c.error("expected a type, or an alias that the text defines")
    return OpaqueType(_balanced(c))


def _balanced(c: _Cursor) -> str:
    """The text of a word and the angle brackets that follow it."""
    start = c.start
    end = c.next
    c.take()
    level = 0
    while c.token == "<" or level:
        if c.kind == "end":
            raise c.error("expected '>'")
        level += (c.token == "<") - (c.token == ">")
        end = c.next
        c.take()
    return c.text[start:end].strip()


def _dims(c: _Cursor) -> tuple[int | None, ...]:
    """The `4x?x` in front of an element type. The tokens do not help: `0xf32` is no number here."""
    dims: list[int | None] = []
    while (match := _DIM.match(c.text, c.start)) is not None:
        dims.append(None if match[1] == "?" else int(match[1]))
        c.seek(match.end())
    return tuple(dims)


def _static_dims(c: _Cursor) -> tuple[int, ...]:
    start = c.start
    dims = _dims(c)
    if None in dims:
        raise LiteralError("expected static sizes, found '?'", start)
    return tuple(d for d in dims if d is not None)


def _tile(c: _Cursor) -> Type:
    return TileType(_static_dims(c), _type(c))


def _pointer(c: _Cursor) -> Type:
    pointee = _type(c)
    return PointerType(pointee, _pointer_attribute(c) if c.accept(",") else None)


def _pointer_attribute(c: _Cursor) -> str:
    if c.token in ("#cuda_tile.ptr_attr", "ptr_attr"):
        c.take()
    c.expect("<")
    if c.kind != "word":
        raise c.error("expected a pointer attribute")
    word = c.take()
    c.expect(">")
    return word


def _tensor_view(c: _Cursor) -> Type:
    shape = _dims(c)
    element = _type(c)
    strides: tuple[int | None, ...] = ()
    if shape:
        c.expect(",")
        _key(c, "strides")
        strides = _strides(c)
        if len(strides) != len(shape):
            raise c.error(f"expected {len(shape)} strides, one for each dimension")
    return TensorViewType(
        shape, strides, element, _pointer_attribute(c) if c.accept(",") else None
    )


def _strides(c: _Cursor) -> tuple[int | None, ...]:
    c.expect("[")
    strides: list[int | None] = []
    while not c.accept("]"):
        if strides:
            c.expect(",")
        strides.append(None if c.accept("?") else c.integer())
    return tuple(strides)


def _key(c: _Cursor, word: str) -> None:
    """`word =`."""
    c.expect(word)
    c.expect("=")


def _view_head(c: _Cursor) -> tuple[int, ...]:
    """`tile=(64x32),`."""
    _key(c, "tile")
    c.expect("(")
    # The last size has no `x` behind it: give the dimension reader one to find.
    close = c.text.find(")", c.start)
    inside = c.text[c.start : close] if close >= 0 else ""
    if not re.fullmatch(r"\s*\d+(\s*x\s*\d+)*\s*|\s*", inside):
        raise c.error("expected sizes such as 64x32")
    c.seek(close)
    c.expect(")")
    c.expect(",")
    return tuple(int(size) for size in inside.split("x") if size.strip())


def _view_body(c: _Cursor) -> tuple[str | None, TensorViewType]:
    """`padding_value = zero, tensor_view<..>`."""
    padding = None
    if c.token == "padding_value":
        _key(c, "padding_value")
        if c.token not in KEYWORDS["padding_value"]:
            raise c.error(f"expected one of {', '.join(KEYWORDS['padding_value'])}")
        padding = c.take()
        c.expect(",")
    start = c.start
    view = _type(c)
    if not isinstance(view, TensorViewType):
        raise LiteralError(f"expected a tensor_view, found {view}", start)
    return padding, view


def _dim_map(c: _Cursor) -> tuple[int, ...] | None:
    if not c.accept(","):
        return None
    _key(c, "dim_map")
    return c.integers()


def _partition_view(c: _Cursor) -> Type:
    tile = _view_head(c)
    padding, view = _view_body(c)
    return PartitionViewType(tile, view, _dim_map(c), padding)


def _strided_view(c: _Cursor) -> Type:
    tile = _view_head(c)
    _key(c, "traversal_strides")
    strides = c.integers()
    c.expect(",")
    padding, view = _view_body(c)
    return StridedViewType(tile, strides, view, _dim_map(c), padding)


def _gather_scatter_view(c: _Cursor) -> Type:
    tile = _view_head(c)
    padding, view = _view_body(c)
    c.expect(",")
    _key(c, "sparse_dim")
    return GatherScatterViewType(tile, view, c.integer(), padding)


_TYPE_READERS: dict[str, Callable[[_Cursor], Type]] = {
    "tile": _tile,
    "ptr": _pointer,
    "tensor_view": _tensor_view,
    "partition_view": _partition_view,
    "strided_view": _strided_view,
    "gather_scatter_view": _gather_scatter_view,
}


def _function_type(c: _Cursor) -> FunctionType:
    """`(a, b) -> (c)` or `(a) -> c`."""
    inputs = _type_list(c)
    if c.token != "->":
        raise c.error("expected '->'")
    c.take()
    results = _type_list(c) if c.token == "(" else (_type(c),)
    return FunctionType(inputs, results)


def _type_list(c: _Cursor) -> tuple[Type, ...]:
    c.nest()
    c.expect("(")
    types: list[Type] = []
    while not c.accept(")"):
        if types:
            c.expect(",")
        types.append(_type(c))
    c.depth -= 1
    return tuple(types)


# -- attributes -------------------------------------------------------------------------------------


def parse_attribute(text: str, aliases: Aliases | None = None) -> Attribute:
    """An attribute from its whole text. Raises LiteralError."""
    cursor = _Cursor(text, aliases)
    found = _attribute(cursor)
    cursor.finish()
    return found


def parse_hints(text: str, aliases: Aliases | None = None) -> OptimizationHintsAttr:
    """`<sm_100 = {latency = 4}>`, with or without `#cuda_tile.optimization_hints` in front."""
    cursor = _Cursor(text, aliases)
    if cursor.kind == "word":
        found = _attribute(cursor)
    else:
        cursor.expect("<")
        found = _hints(cursor)
        cursor.expect(">")
    cursor.finish()
    if not isinstance(found, OptimizationHintsAttr):
        raise LiteralError("expected optimization hints", 0)
    return found


def parse_dense(text: str, type: Type) -> DenseElementsAttr:
    """The elements of a constant from the text `i32: [1, 2]` and the type after it."""
    cursor = _Cursor(text)
    start = cursor.start
    element = _type(cursor)
    cursor.expect(":")
    if not isinstance(type, TileType):
        raise LiteralError(f"expected a tile type for a constant, found {type}", start)
    if element is not type.element:
        raise LiteralError(f"the elements are {element}, the tile holds {type.element}", start)
    found = _dense_elements(cursor, type)
    cursor.finish()
    return found


def _attribute(c: _Cursor) -> Attribute:
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
        return TypeAttr(_type(c))
    if c.kind == "word":
        return _word(c)
    raise c.error("expected an attribute")


def _number(c: _Cursor) -> Attribute:
    """`4`, `4 : i32`, `1.5 : f16`, `0xFF800000 : f32`."""
    text = c.take()
    type: Type = F64 if "." in text else I64
    if c.accept(":"):
        type = _type(c)
    if isinstance(type, ElementType) and type.is_float:
        return FloatAttr(_float_bits(text, type.name, c), type)
    if "." in text:
        raise c.error("expected a floating-point type behind a decimal")
    return IntegerAttr(int(text, 0) if "x" in text else int(text), type)


def _items(c: _Cursor) -> list[Attribute]:
    c.nest()
    c.expect("[")
    items: list[Attribute] = []
    while not c.accept("]"):
        if items:
            c.expect(",")
        items.append(_attribute(c))
    c.depth -= 1
    return items


def _dict(c: _Cursor) -> list[tuple[str, Attribute]]:
    c.nest()
    c.expect("{")
    entries: dict[str, Attribute] = {}
    while not c.accept("}"):
        if entries:
            c.expect(",")
        start = c.start
        key = c.string() if c.kind == "string" else c.take() if c.kind == "word" else None
        if key is None:
            raise c.error("expected an attribute name")
        if key in entries:
            raise LiteralError(f"attribute '{key}' is given twice", start)
        entries[key] = _attribute(c) if c.accept("=") else UNIT
    c.depth -= 1
    return list(entries.items())


def _word(c: _Cursor) -> Attribute:
    word = c.token
    if word in ("true", "false"):
        c.take()
        return BoolAttr(word == "true")
    if word == "unit":
        c.take()
        return UNIT
    name = word.removeprefix("#").removeprefix("cuda_tile.")
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
    return TypeAttr(_type(c))


def _keyword(c: _Cursor, kind: str) -> EnumAttr:
    found = enum_attribute(kind, c.token)
    if found is None:
        raise c.error(f"expected one of {', '.join(KEYWORDS[kind])}")
    c.take()
    return found


def _aliased_or_opaque_attribute(c: _Cursor) -> Attribute:
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c.token, _attribute)
        c.take()
        assert isinstance(found, Attribute)
        return found
    if "." not in c.token:
        raise c.error("expected an attribute, or an alias that the text defines")
    return OpaqueAttr(_balanced(c))


def _div_by(c: _Cursor) -> Attribute:
    divisor = c.integer()
    if not c.accept(","):
        return DivByAttr(divisor)
    c.expect("every")
    every = c.integer()
    c.expect("along")
    return DivByAttr(divisor, every, c.integer())


def _bounded(c: _Cursor) -> Attribute:
    lower = None if c.accept("?") else c.integer()
    c.expect(",")
    upper = None if c.accept("?") else c.integer()
    return BoundedAttr(lower, upper)


def _same_elements(c: _Cursor) -> Attribute:
    return SameElementsAttr(c.integers())


def _hints(c: _Cursor) -> OptimizationHintsAttr:
    entries: dict[str, Attribute] = {}
    while c.token != ">":
        if entries:
            c.expect(",")
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


def _array(c: _Cursor) -> Attribute:
    """`array<i32: 1, 0>`, `array<i32>` when empty."""
    if c.kind != "word":
        raise c.error("expected an element type")
    element = c.take()
    values: list[int] = []
    if c.accept(":"):
        while c.token != ">":
            if values:
                c.expect(",")
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


def _dense(c: _Cursor) -> Attribute:
    start = c.start
    while c.token != ">":
        if c.kind == "end":
            raise c.error("expected '>'")
        c.take()
    return _PendingDense(c.text[start : c.start])


def _typed_dense(c: _Cursor, found: Attribute) -> Attribute:
    if not isinstance(found, _PendingDense):
        return found
    c.expect(":")
    start = c.start
    type = _type(c)
    if not isinstance(type, TileType):
        raise LiteralError(f"expected a tile type, found {type}", start)
    inner = _Cursor(found.text)
    elements = _dense_elements(inner, type)
    inner.finish()
    return elements


_ATTRIBUTE_READERS: dict[str, Callable[[_Cursor], Attribute]] = {
    "div_by": _div_by,
    "bounded": _bounded,
    "same_elements": _same_elements,
    "optimization_hints": _hints,
    "array": _array,
    "dense": _dense,
}


# -- elements of constants --------------------------------------------------------------------------


def _dense_elements(c: _Cursor, type: TileType) -> DenseElementsAttr:
    start = c.start
    if c.kind == "string":
        return DenseElementsAttr(type, _packed_elements(c, type))
    raw: list[int] = []
    shape = _nested(c, type.element, raw)
    if shape and shape != type.shape:
        raise LiteralError(
            f"the elements have shape {list(shape)}, the tile has {list(type.shape)}", start
        )
    return DenseElementsAttr(type, tuple(raw))


def _nested(c: _Cursor, element: Type, raw: list[int]) -> tuple[int, ...]:
    """Reads one number or a bracketed list into `raw`; the shape read."""
    if not c.accept("["):
        raw.append(_element(c, element))
        return ()
    c.nest()
    count, inner = 0, None
    while not c.accept("]"):
        if count:
            c.expect(",")
        start = c.start
        shape = _nested(c, element, raw)
        if inner is not None and shape != inner:
            raise LiteralError("the elements are not of one shape", start)
        inner = shape
        count += 1
    if count == 0:
        raise c.error("expected an element")
    c.depth -= 1
    return (count, *(inner or ()))


def _element(c: _Cursor, element: Type) -> int:
    if not isinstance(element, ElementType):
        raise c.error(f"expected elements of a number type, not {element}")
    if element.name == "i1" and c.token in ("true", "false"):
        return int(c.take() == "true")
    if c.kind != "number":
        raise c.error("expected a number")
    if element.is_float:
        return _float_bits(c.take(), element.name, c)
    start = c.start
    value = c.integer()
    if not -(1 << (element.width - 1)) <= value < 1 << element.width:
        raise LiteralError(f"{value} does not fit in {element}", start)
    if element.name == "i1":
        return int(value != 0)
    # Written unsigned or signed, an integer is kept as the signed number of the same bits.
    return value - (1 << element.width) if value >= 1 << (element.width - 1) else value


def _float_bits(text: str, element: str, c: _Cursor) -> int:
    form = FLOAT_FORMATS[element]
    if "x" in text:
        bits = int(text, 16)
        if bits < 0 or bits >> form.width:
            raise LiteralError(f"{text} does not fit in {element}", max(0, c.start - len(text)))
        return bits
    try:
        return encode_decimal(text, form)
    except ValueError as error:
        raise LiteralError(str(error), max(0, c.start - len(text))) from None


def _packed_elements(c: _Cursor, type: TileType) -> tuple[int, ...]:
    """`"0x0102.."`: the bytes of the elements, little-endian, as MLIR prints large constants."""
    start = c.start
    text = c.string()
    element = type.element
    if not isinstance(element, ElementType) or not re.fullmatch(r"0x([0-9A-Fa-f]{2})*", text):
        raise LiteralError("expected elements as a hexadecimal string", start)
    data = bytes.fromhex(text[2:])
    # Whole bytes, also where elements are packed in memory (i1, f4).
    size = (element.width + 7) // 8
    count = len(data) // size
    if len(data) % size or count not in (1, type.elements):
        raise LiteralError(f"{len(data)} bytes are not the elements of {type}", start)
    signed = element.is_integer
    return tuple(
        int.from_bytes(data[k : k + size], "little", signed=signed)
        for k in range(0, len(data), size)
    )


def symbol_name(token: str) -> str:
    """The name in `@name` or `@"name"`."""
    return unescape(token[2:-1]) if token.startswith('@"') else token[1:]


# -- locations --------------------------------------------------------------------------------------


def parse_location(text: str, aliases: Aliases) -> Location:
    """A location from its text `loc(..)`. Raises LiteralError."""
    cursor = _Cursor(text, aliases)
    found = _location_in_loc(cursor)
    cursor.finish()
    return found


def _location_in_loc(c: _Cursor) -> Location:
    c.expect("loc")
    c.expect("(")
    found = _location(c)
    c.expect(")")
    return found


def _location(c: _Cursor) -> Location:
    c.nest()
    try:
        if c.token == "loc":
            return _location_in_loc(c)
        if c.accept("unknown") or c.accept("?"):
            return UNKNOWN
        if c.kind == "string":
            return _file_or_name(c)
        if c.accept("callsite"):
            return _call_site(c)
        if c.accept("fused"):
            return _fused(c)
        if c.token.startswith("#"):
            return _aliased_location(c)
    finally:
        c.depth -= 1
    raise c.error("expected a location")


def _file_or_name(c: _Cursor) -> Location:
    name = c.string()
    if c.accept(":"):
        line = c.integer()
        c.expect(":")
        column = c.integer()
        if not c.accept("to"):
            return FileLineColLoc(name, line, column)
        end_line = line if c.token == ":" else c.integer()
        c.expect(":")
        return FileLineColLoc(name, line, column, (end_line, c.integer()))
    if c.accept("("):
        child = _location(c)
        c.expect(")")
        return NameLoc(name, child)
    return NameLoc(name)


def _call_site(c: _Cursor) -> Location:
    c.expect("(")
    callee = _location(c)
    c.expect("at")
    caller = _location(c)
    c.expect(")")
    return CallSiteLoc(callee, caller)


def _fused(c: _Cursor) -> Location:
    metadata = None
    if c.token == "<":
        start, level = c.start, 0
        while True:
            level += (c.token == "<") - (c.token == ">")
            if c.kind == "end":
                raise c.error("expected '>'")
            end = c.next
            c.take()
            if level == 0:
                break
        metadata = c.text[start + 1 : end - 1]
    c.expect("[")
    parts: list[Location] = []
    while not c.accept("]"):
        if parts:
            c.expect(",")
        parts.append(_location(c))
    return FusedLoc(tuple(parts), metadata)


def _aliased_location(c: _Cursor) -> Location:
    if c.token == "#cuda_tile.di_loc":
        return _di_loc(c)
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c.token, _location)
        c.take()
        assert isinstance(found, Location)
        return found
    if "." in c.token:
        return OpaqueLoc(_balanced(c))
    raise c.error("expected a location, or an alias that the text defines")


def _di_loc(c: _Cursor) -> Location:
    c.take()
    c.expect("<")
    source = _location(c)
    c.expect("in")
    scope = _di_node(c)
    c.expect(">")
    return DILoc(source, scope)


def _di_node(c: _Cursor) -> DIScope:
    c.nest()
    try:
        if c.aliases is not None and c.token in c.aliases.texts:
            found = c.aliases.resolve(c.token, _di_node)
            c.take()
            if not isinstance(found, DIScope):
                raise c.error("expected a debug-info scope")
            return found
        name = c.token.removeprefix("#").removeprefix("cuda_tile.")
        if name not in ("di_file", "di_compile_unit", "di_subprogram", "di_lexical_block"):
            raise c.error("expected a debug-info scope")
        start = c.start
        c.take()
        c.expect("<")
        if name == "di_file":
            return _di_file(c)
        fields = _di_fields(c)
        return _di_scope(name, fields, start)
    finally:
        c.depth -= 1


def _di_file(c: _Cursor) -> DIFile:
    name = c.string()
    c.expect("in")
    directory = c.string()
    c.expect(">")
    return DIFile(name, directory)


def _di_fields(c: _Cursor) -> dict[str, object]:
    """`file = #di_file, line = 29, name = "f">`."""
    fields: dict[str, object] = {}
    while not c.accept(">"):
        if fields:
            c.expect(",")
        key = c.take()
        c.expect("=")
        if c.kind == "string":
            fields[key] = c.string()
        elif c.kind == "number":
            fields[key] = c.integer()
        else:
            fields[key] = _di_node(c)
    return fields


def _di_scope(name: str, fields: dict[str, object], start: int) -> DIScope:
    def need(key: str, kind: type, default: object = None) -> object:
        found = fields.get(key, default)
        if not isinstance(found, kind):
            raise LiteralError(f"{name} needs {key} = {kind.__name__}", start)
        return found

    file = need("file", DIFile)
    if name == "di_compile_unit":
        return DICompileUnit(file)  # type: ignore[arg-type]
    line = need("line", int)
    if name == "di_lexical_block":
        scope = need("scope", DIScope)
        column = need("column", int, 0)
        return DILexicalBlock(scope, file, line, column)  # type: ignore[arg-type]
    return DISubprogram(
        file,  # type: ignore[arg-type]
        line,  # type: ignore[arg-type]
        need("name", str),  # type: ignore[arg-type]
        need("linkageName", str, ""),  # type: ignore[arg-type]
        need("compileUnit", DICompileUnit),  # type: ignore[arg-type]
        need("scopeLine", int, 0),  # type: ignore[arg-type]
    )
