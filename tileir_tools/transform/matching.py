"""Questions about values that several patterns ask.

Place in the flow: part of transform; imports `model`.
"""

from __future__ import annotations

from ..model import DenseElementsAttr, ElementType, Operation, TileType, Value


def producer(value: Value, name: str) -> Operation | None:
    """The operation that gives a value where it is of this name."""
    op = value.defining_op
    return op if op is not None and op.name == name else None


def constant_value(value: Value) -> DenseElementsAttr | None:
    """The elements of a value that is a constant."""
    op = producer(value, "constant")
    if op is None:
        return None
    found = op.attributes["value"]
    assert isinstance(found, DenseElementsAttr)
    return found


def constant_integer(value: Value) -> int | None:
    """The integer that every element of a constant is."""
    elements = constant_value(value)
    if elements is None or not elements.is_splat:
        return None
    element = elements.type.element
    return elements.raw[0] if isinstance(element, ElementType) and element.is_integer else None


def is_bool(value: Value, wanted: bool) -> bool:
    """Whether a value is the constant true (or false) in every element."""
    elements = constant_value(value)
    if elements is None or str(elements.type.element) != "i1":
        return False
    return elements.is_splat and bool(elements.raw[0]) is wanted


def negated(value: Value) -> Value | None:
    """`x` where a value is `xori x, true`."""
    op = producer(value, "xori")
    return op.operands[0] if op is not None and is_bool(op.operands[1], True) else None


def tile_type(value: Value) -> TileType:
    """The type of a value that must be a tile."""
    assert isinstance(value.type, TileType)
    return value.type
