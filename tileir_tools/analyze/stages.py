"""The stages of a kernel and what each feeds: loads, matrix products, reductions, stores, atomics.

Place in the flow: Module -> **facts**; imports `model`, `expressions`, `memory`, `ordering`. It is the dataflow
that one can draw: what stands between two stages is a few words on the edge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ..model import Entry, Operation, TokenType, Value
from .expressions import step_name
from .memory import is_memory_op
from .ordering import Ends, token_sources

_PRODUCTS = frozenset({"mmaf", "mmai", "mmaf_scaled", "reduce", "scan"})
# What only carries a value on.
_SILENT = frozenset({"assume", "reshape", "broadcast"})


class Feed(NamedTuple):
    """A stage reads, directly or through other operations, what another one gives.

    Attributes:
        source, target: the stages; one and the same where a loop carries its result back to it.
        steps: what happens on the shortest way, in order (`ftof f16`, `exp2`).
        carried: whether the value comes from an earlier iteration.
    """

    source: Operation
    target: Operation
    steps: tuple[str, ...]
    carried: bool


def stages(entry: Entry) -> list[Operation]:
    """The stages of an entry, in text order."""
    return [op for op in entry.walk() if is_stage(op)]


def is_stage(op: Operation) -> bool:
    """Whether an operation moves data, combines elements, or is unknown."""
    if op.spec is None:
        return True
    return op.name in _PRODUCTS or is_memory_op(op)


def feeds(entry: Entry) -> list[Feed]:
    """What feeds what, one for each pair of stages, within an iteration before from an earlier one."""
    ends = Ends()
    found: dict[tuple[Operation, Operation], Feed] = {}
    for target in stages(entry):
        for feed in _feeding(target, ends):
            known = found.get((feed.source, target))
            if known is None or (known.carried and not feed.carried):
                found[feed.source, target] = feed
    return list(found.values())


class _Reached(NamedTuple):
    """A value on the way back from a stage, and how it got there."""

    value: Value
    carried: bool
    before: _Reached | None


def _feeding(target: Operation, ends: Ends) -> Iterator[Feed]:
    pending = deque(_Reached(v, False, None) for v in _read(target))
    seen = {(r.value, r.carried) for r in pending}
    while pending:
        reached = pending.popleft()
        op = reached.value.defining_op
        if op is not None and is_stage(op):
            yield Feed(op, target, _steps(reached.before), reached.carried)
            continue
        for value, carried in _sources(reached.value, ends):
            one = _Reached(value, reached.carried or carried, reached)
            if (one.value, one.carried) not in seen:
                seen.add((one.value, one.carried))
                pending.append(one)


def _read(op: Operation) -> list[Value]:
    return [v for v in op.operands if not isinstance(v.type, TokenType)]


def _sources(value: Value, ends: Ends) -> list[tuple[Value, bool]]:
    """What a value comes from, True where from an earlier iteration; loops and branches looked through."""
    op = value.defining_op
    if op is not None and not (op.name in ("for", "loop", "if") and op.spec is not None):
        return [(v, False) for v in _read(op)]
    if op is None and value.index == 0 and _is_index(value):
        return []
    return token_sources(value, ends)[0]


def _is_index(value: Value) -> bool:
    """Whether a block's first argument is the index of a `for`."""
    assert not isinstance(value.owner, Operation)
    region = value.owner.parent
    return region is not None and region.parent is not None and region.parent.name == "for"


def _steps(reached: _Reached | None) -> tuple[str, ...]:
    steps = []
    while reached is not None:
        op = reached.value.defining_op
        if op is not None and op.name not in (*_SILENT, "for", "loop", "if"):
            steps.append(step_name(op))
        reached = reached.before
    return tuple(steps)


def stages_behind(op: Operation) -> list[Operation]:
    """The nearest stages, loops and branches that an operation's results go to; itself if it is one."""
    found: dict[Operation, None] = {}
    pending = [op]
    seen = {op}
    while pending:
        one = pending.pop()
        if is_stage(one) or one.name in ("for", "loop", "if"):
            found[one] = None
            continue
        for value in (*one.results, *_given_to(one)):
            for user in value.users:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
    return list(found)


def _given_to(op: Operation) -> list[Value]:
    """The values that a terminator gives its operands to."""
    around = op.parent_op
    if op.name == "yield" and around is not None and around.name == "if":
        return around.results
    if op.name not in ("continue", "break"):
        return []
    while around is not None and around.name not in ("for", "loop"):
        around = around.parent_op
    if around is None:
        return []
    if op.name == "break":
        return around.results
    inside = around.regions[0].block.arguments[around.name == "for" :]
    return [*inside, *(around.results if around.name == "for" else ())]
