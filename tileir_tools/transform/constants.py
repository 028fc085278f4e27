"""One constant for equal constants, at the front of the entry.

Place in the flow: part of transform; imports `rewriter`, `model`. The order in which they end up is that of
MLIR's folder: a constant stays where it is only at the front of the entry or right behind one that is
there already; every other one goes to the very front, so that runs of constants come out in reverse.
"""

from __future__ import annotations

from ..model import UNKNOWN, Attribute, Block, Operation
from .rewriter import Rewriter


class Constants:
    """The constants kept so far, of one entry.

    Attributes:
        changed: whether any constant was moved or dropped.
    """

    def __init__(self, block: Block, rewriter: Rewriter):
        self._block = block
        self._rewriter = rewriter
        self._kept: dict[Attribute, Operation] = {}
        # Constants that are no longer where they were.
        self._gone: set[Operation] = set()
        # Constant of the entry's own block -> the operation before it.
        self._before: dict[Operation, Operation | None] = {}
        previous = None
        for op in block.operations:
            if op.name == "constant":
                self._before[op] = previous
            previous = op
        self.changed = False

    def keep(self, op: Operation) -> bool:
        """Look at the next constant in text order; False where an equal one takes its place."""
        # The attribute says the type too.
        value = op.attributes["value"]
        known = self._kept.get(value)
        if known is not None:
            # It now stands for several places.
            known.location = UNKNOWN
            self._gone.add(op)
            self.changed = True
            self._rewriter.replace(op, known.results)
            return False
        self._kept[value] = op
        if op.parent is not self._block:
            op.location = UNKNOWN
            self._move(op)
        elif not self._stays(op):
            self._move(op)
        return True

    def _stays(self, op: Operation) -> bool:
        previous = self._before[op]
        while previous is not None and previous in self._gone:
            previous = self._before[previous]
        self._before[op] = previous
        return previous is None or previous.name == "constant"

    def _move(self, op: Operation) -> None:
        self._gone.add(op)
        self._rewriter.move_to_front(op, self._block)
        self.changed = True
