"""Operations that are values that exist already, or are said more simply where they stand.

Place in the flow: part of transform; imports `matching`, `model`. A fold gives the values that stand for the
results, an empty list where it changed the operation itself, None where it does not apply. They are those
of the dialect (NVIDIA/cuda-tile, 13.3): `assume`, `if` and `select` have folds, nothing else has.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model import Operation, Value
from .matching import is_bool, negated, producer

Fold = Callable[[Operation], "list[Value] | None"]


def _assume(op: Operation) -> list[Value] | None:
    """The same promise twice in a row."""
    inner = producer(op.operands[0], "assume")
    if inner is None or inner.attributes["predicate"] is not op.attributes["predicate"]:
        return None
    return [inner.result]


def _if(op: Operation) -> list[Value] | None:
    """A negated condition: the branches change places."""
    then, other = op.regions
    if other.empty:
        return None
    condition = negated(op.operands[0])
    if condition is None:
        return None
    op.set_operand(0, condition)
    then.blocks, other.blocks = other.blocks, then.blocks
    for region in (then, other):
        for block in region.blocks:
            block.parent = region
    return []


def _select(op: Operation) -> list[Value] | None:
    for rule in _SELECT_RULES:
        found = rule(op)
        if found is not None:
            return found
    return None


def _same_arms(op: Operation) -> list[Value] | None:
    _, yes, no = op.operands
    return [yes] if yes is no else None


def _constant_condition(op: Operation) -> list[Value] | None:
    condition, yes, no = op.operands
    if is_bool(condition, True):
        return [yes]
    return [no] if is_bool(condition, False) else None


def _condition_itself(op: Operation) -> list[Value] | None:
    condition, yes, no = op.operands
    return [condition] if is_bool(yes, True) and is_bool(no, False) else None


def _compared_arms(op: Operation) -> list[Value] | None:
    """`x == y ? x : y` is y; `x != y ? x : y` is x."""
    condition, yes, no = op.operands
    compare = producer(condition, "cmpi")
    if compare is None or {*compare.operands} != {yes, no}:
        return None
    predicate = compare.keyword("comparison_predicate")
    if predicate == "equal":
        return [no]
    return [yes] if predicate == "not_equal" else None


def _negated_condition(op: Operation) -> list[Value] | None:
    condition, yes, no = op.operands
    plain = negated(condition)
    if plain is None:
        return None
    op.set_operands((plain, no, yes), None)
    return []


def _select_of_select(op: Operation) -> list[Value] | None:
    """An arm that selects by the same condition."""
    condition, yes, no = op.operands
    inner = producer(yes, "select")
    if inner is not None and inner.operands[0] is condition:
        op.set_operand(1, inner.operands[1])
        return []
    inner = producer(no, "select")
    if inner is not None and inner.operands[0] is condition:
        op.set_operand(2, inner.operands[2])
        return []
    return None


# In the order in which the dialect tries them.
_SELECT_RULES: tuple[Fold, ...] = (
    _same_arms,
    _constant_condition,
    _condition_itself,
    _compared_arms,
    _negated_condition,
    _select_of_select,
)

FOLDS: dict[str, Fold] = {"assume": _assume, "if": _if, "select": _select}
