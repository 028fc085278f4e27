"""Step 4 of agent F: what differs between the kernels, and what it costs.

Place in the flow: inputs -> **causes in the IR** -> verdict; imports `diff`, `diff.causes`, `diff.whatif`,
`diagnosis`. The comparison says what differs, the compiler what it does to the machine code, a what-if which
difference it is; without the compiler, differences come in the order that the contract of agent F has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...analyze import demangle, fingerprints
from ...diff import Finding, diff
from ...diff.causes import Explanation
from ...diff.causes import explain as explain_pair
from ...diff.rules import CRITICAL, RULES, SPEED, WARN
from ...diff.whatif import Timer, WhatIf, what_if
from ...errors import TileIRError
from ...model import Module
from ...read import load
from .diagnosis import Cause, Evidence, IRRow, TuningRow
from .inputs import Inputs, target
from .request import Request

# What is looked at first, as the contract has it: latency; other hints; tiles, rank, memory API, TMA, views;
# constants; more or fewer operations and the accumulator.
_PRIORITY = (
    ("HNT004",),
    ("HNT001", "HNT002", "HNT003", "HNT005", "HNT006", "HNT007", "HNT008"),
    (
        "MEM001",
        "MEM002",
        "MEM003",
        "MEM004",
        "MEM005",
        "MEM008",
        "MEM011",
        "MEM015",
        "ASM001",
        "ASM002",
    ),
    ("ABI001", "ABI002"),
    ("CVT", "MMA", "DFL", "LOP", "RED", "PRF"),
)
_AT_MOST = 12


class Compared(NamedTuple):
    """What the comparison of the kernels gave.

    Attributes:
        variant, reference_file: which reference was compared.
        causes: ranked.
        rows: differences, as tables of reports have them.
        trials: what is left of the causes where a difference is taken over from the reference.
        notes: what could not be done.
        compiled: whether the machine code of both was looked at.
        same: whether nothing that could cost time differs.
    """

    variant: str
    reference_file: str
    causes: tuple[Cause, ...]
    rows: tuple[IRRow, ...]
    trials: tuple[TuningRow, ...]
    notes: tuple[str, ...]
    compiled: bool
    same: bool


def compare_kernels(request: Request, inputs: Inputs, label: str | None) -> Compared | str:
    """Compare the generated kernel with the reference of the variant that a configuration hits.

    Args:
        request: of the run.
        inputs: with the generated IR and the analysis.
        label: configuration; None: the first variant.

    Returns:
        A Compared, or why the kernels could not be compared.
    """
    if inputs.modules is None:
        return "no generated IR"
    variant = _variant(inputs.analysis, label)
    name = str(variant.get("reference_ir") or "reference/reference.mlir") if variant else None
    file = name or "reference/reference.mlir"
    try:
        reference = load(request.workspace.path(file))
    except TileIRError as error:
        return f"{file}: {str(error).splitlines()[0]}"
    arch = target(request, inputs.analysis)
    generated = _matching(inputs.modules[1], reference)
    if other := _other_kernel(request, reference, generated):
        return f"{inputs.modules[0]}: {other}"
    try:
        found = diff(reference, generated, arch=arch)
    except TileIRError as error:
        return str(error).splitlines()[0]
    findings = [f for f in found.findings if f.severity in (CRITICAL, WARN) and f.ignored is None]
    notes: list[str] = []
    explanation = _explained(request, reference, generated, arch, notes)
    trials = (
        _tried(request, reference, generated, arch, notes) if findings and explanation else None
    )
    places = Places(inputs.modules[0], file)
    causes = _causes(findings, explanation, trials, places)
    return Compared(
        str(variant.get("variant_name", "default")) if variant else "default",
        file,
        tuple(causes),
        tuple(_row(f) for f in _once(findings)[:_AT_MOST]),
        tuple(_trial_rows(trials)) if trials is not None else (),
        tuple(notes),
        explanation is not None,
        not findings and not (explanation and explanation.causes),
    )


class Places(NamedTuple):
    """Files of both kernels, below the kernel's folder."""

    generated: str
    reference: str


def _variant(analysis: Mapping[str, Any] | None, label: str | None) -> Mapping[str, Any] | None:
    """The variant that a configuration hits; the first where that is not known."""
    variants = analysis.get("kernel_variants") if analysis is not None else None
    if not isinstance(variants, list) or not variants:
        return None
    mapping = analysis.get("config_to_variant") if analysis is not None else None
    wanted = mapping.get(label) if isinstance(mapping, dict) and label is not None else None
    rows = [v for v in variants if isinstance(v, dict)]
    return next((v for v in rows if v.get("variant_name") == wanted), rows[0] if rows else None)


def _matching(modules: Sequence[Module], reference: Module) -> Module:
    """The module whose entry is called most like the reference's; the first where none is."""
    if len(modules) == 1:
        return modules[0]
    wanted = demangle(reference.entries[0].symbol).real_function

    def likeness(module: Module) -> int:
        names = [demangle(entry.symbol).real_function for entry in module.entries]
        return max((len(n) for n in names if n in wanted or wanted in n), default=0)

    return max((m for m in modules if m.entries), key=likeness)


