"""In what the structures of two kernels differ, in one sentence.

Place in the flow: facts -> **findings**; imports `analyze.structure`. What tells two kernels apart
most is said first: schedule, loops, matrix products, memory, shapes, and so on down to what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..analyze.structure import Access, Structure

_Facet = Callable[[Structure, Structure, str, str], "str | None"]


def structural_difference(
    one: Structure, other: Structure, here: str = "one", there: str = "the other"
) -> str | None:
    """What tells two structures apart; `here` and `there` name the kernels. None: nothing does."""
    if one == other:
        return None
    for facet in _FACETS:
        text = facet(one, other, here, there)
        if text is not None:
            return text
    return "the same operations stand in other loops or branches"


def distance(one: Structure, other: Structure) -> int:
    """How many things tell two structures apart; 0 for equal ones."""
    if one == other:
        return 0
    return 1 + sum(facet(one, other, "", "") is not None for facet in _FACETS)


def _persistent(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = (any(part.persistent for _, part in s.parts()) for s in (one, other))
    if a == b:
        return None
    return (
        f"a persistent loop over blocks in {here if a else there}, none in {there if a else here}"
    )


def _loops(one: Structure, other: Structure, here: str, there: str) -> str | None:
    def loops(s: Structure) -> list[tuple[int, str]]:
        return [(depth, p.kind) for depth, p in s.parts() if p.kind in ("for", "loop")]

    a, b = loops(one), loops(other)
    if len(a) != len(b):
        return f"{_count(len(a), 'loop')} in {here}, {_number(len(b))} in {there}"
    if sorted(k for _, k in a) != sorted(k for _, k in b):
        kinds = ("bounded loops (`for`)", "loops without bounds (`loop`)")
        more = sum(k == "for" for _, k in a) > sum(k == "for" for _, k in b)
        return f"{kinds[not more]} in {here}, {kinds[more]} in {there}"
    if sorted(a) != sorted(b):
        deepest = [1 + max(depth for depth, _ in side) for side in (a, b)]
        return f"loops nested {deepest[0]} deep in {here}, {deepest[1]} deep in {there}"
    return None


def _branches(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = (sum(p.kind in ("then", "else") for _, p in s.parts()) for s in (one, other))
    if a == b:
        return None
    return f"{_count(a, 'branch', 'branches')} with effects in {here}, {_number(b)} in {there}"


def _computed(stems: tuple[str, ...], noun: str, nouns: str) -> _Facet:
    def facet(one: Structure, other: Structure, here: str, there: str) -> str | None:
        a, b = (_totals(s, stems) for s in (one, other))
        if a == b:
            return None
        if a.total() != b.total():
            if not a.total() or not b.total():
                return f"{noun} in {here if a else there}, none in {there if a else here}"
            return f"{_count(a.total(), noun, nouns)} in {here}, {b.total()} in {there}"
        return f"{_listed(a - b)} in {here}, {_listed(b - a)} in {there}"

    return facet


_MMA = ("mma", "mmaf_scaled")


def _products(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = (_totals(s, _MMA).total() for s in (one, other))
    if bool(a) == bool(b):
        return None
    return f"mma in {here if a else there}, none in {there if a else here}"


def _totals(structure: Structure, stems: tuple[str, ...]) -> Counter[str]:
    found: Counter[str] = Counter()
    for _, part in structure.parts():
        for name, count in part.computed:
            if name.split(" ")[0] in stems:
                found[name] += count
    return found


def _accesses(structure: Structure) -> Counter[Access]:
    found: Counter[Access] = Counter()
    for _, part in structure.parts():
        found.update(dict(part.accesses))
    return found


def _memory(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = ({(x.kind, x.through) for x in _accesses(s)} for s in (one, other))
    kinds = {kind for kind, _ in a} & {kind for kind, _ in b}
    for kind in sorted(kinds):
        left, right = ({through for k, through in side if k == kind} for side in (a, b))
        if left != right:
            texts = [_ways(left), _ways(right)]
            return f"{kind} by {texts[0]} in {here}, by {texts[1]} in {there}"
    if {kind for kind, _ in a} != {kind for kind, _ in b}:
        only = sorted({k for k, _ in a} ^ {k for k, _ in b})
        return f"{only[0]} only in {here if (only[0]) in {k for k, _ in a} else there}"
    return None


def _ways(through: Iterable[str]) -> str:
    return " and ".join(
        sorted({"pointers": "pointer"}.get(t, t.replace("_", " ")) for t in through)
    )


def _ranks(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = ({x.rank for x in _accesses(s)} for s in (one, other))
    if a == b:
        return None
    texts = [" and ".join(map(str, sorted(side))) or "none" for side in (a, b)]
    return f"tiles of rank {texts[0]} in {here}, {texts[1]} in {there}"


def _access_counts(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = _accesses(one), _accesses(other)
    for kind in sorted({x.kind for x in (*a, *b)}):
        left, right = (sum(n for x, n in side.items() if x.kind == kind) for side in (a, b))
        if left != right:
            return f"{_count(left, kind)} in {here}, {_number(right)} in {there}"
    left, right = (sum(n for x, n in side.items() if x.permuted) for side in (a, b))
    if left != right:
        what = _count(left, "access with", "accesses with")
        return f"{what} permuted dimensions in {here}, {_number(right)} in {there}"
    if a != b:
        texts = [f"{x.kind} of rank {x.rank}" for x in ((a - b) | (b - a))]
        return f"{sorted(texts)[0]} is there another number of times"
    return None


def _blocks(one: Structure, other: Structure, here: str, there: str) -> str | None:
    if one.blocks != other.blocks:
        a, b = (", ".join(s.blocks) or "none" for s in (one, other))
        return f"block ids {a} in {here}, {b} in {there}"
    if one.swizzled != other.swizzled:
        sides = (here, there) if one.swizzled else (there, here)
        return f"block ids are divided (swizzled) in {sides[0]}, used as they are in {sides[1]}"
    return None


def _carried(one: Structure, other: Structure, here: str, there: str) -> str | None:
    a, b = (
        sorted(p.carried for _, p in s.parts() if p.kind in ("for", "loop")) for s in (one, other)
    )
    if a == b:
        return None
    return f"loops carry {sum(a)} values in {here}, {sum(b)} in {there}"


def _count(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{number or 'no'} {noun if number == 1 else nouns or noun + 's'}"


def _number(number: int) -> str:
    return str(number) if number else "none"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" if n > 1 else name for name, n in sorted(counts.items()))


_FACETS: tuple[_Facet, ...] = (
    _persistent,
    _products,
    _memory,
    _ranks,
    _loops,
    _computed(_MMA, "mma", "mma"),
    _computed(("reduce", "scan"), "reduction", "reductions"),
    _branches,
    _access_counts,
    _computed(("permute",), "transposition", "transpositions"),
    _computed(("cat", "pack", "unpack"), "concatenation", "concatenations"),
    _blocks,
    _carried,
)
