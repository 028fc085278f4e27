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


class _Bases:
    """The base of each operation: what most of what comes before it comes before, too.

    Bases make up trees. In them, whether one operation is above another is found in a number of steps that
    grows with the logarithm of how deep they are: each knows one that is far above it besides its base.
    """

    def __init__(self) -> None:
        self.base: list[int | None] = []
        self._count: list[int] = []
        self._depth: list[int] = []
        self._far: list[int] = []
        # Operation -> those before which it comes though not before their base.
        self._others: dict[int, list[int]] = {}

    def add(self, base: int | None, more: list[int]) -> None:
        """The next operation: its base, and what comes before it and not before that, the base first."""
        number = len(self.base)
        self.base.append(base)
        for other in more[1:]:
            self._others.setdefault(other, []).append(number)
        if base is None:
            self._count.append(0)
            self._depth.append(0)
            self._far.append(number)
            return
        self._count.append(self._count[base] + len(more))
        self._depth.append(self._depth[base] + 1)
        far = self._far[base]
        beyond = self._far[far]
        steps = self._depth[base] - self._depth[far], self._depth[far] - self._depth[beyond]
        self._far.append(beyond if steps[0] == steps[1] else base)

    def count_before(self, number: int) -> int:
        """How many operations come before one."""
        return self._count[number]

    def is_before(self, one: int, other: int) -> bool:
        """Whether one operation comes before another."""
        if one != other and self._is_above(one, other):
            return True
        return any(self._is_above(number, other) for number in self._others.get(one, ()))

    def _is_above(self, one: int, other: int) -> bool:
        """Whether an operation is another, its base, the base of that, and so on."""
        wanted = self._depth[one]
        while self._depth[other] > wanted:
            far = self._far[other]
            if self._depth[far] >= wanted:
                other = far
            else:
                above = self.base[other]
                assert above is not None
                other = above
        return one == other


class Precedence:
    """What must happen before what in an entry, over any number of steps.

    What comes before an operation is mostly what comes before one other operation (its base), and little
    more. So only that little is kept, and the digests of all of it are summed up in little time and memory
    however long the chains of tokens are. Operations are numbers, in text order.
    """

    def __init__(self, flow: Flow):
        order = Order(flow.entry)
        self._ops = order.ops
        self._kinds = {op: _KINDS.index(kind_in_order(op)) for op in self._ops}
        self._numbers = {op: number for number, op in enumerate(self._ops)}
        self._direct: list[list[int]] = []
        # The same, but one iteration of a loop earlier, and more.
        self._carried: list[list[int]] = []
        self._far: list[list[int]] = []
        for op in self._ops:
            befores = order.direct(op)
            self._direct.append([self._numbers[b.op] for b in befores if not b.carried])
            self._carried.append([self._numbers[b.op] for b in befores if b.carried == 1])
            self._far.append([self._numbers[b.op] for b in befores if b.carried == 2])
        self._bases = _Bases()
        # What comes before an operation and not before its base; the base itself, too.
        self._more: list[list[int]] = []
        for number in range(len(self._ops)):
            self._more.append(self._find_more(number))
        # Operations of one loop have one set: it is kept once.
        self._sets: dict[int, int] = {}
        self._once = self._find_once()
        self._twice = self._find_twice()

    def _find_more(self, number: int) -> list[int]:
        """What comes before an operation in one iteration, but not before its base."""
        direct = self._direct[number]
        if not direct:
            self._bases.add(None, [])
            return []
        base = max(direct, key=self._bases.count_before)
        found = {base: None}
        pending = [other for other in direct if other != base]
        while pending:
            other = pending.pop()
            if other not in found and not self._bases.is_before(other, base):
                found[other] = None
                pending += self._direct[other]
        more = list(found)
        self._bases.add(base, more)
        return more

    def _find_once(self) -> list[int]:
        """What comes before each operation in the iteration of a loop before, as bits."""
        once: list[int] = []
        for direct, carried in zip(self._direct, self._carried):
            found = 0
            for other in direct:
                found |= once[other]
            for other in carried:
                found |= self._bits_before(other) | 1 << other
            once.append(self._sets.setdefault(found, found))
        return once

    def _find_twice(self) -> list[int]:
        """What comes before each operation in iterations before that one, as bits."""
        once, twice = self._once, [0] * len(self._ops)
        changed = any(self._carried) or any(self._far)
        while changed:
            changed = False
            for number, direct in enumerate(self._direct):
                found = twice[number]
                for other in direct:
                    found |= twice[other]
                for other in self._carried[number]:
                    found |= once[other] | twice[other]
                for other in self._far[number]:
                    found |= self._bits_before(other) | 1 << other | once[other] | twice[other]
                changed = changed or found != twice[number]
                twice[number] = self._sets.setdefault(found, found)
        return twice

    def _bits_before(self, number: int | None) -> int:
        """What comes before an operation in one iteration, as bits."""
        places: set[int] = set()
        while number is not None:
            places.update(self._more[number])
            number = self._bases.base[number]
        data = bytearray(max(places, default=0) // 8 + 1)
        for place in places:
            data[place // 8] |= 1 << place % 8
        return int.from_bytes(data, "little")

    def _members(self, bits: int) -> list[int]:
        return [number for number, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]

    def _sum(self, start: Sums, numbers: list[int], digests: dict[Operation, str]) -> Sums:
        sums = list(start)
        for op in map(self._ops.__getitem__, numbers):
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
        number = self._numbers[op]
        base = self._bases.base[number]
        start = known[self._ops[base]] if base is not None else (0, 0, 0)
        known[op] = sums = self._sum(start, self._more[number], digests)
        return self._matters(op, sums)

    def again(self, digests: dict[Operation, str]) -> list[tuple[str, int, int]]:
        """The digest of each operation, and the sums of those of what must have happened in the iteration
        before, and in those before that."""
        known: dict[int, Sums] = {0: (0, 0, 0)}
        found = []
        for number, op in enumerate(self._ops):
            earlier = (self._once[number], self._twice[number])
            for bits in earlier:
                if bits not in known:
                    known[bits] = self._sum((0, 0, 0), self._members(bits), digests)
            if any(earlier):
                once, twice = (self._matters(op, known[bits]) for bits in earlier)
                found.append((digests[op], once, twice))
        return found

    def _matters(self, op: Operation, sums: Sums) -> int:
        """The sum of what an operation must not be exchanged with."""
        kind = _KINDS[self._kinds[op]]
        return sum(part for part, other in zip(sums, _KINDS) if conflict(kind, other))