def _other_kernel(request: Request, reference: Module, generated: Module) -> str | None:
    """Says so where the generated kernel is not this one at all: neither by its name nor by its structure."""
    wanted = _words(request.workspace.kernel, *(e.symbol for e in reference.entries))
    if any(_words(entry.symbol) & wanted for entry in generated.entries):
        return None
    prints = [fingerprints(module.entries[0]).structure for module in (reference, generated)]
    if prints[0] == prints[1]:
        return None
    names = [demangle(m.entries[0].symbol).real_function for m in (generated, reference)]
    return f"@{names[0]} is another kernel than @{names[1]}"


def _words(*symbols: str) -> set[str]:
    """The words of functions' names."""
    words = {word for s in symbols for word in demangle(s).real_function.lower().split("_")}
    return words - {"", "kernel", "entry", "reference", "generated"}


def _explained(
    request: Request, reference: Module, generated: Module, arch: str, notes: list[str]
) -> Explanation | None:
    if not request.evidence:
        notes.append("machine code was not looked at")
        return None
    try:
        return explain_pair(reference, generated, arch)[0]
    except TileIRError as error:
        notes.append(f"no machine code: {str(error).splitlines()[0]}")
        return None


def _tried(
    request: Request, reference: Module, generated: Module, arch: str, notes: list[str]
) -> WhatIf | None:
    try:
        return what_if(reference, generated, arch, timer=_timer(request, notes))
    except TileIRError as error:
        notes.append(f"no what-if: {str(error).splitlines()[0]}")
        return None


def _timer(request: Request, notes: list[str]) -> Timer | None:
    """Launches what-ifs as the manifest says; None where no launch was asked for."""
    if request.launches is None:
        return None
    from ...toolchain.dump_folder import read_manifest
    from ...toolchain.timing import launch_of, time_kernels

    try:
        manifest = read_manifest(request.launches)
        launch = launch_of(manifest, str(manifest["kernels"][0]["kernel"]))  # type: ignore[index]
    except (TileIRError, LookupError) as error:
        notes.append(f"what-ifs are not launched: {error}")
        return None
    return lambda code: time_kernels(launch, code)[0]


# -- causes -----------------------------------------------------------------------------------------


def _causes(
    findings: Sequence[Finding],
    explanation: Explanation | None,
    trials: WhatIf | None,
    places: Places,
) -> list[Cause]:
    """Causes in the machine code first, each with the differences that bring it about; then other
    differences that cost time or change results."""
    found: list[Cause] = []
    told: set[str] = set()
    for cause in explanation.causes if explanation is not None else ():
        proof = _proof(cause.name, trials)
        linked = [f for f in cause.findings if f.severity in (CRITICAL, WARN)]
        told |= {f.code for f in linked}
        said = list(dict.fromkeys(f.message for f in linked))
        found.append(
            Cause(
                code=cause.name,
                title=cause.sentence,
                message="; ".join([*cause.evidence, *said[:3], *proof]),
                owner=linked[0].owner if linked else "kernel",
                action=linked[0].action if linked else "Compare the kernels' tiles and hints.",
                confidence="high" if proof or linked else "medium",
                evidence=(
                    Evidence("machine code", places.generated, cause.evidence[0]),
                    *(
                        Evidence("ir", places.generated, f"{f.code}: {f.message}")
                        for f in linked[:3]
                    ),
                    *(Evidence("what-if", places.reference, text) for text in proof),
                ),
                about="ir",
            )
        )
    rest = _once([f for f in findings if f.code not in told])
    rest.sort(key=lambda f: (f.severity != CRITICAL, _priority(f.code)))
    return found + [_of_finding(f, places) for f in rest[:_AT_MOST]]


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Of findings that say the same of several operations, the first."""
    return list({(f.code, f.message): f for f in reversed(findings)}.values())[::-1]


def _priority(code: str) -> int:
    for place, codes in enumerate(_PRIORITY):
        if code in codes or code[:3] in codes:
            return place
    return len(_PRIORITY)


def _of_finding(finding: Finding, places: Places) -> Cause:
    serious = finding.severity == CRITICAL
    return Cause(
        code=finding.code,
        title=finding.message,
        message=finding.message,
        owner=finding.owner,
        action=finding.action,
        confidence="medium" if serious or RULES[finding.code].impact == SPEED else "low",
        evidence=(Evidence("ir", places.generated, _where(finding)),),
        about="ir",
    )


def _where(finding: Finding) -> str:
    place = finding.generated or finding.reference
    return f"line {place.line}: {place.text.strip()[:120]}" if place is not None else finding.code


def _proof(name: str, trials: WhatIf | None) -> list[str]:
    """The single edit, or the least of edits together, that takes a cause away."""
    if trials is None:
        return []
    healed = [
        t
        for t in trials.trials[1:]
        if t.side is not None and name not in {c.name for c in t.causes}
    ]
    if not healed:
        return []
    best = healed[0]
    return [f"taking over {best.name} from the reference takes it away"]


def _row(finding: Finding) -> IRRow:
    one, other = (
        p.text.strip()[:100] if p is not None else "-"
        for p in (finding.reference, finding.generated)
    )
    return IRRow(finding.message, one, other, finding.code)


def _trial_rows(trials: WhatIf) -> list[TuningRow]:
    rows = []
    for trial in trials.trials:
        left = (
            ", ".join(c.name for c in trial.causes) if trial.side is not None else str(trial.error)
        )
        time = f"{trial.timing.median:.1f} us" if trial.timing is not None else ""
        rows.append(
            TuningRow(f"what if: {trial.name}", "taken over", left or "no cause left", time)
        )
    return rows
