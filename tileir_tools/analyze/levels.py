"""The levels at which two kernels can be equal, and what each level forgets.

Place in the flow: Module -> **facts**; imports `model`, `dialect`, `dataflow` and the printer's
literals. `Terms` says how a level writes the types, attributes and operations of a dataflow graph
down; `digest` hashes what it writes. Every level forgets at least what the one before it forgets,
so that what is equal at one level is equal at all that follow:

- `exact`: nothing but names of values, places in the source, and the module around the entry.
- `names`: the entry's symbol, and with it everything that comparing two kernels normalises away:
  repeated and dead computations, the order of independent operations, operands whose order means
  nothing, promises that follow from the code, hints under another key that resolve alike.
- `hints`: optimization hints, of the entry and of operations.
- `dtype`: number formats. Conversions between numbers are looked through, integer and
  floating-point arithmetic is one, rounding modes and signedness are gone, floating-point constants
  keep four significant bits, and of a promised divisibility only that there is one.
- `sizes`: shapes (ranks stay), constants, promises, static against dynamic sizes and strides.
- `structure`: arithmetic. What stays is described in `structure`.
"""

from __future__ import annotations

import math

from ..dialect import OPS
from ..model import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    ElementType,
    EnumAttr,
    FloatAttr,
    GatherScatterViewType,
    IntegerAttr,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
    ViewType,
)
from ..model.floats import FLOAT_FORMATS
from ..write.literals import attribute_text
from .dataflow import Node

EXACT, NAMES, HINTS, DTYPE, SIZES, STRUCTURE = range(6)

# From the finest to the coarsest.
LEVELS: tuple[str, ...] = ("exact", "names", "hints", "dtype", "sizes", "structure")

# Conversions between numbers: what another number format brings.
_CONVERSIONS = frozenset({"ftof", "ftoi", "itof", "exti", "trunci"})

# Changes of shape that come and go with the sizes of tiles.
_SPREADS = frozenset({"reshape", "broadcast"})

# Operation on integers or floating-point numbers -> what both are.
_TWINS: dict[str, str] = {
    f"{stem}{ending}": stem
    for stem in ("abs", "add", "cmp", "div", "max", "min", "mma", "mul", "neg", "rem", "sub")
    for ending in "if"
    if f"{stem}{ending}" in OPS
}

_OF_NUMBERS = frozenset(
    "comparison_ordering fast_acc flush_to_zero propagate_nan rounding_mode saturating signedness "
    "signedness_lhs signedness_rhs".split()
)
_OF_SIZES = frozenset({"#segments", "alignment", "identities", "inbounds", "overflow"})

# Significant bits that are left of a floating-point constant: fewer than any common format has.
_BITS = 4


