"""Where a value goes: the shortest way from an operation to an effect.

Place in the flow: Module -> **facts**; imports `model`, `expressions`. An effect is a store, an atomic, a
print, an assert, the condition of a branch, a bound of a loop.
"""

from __future__ import annotations

from collections import deque

from ..model import Operation, Value
from .expressions import step_name

_LOOPS = ("for", "loop")
_OTHER_EFFECTS = frozenset({"print_tko", "assert", "return"})


def path_to_effect(op: Operation) -> tuple[str, ...]:
    """The operations from this one to the nearest effect, each with its line and the loop it is in.

    One entry where the operation is an effect itself; up to the last reader where there is no effect.
    """
    came_from: dict[Operation, Operation | None] = {op: None}
    queue = deque([op])
    last = op
    while queue:
        last = queue.popleft()
        before = came_from[last]
        if _is_effect(last, before):
            break
        for value in _results(last):
            for user in value.users:
                if user not in came_from:
                    came_from[user] = last
                    queue.append(user)
    steps = []
    current: Operation | None = last
    while current is not None:
        # An assume passes its value on.
        if current.name != "assume" or current is op:
            steps.append(_say(current))
        current = came_from[current]
    return tuple(reversed(steps))


def _is_effect(op: Operation, before: Operation | None) -> bool:
    if op.spec is None or op.name in _OTHER_EFFECTS:
        return True
    if op.spec.traits & {"stores", "atomic"}:
        return True
    # As where it is read, not where it is compared.
    if before is None or op.name not in ("if", "for"):
        return False
    return any(value.defining_op is before for value in op.operands[:3])


def _results(op: Operation) -> list[Value]:
    """What carries an operation's effect on: its results, or what its terminator gives to."""
    if op.name == "yield" and op.parent_op is not None:
        return op.parent_op.results
    if op.name in ("continue", "break"):
        loop = op.parent_op
        while loop is not None and loop.name not in _LOOPS:
            loop = loop.parent_op
        if loop is None:
            return []
        return [*loop.results, *loop.regions[0].block.arguments]
    return op.results


def _say(op: Operation) -> str:
    text = step_name(op)
    if op.name == "continue":
        text = "carried round the loop"
    span = op.span
    place = f"line {span.line}" if span else ""
    loop = op.parent_op
    while loop is not None and loop.name not in _LOOPS:
        loop = loop.parent_op
    inside = ""
    if loop is not None:
        inside = f"in {loop.name}" + (f" of line {loop.span.line}" if loop.span else "")
    about = ", ".join(part for part in (place, inside) if part)
    return f"{text} ({about})" if about else text
