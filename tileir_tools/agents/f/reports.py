"""What agent F leaves: investigations in the shape of its contract, a report for readers, a log for those who
audit, the diagnosis as JSON, two pictures.

Place in the flow: diagnosis -> **reports**; imports `diagnosis`, `plots`, `agents.gate`, `agents.workspace`,
`report.markdown`. An investigation says what is in common to all shapes, or is one of several on a shape each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ...report.markdown import bullets, code_block, one_line, table
from ..gate import Check
from ..workspace import Workspace
from .diagnosis import (
    BLOCKED,
    FIXABLE,
    Cause,
    ConfigRatio,
    Diagnosis,
    Evidence,
    IRRow,
    LaunchRow,
    TuningRow,
    to_json,
)
from .plots import launch_plot, ratio_plot

REPORT = "reports/agent_f.md"
AUDIT = "reports/agent_logs/agent_f.md"
DIAGNOSIS = "reports/agent_f.json"
RATIOS = "reports/agent_f_ratios.svg"
LAUNCHES = "reports/agent_f_launches.svg"
# Investigations that an earlier run has written: one of the next run that is not in it is somebody else's.
WRITTEN = "reports/agent_logs/agent_f_written.json"

ALL_SHAPES = "reports/perf_investigation_all_shapes.md"
MOST_REPORTS = 8
# Causes of these are the host's, and the same for every shape.
STRUCTURAL = ("launches", "dispatch")
# What host code of a port is written from has to be mended too, lest the next port be as slow.
_OF_TEMPLATE = (*STRUCTURAL, "tuning")

_Row = TypeVar("_Row", LaunchRow, TuningRow, IRRow)

_PREFIX, _SUFFIX = "perf_investigation_", ".md"
_LONGEST_NAME = 100
_OURS = re.compile(rf"reports/{_PREFIX}[A-Za-z0-9._-]+\.md")


def write_reports(
    workspace: Workspace, diagnosis: Diagnosis, commands: Sequence[str], checks: Sequence[Check]
) -> tuple[str, ...]:
    """Write everything that agent F leaves; investigations of an earlier run that are none of this go.

    The validator reads these files: they are written before it runs, and once more with what it said.

    Args:
        workspace: of the kernel.
        diagnosis: what was found.
        commands: what was run, as somebody would type it.
        checks: validators that ran.

    Returns:
        The names of the files below the kernel's folder, investigations first.

    Raises:
        UsageError: `to_json` refuses the diagnosis.
        InputError: a file cannot be written.
    """
    document = to_json(diagnosis)
    named = report_names(diagnosis)
    before = _written_before(workspace)
    # Written first, so that a run that is cut here leaves no file that nobody knows of.
    workspace.write(WRITTEN, json.dumps(sorted({*before, *named})))
    for name, config in named.items():
        workspace.write(name, investigation(diagnosis, config))
    for name in sorted(before - set(named)):
        workspace.remove(name)
    workspace.write(WRITTEN, json.dumps(sorted(named)))
    title = f"{diagnosis.kernel}: "
    others = {
        REPORT: report(diagnosis, list(named), checks),
        DIAGNOSIS: f"{document}\n",
        RATIOS: ratio_plot(diagnosis.ratios, f"{title}time of generated over reference"),
        LAUNCHES: launch_plot(diagnosis.launches, f"{title}time on the GPU of one call"),
        AUDIT: audit(diagnosis, commands, checks),
    }
    for name, text in others.items():
        workspace.write(name, text)
    return (*named, *others)


def _written_before(workspace: Workspace) -> set[str]:
    return {name for name in workspace.listed(WRITTEN) if _OURS.fullmatch(name)}


# -- names ------------------------------------------------------------------------------------------


def report_names(diagnosis: Diagnosis) -> dict[str, ConfigRatio | None]:
    """Investigation below the kernel's folder -> its configuration; None: it is about all.

    One on all, unless only some shapes are slow and the first cause is none of host code that all shapes
    share; then one on each of the slowest that a cause was found for, MOST_REPORTS at most.
    """
    slow = slowest(diagnosis.ratios)
    explained = [row for row in slow if any(_is_about(c, row) for c in diagnosis.causes)]
    structural = any(cause.about in STRUCTURAL for cause in diagnosis.causes[:1])
    one = diagnosis.verdict == BLOCKED or diagnosis.shape_pattern != "shape-specific"
    if one or structural or not slow:
        return {ALL_SHAPES: None}
    found: dict[str, ConfigRatio | None] = {}
    taken = {ALL_SHAPES.lower()}
    for config in (explained or slow)[:MOST_REPORTS]:
        name = _free_name(config.label, taken)
        taken.add(name.lower())
        found[name] = config
    return found


def slowest(ratios: Iterable[ConfigRatio]) -> list[ConfigRatio]:
    """Those that are slow, the slowest first; of equal ones in their order."""
    return sorted((row for row in ratios if row.slow), key=lambda row: -(row.ratio or 0.0))


def _free_name(label: str, taken: set[str]) -> str:
    """A file for a label that is no path and, in capitals or not, not taken."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "_", label).strip("._-") or "shape"
    count = 1
    while True:
        tail = "" if count == 1 else f"_{count}"
        room = _LONGEST_NAME - len(_PREFIX) - len(_SUFFIX) - len(tail)
        name = f"reports/{_PREFIX}{slug[:room]}{tail}{_SUFFIX}"
        if name.lower() not in taken:
            return name
        count += 1


