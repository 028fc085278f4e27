"""What is structural about a kernel: how it goes over memory, loops, and which products it forms.

Place in the flow: Module -> **facts**; imports `dataflow`, `digest`, `levels`. It is the coarsest level of
`levels`, kept as a record so that two kernels' structures can be told apart in words.

What counts: loads, stores and atomics (by view or by pointer, rank of the tile), loops and branches
and what stands in them, matrix products, reductions, scans, transpositions and concatenations, the
block ids that are read, whether a loop strides over the grid (a persistent schedule) and whether
block ids are swizzled. A value stands in the innermost loop that it depends on, wherever the text
computes it. What does not count: arithmetic, masks, sizes, number formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ..model import GatherScatterViewType, StridedViewType, TileType, ViewType
from .dataflow import Effect, Node, by_number
from .digest import FlowDigest

# Counts of things, sorted by name.
Counts = tuple[tuple[str, int], ...]


class Access(NamedTuple):
    """Loads, stores or atomics of one kind: `kind` ("load", "store", or the name of another memory
    operation), `through` ("pointers", "partition_view"..), `rank` of the tile, whether its dimensions
    are mapped in another order."""

    kind: str
    through: str
    rank: int
    permuted: bool


class Part(NamedTuple):
    """The entry, a loop, or one side of a branch.

    `kind` is "entry", "for", "loop", "then" or "else"; `persistent` whether it is a loop that strides over
    the grid; `carried` how many values a loop carries; `computed` counts matrix products and the
    like by mnemonic and rank; `inner` is what stands inside.
    """

    kind: str
    persistent: bool
    carried: int
    accesses: tuple[tuple[Access, int], ...]
    computed: Counts
    inner: tuple[Part, ...]


class Structure(NamedTuple):
    """The structure of an entry; `blocks` are the axes of block ids that it reads."""

    blocks: str
    swizzled: bool
    body: Part

    def parts(self) -> Iterator[tuple[int, Part]]:
        """Every part with the number of loops around it, the entry first."""
        pending = [(0, self.body)]
        while pending:
            depth, part = pending.pop()
            yield depth, part
            inside = depth + (part.kind in ("for", "loop"))
            pending += [(inside, p) for p in reversed(part.inner)]


_COMPUTED = frozenset(
    {"mmaf", "mmai", "mmaf_scaled", "reduce", "scan", "permute", "cat", "pack", "unpack"}
)
_VIEWS = {StridedViewType: "strided_view", GatherScatterViewType: "gather_scatter_view"}
_ACCESSES = {
    "load_ptr_tko": "load",
    "load_view_tko": "load",
    "store_ptr_tko": "store",
    "store_view_tko": "store",
}
_LOOPS = ("for", "loop")
_ENDS = frozenset({"return", "break", "continue", "yield"})


def structure_of(digest: FlowDigest) -> Structure:
    """The structure of what was digested at the level `sizes`.

    It is made of what that level sees, so that kernels that are equal there have one structure.
    """
    return _Builder(digest).structure()


class _Builder:
    def __init__(self, digest: FlowDigest):
        self.digest = digest
        self.flow = digest.flow
        self._homes: dict[Node, Effect | None] = {}
        self._computed = self._find_computed()
        self._strides = self._computed_from("get_num_tile_blocks")

    def structure(self) -> Structure:
        axes = {n.output for n in self.digest.values if n.name == "get_tile_block_id"}
        return Structure(
            "".join(axis for number, axis in enumerate("xyz") if number in axes),
            self._is_swizzled(),
            self._part("entry", None, self.flow.effects),
        )

    # -- values -----------------------------------------------------------------------------------

    def _behind(self, node: Node) -> list[Node]:
        terms = self.digest.terms
        return [terms.passed(n) for n in (*terms.operands(node), *node.body)]

    def _home(self, node: Node) -> Effect | None:
        """The innermost loop that a value depends on."""
        known = self._homes
        pending = [node]
        while pending:
            one = pending[-1]
            missing = [n for n in self._behind(one) if n not in known]
            if missing:
                pending += missing
                continue
            pending.pop()
            homes = [known[n] for n in self._behind(one)]
            homes.append(self._own_home(one))
            known[one] = max(homes, key=_depth)
        return known[node]

    def _own_home(self, node: Node) -> Effect | None:
        source = self.flow.source_of(node)
        if source is None:
            return None
        return _loop_around(source) if node.name == "result" else source

    def _find_computed(self) -> dict[Effect | None, Counter[str]]:
        """Loop -> matrix products and the like that depend on it, each once."""
        found: dict[Effect | None, dict[str, str]] = {}
        for node, digest in self.digest.values.items():
            if node.name in _COMPUTED and digest != "constant":
                rank = node.type.rank if isinstance(node.type, TileType) else 0
                name = f"{self.digest.terms.op(node.name)} of rank {rank}"
                found.setdefault(self._home(node), {})[digest] = name
        return {loop: Counter(names.values()) for loop, names in found.items()}

    def _is_swizzled(self) -> bool:
        """Whether something divides a block id, or the index of a loop that starts at one."""
        found = self._computed_from("get_tile_block_id")
        return any(
            self.digest.terms.op(node.name) in ("div", "rem")
            and any(n in found for n in self._behind(node))
            for node in self.digest.values
        )

    def _computed_from(self, name: str) -> set[Node]:
        """The values that depend on an operation of this name, over starts of loops, too."""
        found: set[Node] = set()
        # What a node is made of was made before it.
        for node in sorted(self.digest.values, key=by_number):
            behind = self._behind(node)
            loop = self.flow.source_of(node) if node.name == "index" else None
            start = loop.node("lowerBound") if loop is not None else None
            if start is not None:
                behind.append(self.digest.seen(start))
            if node.name == name or any(n in found for n in behind):
                found.add(node)
        return found

    # -- effects ----------------------------------------------------------------------------------

    def _part(self, kind: str, loop: Effect | None, effects: list[Effect]) -> Part:
        accesses = Counter(a for e in effects if (a := self._access(e)) is not None)
        inner = [part for e in effects for part in self._inner(e)]
        computed = self._computed.get(loop, Counter()) if kind not in ("then", "else") else {}
        return Part(
            kind,
            loop is not None and kind in _LOOPS and self._is_persistent(loop),
            len(loop.carried) if loop is not None and kind in _LOOPS else 0,
            tuple(sorted(accesses.items())),
            tuple(sorted(computed.items())),
            tuple(sorted(inner)),
        )

    def _inner(self, effect: Effect) -> list[Part]:
        if effect.name in _LOOPS:
            return [self._part(effect.name, effect, effect.regions[0])]
        names = ("then", "else") if effect.name == "if" else (effect.name,) * len(effect.regions)
        parts = [
            self._part(name, effect, region)
            for name, region in zip(names, effect.regions, strict=True)
        ]
        # A branch in which nothing happens only chooses a value.
        return [p for p in parts if p.accesses or p.inner]

    def _is_persistent(self, loop: Effect) -> bool:
        step = loop.node("step")
        return step is not None and self.digest.seen(step) in self._strides

    def _access(self, effect: Effect) -> Access | None:
        op = effect.op
        if op.spec is None:
            return Access(effect.name, "", 0, False)
        if effect.name in _ENDS or effect.name in ("for", "loop", "if", "assert", "print_tko"):
            return None
        address = next(
            (n for g in _ADDRESSES if (n := effect.node(g)) is not None),
            None,
        )
        kind = _ACCESSES.get(effect.name, effect.name)
        view = address.type if address is not None else None
        if isinstance(view, ViewType):
            order = getattr(view, "dim_map", ())
            permuted = order != tuple(range(len(order)))
            through = _VIEWS.get(type(view), "partition_view")
            return Access(kind, through, view.rank, permuted)
        rank = view.rank if isinstance(view, TileType) else 0
        return Access(kind, "pointers", rank, False)


_ADDRESSES = ("view", "source", "destination", "pointers")


def _loop_around(effect: Effect) -> Effect | None:
    around = effect.parent
    while around is not None and around.name not in _LOOPS:
        around = around.parent
    return around


def _depth(loop: Effect | None) -> int:
    return -1 if loop is None else loop.depth
