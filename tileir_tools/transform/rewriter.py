"""Changing the operations of a body while somebody walks over it.

Place in the flow: part of transform; imports `model`. Taking an operation out of a long list costs as much as
the list is long, so erased and moved operations stay in their block's list, as holes, until the block is
settled. `block_operations` and everything that inserts settle first; walking over a block while it is
changed must pass over operations whose parent is no longer the block.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Block, Operation, Value


class Rewriter:
    """Changes operations; a subclass may listen to what changes."""

    def __init__(self) -> None:
        # Block -> operations moved to its front, the last one first when it is settled.
        self._fronts: dict[Block, list[Operation]] = {}
        self._dirty: set[Block] = set()

    # -- told to those who listen -------------------------------------------------------------------

    def inserted(self, op: Operation) -> None:
        """An operation is new in its place."""

    def modified(self, op: Operation) -> None:
        """An operation reads other values than before."""

    def erasing(self, op: Operation) -> None:
        """An operation is about to go; it still has its operands."""

    # -- blocks -------------------------------------------------------------------------------------

    def settle(self, block: Block) -> None:
        """Close the holes in a block's list."""
        if block not in self._dirty:
            return
        self._dirty.discard(block)
        front = self._fronts.pop(block, [])
        moved = set(front)
        rest = [op for op in block.operations if op not in moved]
        block.operations = [op for op in (*reversed(front), *rest) if op.parent is block]

    def settle_all(self) -> None:
        for block in list(self._dirty):
            self.settle(block)

    def block_operations(self, block: Block) -> list[Operation]:
        """The operations of a block, without holes."""
        self.settle(block)
        return block.operations

    # -- changes ------------------------------------------------------------------------------------

    def insert_before(self, anchor: Operation, op: Operation) -> Operation:
        block = anchor.parent
        assert block is not None
        self.settle(block)
        block.insert_before(anchor, op)
        # Messages about it point to what it was made for.
        if op._tokens is None:
            op.place_like(anchor)
        self.inserted(op)
        return op

    def move_to_front(self, op: Operation, block: Block) -> None:
        old = op.parent
        if old is not None and old is not block:
            self._dirty.add(old)
        op.parent = block
        self._fronts.setdefault(block, []).append(op)
        self._dirty.add(block)

    def move_before(self, anchor: Operation, ops: Sequence[Operation]) -> None:
        """Move operations, in order, from another block to before an operation."""
        block = anchor.parent
        assert block is not None
        self._leave(ops)
        self.settle(block)
        self._place(block, block.operations.index(anchor), ops)

    def move_to_end(self, block: Block, ops: Sequence[Operation]) -> None:
        """Move operations, in order, from another block to the end of a block."""
        self._leave(ops)
        self.settle(block)
        self._place(block, len(block.operations), ops)

    def _leave(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if op.parent is not None:
                self._dirty.add(op.parent)
            op.parent = None

    def _place(self, block: Block, index: int, ops: Sequence[Operation]) -> None:
        block.operations[index:index] = ops
        for op in ops:
            op.parent = block
            self.inserted(op)

    def replace_uses(self, old: Value, new: Value) -> None:
        # The newest use first, as MLIR's lists of uses run.
        users = list(dict.fromkeys(reversed(old.users)))
        old.replace_all_uses_with(new)
        for user in users:
            self.modified(user)

    def set_operand(self, op: Operation, index: int, value: Value) -> None:
        op.set_operand(index, value)
        self.modified(op)

    def replace(self, op: Operation, values: Sequence[Value]) -> None:
        """Make every reader of the results read these values, and erase the operation."""
        for result, value in zip(op.results, values):
            self.replace_uses(result, value)
        self.erase(op)

    def erase(self, op: Operation) -> None:
        """Take an operation out, with everything inside it, the last one first."""
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                for inner in reversed(block.operations):
                    if inner.parent is block:
                        self.erase(inner)
        self.erasing(op)
        if op.parent is not None:
            self._dirty.add(op.parent)
            op.parent = None
        op.set_operands((), None)

    def erase_from(self, op: Operation) -> None:
        """Take out an operation and all that stands behind it in its block."""
        assert op.parent is not None
        ops = self.block_operations(op.parent)
        rest = ops[ops.index(op) :]
        for dropped in reversed(rest):
            self.erase(dropped)
