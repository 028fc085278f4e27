"""What corresponds to what: entries, parameters, loops and branches, effects.

Place in the flow: facts -> **findings**; imports `analyze` and `model`. Correspondence is found by
what things do, never by their names or by the line on which they stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from ..analyze.dataflow import Effect, Flow, Label, Node
from ..analyze.symbols import demangle
from ..errors import UsageError
from ..model import Attribute, Block, Entry, Module, Operation, PointerType, TileType, Type


class EntryPair(NamedTuple):
    """Two entries that stand for the same kernel; one side is None where nothing corresponds."""

    reference: Entry | None
    generated: Entry | None
    reference_module: Module | None
    generated_module: Module | None


def modules_of(what: Module | Sequence[Module]) -> list[Module]:
    """One side of a comparison as a list. Raises UsageError: something in it is no module."""
    found = [what] if isinstance(what, Module) else list(what)
    for item in found:
        if not isinstance(item, Module):
            kind = type(item).__name__
            raise UsageError(
                f"modules are compared, not {kind}: `load` reads a file, `parse` a text"
            )
    return found


def match_entries(reference: Sequence[Module], generated: Sequence[Module]) -> list[EntryPair]:
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


def selected(pairs: list[EntryPair], name: str | None) -> list[EntryPair]:
    """The pairs in which a symbol contains a name; all of them for None."""
    if name is None:
        return pairs
    return [
        p
        for p in pairs
        if any(side is not None and name in side.symbol for side in (p.reference, p.generated))
    ]


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
    return _likeness(_profiles(one)[one], _profiles(other)[other]) > 0.8


def match_arguments(reference: Entry, generated: Entry) -> dict[int, int]:
    """Generated argument number -> reference argument number.

    By position where as many are there, pointers against pointers; else along the longest common
    part of the lists.
    """
    left = [v.type for v in reference.arguments]
    right = [v.type for v in generated.arguments]
    if [_is_pointer(t) for t in left] == [_is_pointer(t) for t in right]:
        return {k: k for k in range(len(left))}
    pairs = _align(left, right, lambda a, b: 1.0 if a is b else 0.0)
    return {b: a for a, b in pairs}


_T = TypeVar("_T")


def _align(
    left: Sequence[_T], right: Sequence[_T], score: Callable[[_T, _T], float]
) -> list[tuple[int, int]]:
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


# -- loops and branches --------------------------------------------------------------------------

_CONTROL = ("for", "loop", "if")
_LOOPS = ("for", "loop")


def _profiles(entry: Entry) -> dict[Operation, Counter[str]]:
    """What each operation with regions holds, itself too, as counts of op names; the cheap ones left out."""
    found: dict[Operation, Counter[str]] = {}
    # From the inside to the outside: what stands in a region has been counted before what is around it.
    for op in reversed(list(entry.walk())):
        inside = found.setdefault(op, Counter()) if op.regions else Counter()
        if op.name not in ("constant", "assume", "iota"):
            inside[op.name] += 1
        around = op.parent_op
        if around is not None:
            found.setdefault(around, Counter()).update(inside)
    return found


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """1 for equal profiles, 0 for profiles that share nothing."""
    shared = sum((one & other).values())
    total = sum((one | other).values())
    return shared / total if total else 1.0


def match_controls(reference: Flow, entry: Entry) -> dict[Operation, Label]:
    """Loop or branch of `entry` -> label of the one in the reference that it stands for."""
    labels = {e.op: e.label for e in reference.every_effect() if e.name in _CONTROL}
    found: dict[Operation, Label] = {}
    profiles = {**_profiles(reference.entry), **_profiles(entry)}
    pending = [(reference.entry.body, entry.body)]
    while pending:
        left, right = pending.pop()
        for one, other in _match_control_lists(_controls(left), _controls(right), profiles):
            one, other = _closest(one, other, profiles)
            if one in labels:
                found[other] = labels[one]
            for a, b in zip(one.regions, other.regions, strict=False):
                if a.blocks and b.blocks:
                    pending.append((a.block, b.block))
    return found


def _controls(block: Block) -> list[Operation]:
    return [op for op in block.operations if op.name in _CONTROL and op.spec is not None]


def _match_control_lists(
    left: list[Operation], right: list[Operation], profiles: Mapping[Operation, Counter[str]]
) -> list[tuple[Operation, Operation]]:
    if [op.name for op in left] == [op.name for op in right]:
        return list(zip(left, right, strict=True))

    def score(one: Operation, other: Operation) -> float:
        if (one.name in _LOOPS) != (other.name in _LOOPS):
            return 0.0
        return 0.2 + _likeness(profiles[one], profiles[other]) + (one.name == other.name)

    return [(left[i], right[j]) for i, j in _align(left, right, score)]


# How much more alike an inner loop has to be to be preferred to the one around it.
_MARGIN = 0.25


def _closest(
    one: Operation, other: Operation, profiles: Mapping[Operation, Counter[str]]
) -> tuple[Operation, Operation]:
    """Of two loops and those inside them the pair that is most alike.

    One kernel may have a loop more around what the other one does.
    """
    if one.name not in _LOOPS or other.name not in _LOOPS:
        return one, other
    ours, theirs = profiles[one], profiles[other]
    wanted = _likeness(ours, theirs) + _MARGIN
    if wanted > 1:
        return one, other
    candidates = [(_likeness(profiles[inner], theirs), inner, other) for inner in _inner(one)]
    candidates += [(_likeness(ours, profiles[inner]), one, inner) for inner in _inner(other)]
    best = max(candidates, key=lambda c: c[0], default=None)
    if best is None or best[0] < wanted:
        return one, other
    return best[1], best[2]


def _inner(op: Operation) -> list[Operation]:
    """The loops inside an operation."""
    return [o for o in op.walk() if o is not op and o.name in _LOOPS and o.spec is not None]


# -- effects -------------------------------------------------------------------------------------

_KINDS: dict[str, str] = {
    "load_ptr_tko": "load",
    "load_view_tko": "load",
    "multimem_load_reduce_view_tko": "load",
    "store_ptr_tko": "store",
    "store_view_tko": "store",
    "multimem_store_view_tko": "store",
    "for": "loop",
    "loop": "loop",
    "return": "end",
    "break": "end",
    "continue": "end",
    "yield": "end",
}


def kind_of(effect: Effect) -> str:
    """What effects can stand for each other: loads, stores, atomics, ends; else the same op."""
    spec = effect.op.spec
    if spec is None:
        return f"opaque {effect.name}"
    if "atomic" in spec.traits:
        return "atomic"
    return _KINDS.get(effect.name, effect.name)


class Matching(NamedTuple):
    """Pairs of effects, and what is left over on each side."""

    pairs: list[tuple[Effect, Effect]]
    missing: list[Effect]
    extra: list[Effect]


def match_effects(reference: Flow, generated: Flow) -> Matching:
    """Pair the effects of two flows: region by region, then across regions."""
    matcher = _Matcher(reference, generated)
    found = matcher.regions([(reference.effects, generated.effects)])
    # Loops that correspond although one of them has another loop around it.
    left = {e.label: e for e in _with_inner(found.missing) if e.name in _CONTROL}
    right = {e.label: e for e in _with_inner(found.extra) if e.name in _CONTROL}
    loops = [(left[label], right[label]) for label in left if label in right]
    inside = matcher.regions([r for one, other in loops for r in _regions(one, other)])
    pairs = found.pairs + loops + inside.pairs
    missing = _without(_with_inner(found.missing), pairs, 0)
    extra = _without(_with_inner(found.extra), pairs, 1)
    across, missing, extra = matcher.match(missing, extra, _ACROSS)
    order = {e.op: k for k, e in enumerate(reference.every_effect())}
    pairs = sorted(pairs + across, key=lambda p: order[p[0].op])
    return Matching(pairs, sorted(missing, key=lambda e: order[e.op]), extra)


def _regions(one: Effect, other: Effect) -> list[tuple[list[Effect], list[Effect]]]:
    return list(zip_longest(one.regions, other.regions, fillvalue=[]))


# How alike effects of different regions have to be.
_ACROSS = 6


def _with_inner(effects: list[Effect]) -> list[Effect]:
    """The effects and everything inside them."""
    found: list[Effect] = []
    for effect in effects:
        found.append(effect)
        for region in effect.regions:
            found += _with_inner(region)
    return found


def _equal_pairs(left: list[Effect], right: list[Effect]) -> list[tuple[Effect, Effect]]:
    """Pairs of effects that do the same."""
    groups: dict[object, tuple[list[Effect], list[Effect]]] = {}
    for side, effects in enumerate((left, right)):
        for effect in effects:
            key = effect.label if effect.name in _CONTROL else effect.key
            groups.setdefault(key, ([], []))[side].append(effect)
    pairs: list[tuple[Effect, Effect]] = []
    for ours, theirs in groups.values():
        count = min(len(ours), len(theirs))
        pairs += zip(_first(ours, count), _first(theirs, count), strict=True)
    return pairs


def _first(effects: list[Effect], count: int) -> list[Effect]:
    """That many of the effects, in their order; those that nothing reads are left out first."""
    by_use = sorted(effects, key=lambda e: not any(v.users for v in e.op.results))
    kept = {id(e) for e in by_use[:count]}
    return [e for e in effects if id(e) in kept]


# How far apart two alike effects may stand in long lists.
_REACH = 150


class _Matcher:
    """Pairs effects: equal ones first, then alike ones."""

    def __init__(self, reference: Flow, generated: Flow):
        # Loops and branches that have a counterpart already stand for nothing else.
        self.taken = set(reference.by_label) & set(generated.by_label)

    def regions(self, pending: list[tuple[list[Effect], list[Effect]]]) -> Matching:
        """Pairs of pairs of regions, and of the regions inside what is paired."""
        matching = Matching([], [], [])
        while pending:
            left, right = pending.pop()
            pairs, missing, extra = self.match(left, right, 0)
            matching.pairs.extend(pairs)
            matching.missing.extend(missing)
            matching.extra.extend(extra)
            for one, other in pairs:
                pending += _regions(one, other)
        return matching

    def match(
        self, left: list[Effect], right: list[Effect], least: float
    ) -> tuple[list[tuple[Effect, Effect]], list[Effect], list[Effect]]:
        """Pairs, and what is left over on each side; alike ones are at least `least` alike."""
        pairs = _equal_pairs(left, right)
        left, right = _without(left, pairs, 0), _without(right, pairs, 1)
        alike = self._alike(left, right, least)
        return pairs + alike, _without(left, alike, 0), _without(right, alike, 1)

    def _alike(
        self, left: list[Effect], right: list[Effect], least: float
    ) -> list[tuple[Effect, Effect]]:
        """The best pairs of one kind, greedily."""
        features = [[_features(e) for e in effects] for effects in (left, right)]
        free = [[self._free(e) for e in effects] for effects in (left, right)]
        candidates = []
        reach = _REACH if len(left) * len(right) > _REACH**2 else len(right)
        for i, one in enumerate(features[0]):
            # In long lists only what stands at about the same place is looked at.
            middle = i * len(right) // len(left)
            low, high = max(0, middle - reach), middle + reach + 1
            for j, other in enumerate(features[1][low:high], low):
                if one.kind == other.kind and free[0][i] and free[1][j]:
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
        return pairs

    def _free(self, effect: Effect) -> bool:
        return effect.name not in _CONTROL or effect.label not in self.taken


def _without(effects: list[Effect], pairs: list[tuple[Effect, Effect]], side: int) -> list[Effect]:
    gone = {id(pair[side]) for pair in pairs}
    return [e for e in effects if id(e) not in gone]


class _Features(NamedTuple):
    """What makes effects alike."""

    kind: str
    name: str
    base: tuple[object, ...] | None
    moved: Type | None
    attributes: frozenset[tuple[str, Attribute]]
    operands: frozenset[tuple[str, int, int]]


def _features(effect: Effect) -> _Features:
    base = base_pointer(effect)
    operands = (
        (group, place, node.id)
        for group, nodes in effect.operands.items()
        for place, node in enumerate(nodes)
    )
    return _Features(
        kind_of(effect),
        effect.name,
        (base.name, base.detail) if base is not None else None,
        _moved_type(effect),
        frozenset(effect.op.attributes.items()),
        frozenset(operands),
    )


def _effect_likeness(one: _Features, other: _Features) -> float:
    score = 4.0 * (one.name == other.name)
    score += 3 * (one.base is not None and one.base == other.base)
    score += 2 * (one.moved is other.moved)
    score += 0.5 * len(one.attributes & other.attributes)
    return score + len(one.operands & other.operands)


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
