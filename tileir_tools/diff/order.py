"""Comparing the order that tokens impose.

Place in the flow: facts -> **findings**; imports `analyze.ordering`, `pair`, `words`. How many
tokens there are and how they are joined does not count: what the reference orders, the generated
kernel must order, over any number of steps.
"""

from __future__ import annotations

from ..analyze.ordering import ABSENT, Before, Order, kind_in_order
from ..model import Operation
from .finding import MISSING
from .pair import Pair
from .words import line_of

# An access that is ordered before more accesses than this, and nowhere, is one finding.
_SEVERAL = 3
_MANY = 8


def compare_order(pair: Pair) -> None:
    """Report ordering edges of the reference that the generated kernel lacks."""
    reference, generated = Order(pair.reference.entry), Order(pair.generated.entry)
    counterpart = pair.counterpart

    def kind(op: Operation) -> str:
        # The order around what stands elsewhere changes with its place, which is reported.
        is_there = op in counterpart and op not in pair.misplaced
        return kind_in_order(op) if is_there else ABSENT

    lost: dict[Before, list[Operation]] = {}
    for op in reference.ops:
        if kind(op) == ABSENT:
            continue
        asked = sorted(reference.required(op, kind), key=_place)
        if _in_lost_loop(pair, op):
            # Without the loop there is no next iteration; that it is missing is reported.
            asked = [before for before in asked if not before.carried]
        wanted = [Before(counterpart[before.op], before.carried) for before in asked]
        there = _those_that_hold(generated, wanted, counterpart[op])
        for before, theirs in zip(asked, wanted, strict=True):
            if theirs not in there:
                lost.setdefault(before, []).append(op)
    for before, later in lost.items():
        shown = later if len(later) <= _SEVERAL else later[:1]
        for op in shown:
            text = _text(before, op, len(later) - len(shown))
            pair.report("MEM013", MISSING, text, op, counterpart[op])


def _in_lost_loop(pair: Pair, op: Operation) -> bool:
    """Whether a loop around an operation has no counterpart."""
    around = op.parent_op
    while around is not None:
        if around.name in ("for", "loop") and around not in pair.counterpart:
            return pair.is_critical("LOP001")
        around = around.parent_op
    return False


def _those_that_hold(order: Order, wanted: list[Before], op: Operation) -> set[Before]:
    # Looking for many at once is cheaper than looking for each.
    found = order.all_before(op) if len(wanted) > _MANY else set()
    return {before for before in wanted if before in found or order.holds(before, op)}


def _text(before: Before, op: Operation, more: int) -> str:
    again = ("", " of the next iteration", " of a later iteration")[before.carried]
    others = f" and {more} later ones" if more else ""
    return (
        f"{before.op.name}{line_of(before.op)} is ordered before {op.name}{again}{others} in the "
        "reference; nothing orders them in the generated kernel"
    )


def _place(before: Before) -> tuple[int, int, int]:
    span = before.op.span
    return (span.line, span.column, before.carried) if span else (0, 0, before.carried)
