"""Patterns on `if`.

Place in the flow: part of transform; imports `build`, `matching`, `rewriter`, `model`. Those of the dialect
(NVIDIA/cuda-tile, 13.3). A branch ends in `yield`, which gives the results, or leaves: in `return`,
`continue` or `break`, after which nothing of the block around the `if` runs.
"""

from __future__ import annotations

from ..model import I1, Block, Operation, Region, TileType, Value
from .build import empty_block, make, new_if, take_region, true_like
from .matching import constant_integer, is_bool, negated, tile_type
from .rewriter import Rewriter

_LEAVING = frozenset({"return", "continue", "break"})


def _last(region: Region, rewriter: Rewriter) -> Operation | None:
    """The terminator of a branch; None where there is no branch."""
    if region.empty:
        return None
    ops = rewriter.block_operations(region.block)
    return ops[-1] if ops else None


def _lasts(op: Operation, rewriter: Rewriter) -> tuple[Operation | None, Operation | None]:
    return _last(op.regions[0], rewriter), _last(op.regions[1], rewriter)


def _yields(last: Operation | None) -> bool:
    return last is not None and last.name == "yield"


def _leaves(last: Operation | None) -> bool:
    return last is not None and last.name in _LEAVING


def _set_yield(last: Operation, values: list[Value], rewriter: Rewriter) -> None:
    last.set_operands(values, (len(values),))
    rewriter.modified(last)


def _inline(op: Operation, region: Region, rewriter: Rewriter) -> None:
    """Put a branch in the place of its `if`."""
    block = region.block
    last = rewriter.block_operations(block)[-1]
    rewriter.move_before(op, list(block.operations))
    if _leaves(last):
        rewriter.erase_from(op)
        return
    rewriter.replace(op, list(last.operands))
    rewriter.erase(last)


def unused_results(op: Operation, rewriter: Rewriter) -> bool:
    """Results that nothing reads."""
    lasts = _lasts(op, rewriter)
    used = [result for result in op.results if result.users]
    if len(used) == len(op.results) or not any(_yields(last) for last in lasts):
        return False
    regions = [empty_block(), empty_block()]
    smaller = new_if(op.operands[0], [r.type for r in used], regions, op.location)
    rewriter.insert_before(op, smaller)
    for old, new, last in zip(op.regions, regions, lasts):
        rewriter.move_to_end(new.block, list(rewriter.block_operations(old.block)))
        if _yields(last):
            assert last is not None
            _set_yield(last, [last.operands[result.index] for result in used], rewriter)
    for result, found in zip(used, smaller.results):
        rewriter.replace_uses(result, found)
    rewriter.erase(op)
    return True


def known_results(op: Operation, rewriter: Rewriter) -> bool:
    """Results that are one value either way, the condition, or its negation."""
    then, other = _lasts(op, rewriter)
    if not op.results or not (_yields(then) and _yields(other)):
        return False
    assert then is not None
    assert other is not None
    changed = False
    for yes, no, result in zip(list(then.operands), list(other.operands), op.results):
        if not result.users:
            continue
        condition = op.operands[0]
        if yes is no:
            found = yes
        elif is_bool(yes, False) and is_bool(no, True):
            found = _negation(op, rewriter)
        elif is_bool(yes, True) and is_bool(no, False):
            found = condition
        else:
            continue
        rewriter.replace_uses(result, found)
        changed = True
    return changed


def _negation(op: Operation, rewriter: Rewriter) -> Value:
    condition = op.operands[0]
    true = rewriter.insert_before(op, true_like(condition, op.location))
    inverse = make("xori", (condition, true.result), (condition.type,), op.location)
    return rewriter.insert_before(op, inverse).result


def constant_condition(op: Operation, rewriter: Rewriter) -> bool:
    """One branch is always taken."""
    condition = op.operands[0]
    if tile_type(condition).element is not I1:
        return False
    known = constant_integer(condition)
    if known is None:
        return False
    region = op.regions[0 if known else 1]
    if region.empty:
        rewriter.erase(op)
        return True
    _inline(op, region, rewriter)
    return True


