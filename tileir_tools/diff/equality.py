"""Whether two kernels are equal at a level, and if not, the shortest reason.

Place in the flow: facts -> **findings** -> report; imports `analyze`, `match`, `compare`, `strict`,
`structural`. Fingerprints decide; the comparison of `tileir-diff` gives the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..analyze.fingerprint import examine
from ..analyze.hints import arches_named, check_arch
from ..analyze.levels import DTYPE, EXACT, HINTS, LEVELS, NAMES, SIZES, STRUCTURE
from ..analyze.structure import Structure
from ..collector import without_collecting
from ..errors import UsageError
from ..model import Entry, Module
from .compare import compare_entries
from .finding import Finding, by_weight
from .match import EntryPair, match_entries, modules_of, selected
from .strict import first_difference
from .structural import structural_difference

_REFERENCE, _GENERATED = "the reference", "the generated kernel"


class EntryEquality(NamedTuple):
    """Two corresponding entries, or one without a partner (the other symbol is None).

    Attributes:
        reference, generated: the symbols.
        equal_from: the finest level at which they are equal; None: at no level.
        separated_by: the coarsest level that tells them apart; None: none does.
        reason: what does, in one sentence; empty where nothing does.
        finding: the finding of the comparison that says so, where one does.
    """

    reference: str | None
    generated: str | None
    equal_from: str | None
    separated_by: str | None
    reason: str
    finding: Finding | None

    def equal_at(self, level: str) -> bool:
        if self.equal_from is None:
            return False
        return LEVELS.index(self.equal_from) <= LEVELS.index(level)


class Equality(NamedTuple):
    """Whether two modules are equal at a level; true in a condition if they are.

    Attributes:
        level: the level that was asked for.
        entries: every pair of corresponding entries.
        arches: the targets for which hints were resolved.
    """

    level: str
    entries: tuple[EntryEquality, ...]
    arches: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.equal

    @property
    def equal(self) -> bool:
        """Whether all entries are equal at `level`; the same as the truth of this record."""
        return all(entry.equal_at(self.level) for entry in self.entries)

    @property
    def first_unequal(self) -> EntryEquality | None:
        """The first pair that is not equal."""
        return next((e for e in self.entries if not e.equal_at(self.level)), None)

    @property
    def reason(self) -> str:
        """Why the modules are not equal, in one sentence; empty where they are."""
        found = self.first_unequal
        return found.reason if found is not None else ""


@without_collecting
def equal(
    reference: Module | Sequence[Module],
    generated: Module | Sequence[Module],
    *,
    level: str = "names",
    arch: str | None = None,
    entry: str | None = None,
) -> Equality:
    """What `diff.equal` gives."""
    if level not in LEVELS:
        raise UsageError(f"unknown level '{level}'; known: {', '.join(LEVELS)}")
    check_arch(arch)
    left, right = modules_of(reference), modules_of(generated)
    pairs = selected(match_entries(left, right), entry)
    if not pairs:
        raise UsageError(f"no entry to compare{f': none contains {entry!r}' if entry else ''}")
    arches = (arch,) if arch else tuple(arches_named(*left, *right))
    return Equality(level, tuple(_entry_equality(pair, arches) for pair in pairs), arches)


def _entry_equality(pair: EntryPair, arches: tuple[str, ...]) -> EntryEquality:
    one, other = pair.reference, pair.generated
    if one is None or other is None:
        lone = one or other
        assert lone is not None
        side = _REFERENCE if one is not None else "the generated module"
        reason = f"entry @{lone.symbol} is only in {side}"
        symbols = (one.symbol if one else None, other.symbol if other else None)
        return EntryEquality(*symbols, None, LEVELS[STRUCTURE], reason, None)
    assert pair.reference_module is not None
    assert pair.generated_module is not None
    modules = pair.reference_module, pair.generated_module
    return compare_levels(one, other, *modules, arches)


def compare_levels(
    one: Entry,
    other: Entry,
    one_module: Module,
    other_module: Module,
    arches: tuple[str, ...],
) -> EntryEquality:
    """From which level two entries are equal, and what tells them apart at the level before."""
    examined = [
        (examine(one, one_module, arch), examine(other, other_module, arch))
        for arch in arches or (None,)
    ]
    # Equal at a level is equal at all that follow: counting where they differ gives the first.
    equal_from = max(sum(a != b for a, b in zip(x[0], y[0])) for x, y in examined)
    if equal_from == EXACT:
        return EntryEquality(one.symbol, other.symbol, LEVELS[EXACT], None, "", None)
    separated = equal_from - 1
    modules = one_module, other_module
    structures = examined[0][0][1], examined[0][1][1]
    reason, finding = _reason(separated, one, other, modules, structures, arches)
    coarser = LEVELS[equal_from] if equal_from < len(LEVELS) else None
    return EntryEquality(one.symbol, other.symbol, coarser, LEVELS[separated], reason, finding)


def _reason(
    separated: int,
    one: Entry,
    other: Entry,
    modules: tuple[Module, Module],
    structures: tuple[Structure, Structure],
    arches: tuple[str, ...],
) -> tuple[str, Finding | None]:
    if separated == STRUCTURE:
        text = structural_difference(*structures, _REFERENCE, _GENERATED)
        return text or "", None
    if separated == EXACT:
        return _exact_reason(one, other, modules), None
    found = compare_entries(one, other, *modules, arches or (None,), {}).findings
    finding = _telling(found, separated)
    if finding is None:
        return _UNSAID, None
    return finding.message, finding


# Fingerprints look at spelling where the comparison proves that two spellings are one.
_UNSAID = "the comparison finds no difference: what differs is how equal values are spelled"


def _exact_reason(one: Entry, other: Entry, modules: tuple[Module, Module]) -> str:
    difference = first_difference(one, other, *modules, _REFERENCE, _GENERATED)
    if difference is not None:
        where = f"operation {difference.number}: " if difference.number else ""
        return f"equal dataflow in other operations: {where}{difference.message}"
    if one.symbol != other.symbol:
        return f"the symbols differ: @{one.symbol} and @{other.symbol}"
    return "the entry hints are written differently"


# Level -> beginnings of the rules for what it forgets: no reason at this level or a coarser one.
_FORGOTTEN: dict[int, tuple[str, ...]] = {
    HINTS: ("HNT",),
    DTYPE: ("ABI001", "CVT", "FLT002", "FLT003", "FLT004", "FLT005", "MMA002", "MMA005"),
    SIZES: ("ASM", "DFL002", "DFL005", "MEM005", "MEM009", "MEM01", "OVF", "PRF"),
}
# Level that tells kernels apart -> beginnings of the rules that say best how.
_TELLING: dict[int, tuple[str, ...]] = {
    NAMES: ("HNT",),
    HINTS: ("ABI001",),
    DTYPE: ("MEM005", "DFL005", "DFL002", "ASM", "OVF", "MEM"),
    SIZES: ("LOP", "MEM", "RED", "MMA"),
}


def _telling(findings: tuple[Finding, ...], separated: int) -> Finding | None:
    """The finding that says best why kernels differ: one of that level, severe, short."""
    forgotten = tuple(c for level, codes in _FORGOTTEN.items() if level <= separated for c in codes)

    def rank(finding: Finding) -> tuple[bool, bool, int, int]:
        return (
            finding.code.startswith(forgotten),
            not finding.code.startswith(_TELLING[separated]),
            by_weight(finding)[0],
            len(finding.message),
        )

    return min(findings, key=rank, default=None)
