"""Applying folds and patterns to the operations of an entry until nothing changes.

Place in the flow: part of transform; imports `constants`, `effects`, `folds`, `rewriter`, `model`.

The order of work is that of MLIR's greedy driver, because the result depends on it: first equal constants
become one at the front of the entry, then a stack of operations is worked off, dropping what is dead, folding,
trying patterns; whoever is touched by a change is put back on the stack. All of that again, until a round
changes nothing, at most ten times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..model import Operation, Value
from .constants import Constants
from .effects import is_dead
from .folds import FOLDS
from .rewriter import Rewriter

# Changes an operation, or says False and leaves it as it is.
Pattern = Callable[[Operation, Rewriter], bool]
Patterns = Mapping[str, tuple[Pattern, ...]]

_MOST_ROUNDS = 10


def rewrite(root: Operation, patterns: Patterns, *, top_down: bool) -> bool:
    """Apply folds and patterns to everything inside an operation; whether anything changed.

    Args:
        root: an entry.
        patterns: op name -> patterns, in the order in which they are tried.
        top_down: start at the first operation, else at the last one.
    """
    changed = False
    for _ in range(_MOST_ROUNDS):
        driver = _Driver(root, patterns)
        driver.fill(top_down)
        again = driver.work()
        again = driver.sweep() or again
        driver.settle_all()
        changed = changed or again or driver.constants_changed
        if not again:
            break
    return changed


class _Driver(Rewriter):
    """One round: a stack of operations, each at most once in it."""

    def __init__(self, root: Operation, patterns: Patterns):
        super().__init__()
        self._root = root
        self._patterns = patterns
        self._stack: list[Operation | None] = []
        self._places: dict[Operation, int] = {}
        self._constants = Constants(root.regions[0].block, self)

    @property
    def constants_changed(self) -> bool:
        return self._constants.changed

    # -- the stack ----------------------------------------------------------------------------------

    def fill(self, top_down: bool) -> None:
        """Put everything on the stack, equal constants made one."""
        for op in _inside(self._root, top_down):
            if op.name != "constant" or self._constants.keep(op):
                self._push(op)
        if top_down:
            self._stack.reverse()
            last = len(self._stack) - 1
            self._places = {op: last - k for op, k in self._places.items()}

    def _push(self, op: Operation) -> None:
        """Put an operation on the stack, and those around it."""
        places, stack = self._places, self._stack
        current: Operation | None = op
        while current is not None and current is not self._root:
            if current not in places:
                places[current] = len(stack)
                stack.append(current)
            current = current.parent_op

    def inserted(self, op: Operation) -> None:
        self._push(op)

    def modified(self, op: Operation) -> None:
        self._push(op)

    def erasing(self, op: Operation) -> None:
        # Who gives the operands may be dead now, or have one use where it had two.
        for value in op.operands:
            producer = value.defining_op
            if producer is not None and not _several_besides(value, op):
                self._push(producer)
        place = self._places.pop(op, None)
        if place is not None:
            self._stack[place] = None

    # -- work ---------------------------------------------------------------------------------------

    def work(self) -> bool:
        """Work off the stack; whether anything changed."""
        changed = False
        stack, places = self._stack, self._places
        while stack:
            op = stack.pop()
            if op is None:
                continue
            del places[op]
            if is_dead(op):
                self.erase(op)
                changed = True
            elif self._folded(op) or self._matched(op):
                changed = True
        return changed

    def _folded(self, op: Operation) -> bool:
        fold = FOLDS.get(op.name)
        values = fold(op) if fold is not None else None
        if values is None:
            return False
        if values:
            self.replace(op, values)
        else:
            # Changed where it stands.
            self.modified(op)
        return True

    def _matched(self, op: Operation) -> bool:
        return any(pattern(op, self) for pattern in self._patterns.get(op.name, ()))

    def sweep(self) -> bool:
        """Drop what became dead without being on the stack; whether there was any."""
        dead = [op for op in reversed(list(_inside(self._root, True))) if op.parent is not None]
        changed = False
        for op in dead:
            if op.parent is not None and is_dead(op):
                self.erase(op)
                changed = True
        return changed


def _several_besides(value: Value, op: Operation) -> bool:
    """Whether two operations or more, other than one, read a value."""
    other = None
    for user in value.users:
        if user is not op and user is not other:
            if other is not None:
                return True
            other = user
    return False


def _inside(root: Operation, outer_first: bool) -> list[Operation]:
    """The operations inside one, in text order, each before or after those inside it."""
    found: list[Operation] = []

    def visit(op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    if inner.parent is not block:
                        continue
                    if outer_first:
                        found.append(inner)
                    if inner.regions:
                        visit(inner)
                    if not outer_first:
                        found.append(inner)

    visit(root)
    return found
