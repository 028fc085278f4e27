"""Rules of `assume`: what a predicate can be said of.

Place in the flow: beside Module; imports `model`. Source of the facts: the predicate attributes of the dialect
(NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import (
    BoundedAttr,
    DivByAttr,
    ElementType,
    Operation,
    PointerType,
    SameElementsAttr,
    TensorViewType,
    TileType,
    Type,
)
from .rules import Rule

# What the official implementation can hold; a larger divisor would be a valid promise.
_LARGEST_DIVISOR = 1 << 62


def _assume(op: Operation) -> Iterator[str]:
    predicate, type = op.attributes["predicate"], op.operands[0].type
    if isinstance(predicate, DivByAttr):
        yield from _div_by(predicate, type)
    elif isinstance(predicate, SameElementsAttr):
        yield from _same_elements(predicate, type)
    elif isinstance(predicate, BoundedAttr):
        yield from _bounded(predicate, type)


def _div_by(predicate: DivByAttr, type: Type) -> Iterator[str]:
    divisor = predicate.divisor
    if divisor <= 0 or divisor & (divisor - 1):
        yield f"the divisor of div_by must be a power of two, found {divisor}"
    elif divisor > _LARGEST_DIVISOR:
        yield f"the divisor of div_by must not exceed {_LARGEST_DIVISOR}, found {divisor}"
    if isinstance(type, TensorViewType):
        if predicate.every is not None:
            yield f"'every' and 'along' of div_by do not go with a tensor_view, found {type}"
    elif not _holds_addresses(type):
        yield f"div_by is about integers, pointers or a tensor_view, found {type}"
    elif isinstance(type, TileType) and predicate.every is not None:
        yield from _along(predicate, type)


def _along(predicate: DivByAttr, tile: TileType) -> Iterator[str]:
    every, along = predicate.every, predicate.along
    assert every is not None
    if along is None or not 0 <= along < tile.rank:
        yield f"'along' of div_by is {along}, which is no dimension of {tile}"
    elif not 0 <= every <= tile.shape[along]:
        yield f"'every' of div_by is {every}, dimension {along} of {tile} has {tile.shape[along]} elements"


def _holds_addresses(type: Type) -> bool:
    """Whether a type is a tile of integers or pointers."""
    if not isinstance(type, TileType):
        return False
    if isinstance(type.element, ElementType):
        return type.element.is_integer
    return isinstance(type.element, PointerType)


def _same_elements(predicate: SameElementsAttr, type: Type) -> Iterator[str]:
    if not isinstance(type, TileType) or not _holds_addresses(type):
        yield f"same_elements is about a tile of integers or pointers, found {type}"
        return
    if len(predicate.values) != type.rank:
        yield f"{predicate} has {len(predicate.values)} sizes, {type} has {type.rank} dimensions"
        return
    for k, (group, size) in enumerate(zip(predicate.values, type.shape)):
        if not 0 <= group <= size:
            yield f"size {k} of {predicate} is {group}, it must be in 0..{size}"


def _bounded(predicate: BoundedAttr, type: Type) -> Iterator[str]:
    element = type.element if isinstance(type, TileType) else None
    if not isinstance(element, ElementType) or not element.is_integer:
        yield f"bounded is about a tile of integers, found {type}"
        return
    lowest, highest = -(1 << (element.width - 1)), (1 << (element.width - 1)) - 1
    for what, bound in (("lower", predicate.lower), ("upper", predicate.upper)):
        if bound is not None and not lowest <= bound <= highest:
            yield f"the {what} bound {bound} is none of {element}, which holds {lowest}..{highest}"
    lower, upper = predicate.lower, predicate.upper
    if lower is not None and upper is not None and lower > upper:
        yield f"the lower bound {lower} is above the upper bound {upper}"


RULES: dict[str, Rule] = {"assume": _assume}
