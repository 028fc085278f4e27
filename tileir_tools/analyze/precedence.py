"""What comes before what, summed up in digests.

Place in the flow: Module -> **facts**; imports `dataflow` and `ordering`. `ordering` answers for two
operations; here every operation gets one number for all that tokens put before it, however they
are threaded.
"""

from __future__ import annotations

from ..model import Operation
from .dataflow import Flow
from .ordering import PRINTS, READS, WRITES, Order, conflict, kind_in_order

# The sums of the digests of what only reads, what writes, and what prints.
Sums = tuple[int, int, int]
_KINDS = (READS, WRITES, PRINTS)


class Precedence:
    """What must happen before what in an entry, over any number of steps.

    Sets of operations are bits of integers. What comes before an operation is mostly what comes
    before one other operation (`base`), and little more (`extra`); so the digests of all of it are
    summed up in little time however long the chains of tokens are.
    """

    def __init__(self, flow: Flow):
        order = Order(flow.entry)
        self._ops = order.ops
        self._kinds = {op: _KINDS.index(kind_in_order(op)) for op in self._ops}
        self._numbers = {op: number for number, op in enumerate(self._ops)}
        self._bases: dict[Operation, tuple[Operation | None, list[Operation]]] = {}
        first = [0] * len(self._ops)
        for number, op in enumerate(self._ops):
            first[number] = self._find_first(order, op, first)
        self._again = self._find_again(order, first)

    def _find_first(self, order: Order, op: Operation, first: list[int]) -> int:
        """What comes before an operation in one iteration; notes on what it builds."""
        found, base, most = 0, None, 0
        for before in order.direct(op):
            if not before.carried:
                number = self._numbers[before.op]
                found |= first[number] | 1 << number
                if base is None or first[number].bit_count() > most:
                    base, most = before.op, first[number].bit_count()
        known = first[self._numbers[base]] if base is not None else 0
        self._bases[op] = base, self._members(found & ~known)
        return found

    def _find_again(self, order: Order, first: list[int]) -> list[int]:
        """What comes before each operation in an earlier iteration of a loop."""
        again = [0] * len(self._ops)
        changed = any(b.carried for op in self._ops for b in order.direct(op))
        while changed:
            changed = False
            for number, op in enumerate(self._ops):
                found = again[number]
                for before in order.direct(op):
                    other = self._numbers[before.op]
                    found |= again[other]
                    if before.carried:
                        found |= first[other] | 1 << other
                changed = changed or found != again[number]
                again[number] = found
        return again

    def _members(self, bits: int) -> list[Operation]:
        found = []
        while bits:
            lowest = bits & -bits
            found.append(self._ops[lowest.bit_length() - 1])
            bits ^= lowest
        return found

    def _sum(self, start: Sums, ops: list[Operation], digests: dict[Operation, str]) -> Sums:
        sums = list(start)
        for op in ops:
            sums[self._kinds[op]] += int(digests[op], 16)
        reads, writes, prints = sums
        return reads, writes, prints

    def before(
        self, op: Operation, known: dict[Operation, Sums], digests: dict[Operation, str]
    ) -> int:
        """The sum of the digests of what must happen before an operation and matters to it.

        `known` are the sums for the operations before it; its own are added.
        """
        if op not in self._kinds:
            return 0
        base, extra = self._bases[op]
        known[op] = sums = self._sum(known[base] if base else (0, 0, 0), extra, digests)
        return self._matters(op, sums)

    def again(self, digests: dict[Operation, str]) -> list[tuple[str, int]]:
        """The digest of each operation, and the sum of those of what must have happened in an earlier
        iteration."""
        known: dict[int, Sums] = {0: (0, 0, 0)}
        found = []
        for number, op in enumerate(self._ops):
            bits = self._again[number]
            if bits not in known:
                known[bits] = self._sum((0, 0, 0), self._members(bits), digests)
            if bits:
                found.append((digests[op], self._matters(op, known[bits])))
        return found

    def _matters(self, op: Operation, sums: Sums) -> int:
        """The sum of what an operation must not be exchanged with."""
        kind = _KINDS[self._kinds[op]]
        return sum(part for part, other in zip(sums, _KINDS) if conflict(kind, other))