def selects(op: Operation, rewriter: Rewriter) -> bool:
    """Results whose values exist outside the branches are selected instead."""
    then, other = _lasts(op, rewriter)
    if not op.results or not (_yields(then) or _yields(other)):
        return False
    if not all(isinstance(result.type, TileType) for result in op.results):
        return False
    # A branch that leaves gives nothing: the other one's values stand for both.
    giving = [last if _yields(last) else None for last in (then, other)]
    yes_last, no_last = giving[0] or giving[1], giving[1] or giving[0]
    assert yes_last is not None
    assert no_last is not None
    pairs = list(zip(yes_last.operands, no_last.operands))
    inside = [_given_by(yes, yes_last) or _given_by(no, no_last) for yes, no in pairs]
    if all(inside):
        return False
    regions = [take_region(op, 0), take_region(op, 1)]
    types = [result.type for result, stays in zip(op.results, inside) if stays]
    smaller = new_if(op.operands[0], types, regions, op.location)
    rewriter.insert_before(op, smaller)
    results: list[Value] = []
    kept = iter(smaller.results)
    for (yes, no), stays in zip(pairs, inside):
        if stays:
            results.append(next(kept))
        elif yes is no:
            results.append(yes)
        else:
            results.append(_select(smaller, op.operands[0], yes, no, rewriter))
    for last in (giving[0], giving[1]):
        if last is not None:
            values = [v for v, stays in zip(last.operands, inside) if stays]
            _set_yield(last, values, rewriter)
    rewriter.replace(op, results)
    return True


def _given_by(value: Value, last: Operation) -> bool:
    """Whether a value is defined in the block that an operation ends."""
    producer = value.defining_op
    return producer is not None and producer.parent is last.parent


def _select(
    anchor: Operation, condition: Value, yes: Value, no: Value, rewriter: Rewriter
) -> Value:
    """A `select` before an operation, with the condition in the shape of the values."""
    shape = tile_type(yes).shape
    if shape:
        ones = TileType((1,) * len(shape), I1)
        reshaped = make("reshape", (condition,), (ones,), anchor.location)
        condition = rewriter.insert_before(anchor, reshaped).result
        spread = make("broadcast", (condition,), (TileType(shape, I1),), anchor.location)
        condition = rewriter.insert_before(anchor, spread).result
    choice = make("select", (condition, yes, no), (yes.type,), anchor.location)
    return rewriter.insert_before(anchor, choice).result


def empty_else(op: Operation, rewriter: Rewriter) -> bool:
    """An else that does nothing."""
    if op.results or op.regions[1].empty:
        return False
    if len(rewriter.block_operations(op.regions[1].block)) != 1:
        return False
    if _leaves(_last(op.regions[1], rewriter)):
        return False
    smaller = new_if(op.operands[0], (), (take_region(op, 0), Region()), op.location)
    rewriter.insert_before(op, smaller)
    rewriter.erase(op)
    return True


def twice_the_same_condition(op: Operation, rewriter: Rewriter) -> bool:
    """Two ifs in a row by the same condition, or by its negation, become one."""
    before = _operation_before(op, rewriter)
    if before is None or before.name != "if":
        return False
    follows = _following_blocks(before, op)
    ends = _lasts(before, rewriter)
    follows = [None if _leaves(end) else block for block, end in zip(follows, ends)]
    if not any(follows):
        return False
    _read_through(before, ends, follows, rewriter)
    types = [r.type for r in (*before.results, *op.results)]
    regions = [take_region(before, 0), take_region(before, 1)]
    for region, block in zip(regions, follows):
        if block is not None:
            _chain(region, block, rewriter)
    joined = new_if(before.operands[0], types, regions, op.location)
    rewriter.insert_before(op, joined)
    rewriter.replace(before, joined.results[: len(before.results)])
    rewriter.replace(op, joined.results[len(before.results) :])
    return True


def _operation_before(op: Operation, rewriter: Rewriter) -> Operation | None:
    assert op.parent is not None
    ops = rewriter.block_operations(op.parent)
    index = ops.index(op)
    return ops[index - 1] if index else None


def _following_blocks(before: Operation, op: Operation) -> list[Block | None]:
    """The branch of the second `if` that is taken after the then, and after the else, of the first."""
    branches = [None if region.empty else region.block for region in op.regions]
    first, second = before.operands[0], op.operands[0]
    found: list[Block | None] = [None, None]
    if first is second:
        found = branches
    if negated(second) is first or negated(first) is second:
        # The second then follows the first else.
        found = [branches[1] or found[0], branches[0]]
    return found


