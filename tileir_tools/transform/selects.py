"""Patterns on `select`.

Place in the flow: part of transform; imports `build`, `matching`, `rewriter`, `model`. Those of the dialect
(NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from ..model import DenseElementsAttr, ElementType, EnumAttr, Operation, Value
from .build import constant, make, true_like
from .matching import constant_integer, constant_value, is_bool, tile_type
from .rewriter import Rewriter


def not_of_condition(op: Operation, rewriter: Rewriter) -> bool:
    """`c ? false : true` is `xori c, true`."""
    condition, yes, no = op.operands
    if not (is_bool(yes, False) and is_bool(no, True)):
        return False
    inverse = make("xori", (condition, no), (op.result.type,), op.location)
    rewriter.insert_before(op, inverse)
    rewriter.replace(op, inverse.results)
    return True


def constants(op: Operation, rewriter: Rewriter) -> bool:
    """A choice between constants, element by element."""
    found = [constant_value(value) for value in op.operands]
    condition, yes, no = found
    if condition is None or yes is None or no is None:
        return False
    count = max(len(elements.raw) for elements in (condition, yes, no))
    chosen = tuple(
        y if c else n for c, y, n in zip(*(_spread(e, count) for e in (condition, yes, no)))
    )
    folded = constant(DenseElementsAttr(tile_type(op.result), chosen), op.location)
    rewriter.insert_before(op, folded)
    rewriter.replace(op, folded.results)
    return True


def _spread(elements: DenseElementsAttr, count: int) -> tuple[int, ...]:
    return elements.raw * count if elements.is_splat else elements.raw


def extension_of_condition(op: Operation, rewriter: Rewriter) -> bool:
    """`c ? 1 : 0` is `exti c unsigned`; `c ? 0 : 1` the same of the negated condition."""
    condition, yes, no = op.operands
    element = tile_type(op.result).element
    if not (isinstance(element, ElementType) and element.is_integer and element.width > 1):
        return False
    arms = (constant_integer(yes), constant_integer(no))
    if arms not in ((1, 0), (0, 1)):
        return False
    if arms == (0, 1):
        condition = _insert_not(op, condition, rewriter)
    unsigned = {"signedness": EnumAttr("signedness", "unsigned")}
    extended = make("exti", (condition,), (op.result.type,), op.location, unsigned)
    rewriter.insert_before(op, extended)
    rewriter.replace(op, extended.results)
    return True


def _insert_not(anchor: Operation, condition: Value, rewriter: Rewriter) -> Value:
    true = rewriter.insert_before(anchor, true_like(condition, anchor.location))
    inverse = make("xori", (condition, true.result), (condition.type,), anchor.location)
    return rewriter.insert_before(anchor, inverse).result
