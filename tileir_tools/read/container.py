"""A bytecode file: header, sections, and the tables in them.

Place in the flow: bytes -> Module for bytecode; imports `binary`, `model`, `dialect`. Opening a file reads
the header and finds the sections; strings, types, constants and debug records are decoded when they are
asked for, bodies of functions are only located. `bytecode` makes modules of it.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..dialect import VERSIONS
from ..dialect.bytecode import (
    ELEMENT_TAGS,
    ENTRY_ATTRIBUTES_SINCE,
    FUNCTION_ENTRY,
    FUNCTION_HINTS,
    GLOBAL_FLAGS_SINCE,
    MAGIC,
    PADDING,
    POINTER_ATTRIBUTE_SINCE,
    POINTER_ATTRIBUTES,
    SECTION_ALIGNMENT,
    SECTIONS,
    TYPE_FLAGS_SINCE,
    TYPE_TAGS,
    version_key,
)
from ..dialect.enums import KEYWORDS
from ..model import (
    TOKEN,
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    ElementType,
    FunctionType,
    GatherScatterViewType,
    OptimizationHintsAttr,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
)
from ..model.floats import FLOAT_FORMATS
from .binary import Cursor, Table

# Stands for a size or stride that is not static.
_DYNAMIC = -(2**63)
_MAX_TYPE_NESTING = 32


class Section(NamedTuple):
    """Where a section stands: name, offset and size of its contents in bytes."""

    name: str
    offset: int
    size: int


class Function(NamedTuple):
    """A row of the function table; `body` covers the bytes of its operations."""

    name: str
    type: FunctionType
    is_entry: bool
    debug_index: int
    hints: OptimizationHintsAttr | None
    argument_attributes: ArrayAttr | None
    body: Cursor


class GlobalRow(NamedTuple):
    """A row of the global table."""

    name: str
    value: DenseElementsAttr
    alignment: int
    private: bool
    constant: bool


class Container:
    """The tables of one bytecode file.

    Attributes:
        name: what errors call the file.
        version: bytecode version, such as "13.3".
        tag: the third number of the version.
        sections: in file order.
    """

    def __init__(self, data: bytes, name: str):
        """Read header and section table. Raises BytecodeError."""
        self.name = name
        self._data = data
        self.version, self.tag = _header(data, name)
        self.key = version_key(self.version)
        self._file = Cursor(data, 0, name, "header", self.version)
        self.sections = self._section_table()
        self._by_name = {s.name: s for s in self.sections}
        self._strings: Table | None = None
        self._string_values: dict[int, str] = {}
        self._type_items: Table | None = None
        # Types decoded so far, by index.
        self.types: dict[int, Type] = {}
        # Predicates decoded so far, by their bytes.
        self.short_predicates: dict[bytes, Attribute] = {}
        self._type_kinds = _type_kinds(self.key)
        self._open_types: set[int] = set()
        self._constants: Table | None = None
        self._dense: dict[tuple[int, Type | None], DenseElementsAttr] = {}

    # -- sections -----------------------------------------------------------------------------------

    def _section_table(self) -> list[Section]:
        cursor = self._file
        cursor.pos = len(MAGIC) + 4
        found: list[Section] = []
        while True:
            at = cursor.pos
            head = cursor.byte()
            number, aligned = head & 0x7F, bool(head & 0x80)
            if number == 0:
                if cursor.left:
                    raise cursor.error(f"the end mark is followed by {cursor.left} more bytes")
                return found
            name = SECTIONS.get(number)
            if name is None:
                raise cursor.error(
                    f"unknown section number {number}; known: 1 to {max(SECTIONS)}", at
                )
            if any(s.name == name for s in found):
                raise cursor.error(f"section {name} is there twice", at)
            found.append(self._section(cursor, name, aligned, at))

    def _section(self, cursor: Cursor, name: str, aligned: bool, at: int) -> Section:
        length = cursor.varint()
        alignment = cursor.varint() if aligned else 1
        wanted = SECTION_ALIGNMENT.get(name, 1)
        if alignment == 0 or alignment & (alignment - 1):
            raise cursor.error(f"alignment {alignment} of section {name} is no power of two", at)
        if alignment % wanted:
            raise cursor.error(
                f"section {name} must be aligned to {wanted} bytes, found {alignment}", at
            )
        if aligned:
            cursor.align(alignment)
        if length > cursor.left:
            raise cursor.error(
                f"section {name} is said to have {length} bytes, {cursor.left} are left", at
            )
        section = Section(name, cursor.pos, length)
        cursor.pos += length
        return section

    def open(self, name: str) -> Cursor | None:
        """A cursor over a section; None where the file has no such section."""
        section = self._by_name.get(name)
        if section is None:
            return None
        return self._file.part(section.offset, section.offset + section.size, name)

    def _table(self, name: str, what: str, index_size: int) -> Table:
        """The table that a section holds; an empty one where the file has no such section."""
        section = self.open(name)
        if section is None:
            return Table(self._file.part(0, 0, name), what, ())
        return section.table(what, index_size)

    def at_least(self, version: str) -> bool:
        """Whether the file is of this version or newer."""
        return self.key >= version_key(version)

    # -- strings ------------------------------------------------------------------------------------

    def string(self, index: int, cursor: Cursor) -> str:
        """A string; `cursor` is where its number was read, for errors."""
        found = self._string_values.get(index)
        if found is None:
            if self._strings is None:
                self._strings = self._table("String", "strings", 4)
            if index >= len(self._strings):
                raise cursor.error(f"string {index}, but there are {len(self._strings)} strings")
            data = self._strings.bytes(index)
            found = self._string_values[index] = data.decode("utf-8", "surrogateescape")
        return found

    # -- types --------------------------------------------------------------------------------------

    def type(self, index: int, cursor: Cursor) -> Type:
        """A type by its number."""
        found = self.types.get(index)
        if found is not None:
            return found
        if self._type_items is None:
            self._type_items = self._table("Type", "types", 4)
        if index >= len(self._type_items):
            raise cursor.error(f"type {index}, but there are {len(self._type_items)} types")
        if index in self._open_types or len(self._open_types) > _MAX_TYPE_NESTING:
            raise cursor.error(f"type {index} refers to itself")
        self._open_types.add(index)
        item = self._type_items[index]
        found = self.types[index] = self._decode_type(item)
        self._open_types.discard(index)
        if item.left:
            raise item.error(
                f"type {index} is followed by {item.left} bytes that belong to nothing"
            )
        return found

    def _decode_type(self, c: Cursor) -> Type:
        at = c.pos
        tag = c.varint()
        kind = self._type_kinds.get(tag)
        if kind is None:
            raise c.error(_unknown_type(tag), at)
        if isinstance(kind, Type):
            return kind
        if kind == "tile":
            element = self.type(c.varint(), c)
            shape = self._sizes(c, 8)
            if None in shape:
                raise c.error("a tile has no dynamic sizes", at)
            return TileType(shape, element)  # type: ignore[arg-type]
        if kind == "ptr":
            flags = c.varint() if self.at_least(POINTER_ATTRIBUTE_SINCE) else 0
            pointee = self.type(c.varint(), c)
            return PointerType(pointee, self._pointer_attribute(c, flags))
        if kind == "tensor_view":
            return self._tensor_view(c)
        if kind == "function":
            return FunctionType(self._type_list(c), self._type_list(c))
        return self._tile_view(c, kind)

    def _type_list(self, c: Cursor) -> tuple[Type, ...]:
        return tuple(self.type(c.varint(), c) for _ in range(c.count("types")))

    def _sizes(self, c: Cursor, width: int) -> tuple[int | None, ...]:
        """A list of signed numbers of `width` bytes; the smallest one of eight bytes is dynamic."""
        found: tuple[int | None, ...] = c.signed_list("sizes", width)
        for value in found:
            if value < 0:  # type: ignore[operator]
                return tuple(_size_or_dynamic(v, c) for v in found)  # type: ignore[arg-type]
        return found

    def _pointer_attribute(self, c: Cursor, flags: int) -> str | None:
        if not flags & 1:
            return None
        number = c.varint()
        if number >= len(POINTER_ATTRIBUTES):
            raise c.error(f"unknown pointer attribute {number}")
        return POINTER_ATTRIBUTES[number]

    def _tensor_view(self, c: Cursor) -> Type:
        flags = c.varint() if self.at_least(POINTER_ATTRIBUTE_SINCE) else 0
        element = self.type(c.varint(), c)
        shape = self._sizes(c, 8)
        strides = self._sizes(c, 8)
        if len(shape) != len(strides):
            raise c.error(f"a tensor view has {len(shape)} sizes and {len(strides)} strides")
        return TensorViewType(shape, strides, element, self._pointer_attribute(c, flags))

    def _tile_view(self, c: Cursor, name: str) -> Type:
        unified = self.at_least(TYPE_FLAGS_SINCE)
        flags = c.varint() if unified else 0
        tile = self._plain_sizes(c)
        traversal = self._plain_sizes(c) if name == "strided_view" else ()
        view = self.type(c.varint(), c)
        if not isinstance(view, TensorViewType):
            raise c.error(f"expected a tensor_view in a {name}, found {view}")
        sparse = c.varint() if name == "gather_scatter_view" else 0
        dim_map = self._plain_sizes(c) if name != "gather_scatter_view" else ()
        padded = bool(flags & 1) if unified else bool(c.byte())
        padding = self._padding(c) if padded else None
        if name == "partition_view":
            return PartitionViewType(tile, view, dim_map, padding)
        if name == "strided_view":
            return StridedViewType(tile, traversal, view, dim_map, padding)
        return GatherScatterViewType(tile, view, sparse, padding)

    def _plain_sizes(self, c: Cursor) -> tuple[int, ...]:
        return tuple(size for size in self._sizes(c, 4) if size is not None)

    def _padding(self, c: Cursor) -> str:
        number, words = c.varint(), KEYWORDS["padding_value"]
        if number >= len(words):
            raise c.error(f"unknown padding value {number}")
        return words[number]

    # -- constants ----------------------------------------------------------------------------------

    def dense(self, index: int, type: Type | None, cursor: Cursor) -> DenseElementsAttr:
        """The elements of a constant of a type."""
        found = self._dense.get((index, type))
        if found is not None:
            return found
        if self._constants is None:
            self._constants = self._table("Constant", "constants", 8)
        if index >= len(self._constants):
            raise cursor.error(f"constant {index}, but there are {len(self._constants)} constants")
        if not isinstance(type, TileType) or not isinstance(type.element, ElementType):
            raise cursor.error(f"a constant is said to be of type {type}")
        item = self._constants[index]
        data = item.take(item.count("bytes"))
        found = self._dense[index, type] = DenseElementsAttr(type, _elements(data, type, item))
        return found

    # -- globals and functions ----------------------------------------------------------------------

    def producer(self) -> str | None:
        """Who wrote the file."""
        cursor = self.open("Producer")
        return self.string(cursor.varint(), cursor) if cursor else None

    def globals(self) -> list[GlobalRow]:
        cursor = self.open("Global")
        if cursor is None:
            return []
        flagged = self.at_least(GLOBAL_FLAGS_SINCE)
        found = []
        for _ in range(cursor.count("globals", 6 if flagged else 4)):
            name = self._symbol(cursor)
            type = self.type(cursor.varint(), cursor)
            value = self.dense(cursor.varint(), type, cursor)
            alignment = cursor.varint()
            private = cursor.varint() if flagged else 0
            constant = cursor.varint() if flagged else 0
            if private > 1:
                raise cursor.error(f"unknown visibility {private}")
            found.append(GlobalRow(name, value, alignment, bool(private), bool(constant)))
        return found

    def _symbol(self, cursor: Cursor) -> str:
        name = self.string(cursor.varint(), cursor)
        if not name:
            raise cursor.error("a symbol is empty")
        return name

    def functions(self) -> list[Function]:
        """The function table. Bodies are located, not decoded."""
        cursor = self.open("Func")
        if cursor is None:
            raise self._file.error("the section Func is missing", len(MAGIC) + 4)
        found = [self._function(cursor) for _ in range(cursor.count("functions", 5))]
        # Some writers count padding at the end as part of the section.
        if cursor.data[cursor.pos :].strip(PADDING):
            raise cursor.error(f"the functions are followed by {cursor.left} bytes of nothing")
        return found

    def _function(self, c: Cursor) -> Function:
        from .tagged import read_tagged

        name = self._symbol(c)
        at = c.pos
        type = self.type(c.varint(), c)
        if not isinstance(type, FunctionType):
            raise c.error(f"the signature of '{name}' is {type}, no function type", at)
        flags = c.byte()
        debug_index = c.varint()
        is_entry = bool(flags & FUNCTION_ENTRY)
        always = self.at_least(ENTRY_ATTRIBUTES_SINCE)
        hints: OptimizationHintsAttr | None = None
        arguments: ArrayAttr | None = None
        if is_entry and (always or flags & FUNCTION_HINTS):
            at = c.pos
            found = read_tagged(c, self)
            if not isinstance(found, OptimizationHintsAttr):
                raise c.error(f"expected the hints of '{name}'", at)
            hints = found
        if always:
            at = c.pos
            found = read_tagged(c, self)
            if not isinstance(found, ArrayAttr):
                raise c.error(f"expected the argument attributes of '{name}'", at)
            arguments = found
        length = c.varint()
        if length > c.left:
            raise c.error(f"the body of '{name}' has {length} bytes, {c.left} are left")
        body = c.part(c.pos, c.pos + length, "Func")
        c.pos += length
        return Function(name, type, is_entry, debug_index, hints, arguments, body)


def _header(data: bytes, name: str) -> tuple[str, int]:
    """Version and tag. Raises BytecodeError."""
    cursor = Cursor(data, 0, name, "header", None)
    cursor.pos = len(MAGIC)
    major, minor, tag = cursor.byte(), cursor.byte(), cursor.fixed(2)
    version = f"{major}.{minor}"
    if version not in VERSIONS:
        known = f"this version of tileir-tools reads {VERSIONS[0]} to {VERSIONS[-1]}"
        newer = (major, minor) > version_key(VERSIONS[-1])
        advice = "update tileir-tools, or export the kernel for an older version" if newer else ""
        raise cursor.error(
            f"bytecode version {version}; {known}{': ' + advice if advice else ''}", len(MAGIC)
        )
    return version, tag


_KNOWN_TYPES: dict[int, tuple[str, str]] = {
    tag: (name, since) for name, (tag, since) in (*ELEMENT_TAGS.items(), *TYPE_TAGS.items())
}
# Types that are nothing but their tag.
_PLAIN_TYPES: dict[str, Type] = {"token": TOKEN, **{e: ElementType(e) for e in ELEMENT_TAGS}}


@functools.cache
def _type_kinds(version: tuple[int, int]) -> dict[int, Type | str]:
    """What each tag that a version knows stands for: a type, or the name of a kind of types."""
    return {
        tag: _PLAIN_TYPES.get(name, name)
        for tag, (name, since) in _KNOWN_TYPES.items()
        if version >= version_key(since)
    }


def _unknown_type(tag: int) -> str:
    if tag not in _KNOWN_TYPES:
        return f"unknown type tag 0x{tag:02x}"
    name, since = _KNOWN_TYPES[tag]
    return f"type {name} needs version {since}"


def _size_or_dynamic(value: int, c: Cursor) -> int | None:
    if value < 0 and value != _DYNAMIC:
        raise c.error(f"a size or stride of {value} in a type")
    return None if value == _DYNAMIC else value


def _elements(data: bytes, type: TileType, cursor: Cursor) -> tuple[int, ...]:
    """The elements in the data of a constant: one for a splat, else all."""
    element = type.element
    assert isinstance(element, ElementType)
    if element.name == "i1":
        return _packed_bits(data, type, cursor)
    size = (element.width + 7) // 8
    count, rest = divmod(len(data), size)
    if rest or count not in (1, type.elements):
        raise cursor.error(
            f"a constant of type {type} has {len(data)} bytes, "
            f"expected {size} or {size * type.elements}"
        )
    signed = element.is_integer
    found = tuple(
        int.from_bytes(data[k : k + size], "little", signed=signed)
        for k in range(0, len(data), size)
    )
    form = FLOAT_FORMATS.get(element.name)
    if form is not None and any(bits >> form.width for bits in found):
        raise cursor.error(f"an element does not fit in the {form.width} bits of {element}")
    return found


def _packed_bits(data: bytes, type: TileType, cursor: Cursor) -> tuple[int, ...]:
    """Elements of i1: eight in a byte; one byte of all zeros or all ones is a splat."""
    if len(data) == 1 and (data[0] in (0, 0xFF) or type.elements == 1):
        return (data[0] & 1,)
    if len(data) != (type.elements + 7) // 8:
        raise cursor.error(
            f"a constant of type {type} has {len(data)} bytes, "
            f"expected 1 or {(type.elements + 7) // 8}"
        )
    return tuple(data[k >> 3] >> (k & 7) & 1 for k in range(type.elements))