# -- investigations ---------------------------------------------------------------------------------


def investigation(diagnosis: Diagnosis, config: ConfigRatio | None) -> str:
    """The text of a `perf_investigation_*.md`: on one configuration, or (None) on all."""
    shape = "all slow shapes" if config is None else one_line(config.label)
    causes = [c for c in diagnosis.causes if config is None or _is_about(c, config)]
    parts = [
        f"VERDICT: {diagnosis.verdict}",
        f"# Perf Investigation: {one_line(diagnosis.kernel)} {shape}",
        "## Ratio",
        bullets(_ratio_items(diagnosis, config)),
        "## Launch-count evidence",
        _launch_evidence(diagnosis, config),
    ]
    if config is not None:
        parts += ["## Tuning", _tuning(_of(diagnosis.tuning_table, config))]
        parts += ["## IR", _ir(_of(diagnosis.ir_table, config))]
    parts += [
        "## Root Cause",
        _root_cause(diagnosis, causes),
        "## Action Items",
        bullets(_actions(diagnosis, causes)),
        "## Confidence",
        _confidence(diagnosis, causes),
    ]
    return "\n\n".join(parts) + "\n"


def _is_about(cause: Cause, config: ConfigRatio) -> bool:
    return not cause.configs or config.label in cause.configs


def _ratio_items(diagnosis: Diagnosis, config: ConfigRatio | None) -> Iterator[str]:
    if config is not None:
        yield f"This configuration: {_times(config.ratio)}{_noise(config)}"
    yield f"Agent E geomean: {_times(diagnosis.geomean_ratio)}"
    detail = f" ({diagnosis.pattern_detail})" if diagnosis.pattern_detail else ""
    yield f"Shape pattern: {diagnosis.shape_pattern}{detail}"
    valid = sum(row.valid for row in diagnosis.ratios)
    slow = slowest(diagnosis.ratios)
    yield f"Slow: {len(slow)} of {valid} configurations with valid medians, {len(diagnosis.ratios)} in all"
    if config is None and slow:
        yield f"Slowest: {slow[0].label}, {_times(slow[0].ratio)}{_noise(slow[0])}"


def _times(ratio: float | None) -> str:
    return "not known" if ratio is None else f"{ratio:.2f}x"


def _noise(row: ConfigRatio) -> str:
    return "" if row.noise is None else f" (noise {100 * row.noise:.1f} %)"


