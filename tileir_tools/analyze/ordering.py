"""What tokens order: which memory operations must happen before which.

Place in the flow: Module -> **facts**; imports `model`. Tokens run through joins, loops and branches; only
the order that they impose between operations counts, not how many tokens there are.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model import Operation, TokenType, Value


class Before(NamedTuple):
    """An operation that must come first; `carried`: in an earlier iteration of a loop around both."""

    op: Operation
    carried: bool


def token_sources(value: Value) -> tuple[list[tuple[Value, bool]], Operation | None]:
    """Where a token comes from: other tokens (True where a loop carries them), or an operation."""
    owner = value.owner
    if isinstance(owner, Operation):
        if owner.name == "join_tokens":
            return [(v, False) for v in owner.operands], None
        if owner.name == "make_token":
            return [], None
        if owner.name in ("for", "loop", "if") and owner.spec is not None:
            return _result_sources(owner, value.index), None
        return [], owner
    loop = owner.parent.parent if owner.parent else None
    if loop is None or loop.name not in ("for", "loop"):
        return [], None
    place = value.index - (1 if loop.name == "for" else 0)
    initial = loop.operand_group("initValues")
    sources = [(initial[place], False)] if place < len(initial) else []
    return sources + [(v, True) for v in _yielded(loop, "continue", place)], None


def _result_sources(op: Operation, index: int) -> list[tuple[Value, bool]]:
    if op.name == "if":
        return [(v, False) for v in _yielded(op, "yield", index)]
    if op.name == "loop":
        return [(v, False) for v in _yielded(op, "break", index)]
    initial = op.operand_group("initValues")
    return [(v, False) for v in [initial[index], *_yielded(op, "continue", index)]]


def _yielded(op: Operation, terminator: str, place: int) -> list[Value]:
    """What the terminators of a loop or branch give for one of its values."""
    found = []
    for inner in op.walk():
        if inner.name == terminator and place < len(inner.operands) and _target(inner) is op:
            found.append(inner.operands[place])
    return found


def _target(terminator: Operation) -> Operation | None:
    """The loop or branch that a terminator gives its values to."""
    op = terminator.parent_op
    if terminator.name == "yield":
        return op
    while op is not None and op.name not in ("for", "loop"):
        op = op.parent_op
    return op


def direct_predecessors(op: Operation) -> list[Before]:
    """The operations whose tokens reach an operation's token operands without another in between."""
    found: dict[Before, None] = {}
    pending = [(v, False) for v in op.operands if isinstance(v.type, TokenType)]
    seen = set(pending)
    while pending:
        value, carried = pending.pop()
        sources, producer = token_sources(value)
        if producer is not None:
            found[Before(producer, carried)] = None
        for source, loops in sources:
            state = (source, carried or loops)
            if state not in seen:
                seen.add(state)
                pending.append(state)
    return list(found)


class Order:
    """The order that tokens impose inside one entry."""

    def __init__(self, entry: Operation):
        self._direct: dict[Operation, list[Before]] = {}
        for op in entry.walk():
            if op.name not in ("for", "loop", "if", "join_tokens", "make_token", *_TERMINATORS):
                predecessors = direct_predecessors(op)
                if predecessors or any(isinstance(v.type, TokenType) for v in op.results):
                    self._direct[op] = predecessors
        self._all: dict[Operation, set[Before]] = {}

    @property
    def ops(self) -> list[Operation]:
        """The operations that take part in the order, in text order."""
        return list(self._direct)

    def direct(self, op: Operation) -> list[Before]:
        """The operations directly before one."""
        return self._direct.get(op, [])

    def all_before(self, op: Operation) -> set[Before]:
        """Every operation that must come before one, over any number of steps."""
        known = self._all.get(op)
        if known is not None:
            return known
        found: set[Before] = set()
        pending = list(self.direct(op))
        while pending:
            before = pending.pop()
            if before in found:
                continue
            found.add(before)
            for earlier in self.direct(before.op):
                pending.append(Before(earlier.op, earlier.carried or before.carried))
        self._all[op] = found
        return found


_TERMINATORS = ("return", "break", "continue", "yield")
