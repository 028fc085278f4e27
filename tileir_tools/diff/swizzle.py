"""Block swizzles: block ids that the reference maps to tiles and the generated kernel does not.

Place in the flow: facts -> **findings**; imports `analyze` and `pair`. A swizzle divides one block
id into the tile indices of several axes, so that blocks that run together share tiles in the cache.
A kernel that takes the block ids of those axes as they are covers the same tiles in another order;
one that leaves out only a part covers other tiles.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..analyze.dataflow import Flow, Node
from ..model import Operation
from .finding import DIFFERS
from .pair import Pair

_PARTS = frozenset({"divi", "remi"})


class Swizzles:
    """Collects indices that are swizzled in the reference alone, and judges them together."""

    def __init__(self, pair: Pair):
        self.pair = pair
        self._found: dict[tuple[Node, Node], tuple[str, Operation, Operation]] = {}

    def note(self, a: Node, b: Node, role: str, reference: Operation, generated: Operation) -> bool:
        """Whether `a` maps a block id that `b` takes as it is; keeps it for `report`."""
        if b.name != "get_tile_block_id" or not is_swizzle(a):
            return False
        self._found.setdefault((a, b), (role, reference, generated))
        return True

    def report(self) -> None:
        """Report what was kept: as a swizzle where all of it was left out, else as other tiles."""
        code = "PRF001" if self._is_left_out() else "MEM004"
        for (a, b), (role, reference, generated) in self._found.items():
            text = (
                "the reference maps block ids to a tile here, the generated kernel takes block id "
            )
            text += f"{'xyz'[b.output]} as it is"
            left = self.pair.reference.op_of(a, reference)
            self.pair.report(code, DIFFERS, text, left or reference, generated, role)

    def _is_left_out(self) -> bool:
        """Whether each swizzled index became a block id of its own, and none is left swizzled."""
        indices = {a for a, _ in self._found}
        axes = {b for _, b in self._found}
        if len(indices) != len(axes) or len(self._found) != len(indices):
            return False
        names = {n.name for a in indices for n in cone(a)}
        if len(indices) == 1 and not names >= _PARTS:
            return False
        return not any(is_swizzle(node) for node in _indices(self.pair.generated))


def is_swizzle(node: Node) -> bool:
    """Whether a value is a block id, divided, and nothing else that differs between blocks."""
    below = cone(node)
    names = {n.name for n in below}
    leaves = {n.name for n in below if n.is_leaf}
    return "get_tile_block_id" in names and bool(_PARTS & names) and leaves <= {"arg"}


def _indices(flow: Flow) -> Iterable[Node]:
    for effect in flow.every_effect():
        yield from effect.operands.get("index", ())


def cone(node: Node) -> set[Node]:
    """A node and everything that it is computed from, leaves included."""
    found: set[Node] = set()
    pending = [node]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += one.operands
    return found
