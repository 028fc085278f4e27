"""What tokens order: which memory operations must happen before which.

Place in the flow: Module -> **facts**; imports `model`. Tokens run through joins, loops and
branches; only the order that they impose between operations counts, not how many tokens there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..model import Operation, TokenType, Value


class Before(NamedTuple):
    """An operation that must come first; `carried`: so many iterations of a loop earlier, 2 for more."""

    op: Operation
    carried: int


def later(one: int, other: int) -> int:
    """How many iterations two steps of the order take together, as `Before` counts them."""
    return min(one + other, 2)


class Ends:
    """Finds the terminators that give a loop or branch its values; looks at each of them once."""

    def __init__(self) -> None:
        self._found: dict[Operation, list[Operation]] = {}

    def given(self, op: Operation, terminator: str, place: int) -> list[Value]:
        """What the terminators of one kind give for one of the values of `op`."""
        ends = self._found.get(op)
        if ends is None:
            names = ("yield", "break", "continue")
            ends = [o for o in op.walk() if o.name in names and _target(o) is op]
            self._found[op] = ends
        return [o.operands[place] for o in ends if o.name == terminator and place < len(o.operands)]


def token_sources(value: Value, ends: Ends) -> tuple[list[tuple[Value, bool]], Operation | None]:
    """Where a token comes from: other tokens (True where a loop carries them), or an operation."""
    owner = value.owner
    if isinstance(owner, Operation):
        if owner.name == "join_tokens":
            return [(v, False) for v in owner.operands], None
        if owner.name == "make_token":
            return [], None
        if owner.name in ("for", "loop", "if") and owner.spec is not None:
            return _result_sources(owner, value.index, ends), None
        return [], owner
    loop = owner.parent.parent if owner.parent else None
    if loop is None or loop.name not in ("for", "loop"):
        return [], None
    place = value.index - (1 if loop.name == "for" else 0)
    initial = loop.operand_group("initValues")
    sources = [(initial[place], False)] if place < len(initial) else []
    return sources + [(v, True) for v in ends.given(loop, "continue", place)], None


def _result_sources(op: Operation, index: int, ends: Ends) -> list[tuple[Value, bool]]:
    if op.name == "if":
        return [(v, False) for v in ends.given(op, "yield", index)]
    if op.name == "loop":
        return [(v, False) for v in ends.given(op, "break", index)]
    initial = op.operand_group("initValues")
    return [(v, False) for v in [initial[index], *ends.given(op, "continue", index)]]


def _target(terminator: Operation) -> Operation | None:
    """The loop or branch that a terminator gives its values to."""
    op = terminator.parent_op
    if terminator.name == "yield":
        return op
    while op is not None and op.name not in ("for", "loop"):
        op = op.parent_op
    return op


def direct_predecessors(op: Operation, ends: Ends | None = None) -> list[Before]:
    """The operations whose tokens reach an operation's tokens without another in between.

    Who asks about many operations passes one `ends` along.
    """
    ends = ends if ends is not None else Ends()
    found: dict[Before, None] = {}
    pending = [(v, 0) for v in op.operands if isinstance(v.type, TokenType)]
    seen = set(pending)
    while pending:
        value, carried = pending.pop()
        sources, producer = token_sources(value, ends)
        if producer is not None:
            found[Before(producer, carried)] = None
        for source, loops in sources:
            state = (source, later(carried, loops))
            if state not in seen:
                seen.add(state)
                pending.append(state)
    return list(found)


class Order:
    """The order that tokens impose inside one entry."""

    def __init__(self, entry: Operation):
        self._direct: dict[Operation, list[Before]] = {}
        self._known: dict[tuple[Before, Operation], bool] = {}
        self._required: dict[Operation, list[Before]] = {}
        ends = Ends()
        for op in entry.walk():
            if op.name not in ("for", "loop", "if", "join_tokens", "make_token", *_TERMINATORS):
                predecessors = direct_predecessors(op, ends)
                if predecessors or any(isinstance(v.type, TokenType) for v in op.results):
                    self._direct[op] = predecessors

    @property
    def ops(self) -> list[Operation]:
        """The operations that take part in the order, in text order."""
        return list(self._direct)

    def direct(self, op: Operation) -> list[Before]:
        """The operations directly before one."""
        return self._direct.get(op, [])

    def all_before(self, op: Operation) -> set[Before]:
        """Every operation that must come before one, over any number of steps."""
        found: set[Before] = set()
        pending = list(self.direct(op))
        while pending:
            before = pending.pop()
            if before not in found:
                found.add(before)
                pending += _behind(before, self.direct(before.op))
        return found

    def holds(self, before: Before, op: Operation) -> bool:
        """Whether an operation must come before another one, over any number of steps.

        What comes before it one iteration earlier does so two earlier, where each iteration's comes before the
        next one's.
        """
        if self._reaches(before, op):
            return True
        once = Before(before.op, 1)
        if before.carried != 2 or not self._reaches(once, op):
            return False
        return before.op is op or self._reaches(once, before.op)

    def _reaches(self, before: Before, op: Operation) -> bool:
        known = self._known.get((before, op))
        if known is None:
            known = self._known[before, op] = self._find(before, op)
        return known

    def _find(self, wanted: Before, op: Operation) -> bool:
        """Look for `wanted` behind `op`; what is known of the operations in between is not redone."""
        seen: set[Before] = set()
        pending = list(self.direct(op))
        while pending:
            one = pending.pop()
            if one == wanted:
                return True
            if one in seen:
                continue
            seen.add(one)
            known = self._known.get((wanted, one.op)) if not one.carried else None
            if known:
                return True
            if known is None:
                pending += _behind(one, self.direct(one.op))
        # Nothing between here and there has it before itself, either.
        self._known.update({(wanted, one.op): False for one in seen if not one.carried})
        return False

    def required(self, op: Operation, kind: Callable[[Operation], str]) -> list[Before]:
        """What has to be asked of another kernel, so that it orders all that this one orders.

        `kind` says what an operation is to the order, in the words of `conflict`. Where the order
        counts for two steps in a row, what comes of both need not be asked for.
        """
        mine = kind(op)
        found: dict[Before, None] = {}
        seen: set[Before] = set()
        pending = list(self.direct(op))
        while pending:
            before = pending.pop()
            if before in seen:
                continue
            seen.add(before)
            theirs = kind(before.op)
            counts = conflict(mine, theirs)
            if counts:
                found[before] = None
            elif mine == theirs and before.op in self._required:
                # What is asked for an operation of the same kind is asked for this one.
                found.update(dict.fromkeys(_behind(before, self._required[before.op])))
                continue
            behind = self.direct(before.op)
            if counts:
                behind = [b for b in behind if not conflict(kind(b.op), theirs)]
            pending += _behind(before, behind)
        self._required[op] = list(found)
        return list(found)


def _behind(before: Before, direct: list[Before]) -> list[Before]:
    """What comes before something, seen from behind it."""
    return [Before(b.op, later(b.carried, before.carried)) for b in direct]


# What an operation is to the order of others.
READS, WRITES, PRINTS, ABSENT = "reads", "writes", "prints", "absent"


def conflict(one: str, other: str) -> bool:
    """Whether the order of two operations can matter.

    It does not for two that only read, nor for a print and anything but another print.
    """
    if ABSENT in (one, other):
        return False
    if PRINTS in (one, other):
        return one == other
    return WRITES in (one, other)


def kind_in_order(op: Operation) -> str:
    """What an operation is to the order of others; one of unknown effect writes."""
    if op.name == "print_tko":
        return PRINTS
    if op.spec is None or "loads" not in op.spec.traits:
        return WRITES
    weak = op.keyword("memory_ordering_semantics") in (None, "weak", "relaxed")
    return READS if weak else WRITES


_TERMINATORS = ("return", "break", "continue", "yield")
