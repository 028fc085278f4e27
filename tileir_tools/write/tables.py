"""The tables of a bytecode file: strings, types, constants, debug records; attributes with a tag.

Place in the flow: part of Module -> bytecode; imports `model`, `dialect`, `binary`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..dialect import KEYWORDS
from ..dialect.bytecode import (
    ATTRIBUTE_TAGS,
    DEBUG_TAGS,
    ELEMENT_TAGS,
    ENTRY_ATTRIBUTES_SINCE,
    POINTER_ATTRIBUTE_SINCE,
    POINTER_ATTRIBUTES,
    POINTER_ATTRIBUTES_SINCE,
    TYPE_FLAGS_SINCE,
    TYPE_TAGS,
    version_key,
)
from ..model import (
    I32,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    CallSiteLoc,
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
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    GatherScatterViewType,
    IntegerAttr,
    Location,
    OptimizationHintsAttr,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    StridedViewType,
    StringAttr,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    TypeAttr,
    ViewType,
)
from .binary import Table, pad, put_numbers, put_signed, put_varint

_DYNAMIC = -(2**63)
_PADDING = KEYWORDS["padding_value"]


class Tables:
    """Numbers for strings, types and constants of one file.

    `refused` collects what the version cannot say.
    """

    def __init__(self, version: str, refused: dict[str, None]):
        self.version = version
        self.key = version_key(version)
        self.refused = refused
        self._strings = Table()
        self._type_table = Table()
        self._type_numbers: dict[Type, int] = {}
        self._constants = Table()
        self.debug = DebugTable(self)

    def at_least(self, version: str) -> bool:
        return self.key >= version_key(version)

    def refuse(self, what: str, since: str) -> None:
        self.refused[f"{what} (needs {since})"] = None

    def sections(self) -> dict[str, bytes]:
        """The contents of the table sections; to be asked for when everything is encoded."""
        return {
            "Constant": self._constants.encode(8),
            "Debug": self.debug.encode(),
            "Type": self._type_table.encode(4),
            "String": self._strings.encode(4),
        }

    def string(self, value: str) -> int:
        return self._strings.number(value.encode("utf-8", "surrogateescape"))

    # -- types --------------------------------------------------------------------------------------

    def type(self, type: Type) -> int:
        """The number of a type; the types in it get theirs first."""
        found = self._type_numbers.get(type)
        if found is None:
            found = self._type_numbers[type] = self._type_table.number(self._encode_type(type))
        return found

    def _encode_type(self, type: Type) -> bytes:
        out = bytearray()
        if isinstance(type, ElementType):
            tag, since = ELEMENT_TAGS[type.name]
            put_varint(out, tag)
        else:
            kind = _KINDS.get(type.__class__)
            if kind is None:
                self.refused[f"type {type}, which is not known"] = None
                return b""
            tag, since = TYPE_TAGS[kind]
            put_varint(out, tag)
            self._put_type(out, type)
        if version_key(since) > self.key:
            self.refuse(f"type {type}", since)
        return bytes(out)

    def _put_type(self, out: bytearray, type: Type) -> None:
        if isinstance(type, TileType):
            put_varint(out, self.type(type.element))
            put_numbers(out, type.shape, 8)
        elif isinstance(type, PointerType):
            self._put_pointer_flags(out, type.attribute, type)
            put_varint(out, self.type(type.pointee))
            self._put_pointer_attribute(out, type.attribute)
        elif isinstance(type, TensorViewType):
            self._put_pointer_flags(out, type.attribute, type)
            put_varint(out, self.type(type.element))
            for sizes in (type.shape, type.strides):
                put_numbers(out, tuple(_DYNAMIC if s is None else s for s in sizes), 8)
            self._put_pointer_attribute(out, type.attribute)
        elif isinstance(type, FunctionType):
            for types in (type.inputs, type.results):
                put_varint(out, len(types))
                for item in types:
                    put_varint(out, self.type(item))
        elif isinstance(type, ViewType):
            self._put_view(out, type)

    def _put_pointer_flags(self, out: bytearray, attribute: str | None, type: Type) -> None:
        if self.at_least(POINTER_ATTRIBUTE_SINCE):
            put_varint(out, 0 if attribute is None else 1)
        if attribute is not None and not self.at_least(POINTER_ATTRIBUTES_SINCE[attribute]):
            self.refuse(f"type {type}", POINTER_ATTRIBUTES_SINCE[attribute])

    def _put_pointer_attribute(self, out: bytearray, attribute: str | None) -> None:
        if attribute is not None and self.at_least(POINTER_ATTRIBUTE_SINCE):
            put_varint(out, POINTER_ATTRIBUTES.index(attribute))

    def _put_view(self, out: bytearray, type: ViewType) -> None:
        flagged = self.at_least(TYPE_FLAGS_SINCE)
        if flagged:
            put_varint(out, 0 if type.padding is None else 1)
        put_numbers(out, type.tile_shape, 4)
        if isinstance(type, StridedViewType):
            put_numbers(out, type.traversal_strides, 4)
        put_varint(out, self.type(type.tensor_view))
        if isinstance(type, GatherScatterViewType):
            put_varint(out, type.sparse_dim)
        elif isinstance(type, (PartitionViewType, StridedViewType)):
            put_numbers(out, type.dim_map, 4)
        if not flagged:
            out.append(type.padding is not None)
        if type.padding is not None:
            put_varint(out, _PADDING.index(type.padding))

    # -- constants ----------------------------------------------------------------------------------

    def dense(self, value: DenseElementsAttr) -> int:
        """The number of a constant's data."""
        data = _packed(value)
        out = bytearray()
        put_varint(out, len(data))
        return self._constants.number(bytes(out) + data)

    # -- attributes ---------------------------------------------------------------------------------

    def put_tagged(self, out: bytearray, value: Attribute) -> None:
        """An attribute with its tag."""
        if isinstance(value, BoolAttr):
            out += bytes((ATTRIBUTE_TAGS["bool"], value.value))
        elif isinstance(value, IntegerAttr):
            self._put_integer(out, value)
        elif isinstance(value, FloatAttr):
            self._put_float(out, value)
        elif isinstance(value, StringAttr):
            out.append(ATTRIBUTE_TAGS["string"])
            put_varint(out, self.string(value.value))
        elif isinstance(value, TypeAttr):
            out.append(ATTRIBUTE_TAGS["type"])
            put_varint(out, self.type(value.value))
        elif isinstance(value, ArrayAttr):
            out.append(ATTRIBUTE_TAGS["array"])
            self.put_array(out, value)
        elif isinstance(value, DictAttr):
            out.append(ATTRIBUTE_TAGS["dict"])
            self.put_dictionary(out, value)
        elif isinstance(value, OptimizationHintsAttr):
            out.append(ATTRIBUTE_TAGS["hints"])
            self.put_hints(out, value)
        else:
            self._put_predicate(out, value)

    def put_array(self, out: bytearray, value: ArrayAttr) -> None:
        put_varint(out, len(value.items))
        for item in value.items:
            self.put_tagged(out, item)

    def put_dictionary(self, out: bytearray, value: DictAttr) -> None:
        put_varint(out, len(value.items))
        for key, item in value.items:
            put_varint(out, self.string(key))
            self.put_tagged(out, item)

    def put_hints(self, out: bytearray, value: OptimizationHintsAttr) -> None:
        """Hints by target. Their integers are i64 in the model and, as cuda-tile writes them, i32 here."""
        targets = [(arch, _narrowed(entries)) for arch, entries in value.value.items]
        self.put_dictionary(out, DictAttr(tuple(targets)))

    def _put_integer(self, out: bytearray, value: IntegerAttr) -> None:
        type = value.type
        assert isinstance(type, ElementType)
        out.append(ATTRIBUTE_TAGS["integer"])
        put_varint(out, self.type(type))
        put_varint(out, value.value & ((1 << type.width) - 1))

    def _put_float(self, out: bytearray, value: FloatAttr) -> None:
        out.append(ATTRIBUTE_TAGS["float"])
        put_varint(out, self.type(value.type))
        if value.type.width <= 8:
            out.append(value.bits)
        else:
            put_signed(out, value.bits - (1 << 64) if value.bits >> 63 else value.bits)

    def _put_predicate(self, out: bytearray, value: Attribute) -> None:
        if isinstance(value, SameElementsAttr):
            out.append(ATTRIBUTE_TAGS["same_elements"])
            put_numbers(out, value.values, 8)
            return
        if isinstance(value, DivByAttr):
            out.append(ATTRIBUTE_TAGS["div_by"])
            put_varint(out, value.divisor)
            pair = (value.every, value.along)
        elif isinstance(value, BoundedAttr):
            out.append(ATTRIBUTE_TAGS["bounded"])
            pair = (value.lower, value.upper)
        else:
            self.refused[f"an attribute of kind {type(value).__name__}"] = None
            return
        out.append((pair[0] is not None) | (pair[1] is not None) << 1)
        for number in pair:
            if number is not None:
                put_signed(out, number)


