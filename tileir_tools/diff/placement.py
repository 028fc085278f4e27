"""Comparing where things stand: in which loops and branches, before or behind an exit.

Place in the flow: facts -> **findings**; imports `analyze`, `match`, `pair`, `words`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..analyze.dataflow import Effect, Flow, Label
from ..model import Operation
from .finding import DIFFERS
from .match import kind_of
from .pair import Pair
from .words import line_of

# Costs nothing wherever it stands: the compiler rematerialises it.
_FREE = frozenset(
    {"constant", "iota", "get_tile_block_id", "get_num_tile_blocks", "make_token", "get_global"}
)
_LOOPS = ("for", "loop")
_VIEWS = frozenset(
    {"make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view"}
)


def compare_placement(pair: Pair) -> None:
    """Report what stands elsewhere in the generated kernel."""
    _compare_effects(pair)
    _compare_values(pair)


# -- effects ---------------------------------------------------------------------------------------


class _Around(NamedTuple):
    """The loops around an effect; the branches around it, each with its side; the exits before it.

    All by the numbers of the labels that both kernels share.
    """

    loops: frozenset[int]
    branches: frozenset[tuple[int, int]]
    exits: frozenset[int]


def _compare_effects(pair: Pair) -> None:
    """Report effects that other loops, branches or exits decide about."""
    # What only one kernel has, or leaves the region in one kernel only, is reported for itself.
    shared = {b.label: number for number, (_, b) in enumerate(pair.matching.pairs)}
    flows = (pair.reference, pair.generated)
    # Labels hold those of what is around them: numbers are compared in their place.
    numbers = {e: shared[e.label] for f in flows for e in f.every_effect() if e.label in shared}
    exits = {b.label for a, b in pair.matching.pairs if a.exits and b.exits}
    before = [_exits_before(flow, exits) for flow in flows]
    for one, other in pair.matching.pairs:
        left, right = _around(one, numbers, before[0]), _around(other, numbers, before[1])
        if left == right or (_stay_together(one, other) and left.exits == right.exits):
            continue
        code = _moved_code(one, left[1:] == right[1:], len(right.loops) - len(left.loops))
        if pair.is_critical(code):
            pair.misplaced.add(one.op)
        text = f"{one.name} stands {_where(one, before[0])} in the reference and "
        text += f"{_where(other, before[1])} in the generated kernel"
        pair.report(code, DIFFERS, text, one.op, other.op)


def _stay_together(one: Effect, other: Effect) -> bool:
    """Whether two effects are in the same region of what corresponds, wherever that stands."""
    if one.parent is None or other.parent is None:
        return one.parent is other.parent
    return one.parent.label == other.parent.label and _side(one) == _side(other)


def _side(effect: Effect) -> int:
    """Which region of the operation around it an effect is in."""
    assert effect.parent is not None
    return next(k for k, region in enumerate(effect.parent.regions) if effect in region)


def _exits_before(flow: Flow, exits: set[Label]) -> dict[Effect, list[Effect]]:
    """Effect -> the branches of `exits` before it in its own region."""
    found: dict[Effect, list[Effect]] = {}
    pending = [flow.effects]
    while pending:
        passed: list[Effect] = []
        for effect in pending.pop():
            found[effect] = passed
            pending += effect.regions
            if effect.label in exits:
                passed = [*passed, effect]
    return found


def _around(
    effect: Effect, numbers: dict[Effect, int], before: dict[Effect, list[Effect]]
) -> _Around:
    branches = []
    inner = effect
    while inner.parent is not None:
        if inner.parent.name == "if" and inner.parent in numbers:
            branches.append((numbers[inner.parent], _side(inner)))
        inner = inner.parent
    return _Around(
        frozenset(numbers[e] for e in _loops(effect) if e in numbers),
        frozenset(branches),
        frozenset(numbers[e] for e in before[effect]),
    )


def _loops(effect: Effect) -> list[Effect]:
    found = []
    parent = effect.parent
    while parent is not None:
        if parent.name in _LOOPS:
            found.append(parent)
        parent = parent.parent
    return found


def _moved_code(effect: Effect, only_loops: bool, deeper: int) -> str:
    """The rule for an effect that stands elsewhere."""
    kind = kind_of(effect)
    if kind == "load":
        # Behind another condition it may touch what it must not touch.
        return "MEM015" if only_loops else "MEM016"
    if effect.name in ("assert", "print_tko"):
        return "PRF002" if effect.name == "assert" and only_loops and deeper > 0 else "DFL007"
    if kind == "loop":
        return "LOP001"
    if effect.name == "if":
        return "LOP005"
    if effect.op.spec is None:
        return "OPQ002"
    return "LOP006" if effect.op.terminator else "MEM016"


def _where(effect: Effect, before: dict[Effect, list[Effect]]) -> str:
    """The place of an effect in words."""
    parent = effect.parent
    around = "at the top"
    if parent is not None:
        what = "else" if parent.name == "if" and _side(effect) else parent.name
        around = f"in the `{what}`{line_of(parent.op)}"
    exits = before[effect]
    return around + (f" behind the exit{line_of(exits[-1].op)}" if exits else "")


# -- values ----------------------------------------------------------------------------------------


def _compare_values(pair: Pair) -> None:
    """Report values that the generated kernel computes deeper inside loops than the reference.

    Loops that only one kernel has do not count: they are reported for themselves.
    """
    ours = {op for op in pair.counterpart if op.name in _LOOPS}
    theirs = {pair.counterpart[op] for op in ours}
    moved: dict[tuple[Operation | None, str], list[tuple[Operation, Operation]]] = {}
    for node, ops in pair.generated.ops.items():
        if node.name in _FREE or node not in pair.reference.ops:
            continue
        # Where the reference computes it there too, nothing has moved.
        outer = max(pair.reference.ops[node], key=lambda op: _depth(op, ours))
        inner = min(ops, key=lambda op: _depth(op, theirs))
        if _depth(inner, theirs) > _depth(outer, ours):
            code = "PRF003" if node.name in _VIEWS else "PRF002"
            moved.setdefault((_loop_around(inner), code), []).append((outer, inner))
    for (_, code), pairs in moved.items():
        names = list(dict.fromkeys(op.name for _, op in pairs))
        shown = ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")
        what = f"{len(pairs)} values ({shown}) are" if len(pairs) > 1 else f"{shown} is"
        message = f"{what} computed inside a loop, outside of it in the reference"
        pair.report(code, DIFFERS, message, *pairs[0])


def _depth(op: Operation, loops: set[Operation]) -> int:
    """How many of some loops are around an operation."""
    depth, around = 0, op.parent_op
    while around is not None:
        depth += around in loops
        around = around.parent_op
    return depth


def _loop_around(op: Operation) -> Operation | None:
    parent = op.parent_op
    while parent is not None and parent.name not in _LOOPS:
        parent = parent.parent_op
    return parent
