"""Making the operations that patterns put in place of others.

Place in the flow: part of transform; imports `model`, `dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..dialect import OPS
from ..model import (
    I1,
    Attribute,
    Block,
    DenseElementsAttr,
    Location,
    Operation,
    Region,
    TileType,
    Type,
    Value,
)


def make(
    name: str,
    operands: Sequence[Value],
    results: Sequence[Type],
    location: Location,
    attributes: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """An operation whose operands are all single, or all in one group of any number."""
    spec = OPS[name]
    segments = None if spec.single_operands else (len(operands),)
    return Operation(
        name, spec, operands, results, dict(attributes or {}), regions, segments, location
    )


def constant(elements: DenseElementsAttr, location: Location) -> Operation:
    return make("constant", (), (elements.type,), location, {"value": elements})


def true_like(value: Value, location: Location) -> Operation:
    """The constant true in the shape of a tile."""
    assert isinstance(value.type, TileType)
    return constant(DenseElementsAttr(TileType(value.type.shape, I1), (1,)), location)


def new_if(
    condition: Value, types: Sequence[Type], branches: Sequence[Region], location: Location
) -> Operation:
    """An `if` with a then and an else; an empty region is no else."""
    return make("if", (condition,), types, location, None, branches)


def take_region(op: Operation, index: int) -> Region:
    """A region with the blocks of one of an operation's regions, which is empty from now on."""
    old = op.regions[index]
    blocks, old.blocks = old.blocks, []
    return Region(blocks)


def empty_block() -> Region:
    """A region with one block without operations."""
    return Region([Block()])
