"""What rules are, and the words that they share.

Place in the flow: beside Module, below the files that hold rules by subject; imports `model`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ..model import Operation, TileType, Value

# Yields what is wrong with an op, as sentences without a position and without the name of the op.
Rule: TypeAlias = Callable[[Operation], Iterator[str]]

# What rules about a region, an entry or a module yield: operations, and what is wrong with each.
Found: TypeAlias = Iterator[tuple[Operation, str]]


def value_of(op: Operation, name: str) -> Value:
    """The value of a single operand or result. Raises KeyError where there is none."""
    assert op.spec is not None
    if any(row.name == name for row in op.spec.operands):
        value = op.operand(name)
        if value is None:
            raise KeyError(name)
        return value
    return op.result_named(name)


def tile_of(op: Operation, name: str) -> TileType:
    """The type of a single operand or result that is a tile. Raises KeyError where there is none."""
    type = value_of(op, name).type
    assert isinstance(type, TileType)
    return type


def dims(tile: TileType) -> str:
    """`64x32`, or `a scalar`."""
    return "x".join(map(str, tile.shape)) or "a scalar"
