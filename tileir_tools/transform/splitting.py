"""Loops split where a condition on their index flips: `cuda-tile-opt`'s pass `loop-split`.

Place in the flow: part of transform; imports `build`, `matching`, `rewriter`, `model`.

    for i in (a to b, step s) { .. if i < n { A } else { B } .. }

becomes a loop from a to min(n, b) with A in it and one from max(n, a) to b with B in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model import (
    I1,
    Block,
    DenseElementsAttr,
    EnumAttr,
    IntegerAttr,
    Module,
    Operation,
    Region,
    TileType,
    Value,
)
from .build import constant, make
from .matching import constant_integer, producer, tile_type
from .rewriter import Rewriter

# The attribute by which an entry, a loop or an `if` says from how many operations on it is worth splitting.
_THRESHOLD = "cuda_tile.loop_split"

# Predicate -> the same with its sides exchanged.
_MIRRORED = {
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}

# Operations that make a branch worth splitting for, however short it is.
_HEAVY = frozenset(
    "load_ptr_tko load_view_tko store_ptr_tko store_view_tko mmaf mmai reduce if for".split()
)


class _Split(NamedTuple):
    """Where to split: the comparison as `index predicate bound`, the ifs it decides, and whether
    anything else reads it."""

    compare: Operation
    predicate: str
    bound: Value
    branches: set[Operation]
    keeps_compare: bool


def loop_split(module: Module, threshold: int) -> bool:
    """Split in every entry; see `transform.loop_split`."""
    changed = False
    for op in module.operations:
        for loop in [inner for inner in _inner_first(op) if inner.name == "for"]:
            split = _find(op, loop, threshold)
            if split is not None:
                _perform(loop, split)
                changed = True
    return changed


def _inner_first(op: Operation) -> Iterator[Operation]:
    """Everything inside an operation, each after what is inside it."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _inner_first(inner)
                yield inner


# -- where to split ---------------------------------------------------------------------------------


def _find(entry: Operation, loop: Operation, threshold: int) -> _Split | None:
    """The first condition in a loop that is worth splitting at."""
    for op in _inner_first(loop):
        if op.name == "if":
            wanted = next(
                (w for w in map(_own_threshold, (op, loop, entry)) if w is not None), threshold
            )
            split = _splittable(loop, op, wanted)
            if split is not None:
                return split
    return None


def _own_threshold(op: Operation) -> int | None:
    found = op.attributes.get(_THRESHOLD)
    return found.value if isinstance(found, IntegerAttr) else None


def _splittable(loop: Operation, branch: Operation, threshold: int) -> _Split | None:
    compare = producer(branch.operands[0], "cmpi")
    if not threshold or compare is None:
        return None
    normal = _index_first(loop, compare)
    if normal is None:
        return None
    predicate, bound = normal
    if predicate not in _MIRRORED or _defined_inside(bound, loop):
        return None
    users = dict.fromkeys(compare.result.users)
    ifs = [user for user in users if user.name == "if"]
    if not any(_worth_it(user, threshold) for user in ifs):
        return None
    branches = {user for user in ifs if user.parent_op is loop}
    return _Split(compare, predicate, bound, branches, len(branches) < len(users))


def _index_first(loop: Operation, compare: Operation) -> tuple[str, Value] | None:
    """Predicate and bound of a comparison with the loop's index, the index on the left."""
    unsigned = compare.keyword("signedness") == "unsigned"
    if unsigned != loop.has("unsignedCmp"):
        return None
    index = loop.regions[0].block.arguments[0]
    left, right = compare.operands
    predicate = compare.keyword("comparison_predicate")
    assert predicate is not None
    if left is index:
        return predicate, right
    if right is index and predicate in _MIRRORED:
        return _MIRRORED[predicate], left
    return None


def _defined_inside(value: Value, loop: Operation) -> bool:
    """Whether a value is defined in a loop: by an operation in it, or as the argument of a block."""
    owner = value.owner
    if isinstance(owner, Operation):
        around = owner.parent_op
    else:
        # cuda-tile-opt takes carried values for invariant, and splits at a bound that changes.
        around = owner.parent.parent if owner.parent is not None else None
    while around is not None:
        if around is loop:
            return True
        around = around.parent_op
    return False