def _narrowed(entries: Attribute) -> Attribute:
    if not isinstance(entries, DictAttr):
        return entries
    narrow = [
        (key, IntegerAttr(v.value, I32) if isinstance(v, IntegerAttr) and _fits(v) else v)
        for key, v in entries.items
    ]
    return DictAttr(tuple(narrow))


def _fits(value: IntegerAttr) -> bool:
    return -(2**31) <= value.value < 2**31


_KINDS: dict[type, str] = {
    PointerType: "ptr",
    TileType: "tile",
    TensorViewType: "tensor_view",
    PartitionViewType: "partition_view",
    FunctionType: "function",
    TokenType: "token",
    GatherScatterViewType: "gather_scatter_view",
    StridedViewType: "strided_view",
}


def _packed(value: DenseElementsAttr) -> bytes:
    """The data of a constant: one element for a splat, else all, little-endian."""
    element = value.type.element
    assert isinstance(element, ElementType)
    if element.name == "i1":
        if value.is_splat:
            return b"\xff" if value.raw[0] else b"\x00"
        bits = sum(bit << k for k, bit in enumerate(value.raw))
        return bits.to_bytes((len(value.raw) + 7) // 8, "little")
    size = (element.width + 7) // 8
    mask = (1 << (8 * size)) - 1
    return b"".join((raw & mask).to_bytes(size, "little") for raw in value.raw)


class DebugTable:
    """Debug records, and for each function the records of its operations."""

    def __init__(self, tables: Tables):
        self._tables = tables
        self._records = Table(first=1)
        self._numbers: dict[Location | DIScope, int] = {}
        self._lists: list[list[int]] = []

    def start(self, locations: Iterable[Location]) -> int:
        """The number of a function's list (from 1); 0 where none of its locations can be said."""
        numbers = [self._number(location) for location in locations]
        if not any(numbers):
            return 0
        self._lists.append(numbers)
        return len(self._lists)

    def encode(self) -> bytes:
        if not self._lists:
            return b""
        out = bytearray()
        put_varint(out, len(self._lists))
        pad(out, 4)
        start = 0
        for numbers in self._lists:
            out += start.to_bytes(4, "little")
            start += len(numbers)
        put_varint(out, start)
        pad(out, 8)
        for numbers in self._lists:
            for number in numbers:
                out += number.to_bytes(8, "little")
        self._records.put(out, 4)
        return bytes(out)

    def _number(self, node: Location | DIScope) -> int:
        """The number of a record; 0 for what bytecode cannot say."""
        found = self._numbers.get(node)
        if found is None:
            data = self._encode(node)
            found = self._numbers[node] = self._records.number(data) if data else 0
        return found

    def _encode(self, node: Location | DIScope) -> bytes:
        out = bytearray()
        string, number = self._tables.string, self._number
        if isinstance(node, DILoc) and isinstance(node.source, FileLineColLoc):
            source = node.source
            fields = [number(node.scope), string(source.file), source.line, source.column]
            out.append(DEBUG_TAGS["loc"])
        elif isinstance(node, CallSiteLoc):
            fields = [number(node.callee), number(node.caller)]
            out.append(DEBUG_TAGS["callsite"])
        elif isinstance(node, DIFile):
            fields = [string(node.name), string(node.directory)]
            out.append(DEBUG_TAGS["file"])
        elif isinstance(node, DICompileUnit):
            fields = [number(node.file)]
            out.append(DEBUG_TAGS["compile_unit"])
        elif isinstance(node, DILexicalBlock):
            fields = [number(node.scope), number(node.file), node.line, node.column]
            out.append(DEBUG_TAGS["lexical_block"])
        elif isinstance(node, DISubprogram):
            fields = self._subprogram(node)
            out.append(DEBUG_TAGS["subprogram"])
        else:
            return b""
        for field in fields:
            put_varint(out, field)
        return bytes(out)

    def _subprogram(self, node: DISubprogram) -> list[int]:
        string, number = self._tables.string, self._number
        fields = [number(node.file), node.line, string(node.name), string(node.linkage_name)]
        fields += [number(node.compile_unit), node.scope_line]
        if self._tables.at_least(ENTRY_ATTRIBUTES_SINCE):
            # Flags that nothing uses yet.
            fields.append(0)
        return fields