class Terms:
    """How one level writes types, attributes and operations; each is worked out once."""

    def __init__(self, level: int):
        self.level = level
        self._types: dict[Type, str] = {}
        self._lists: dict[tuple[tuple[str, Attribute], ...], str] = {}
        # Node -> what stands for it; change of shape -> what it starts from.
        self._passed: dict[Node, Node] = {}
        self._sources: dict[Node, Node] = {}

    # -- types ------------------------------------------------------------------------------------

    def type(self, type: Type) -> str:
        found = self._types.get(type)
        if found is None:
            found = self._types[type] = str(type) if self.level < DTYPE else self._kind(type)
        return found

    def unpadded(self, type: Type) -> str:
        """The type of a view of which only what lies inside the tensor is touched."""
        text = self.type(type)
        padding = type.padding if isinstance(type, ViewType) else None
        return text.replace(f"padding_value = {padding}, ", "", 1) if padding else text

    def _kind(self, type: Type) -> str:
        """A type without its number format, from `sizes` on without its sizes."""
        if isinstance(type, ElementType):
            return "i1" if type.name == "i1" else "number"
        if isinstance(type, PointerType):
            return f"ptr<{type.attribute or ''}>"
        if isinstance(type, TileType):
            return f"tile<{self._shape(type.shape)} {self._kind(type.element)}>"
        if isinstance(type, TensorViewType):
            if self.level >= SIZES:
                return f"tensor_view<{type.rank}>"
            return f"tensor_view<{type.shape} {type.strides} {type.attribute}>"
        if isinstance(type, ViewType):
            return self._view(type)
        return str(type)

    def _view(self, type: ViewType) -> str:
        padding = f"padding_value = {type.padding}, " if type.padding else ""
        text = f"{self._shape(type.tile_shape)} {padding}{self._kind(type.tensor_view)}"
        if isinstance(type, PartitionViewType):
            return f"partition_view<{text} {type.dim_map}>"
        if isinstance(type, StridedViewType):
            strides = self._shape(type.traversal_strides)
            return f"strided_view<{text} {strides} {type.dim_map}>"
        if isinstance(type, GatherScatterViewType):
            return f"gather_scatter_view<{text} {type.sparse_dim}>"
        return str(type)

    def _shape(self, shape: tuple[int, ...]) -> str:
        return str(len(shape)) if self.level >= SIZES else "x".join(map(str, shape))

    # -- operations -------------------------------------------------------------------------------

    def op(self, name: str) -> str:
        return name if self.level < DTYPE else _TWINS.get(name, name)

    def passed(self, node: Node) -> Node:
        """A node, or what it is made of where the level does not see what makes it."""
        if self.level < DTYPE:
            return node
        known = self._passed
        chain = [node]
        while chain[-1] not in known and _changes_form(chain[-1]):
            chain.append(chain[-1].operands[0])
        for one in reversed(chain):
            if one not in known:
                known[one] = self._look_through(one)
        return known[node]

    def _look_through(self, node: Node) -> Node:
        """`passed` for a node whose operands are known."""
        if not _changes_form(node):
            return node
        source = self._passed[node.operands[0]]
        if node.name in _CONVERSIONS or self.level >= SIZES:
            return source
        # A conversion between two changes of shape keeps the graph from making one of both.
        if source.name == node.name:
            source = self._sources[source]
        self._sources[node] = source
        return source if self.type(source.type) == self.type(node.type) else node

    def operands(self, node: Node) -> tuple[Node, ...]:
        """The operands of a node that count, for a node that is not looked through."""
        if self.level >= SIZES and node.name == "make_tensor_view":
            # A size or stride may be in the type as well: whether it is belongs to the sizes.
            return node.operands[:1]
        source = self._sources.get(node)
        return node.operands if source is None else (source,)

    def is_constant(self, node: Node) -> bool:
        """Whether a node is a constant of which nothing is left."""
        return self.level >= SIZES and node.name == "constant"

    # -- attributes -------------------------------------------------------------------------------

    def attributes(self, attributes: tuple[tuple[str, Attribute], ...]) -> str:
        """The attributes of an operation that count."""
        found = self._lists.get(attributes)
        if found is None:
            texts = [(name, self._attribute(name, value)) for name, value in attributes]
            found = ", ".join([f"{name}={text}" for name, text in texts if text is not None])
            self._lists[attributes] = found
        return found

    def _attribute(self, name: str, value: Attribute) -> str | None:
        if isinstance(value, DenseArrayAttr) and name == "inbounds" and not any(value.values):
            return None
        if self.level >= DTYPE and name in _OF_NUMBERS:
            return None
        if self.level >= SIZES and name in _OF_SIZES:
            return None
        if self.level < DTYPE:
            return attribute_text(value)
        return self._plain(value)

    def _plain(self, value: Attribute) -> str:
        """An attribute without number formats."""
        if isinstance(value, ArrayAttr):
            return f"[{', '.join(map(self._plain, value.items))}]"
        if isinstance(value, DenseElementsAttr):
            numbers = " ".join([_plain_number(raw, value.type.element) for raw in value.raw])
            return f"{self._kind(value.type)} {'' if self.level >= SIZES else numbers}"
        if isinstance(value, FloatAttr):
            return _plain_number(value.bits, value.type)
        if isinstance(value, IntegerAttr):
            return _plain_number(value.value, value.type)
        if isinstance(value, EnumAttr) and value.value == "addf":
            return "add"
        return attribute_text(value)

    def promise(self, text: str) -> str:
        """A promise; a divisibility is counted in elements, and so a matter of their size."""
        return "div_by" if self.level >= DTYPE and text.startswith("div_by") else text


def _changes_form(node: Node) -> bool:
    """Whether a node is one value in another number format or shape."""
    return len(node.operands) == 1 and (node.name in _CONVERSIONS or node.name in _SPREADS)


def _plain_number(raw: int, element: Type) -> str:
    """A number as all formats write it: few digits, and no more than the largest one."""
    form = FLOAT_FORMATS.get(str(element))
    if form is None:
        width = element.width if isinstance(element, ElementType) else 64
        low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
        if width > 1 and raw in (low, high):
            return "lowest" if raw == low else "highest"
        return str(raw)
    value = DenseElementsAttr(TileType((), element), (raw,)).values[0]
    if value != value:
        return "nan"
    if math.isinf(value):
        return "highest" if value > 0 else "lowest"
    fraction, exponent = math.frexp(value)
    rounded = math.ldexp(round(fraction * (1 << _BITS)), exponent - _BITS)
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)
