"""Comparing the order that tokens impose.

Place in the flow: facts -> **findings**; imports `analyze.ordering`, `pair`. How many tokens there are and
how they are joined does not count: what the reference orders, the generated kernel must order, over any
number of steps.
"""

from __future__ import annotations

from ..analyze.ordering import Before, Order
from ..model import Operation
from .finding import MISSING
from .pair import Pair


def compare_order(pair: Pair) -> None:
    """Report ordering edges of the reference that the generated kernel lacks."""
    reference, generated = Order(pair.reference.entry), Order(pair.generated.entry)
    counterpart = {a.op: b.op for a, b in pair.matching.pairs}
    for op in reference.ops:
        other = counterpart.get(op)
        if other is None:
            continue
        # Where operations are missing, an edge over them has to hold on its own.
        befores = reference.all_before(op) if pair.matching.missing else reference.direct(op)
        for before in sorted(befores, key=_place):
            earlier = counterpart.get(before.op)
            if earlier is None or not may_conflict(before.op, op):
                continue
            if Before(earlier, before.carried) not in generated.all_before(other):
                again = " of the next iteration" if before.carried else ""
                pair.report(
                    "MEM013",
                    MISSING,
                    f"{before.op.name} is ordered before {op.name}{again} in the reference"
                    f"{_at(before.op)}; nothing orders them in the generated kernel",
                    op,
                    other,
                )


def _place(before: Before) -> tuple[int, int, bool]:
    span = before.op.span
    return (span.line, span.column, before.carried) if span else (0, 0, before.carried)


def _at(op: Operation) -> str:
    span = op.span
    return f" (line {span.line})" if span else ""


def may_conflict(one: Operation, other: Operation) -> bool:
    """Whether the order of two operations can matter: not for two plain loads."""
    return not (_only_reads(one) and _only_reads(other))


def _only_reads(op: Operation) -> bool:
    if op.spec is None or "loads" not in op.spec.traits:
        return False
    return op.keyword("memory_ordering_semantics") in (None, "weak", "relaxed")