def _of(rows: Iterable[_Row], config: ConfigRatio | None) -> list[_Row]:
    """Rows on one configuration, and those that stand for all; every row for no configuration."""
    return [row for row in rows if config is None or row.config in ("", config.label)]


def _launch_evidence(diagnosis: Diagnosis, config: ConfigRatio | None) -> str:
    # Another configuration's launches are better than none: its name stands beside the kernels.
    rows = _of(diagnosis.launches, config) or list(diagnosis.launches)
    if not rows:
        return bullets([f"launches were not counted: {_listed(diagnosis.missing)}"])
    head = ["backend", "per-launch kernel time", "launches/iter", "measured sum"]
    cells = [
        [r.backend, f"{r.per_launch_us:.2f} us", str(r.launches), f"{r.total_us:.2f} us"]
        for r in rows
    ]
    kernels = (
        f"{r.backend}: {r.kernel}" + (f" ({r.config})" if r.config else "")
        for r in rows
        if r.kernel
    )
    return f"{table(head, cells)}\n\n{bullets(kernels)}"


def _listed(missing: Sequence[str]) -> str:
    return f"missing {', '.join(missing)}" if missing else "no record names kernels"


def _tuning(rows: Sequence[TuningRow]) -> str:
    cells = ([r.knob, r.reference, r.generated, r.note] for r in rows)
    return table(["knob", "reference", "cutile-rs", "note"], cells) if rows else bullets(())


def _ir(rows: Sequence[IRRow]) -> str:
    cells = ([r.aspect, r.reference, r.generated, r.code] for r in rows)
    return table(["IR", "reference", "cutile-rs", "finding"], cells) if rows else bullets(())


def _root_cause(diagnosis: Diagnosis, causes: Sequence[Cause]) -> str:
    if causes:
        return "\n".join(
            f"{number}. **{one_line(cause.title)}** ({_signed(cause)}): {one_line(cause.message)}"
            for number, cause in enumerate(causes, 1)
        )
    if diagnosis.verdict == BLOCKED:
        return bullets([f"not known: {_listed(diagnosis.missing)}", *diagnosis.notes])
    return bullets(["none that was found", *diagnosis.notes])


def _signed(cause: Cause) -> str:
    return one_line(f"{cause.code}, {cause.about}, owner: {cause.owner}, {cause.confidence}")


def _actions(diagnosis: Diagnosis, causes: Sequence[Cause]) -> Iterator[str]:
    # What may hold for some inputs only asks for nothing, as long as something else does.
    sure = [cause for cause in causes if cause.confidence != "low"] or causes
    asked = [cause for cause in sure if cause.action]
    if diagnosis.verdict == BLOCKED:
        yield from (f"give agent F what is missing: {what}" for what in diagnosis.missing)
    elif diagnosis.verdict == FIXABLE and asked:
        for cause in asked:
            yield (
                f"Agent B/reflection should {_said(cause.action)} ({cause.code}, owner: {cause.owner})"
            )
    else:
        yield "none for Agent B"
    needed = diagnosis.verdict == FIXABLE and any(c.about in _OF_TEMPLATE for c in asked)
    yield f"Template propagation needed: {'yes' if needed else 'no'}"


def _said(action: str) -> str:
    """An imperative in the middle of a sentence; abbreviations keep their capitals."""
    action = action.rstrip(". ")
    return action if action[1:2].isupper() else action[:1].lower() + action[1:]


def _confidence(diagnosis: Diagnosis, causes: Sequence[Cause]) -> str:
    grade = diagnosis.confidence.capitalize()
    found = _evidence(causes)
    if not found:
        return f"{grade}. No evidence names a file.\n\n{bullets(diagnosis.missing)}"
    return f"{grade}. Evidence:\n\n{bullets(map(_shown, found))}"


def _evidence(causes: Iterable[Cause]) -> list[Evidence]:
    """That of all causes, each file and detail once."""
    return list(dict.fromkeys(evidence for cause in causes for evidence in cause.evidence))