def _worth_it(branch: Operation, threshold: int) -> bool:
    if threshold == 1:
        return True
    for region in branch.regions:
        ops = [] if region.empty else region.block.operations
        if len(ops) - 1 >= threshold or any(op.name in _HEAVY for op in ops):
            return True
    return False


# -- splitting --------------------------------------------------------------------------------------


def _perform(loop: Operation, split: _Split) -> None:
    rewriter = Rewriter()
    lower, upper = loop.operands[0], loop.operands[1]
    point = _split_point(loop, split, rewriter)
    order = {"signedness": EnumAttr("signedness", _signedness(loop))}
    first_end = _insert("mini", (point, upper), loop, rewriter, order)
    second_start = _insert("maxi", (point, lower), loop, rewriter, order)
    # `index < bound` holds in the first loop, `index > bound` in the second.
    first_then = split.predicate.startswith("less")
    first = _copy_loop(loop, split, lower, first_end, loop.operands[3:], first_then)
    rewriter.insert_before(loop, first)
    second = _copy_loop(loop, split, second_start, upper, first.results, not first_then)
    rewriter.insert_before(loop, second)
    rewriter.replace(loop, second.results)
    rewriter.settle_all()


def _signedness(loop: Operation) -> str:
    return "unsigned" if loop.has("unsignedCmp") else "signed"


def _insert(
    name: str,
    operands: tuple[Value, Value],
    loop: Operation,
    rewriter: Rewriter,
    attributes: dict[str, EnumAttr] | None = None,
) -> Value:
    """A binary operation before the loop."""
    op = make(name, operands, (operands[0].type,), loop.location, attributes)
    return rewriter.insert_before(loop, op).result


def _split_point(loop: Operation, split: _Split, rewriter: Rewriter) -> Value:
    """The first index of the second loop, before it is held between the bounds."""
    lower, step = loop.operands[0], loop.operands[2]
    point = split.bound
    if split.predicate in ("greater_than", "less_than_or_equal"):
        one = constant(DenseElementsAttr(tile_type(step), (1,)), loop.location)
        point = _insert("addi", (point, rewriter.insert_before(loop, one).result), loop, rewriter)
    if constant_integer(step) != 1:
        # Up to the next index that the loop really takes.
        distance = _insert("subi", (point, lower), loop, rewriter)
        up = {
            "signedness": EnumAttr("signedness", _signedness(loop)),
            "rounding": EnumAttr("rounding", "positive_inf"),
        }
        steps = _insert("divi", (distance, step), loop, rewriter, up)
        length = _insert("muli", (steps, step), loop, rewriter)
        point = _insert("addi", (lower, length), loop, rewriter)
    return point


def _copy_loop(
    loop: Operation,
    split: _Split,
    lower: Value,
    upper: Value,
    initial: list[Value],
    condition: bool,
) -> Operation:
    """The loop with other bounds, and only one branch of each `if` that the condition decides."""
    body = loop.regions[0].block
    copy = Block([argument.type for argument in body.arguments])
    values = dict(zip(body.arguments, copy.arguments))
    _copy_body(body, copy, split, condition, values)
    attributes = {name: a for name, a in loop.attributes.items() if name == "unsignedCmp"}
    return Operation(
        "for",
        loop.spec,
        (lower, upper, loop.operands[2], *initial),
        [result.type for result in loop.results],
        attributes,
        [Region([copy])],
        (1, 1, 1, len(initial)),
        loop.location,
    )


def _copy_body(
    body: Block, copy: Block, split: _Split, condition: bool, values: dict[Value, Value]
) -> None:
    for op in body.operations:
        if op is split.compare:
            if split.keeps_compare:
                known = DenseElementsAttr(TileType((), I1), (int(condition),))
                values[op.result] = copy.add(constant(known, op.location)).result
        elif op not in split.branches:
            copy.add(op.clone(values))
        elif _copy_branch(op, 0 if condition else 1, copy, values):
            # It goes on with the next round: what follows is never reached.
            return


def _copy_branch(op: Operation, index: int, copy: Block, values: dict[Value, Value]) -> bool:
    """Copy a branch in the place of its `if`; whether it ends the round of the loop."""
    region = op.regions[index]
    for inner in [] if region.empty else region.block.operations:
        if inner.name == "yield":
            values.update(
                (result, values.get(value, value))
                for result, value in zip(op.results, inner.operands)
            )
        else:
            copy.add(inner.clone(values))
            if inner.name == "continue":
                return True
    return False
