"""What corresponds to what: entries, parameters, loops and branches, effects.

Place in the flow: facts -> **findings**; imports `analyze` and `model`. Correspondence is found by what
things do, never by their names or by the line on which they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..analyze.dataflow import Effect, Flow, Label, Node
from ..analyze.symbols import demangle
from ..model import Block, Entry, Module, Operation, PointerType, TileType, Type


class EntryPair(NamedTuple):
    """Two entries that stand for the same kernel; one side is None where nothing corresponds."""

    reference: Entry | None
    generated: Entry | None
    reference_module: Module | None
    generated_module: Module | None


def match_entries(
    reference: Sequence[Module], generated: Sequence[Module]
) -> list[EntryPair]:
    """Pair the entries of two sets of modules.

    One against one always correspond. Else equal symbols do, then equal function names with equal
    constants, then equal function names, then equal real names behind an alias, then entries whose
    bodies look alike.
    """
    left = [(e, m) for m in reference for e in m.entries]
    right = [(e, m) for m in generated for e in m.entries]
    pairs: list[EntryPair] = []
    if len(left) == len(right) == 1:
        return [EntryPair(left[0][0], right[0][0], left[0][1], right[0][1])]
    for same in (_same_symbol, _same_constants, _same_function, _same_real_function, _same_body):
        for one in list(left):
            found = next((other for other in right if same(one[0], other[0])), None)
            if found is not None:
                left.remove(one)
                right.remove(found)
                pairs.append(EntryPair(one[0], found[0], one[1], found[1]))
    order = [e for m in reference for e in m.entries]
    pairs.sort(key=lambda p: order.index(p.reference) if p.reference else 0)
    pairs += [EntryPair(e, None, m, None) for e, m in left]
    pairs += [EntryPair(None, e, None, m) for e, m in right]
    return pairs


def _same_symbol(one: Entry, other: Entry) -> bool:
    return one.symbol == other.symbol


def _same_constants(one: Entry, other: Entry) -> bool:
    a, b = demangle(one.symbol), demangle(other.symbol)
    return a.function == b.function and a.parameters == b.parameters


def _same_function(one: Entry, other: Entry) -> bool:
    return demangle(one.symbol).function == demangle(other.symbol).function


def _same_real_function(one: Entry, other: Entry) -> bool:
    return demangle(one.symbol).real_function == demangle(other.symbol).real_function


def _same_body(one: Entry, other: Entry) -> bool:
    return _likeness(_profile(one), _profile(other)) > 0.8


def match_arguments(reference: Entry, generated: Entry) -> dict[int, int]:
    """Generated argument number -> reference argument number.

    By position where the types agree; where the lists differ, along their longest common part.
    """
    left = [v.type for v in reference.arguments]
    right = [v.type for v in generated.arguments]
    if left == right:
        return {k: k for k in range(len(left))}
    pairs = _align(left, right, lambda a, b: 1.0 if a is b else 0.0)
    return {b: a for a, b in pairs}


def _align(left: Sequence[object], right: Sequence[object], score) -> list[tuple[int, int]]:  # type: ignore[no-untyped-def]
    """The pairs (i, j), in order on both sides, with the largest sum of scores."""
    rows, columns = len(left), len(right)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            both = score(left[i], right[j])
            pair = best[i + 1][j + 1] + both if both > 0 else 0.0
            best[i][j] = max(pair, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        both = score(left[i], right[j])
        if both > 0 and best[i][j] == best[i + 1][j + 1] + both:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


# -- loops and branches -----------------------------------------------------------------------------

_CONTROL = ("for", "loop", "if")
_LOOPS = ("for", "loop")


def _profile(op: Operation) -> Counter[str]:
    """What an operation holds, as counts of op names; the cheap ones left out."""
    return Counter(o.name for o in op.walk() if o.name not in ("constant", "assume", "iota"))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """1 for equal profiles, 0 for profiles that share nothing."""
    shared = sum((one & other).values())
    total = sum((one | other).values())
    return shared / total if total else 1.0


def match_controls(reference: Flow, entry: Entry) -> dict[Operation, Label]:
    """Loop or branch of `entry` -> label of the one in the reference that it stands for."""
    labels = {e.op: e.label for e in reference.every_effect() if e.name in _CONTROL}
    found: dict[Operation, Label] = {}
    pending = [(reference.entry.body, entry.body)]
    while pending:
        left, right = pending.pop()
        for one, other in _match_control_lists(_controls(left), _controls(right)):
            if one in labels:
                found[other] = labels[one]
            for a, b in zip(one.regions, other.regions):
                if a.blocks and b.blocks:
                    pending.append((a.block, b.block))
    return found


def _controls(block: Block) -> list[Operation]:
    return [op for op in block.operations if op.name in _CONTROL and op.spec is not None]


def _match_control_lists(
    left: list[Operation], right: list[Operation]
) -> list[tuple[Operation, Operation]]:
    if [op.name for op in left] == [op.name for op in right]:
        return list(zip(left, right))
    profiles = {op: _profile(op) for op in (*left, *right)}

    def score(one: object, other: object) -> float:
        assert isinstance(one, Operation)
        assert isinstance(other, Operation)
        if (one.name in _LOOPS) != (other.name in _LOOPS):
            return 0.0
        return 0.2 + _likeness(profiles[one], profiles[other]) + (one.name == other.name)

    return [(left[i], right[j]) for i, j in _align(left, right, score)]


# -- effects ----------------------------------------------------------------------------------------

_KINDS: dict[str, str] = {
    "load_ptr_tko": "load",
    "load_view_tko": "load",
    "multimem_load_reduce_view_tko": "load",
    "store_ptr_tko": "store",
    "store_view_tko": "store",
    "multimem_store_view_tko": "store",
    "for": "loop",
    "loop": "loop",
}


def kind_of(effect: Effect) -> str:
    """What effects can stand for each other: loads, stores, atomics; else only the same op."""
    spec = effect.op.spec
    if spec is None:
        return f"opaque {effect.name}"
    if "atomic" in spec.traits:
        return "atomic"
    return _KINDS.get(effect.name, effect.name)


class Matching(NamedTuple):
    """Pairs of effects, and what is left over on each side.

    `moved` holds the pairs that stand in other regions on the two sides.
    """

    pairs: list[tuple[Effect, Effect]]
    moved: set[int]
    missing: list[Effect]
    extra: list[Effect]


def match_effects(reference: Flow, generated: Flow) -> Matching:
    """Pair the effects of two flows, region by region, then across regions."""
    pairs: list[tuple[Effect, Effect]] = []
    missing: list[Effect] = []
    extra: list[Effect] = []
    pending = [(reference.effects, generated.effects)]
    while pending:
        left, right = pending.pop()
        found, rest_left, rest_right = _match_lists(left, right)
        pairs += found
        missing += rest_left
        extra += rest_right
        for one, other in found:
            for k in range(max(len(one.regions), len(other.regions))):
                a = one.regions[k] if k < len(one.regions) else []
                b = other.regions[k] if k < len(other.regions) else []
                pending.append((a, b))
    across, missing, extra = _match_by_likeness(_with_inner(missing), _with_inner(extra), 6)
    order = {e.op: k for k, e in enumerate(reference.every_effect())}
    moved = {id(one) for one, _ in across}
    pairs = sorted(pairs + across, key=lambda p: order[p[0].op])
    return Matching(pairs, moved, sorted(missing, key=lambda e: order[e.op]), extra)


def _with_inner(effects: list[Effect]) -> list[Effect]:
    """The effects and everything inside them."""
    found: list[Effect] = []
    for effect in effects:
        found.append(effect)
        for region in effect.regions:
            found += _with_inner(region)
    return found


def _match_lists(
    left: list[Effect], right: list[Effect]
) -> tuple[list[tuple[Effect, Effect]], list[Effect], list[Effect]]:
    """Pairs inside one region: equal effects first, then alike ones."""
    by_label = {e.label: e for e in right}
    pairs = [(e, by_label[e.label]) for e in left if e.label in by_label]
    taken_left = {id(a) for a, _ in pairs}
    taken_right = {id(b) for _, b in pairs}
    rest_left = [e for e in left if id(e) not in taken_left]
    rest_right = [e for e in right if id(e) not in taken_right]
    alike, rest_left, rest_right = _match_by_likeness(rest_left, rest_right, 0)
    return pairs + alike, rest_left, rest_right


def _match_by_likeness(
    left: list[Effect], right: list[Effect], least: float
) -> tuple[list[tuple[Effect, Effect]], list[Effect], list[Effect]]:
    """The best pairs of one kind, greedily; those below `least` are not made."""
    candidates = []
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            if kind_of(one) == kind_of(other):
                score = _effect_likeness(one, other)
                if score >= least:
                    candidates.append((-score, abs(i - j), i, j))
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    pairs = []
    for _, _, i, j in sorted(candidates):
        if i not in taken_left and j not in taken_right:
            taken_left.add(i)
            taken_right.add(j)
            pairs.append((left[i], right[j]))
    return (
        pairs,
        [e for i, e in enumerate(left) if i not in taken_left],
        [e for j, e in enumerate(right) if j not in taken_right],
    )


def _effect_likeness(one: Effect, other: Effect) -> float:
    score = 4.0 if one.name == other.name else 0.0
    if base_pointer(one) is not None and base_pointer(one) is base_pointer(other):
        score += 3
    if _moved_type(one) is _moved_type(other):
        score += 2
    for name, nodes in one.operands.items():
        theirs = other.operands.get(name, ())
        score += sum(1 for a, b in zip(nodes, theirs) if a is b)
    return score


def _moved_type(effect: Effect) -> Type | None:
    """The type of what a memory operation moves."""
    for name in ("tile", "value", "arg", "val"):
        node = effect.node(name)
        if node is not None:
            return node.type
    return effect.op.results[0].type if effect.op.results else None


def base_pointer(effect: Effect) -> Node | None:
    """The pointer argument (or global) behind a memory operation's view or pointers."""
    for name in ("view", "source", "destination", "pointers"):
        node = effect.node(name)
        if node is not None:
            return _base_of(node)
    return None


def _base_of(node: Node) -> Node | None:
    while node.operands:
        pointers = [n for n in node.operands if _is_pointer(n.type)]
        node = pointers[0] if pointers else node.operands[0]
    return node if _is_pointer(node.type) else None


def _is_pointer(type: Type) -> bool:
    return isinstance(type, TileType) and isinstance(type.element, PointerType)