def _shown(evidence: Evidence) -> str:
    return f"`{evidence.path}` ({evidence.kind}): {evidence.detail}"


# -- report and log ---------------------------------------------------------------------------------


def report(diagnosis: Diagnosis, named: Sequence[str], checks: Sequence[Check]) -> str:
    """The text of `reports/agent_f.md`.

    Args:
        diagnosis: what was found.
        named: the investigations.
        checks: validators that ran.
    """
    parts = [
        f"# Agent F: {one_line(diagnosis.kernel)}",
        f"Verdict: {diagnosis.verdict}",
        bullets(
            [
                f"severity: {diagnosis.severity}",
                *_ratio_items(diagnosis, None),
                f"confidence: {diagnosis.confidence}",
            ]
        ),
        "## Ratios",
        _ratios(diagnosis.ratios),
        f"![ratios]({RATIOS.removeprefix('reports/')})",
        "## Launches",
        _launches(diagnosis.launches),
        f"![launches]({LAUNCHES.removeprefix('reports/')})",
        "## Causes",
        *(_cause(number, cause) for number, cause in enumerate(diagnosis.causes, 1)),
        *(() if diagnosis.causes else (_root_cause(diagnosis, ()),)),
        "## Action Items",
        bullets(_actions(diagnosis, diagnosis.causes)),
        "## Tuning",
        _tuning(diagnosis.tuning_table),
        "## IR",
        _ir(diagnosis.ir_table),
        "## Missing",
        bullets(diagnosis.missing),
        "## Notes",
        bullets(diagnosis.notes),
        "## Investigations",
        bullets(named),
        "## Validators",
        _outputs(checks),
    ]
    return "\n\n".join(parts) + "\n"


def _ratios(ratios: Sequence[ConfigRatio]) -> str:
    head = ["configuration", "reference ms", "cutile-rs ms", "ratio", "noise", ""]
    return table(
        head,
        (
            [
                row.label,
                *("" if ms is None else f"{ms:.6g}" for ms in (row.reference_ms, row.generated_ms)),
                "" if row.ratio is None else f"{row.ratio:.3f}",
                "" if row.noise is None else f"{100 * row.noise:.1f} %",
                row.why or ("slow" if row.slow else ""),
            ]
            for row in ratios
        ),
    )


def _launches(launches: Sequence[LaunchRow]) -> str:
    head = ["backend", "kernel", "per launch us", "launches", "sum us", "configuration"]
    return table(
        head,
        (
            [
                r.backend,
                r.kernel,
                f"{r.per_launch_us:.2f}",
                str(r.launches),
                f"{r.total_us:.2f}",
                r.config,
            ]
            for r in launches
        ),
    )


def _cause(number: int, cause: Cause) -> str:
    action = f"\n\nTo do: {one_line(cause.action)}" if cause.action else ""
    return (
        f"### {number}. {one_line(cause.title)}\n\n{one_line(cause.message)}{action}\n\n"
        f"{bullets([_signed(cause), *map(_shown, cause.evidence)])}"
    )


def _outputs(checks: Sequence[Check]) -> str:
    if not checks:
        return bullets(())
    return code_block("\n".join(check.block() for check in checks))


def audit(diagnosis: Diagnosis, commands: Sequence[str], checks: Sequence[Check]) -> str:
    """The text of `reports/agent_logs/agent_f.md`: commands, evidence, outputs. Arguments as of
    `write_reports`."""
    parts = [
        f"# Commands of agent F: {one_line(diagnosis.kernel)}",
        f"Verdict: {diagnosis.verdict}",
        "## Commands",
        bullets(commands),
        "## Evidence files",
        bullets(map(_shown, _evidence(diagnosis.causes))),
        "## Missing",
        bullets(diagnosis.missing),
        "## Validators",
        _outputs(checks),
    ]
    return "\n\n".join(parts) + "\n"