def _read_through(
    before: Operation,
    ends: tuple[Operation | None, Operation | None],
    follows: list[Block | None],
    rewriter: Rewriter,
) -> None:
    """Inside the second `if`, the results of the first are what its branch gives."""
    for k, result in enumerate(before.results):
        for user in list(dict.fromkeys(result.users)):
            for end, block in zip(ends, follows):
                if end is not None and block is not None and _is_inside(user, block):
                    for index, value in enumerate(user.operands):
                        if value is result:
                            rewriter.set_operand(user, index, end.operands[k])


def _is_inside(op: Operation, block: Block) -> bool:
    current: Operation | None = op
    while current is not None:
        if current.parent is block:
            return True
        current = current.parent_op
    return False


def _chain(region: Region, block: Block, rewriter: Rewriter) -> None:
    """Let the operations of a block follow those of a branch, which gives the results of both."""
    moved = list(rewriter.block_operations(block))
    if region.empty:
        region.blocks = [Block()]
        region.block.parent = region
    first = _last(region, rewriter)
    second = moved[-1]
    rewriter.move_to_end(region.block, moved)
    if first is None:
        return
    if _yields(second):
        _set_yield(second, [*first.operands, *second.operands], rewriter)
    rewriter.erase(first)


def nested(op: Operation, rewriter: Rewriter) -> bool:
    """An `if` that holds nothing but an `if`: both conditions at once."""
    inner = _only_inner_if(op, rewriter)
    if inner is None:
        return False
    then, other = _lasts(op, rewriter)
    inner_then, inner_other = _lasts(inner, rewriter)
    if _leaves(then) or _leaves(other) or _leaves(inner_other):
        return False
    if _leaves(inner_then) and (other is not None or inner_other is not None):
        return False
    assert then is not None
    assert inner_then is not None
    given, otherwise = list(then.operands), list(other.operands) if other is not None else []
    chosen: list[int] = []
    for k, value in enumerate(given):
        if value.defining_op is inner:
            assert inner_other is not None
            if inner_other.operands[value.index] is not otherwise[k]:
                return False
            given[k] = inner_then.operands[value.index]
        elif _given_by(value, then) or not isinstance(value.type, TileType):
            return False
        else:
            chosen.append(k)
    _merge_nested(op, inner, given, otherwise, chosen, rewriter)
    return True


def _only_inner_if(op: Operation, rewriter: Rewriter) -> Operation | None:
    ops = rewriter.block_operations(op.regions[0].block)
    if len(ops) != 2 or ops[0].name != "if":
        return None
    for outer in (op, ops[0]):
        region = outer.regions[1]
        if not region.empty and len(rewriter.block_operations(region.block)) != 1:
            return None
    return ops[0]


def _merge_nested(
    op: Operation,
    inner: Operation,
    given: list[Value],
    otherwise: list[Value],
    chosen: list[int],
    rewriter: Rewriter,
) -> None:
    outer_condition = op.operands[0]
    both = make("andi", (outer_condition, inner.operands[0]), (outer_condition.type,), op.location)
    # The inner condition is defined before the inner `if`, so outside: nothing else is inside.
    rewriter.insert_before(op, both)
    then = take_region(inner, 0)
    other = empty_block() if otherwise else Region()
    joined = new_if(both.result, [r.type for r in op.results], (then, other), op.location)
    rewriter.insert_before(op, joined)
    last = _last(then, rewriter)
    assert last is not None
    if _yields(last):
        _set_yield(last, given, rewriter)
    if otherwise:
        block = other.block
        block.add(make("yield", otherwise, (), op.location))
    results: list[Value] = list(joined.results)
    for k in chosen:
        results[k] = _select(joined, outer_condition, given[k], otherwise[k], rewriter)
    rewriter.replace(op, results)


def both_leave(op: Operation, rewriter: Rewriter) -> bool:
    """Where both branches leave, the else needs no branch."""
    then, other = _lasts(op, rewriter)
    if not (_leaves(then) and _leaves(other)):
        return False
    smaller = new_if(op.operands[0], (), (take_region(op, 0), Region()), op.location)
    rewriter.insert_before(op, smaller)
    _inline(op, op.regions[1], rewriter)
    return True
