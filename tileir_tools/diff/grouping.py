"""Grouping kernels into structural variants and their supplements.

Place in the flow: facts -> **findings** -> report; imports `analyze`, `read`, `structural`, `equality`.

Two kernels are one variant where their structures are equal (see `analyze.structure`) and they are the
same function or the same body: the real function name behind mangling and alias is equal, or
they are equal modulo sizes. So another number format, another tile size or another constant is no
variant of its own, while two functions of one shape, such as two activations, stay apart. Within a
variant, kernels over other number formats are its supplements.

Each file is read once, alone, and becomes a few lines of facts; grouping looks at those. Reading is
what takes the time, and goes to an executor where one is given.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ..analyze import demangle
from ..analyze.facts import Fingerprints
from ..analyze.fingerprint import examine
from ..analyze.hints import check_arch
from ..analyze.levels import LEVELS, SIZES
from ..analyze.structure import Structure
from ..errors import TileIRError, UsageError
from ..model import Entry, Module, PointerType, TileType
from ..read import load_all
from ..read.search import find_files
from .equality import compare_levels
from .structural import distance, structural_difference

if TYPE_CHECKING:
    from concurrent.futures import Executor

# More variants than this are each compared with the one most like them, not all with all.
_ALL_PAIRS = 10


class Member(NamedTuple):
    """One entry of one file, as far as grouping looks at it.

    Attributes:
        file: the file, as it was named or found; `<module 2>` for a module that was given.
        entry: the number of the entry in the file, from 0.
        symbol, function: the symbol, and the function name without mangling and alias.
        dtypes: the element types that its pointers point to, in the order of the parameters.
        conversions: the conversions between floating-point formats in it.
    """

    file: str
    entry: int
    symbol: str
    function: str
    dtypes: tuple[str, ...]
    conversions: tuple[str, ...]
    fingerprints: Fingerprints
    structure: Structure


class Unread(NamedTuple):
    """A file that could not be read, and why."""

    file: str
    error: str


class Other(NamedTuple):
    """A member that is not the representative: `equal_from` is the finest level at which it is equal to
    it ("structure" at the latest), `reason` what tells it apart where that is more than sizes."""

    member: Member
    equal_from: str
    reason: str


class Supplement(NamedTuple):
    """The members of a variant over other number formats than the representative's.

    `representative` is the first of them; `conversions` are those that it has and the variant's
    representative lacks.
    """

    dtypes: tuple[str, ...]
    representative: Other
    conversions: tuple[str, ...]
    others: tuple[Other, ...]


class Variant(NamedTuple):
    """A structural variant.

    `representative` has the number formats that most members have (of equally many, those first by
    name), among these the body that most have, among these the sizes that most members of any format
    have; of equals it is the first by file and place in it.
    """

    name: str
    representative: Member
    others: tuple[Other, ...]
    supplements: tuple[Supplement, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        """Everything in the variant, the representative first."""
        found = [self.representative, *(o.member for o in self.others)]
        for supplement in self.supplements:
            found += [supplement.representative.member, *(o.member for o in supplement.others)]
        return tuple(found)


class Separation(NamedTuple):
    """What tells two variants apart: the level, and one sentence."""

    one: str
    other: str
    level: str
    reason: str


class Variants(NamedTuple):
    """All variants, what tells them apart, and the files that could not be read.

    With up to ten variants every pair of them is in `separations`; with more, each variant and the one
    before it that is most like it.
    """

    variants: tuple[Variant, ...]
    separations: tuple[Separation, ...]
    unread: tuple[Unread, ...]


def variants(
    inputs: Sequence[str | os.PathLike[str] | Module],
    *,
    arch: str | None = None,
    executor: Executor | None = None,
) -> Variants:
    """What `diff.variants` gives."""
    check_arch(arch)
    members, unread = _survey(inputs, arch, executor)
    if not members and not unread:
        raise UsageError("no entry in any input")
    sources = {f"<module {k + 1}>": m for k, m in enumerate(inputs) if isinstance(m, Module)}
    groups = _groups(members)
    names = _names(groups)
    explain = _Explainer(sources)
    found = tuple(_variant(name, group, explain) for name, group in zip(names, groups))
    return Variants(found, _separations(found), tuple(unread))


# -- reading ---------------------------------------------------------------------------------------


def read_members(file: str, arch: str | None) -> list[Member] | Unread:
    """The entries of a file, or why it cannot be read. What an executor runs."""
    try:
        return [m for module in load_all(file) for m in _members(module, file, arch)]
    except TileIRError as error:
        return Unread(file, str(error))


def _survey(
    inputs: Sequence[str | os.PathLike[str] | Module], arch: str | None, executor: Executor | None
) -> tuple[list[Member], list[Unread]]:
    members: list[Member] = []
    unread: list[Unread] = []
    files: list[str] = []
    for number, item in enumerate(inputs):
        if isinstance(item, Module):
            members += _members(item, f"<module {number + 1}>", arch)
            continue
        found = find_files(os.fspath(item))
        if not found:
            folder = os.fspath(item)
            unread.append(Unread(folder, f"{folder}: error: no file of Tile IR in this folder"))
        files += found
    read = partial(read_members, arch=arch)
    # A file that was named twice, or is in a folder that was named, is one.
    files = list(dict.fromkeys(files))
    results = executor.map(read, files) if executor is not None else map(read, files)
    for result in results:
        if isinstance(result, Unread):
            unread.append(result)
        else:
            members += result
    return _numbered(members), unread


def _numbered(members: list[Member]) -> list[Member]:
    """Entries counted through the modules of a file; in the order of files and entries."""
    counts: Counter[str] = Counter()
    found = []
    for member in members:
        found.append(member._replace(entry=counts[member.file]))
        counts[member.file] += 1
    return sorted(found, key=lambda m: (m.file, m.entry))


def _members(module: Module, file: str, arch: str | None) -> Iterable[Member]:
    for entry in module.entries:
        prints, structure = examine(entry, module, arch)
        yield Member(
            file,
            0,
            entry.symbol,
            demangle(entry.symbol).real_function,
            _dtypes(entry),
            _conversions(entry),
            prints,
            structure,
        )


def _dtypes(entry: Entry) -> tuple[str, ...]:
    types = [v.type.element for v in entry.arguments if isinstance(v.type, TileType)]
    pointees = [str(t.pointee) for t in types if isinstance(t, PointerType)]
    return tuple(dict.fromkeys(pointees)) or tuple(dict.fromkeys(map(str, types)))


def _conversions(entry: Entry) -> tuple[str, ...]:
    found = set()
    for op in entry.walk():
        if op.name == "ftof" and op.spec is not None:
            ends = [v.type for v in (op.operands[0], op.result)]
            names = [str(t.element) for t in ends if isinstance(t, TileType)]
            found.add(" to ".join(names))
    return tuple(sorted(found))


# -- grouping --------------------------------------------------------------------------------------


def _groups(members: list[Member]) -> list[list[Member]]:
    """Members of one structure that are one function or one body; in order of their first members."""
    groups: dict[int, list[Member]] = {}
    known: dict[tuple[str, str, str], int] = {}
    for number, member in enumerate(members):
        prints = member.fingerprints
        keys = [
            (prints.structure, "function", member.function),
            (prints.structure, "body", prints.sizes),
        ]
        joined = sorted({known[key] for key in keys if key in known}) or [number]
        home = groups.setdefault(joined[0], [])
        home.append(member)
        for other in joined[1:]:
            home += groups.pop(other)
        if len(joined) > 1:
            known = {k: joined[0] if g in joined else g for k, g in known.items()}
        known.update(dict.fromkeys(keys, joined[0]))
    return [sorted(group, key=lambda m: (m.file, m.entry)) for group in groups.values()]


def _names(groups: list[list[Member]]) -> list[str]:
    """The function that most members have, numbered where several variants have one."""
    functions = [_most(m.function for m in group) for group in groups]
    counts = Counter(functions)
    seen: Counter[str] = Counter()
    names = []
    for function in functions:
        seen[function] += 1
        names.append(f"{function}.{seen[function]}" if counts[function] > 1 else function)
    return names


def _most(items: Iterable[str]) -> str:
    """What is there most often; of equally many the first."""
    return Counter(items).most_common(1)[0][0]


# -- variants --------------------------------------------------------------------------------------


def _variant(name: str, group: list[Member], explain: _Explainer) -> Variant:
    by_dtypes: dict[tuple[str, ...], list[Member]] = {}
    for member in group:
        by_dtypes.setdefault(member.dtypes, []).append(member)
    order = sorted(by_dtypes, key=lambda d: (-len(by_dtypes[d]), d))
    main = by_dtypes[order[0]]
    body = _most(m.fingerprints.sizes for m in main)
    main_body = [m for m in main if m.fingerprints.sizes == body]
    # Sizes that other number formats have too: then supplements differ in nothing else.
    counts = Counter(m.fingerprints.dtype for m in group)
    representative = max(main_body, key=lambda m: counts[m.fingerprints.dtype])
    return Variant(
        name,
        representative,
        _others(representative, main, explain),
        tuple(_supplement(representative, by_dtypes[d], explain) for d in order[1:]),
    )


def _supplement(representative: Member, members: list[Member], explain: _Explainer) -> Supplement:
    """Members over one set of number formats; the one most like the representative stands for them."""
    nearest = min(members, key=lambda m: _equal_from(representative, m))
    brought = set(nearest.conversions) - set(representative.conversions)
    return Supplement(
        nearest.dtypes,
        explain(representative, nearest),
        tuple(sorted(brought)),
        _others(nearest, members, explain),
    )


def _others(
    representative: Member, members: list[Member], explain: _Explainer
) -> tuple[Other, ...]:
    return tuple(explain(representative, m) for m in members if m is not representative)


def _equal_from(one: Member, other: Member) -> int:
    """The number of the finest level at which two members are equal."""
    return sum(a != b for a, b in zip(one.fingerprints, other.fingerprints))


class _Explainer:
    """Says how a member of a variant stands to its representative.

    Bodies that differ in more than sizes are compared once each; the file is read again for that.
    """

    def __init__(self, modules: dict[str, Module]):
        self._modules = modules
        self._load = lru_cache(maxsize=4)(load_all)
        self._known: dict[tuple[Member, str], str] = {}

    def __call__(self, representative: Member, member: Member) -> Other:
        level = _equal_from(representative, member)
        reason = self._reason(representative, member) if level > SIZES else ""
        return Other(member, LEVELS[level], reason)

    def _reason(self, representative: Member, member: Member) -> str:
        key = (representative, member.fingerprints.sizes)
        if key not in self._known:
            self._known[key] = self._compared(representative, member)
        return self._known[key]

    def _compared(self, representative: Member, member: Member) -> str:
        try:
            (one, home), (other, there) = self._entry(representative), self._entry(member)
        except TileIRError:
            # The standard input is gone after it was read, and so may be a file.
            return "another body; a file of the two can no longer be read"
        return compare_levels(one, other, home, there, ()).reason

    def _entry(self, member: Member) -> tuple[Entry, Module]:
        module = self._modules.get(member.file)
        modules = [module] if module is not None else self._load(member.file)
        entries = [(entry, module) for module in modules for entry in module.entries]
        return entries[member.entry]


def _separations(found: tuple[Variant, ...]) -> tuple[Separation, ...]:
    pairs: list[tuple[Variant, Variant]] = []
    for number, variant in enumerate(found):
        before = found[:number]
        if before and len(found) > _ALL_PAIRS:
            before = (min(before, key=lambda v: _apart(v, variant)),)
        pairs += [(other, variant) for other in before]
    return tuple(Separation(a.name, b.name, *_separation(a, b)) for a, b in pairs)


def _apart(one: Variant, other: Variant) -> tuple[bool, int]:
    """How unlike two variants are: first whether they are one function, then their structures."""
    a, b = one.representative, other.representative
    return a.function != b.function, distance(a.structure, b.structure)


def _separation(one: Variant, other: Variant) -> tuple[str, str]:
    a, b = one.representative, other.representative
    text = structural_difference(a.structure, b.structure, one.name, other.name)
    if text is not None:
        return "structure", text
    return "sizes", "one structure, but other functions with another body"
