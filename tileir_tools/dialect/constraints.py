"""What the constraint of an operand or a result allows, as data: kind of type, element types, rank.

Place in the flow: data beside the whole flow; `kinds` (what every reader makes sure of) and `verify` consult
it. Imports `model.types`. Source of the facts: the type constraints of the dialect's public definition
(NVIDIA/cuda-tile, 13.3) and, for `fnv8E5M3FNU` and the ops of 13.4 and 13.5, what tileirdisasm 13.5.37
accepts.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.types import (
    ElementType,
    GatherScatterViewType,
    OpaqueType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    ViewType,
)


class Constraint(NamedTuple):
    """One constraint of the op table.

    `kind` is the class of the type, `elements` the element types of a tile (None: any), `pointers` whether
    its elements are pointers, `scalar` whether it must have no dimensions; `words` is how an error says it.
    """

    words: str
    kind: type[Type]
    elements: frozenset[str] | None = None
    pointers: bool = False
    scalar: bool = False

    def allows(self, type: Type) -> bool:
        """Whether a type meets the constraint; elements that this version does not know meet all."""
        if not isinstance(type, self.kind):
            return False
        if not isinstance(type, TileType):
            return True
        if self.scalar and type.shape:
            return False
        if isinstance(type.element, OpaqueType):
            return True
        if isinstance(type.element, PointerType):
            return self.pointers or self.elements is None
        if self.elements is None:
            return not self.pointers
        return isinstance(type.element, ElementType) and type.element.name in self.elements


def _tile(elements: str, scalar: bool = False) -> Constraint:
    names = elements.split()
    listed = " or ".join(names)
    words = f"a tile of one {listed}" if scalar else f"a tile of {listed}"
    return Constraint(words, TileType, frozenset(names), scalar=scalar)


_INTEGERS = "i1 i8 i16 i32 i64"
# The floats that arithmetic takes; the others only convert, move and multiply as matrices.
_FLOATS = "f16 bf16 f32 f64"
_ALL_FLOATS = f"{_FLOATS} tf32 f8E4M3FN f8E5M2 f8E8M0FNU f4E2M1FN fnv8E5M3FNU"

# Name in the op table -> what it allows.
CONSTRAINTS: dict[str, Constraint] = {
    "any": Constraint("a value", Type),
    "token": Constraint("a token", TokenType),
    "tensor_view": Constraint("a tensor_view", TensorViewType),
    "view": Constraint("a view", ViewType),
    "partition_view": Constraint("a partition_view", PartitionViewType),
    "strided_view": Constraint("a strided_view", StridedViewType),
    "gather_scatter_view": Constraint("a gather_scatter_view", GatherScatterViewType),
    "tile": Constraint("a tile", TileType),
    "ptr": Constraint("a tile of pointers", TileType, pointers=True),
    "scalar_ptr": Constraint("a tile of one pointer", TileType, pointers=True, scalar=True),
    "bool": _tile("i1"),
    "scalar_bool": _tile("i1", scalar=True),
    "int": _tile(_INTEGERS),
    "scalar_int": _tile(_INTEGERS, scalar=True),
    "int_or_i4": _tile(f"{_INTEGERS} i4"),
    "int_to_32": _tile("i1 i8 i16 i32"),
    "int8": _tile("i8"),
    "int32": _tile("i32"),
    "int64": _tile("i64"),
    "scalar_int32": _tile("i32", scalar=True),
    "float": _tile(_FLOATS),
    "float32": _tile("f32"),
    "any_float": _tile(_ALL_FLOATS),
    "number": _tile(f"{_INTEGERS} {_ALL_FLOATS}"),
    "number_or_i4": _tile(f"{_INTEGERS} i4 {_ALL_FLOATS}"),
    "mma_float": _tile(f"{_FLOATS} tf32 f8E4M3FN f8E5M2"),
    "mma_accumulator": _tile("f16 f32 f64"),
    "scaled_float": _tile("f8E4M3FN f8E5M2 f4E2M1FN"),
    "scale": _tile("f8E4M3FN f8E8M0FNU fnv8E5M3FNU"),
}

# Constraints about tiles only.
TILE_CONSTRAINTS = frozenset(name for name, c in CONSTRAINTS.items() if c.kind is TileType)
