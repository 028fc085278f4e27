"""Why a generated kernel is slower than its reference: what the compiler made of both.

Place in the flow: findings and toolchain facts -> **causes** -> report; imports `diff`, `analyze`, `toolchain`.

A cause is a change in the machine code that costs time: registers spilled, tensor cores or TMA given up,
fewer tiles in flight, fewer products for each byte that is loaded. Each comes with the numbers of both sides
and the findings of the comparison that can bring it about. Nothing is run: that a cause matters was
measured on kernels of one kind (docs/explain.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..analyze import analyze
from ..analyze.facts import EntryFacts
from ..errors import UsageError
from ..model import Module
from ..toolchain.compiling import Evidence, compile_module
from ..toolchain.devices import device_of
from ..toolchain.machine_code import Function
from ..toolchain.occupancy import Occupancy, occupancy
from . import diff
from .finding import Diff, Finding
from .match import match_entries, selected
from .policy import Policy


class Side(NamedTuple):
    """What is known about one kernel.

    Attributes:
        function: resources and machine code.
        flops: floating-point or integer operations of the matrix products in one round of the loop that
            holds them (or in the kernel, where none does).
        loaded: bytes that the loads in that loop move in one round.
        occupancy: blocks that a multiprocessor holds at a time; None where that is not known.
    """

    function: Function
    flops: int
    loaded: int
    occupancy: Occupancy | None = None

    def count(self, *names: str) -> int:
        """How many machine instructions have one of these names."""
        return sum(self.function.instructions.get(name, 0) for name in names)

    @property
    def tma_loads(self) -> int:
        return self.count("UTMALDG", "UBLKCP")

    @property
    def global_loads(self) -> int:
        return self.count("LDG", "LDGSTS", "LD")

    @property
    def tensor(self) -> int:
        return self.function.classes.get("tensor core", 0)

    @property
    def warps(self) -> int:
        """Warps at a time on a multiprocessor; 0 where that is not known."""
        return self.occupancy.warps if self.occupancy is not None else 0

    @property
    def intensity(self) -> float | None:
        """Operations for each byte loaded; None where nothing is multiplied or loaded."""
        return self.flops / self.loaded if self.flops and self.loaded else None


class Cause(NamedTuple):
    """One cause: its name, one sentence, the numbers, and the findings that can bring it about."""

    name: str
    sentence: str
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]


class Explanation(NamedTuple):
    """Why one kernel is slower.

    Attributes:
        reference, generated: symbols.
        causes: the one that costs most first.
        changes: what else differs in what the compiler made.
        diff: the comparison of the two.
        sides: what is known about each.
    """

    reference: str
    generated: str
    causes: tuple[Cause, ...]
    changes: tuple[str, ...]
    diff: Diff
    sides: tuple[Side, Side]


def explain(
    reference: Module,
    generated: Module,
    arch: str,
    *,
    entry: str | None = None,
    policy: Policy | None = None,
) -> tuple[Explanation, ...]:
    """Compile both sides for a target and say what makes the generated kernels slower.

    Args:
        reference, generated: the modules.
        arch: target, such as `sm_90`.
        entry: only entries whose symbol contains this text.
        policy: severities, and thresholds from when on a change is a cause.

    Returns:
        One Explanation for each pair of entries.

    Raises:
        ToolError: a tool is missing or fails.
        UsageError: unknown arch; no pair of entries.
    """
    pairs = selected(match_entries([reference], [generated]), entry)
    policy = policy or Policy()
    found = []
    made = [compile_module(module, arch) for module in (reference, generated)]
    for pair in pairs:
        one, other = pair.reference, pair.generated
        if one is None or other is None:
            continue
        sides = (
            side_of(reference, one.symbol, made[0], arch),
            side_of(generated, other.symbol, made[1], arch),
        )
        answer = diff(reference, generated, arch=arch, policy=policy)
        entries = tuple(e for e in answer.entries if e.reference == one.symbol)
        answer = answer._replace(entries=entries)
        causes = causes_of(*sides, answer.findings, policy)
        changes = tuple(_changes(*sides))
        found.append(Explanation(one.symbol, other.symbol, causes, changes, answer, sides))
    if not found:
        raise UsageError("no pair of entries to explain")
    return tuple(found)


def causes_of(
    reference: Side,
    generated: Side,
    findings: tuple[Finding, ...] = (),
    policy: Policy | None = None,
) -> tuple[Cause, ...]:
    """What makes one kernel slower than another, the cause that costs most first."""
    named = (rule(reference, generated, findings, policy or Policy()) for rule in _RULES)
    return tuple(cause for cause in named if cause is not None)


def side_of(module: Module, symbol: str, evidence: Evidence, arch: str) -> Side:
    """What is known about one entry of a module that was compiled."""
    function = next(f for f in evidence.functions if f.symbol == symbol)
    facts = next(e for e in analyze(module, arch).entries if e.symbol == symbol)
    device = device_of(arch)
    held = occupancy(function, device) if device is not None else None
    return Side(function, *_work(facts), held)


def _work(facts: EntryFacts) -> tuple[int, int]:
    """Operations of the products, and bytes of the loads, in one round of the innermost loop of both."""
    depth = max((m.loop_depth for m in facts.mma), default=0)
    flops = sum(_flops(m.lhs, m.rhs) for m in facts.mma if m.loop_depth == depth)
    loads = [f for f in facts.memory if f.access == "load" and f.loop_depth == depth]
    return flops, sum(f.bytes for f in loads)


def _flops(lhs: str, rhs: str) -> int:
    """Two for each product of `tile<MxKx..>` and `tile<KxNx..>`, batches included."""
    left, right = (_shape(text) for text in (lhs, rhs))
    count = 2 * right[-1]
    for size in left:
        count *= size
    return count


def _shape(tile: str) -> list[int]:
    inside = tile.removeprefix("tile<").removesuffix(">")
    return [int(part) for part in inside.split("x")[:-1] if part.isdigit()]


# -- causes, the one that costs most first ----------------------------------------------------------

_Rule = Callable[[Side, Side, tuple[Finding, ...], Policy], "Cause | None"]


def _cause(
    name: str, sentence: str, evidence: list[str], findings: tuple[Finding, ...], codes: str
) -> Cause:
    about = tuple(f for f in findings if f.code.startswith(tuple(codes.split())))
    return Cause(name, sentence, tuple(evidence), about)


def _spills(one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy) -> Cause | None:
    before, after = one.function.spills, other.function.spills
    if after <= 2 * before + policy.threshold("spills"):
        return None
    evidence = [
        f"loads and stores of local memory: {before} -> {after}",
        f"stack: {one.function.stack} -> {other.function.stack} bytes",
        f"registers: {one.function.registers} -> {other.function.registers}",
    ]
    sentence = "registers do not suffice: values are spilled to local memory and loaded again"
    codes = "MEM005 MMA002 DFL005 LOP HNT001 HNT002 HNT003 CVT"
    return _cause("spills", sentence, evidence, findings, codes)


def _tensor_cores(
    one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy
) -> Cause | None:
    if not one.tensor or other.tensor:
        return None
    evidence = [f"tensor core instructions: {one.tensor} -> 0"]
    sentence = "matrix products no longer run on tensor cores"
    return _cause("tensor cores lost", sentence, evidence, findings, "MMA CVT MEM005")


def _tma(one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy) -> Cause | None:
    # All of them, or some: then threads load what TMA loaded.
    if other.tma_loads >= one.tma_loads or other.global_loads <= one.global_loads:
        return None
    evidence = [
        f"TMA loads: {one.tma_loads} -> {other.tma_loads}",
        f"loads of global memory: {one.global_loads} -> {other.global_loads}",
        f"shared memory: {one.function.shared} -> {other.function.shared} bytes",
    ]
    sentence = "tiles are loaded by threads, element by element, instead of by TMA"
    codes = "HNT006 MEM003 MEM004 MEM006 MEM009 ASM002 ASM003 PRF004"
    return _cause("TMA lost", sentence, evidence, findings, codes)


def _pipelining(
    one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy
) -> Cause | None:
    # Tiles of another size need other memory: then less of it says nothing.
    if not one.loaded or one.loaded != other.loaded or _tma(one, other, (), policy) is not None:
        return None
    before, after = one.function.shared, other.function.shared
    if after >= policy.threshold("shared") * before:
        return None
    evidence = [
        f"shared memory: {before} -> {after} bytes",
        f"rounds of loads that fit in it: {before // one.loaded} -> {after // other.loaded}",
    ]
    sentence = "fewer loads are in flight: each round of the loop waits for its own"
    codes = "HNT004 HNT005 MEM013 MEM015 MEM016 HNT001 HNT002 LOP"
    return _cause("pipelining lost", sentence, evidence, findings, codes)


def _reuse(one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy) -> Cause | None:
    before, after = one.intensity, other.intensity
    if before is None or after is None or after >= policy.threshold("reuse") * before:
        return None
    evidence = [
        f"operations for each byte loaded: {before:.0f} -> {after:.0f}",
        f"bytes loaded in one round: {one.loaded} -> {other.loaded}",
        f"operations in one round: {one.flops} -> {other.flops}",
    ]
    sentence = "smaller tiles: every byte that is loaded serves fewer products"
    return _cause("less reuse", sentence, evidence, findings, "MEM005 MMA LOP DFL002 DFL005")


def _occupancy(
    one: Side, other: Side, findings: tuple[Finding, ...], policy: Policy
) -> Cause | None:
    if not one.occupancy or not other.occupancy:
        return None
    if other.warps >= policy.threshold("occupancy") * one.warps:
        return None
    sides = (one, other)
    evidence = [
        f"{name}: {before} -> {after}"
        for name, (before, after) in (
            ("warps at a time on a multiprocessor", (one.warps, other.warps)),
            ("blocks", (one.occupancy.blocks, other.occupancy.blocks)),
            ("registers of a thread", tuple(s.function.registers for s in sides)),
            ("shared memory of a block", tuple(s.function.shared for s in sides)),
            ("threads of a block", tuple(s.function.threads for s in sides)),
        )
    ]
    sentence = f"fewer warps hide each other's waiting: {other.occupancy.limit} limit them"
    codes = "HNT001 HNT002 HNT003 HNT004 HNT005 MEM005 MMA002 DFL005"
    return _cause("occupancy lost", sentence, evidence, findings, codes)


# In the order of what they cost on the kernels that were measured.
_RULES: tuple[_Rule, ...] = (_spills, _tma, _tensor_cores, _pipelining, _reuse, _occupancy)

RESOURCES: tuple[tuple[str, Callable[[Side], int]], ...] = (
    ("registers", lambda s: s.function.registers),
    ("stack bytes", lambda s: s.function.stack),
    ("shared memory bytes", lambda s: s.function.shared),
    ("tensor core instructions", lambda s: s.tensor),
    ("TMA loads", lambda s: s.tma_loads),
    ("loads of global memory", lambda s: s.global_loads),
    ("spills", lambda s: s.function.spills),
    ("instructions", lambda s: sum(s.function.instructions.values())),
    ("threads of a block", lambda s: s.function.threads),
    ("warps at a time", lambda s: s.warps),
    ("operations in a round", lambda s: s.flops),
    ("bytes loaded in a round", lambda s: s.loaded),
)


def _changes(one: Side, other: Side) -> list[str]:
    return [
        f"{name}: {read(one)} -> {read(other)}"
        for name, read in RESOURCES
        if read(one) != read(other)
    ]
