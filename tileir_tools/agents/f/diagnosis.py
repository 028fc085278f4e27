"""What agent F found: causes in their order, each with its evidence, and the numbers that they explain.

Place in the flow: performance records and findings -> **diagnosis** -> reports; imports `agents.analysis`,
`bench.comparison`, `errors`, `report.plain`. Nothing is decided here: the records hold what was found, and
`to_json` refuses what no reader of docs/schemas/tileir-agent-f-1.json would take.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...bench.comparison import TOLERANCE
from ...errors import UsageError
from ...report.plain import document, plain
from ..analysis import has_half_pair, leaves

DIAGNOSIS_SCHEMA = "tileir-agent-f/1"

FIXABLE, ALIGNED, BLOCKED = "FIXABLE", "ALIGNED", "BLOCKED"
VERDICTS = (FIXABLE, ALIGNED, BLOCKED)
# As agent E grades a gap.
SEVERITIES = ("DONE", "MILD_GAP", "MODERATE_GAP", "LARGE_GAP", "MISSING_DATA")
# As `bench.comparison.Pattern` names them.
SHAPE_PATTERNS = ("uniform", "shape-specific", "aligned", "single", "no data")
CONFIDENCES = ("high", "medium", "low")
ABOUT = ("launches", "tuning", "dispatch", "ir", "backend", "measurement")
EVIDENCE_KINDS = (
    "performance report",
    "perf log",
    "launches",
    "ir",
    "machine code",
    "what-if",
    "wrapper source",
    "analysis",
)


class Evidence(NamedTuple):
    """What a cause is read off.

    Attributes:
        kind: one of EVIDENCE_KINDS.
        path: of a file below the kernel's folder, or below the project.
        detail: what it says, in one line.
    """

    kind: str
    path: str
    detail: str


class Cause(NamedTuple):
    """One reason for being slower.

    Attributes:
        code: of the finding ("HNT004", "WRP003"), or the name of a cause ("pipelining lost").
        title: what is wrong, in some words.
        message: the same in a sentence or two, with numbers.
        owner: who mends it ("kernel", "host", "backend"..).
        action: what to do, as an imperative ("Give the load its latency."); "" where nothing can be done.
        confidence: one of CONFIDENCES.
        evidence: what it is read off.
        about: one of ABOUT; "launches" and "dispatch" are the same for all shapes.
        configs: labels of the configurations that it was seen on; none where it is about all.
    """

    code: str
    title: str
    message: str
    owner: str
    action: str
    confidence: str
    evidence: tuple[Evidence, ...]
    about: str
    configs: tuple[str, ...] = ()


class ConfigRatio(NamedTuple):
    """One configuration: generated over reference.

    Attributes:
        label: the configuration, as agent E calls it.
        reference_ms, generated_ms: medians in milliseconds; None where there is none.
        ratio: generated over reference (above 1: slower); None where a median is missing.
        noise: relative spread of both together, None where it is not known.
        valid: whether the ratio counts.
        why: why not; "" for one that counts.
    """

    label: str
    reference_ms: float | None
    generated_ms: float | None
    ratio: float | None
    noise: float | None = None
    valid: bool = True
    why: str = ""

    @property
    def slow(self) -> bool:
        """Slower than the reference by more than what counts as equal, and by more than the noise."""
        if not self.valid or self.ratio is None:
            return False
        return self.ratio > TOLERANCE and self.ratio - 1 > (self.noise or 0.0)


class LaunchRow(NamedTuple):
    """What one call launches of one kernel.

    Attributes:
        backend: "reference", "cutile-rs pre"..
        per_launch_us, total_us: mean time of a launch, and of all in one call, in microseconds.
        launches: in one call.
        kernel: its name, or the kind of work ("fill").
        config: the configuration that was measured; "" where one stands for all.
    """

    backend: str
    per_launch_us: float
    launches: int
    total_us: float
    kernel: str
    config: str = ""


class TuningRow(NamedTuple):
    """One knob on both sides ("num_ctas", "1", "2", "pinned by the wrapper"); config as in LaunchRow."""

    knob: str
    reference: str
    generated: str
    note: str = ""
    config: str = ""


class IRRow(NamedTuple):
    """One aspect of the IR on both sides ("latency of load_view_tko", "4", "none", "HNT004"); config as in
    LaunchRow."""

    aspect: str
    reference: str
    generated: str
    code: str = ""
    config: str = ""


class Diagnosis(NamedTuple):
    """Everything that agent F says of a kernel.

    Attributes:
        kernel: name of the operation, and of its folder.
        verdict: one of VERDICTS.
        severity: one of SEVERITIES.
        geomean_ratio: of generated over reference; None where nothing was measured.
        shape_pattern: one of SHAPE_PATTERNS.
        pattern_detail: what the differences between shapes go with, in one line.
        ratios: all configurations, in agent E's order.
        launches: kernels of one call on each side.
        causes: the most telling first.
        missing: inputs that were not there.
        notes: what else a reader should know.
        confidence: one of CONFIDENCES, in the verdict.
        tuning_table, ir_table: knobs and IR on both sides.
    """

    kernel: str
    verdict: str
    severity: str
    geomean_ratio: float | None
    shape_pattern: str
    pattern_detail: str
    ratios: tuple[ConfigRatio, ...]
    launches: tuple[LaunchRow, ...]
    causes: tuple[Cause, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    confidence: str
    tuning_table: tuple[TuningRow, ...] = ()
    ir_table: tuple[IRRow, ...] = ()


def to_json(diagnosis: Diagnosis) -> str:
    """A document of schema `tileir-agent-f/1`; equal diagnoses give equal texts.

    Raises:
        UsageError: a word that is none of its kind (a verdict other than VERDICTS..), a number that is not
            finite, or text with half of a surrogate pair.
    """
    for name, word, known in _words(diagnosis):
        if word not in known:
            raise UsageError(f"diagnosis: {name} is {word!a}; expected {', '.join(known)}")
    for name, number in _numbers(diagnosis):
        if number is not None and not math.isfinite(number):
            raise UsageError(f"diagnosis: {name} is {number}")
    content = {name: plain(value) for name, value in zip(diagnosis._fields, diagnosis)}
    for _, value in leaves(content):
        if isinstance(value, str) and has_half_pair(value):
            raise UsageError(f"diagnosis: half of a surrogate pair in {value!a}")
    return document(DIAGNOSIS_SCHEMA, content)


def _words(diagnosis: Diagnosis) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Where a word stands, the word, and those that may stand there."""
    yield "verdict", diagnosis.verdict, VERDICTS
    yield "severity", diagnosis.severity, SEVERITIES
    yield "shape_pattern", diagnosis.shape_pattern, SHAPE_PATTERNS
    yield "confidence", diagnosis.confidence, CONFIDENCES
    for number, cause in enumerate(diagnosis.causes):
        yield f"causes[{number}].about", cause.about, ABOUT
        yield f"causes[{number}].confidence", cause.confidence, CONFIDENCES
        for at, evidence in enumerate(cause.evidence):
            yield f"causes[{number}].evidence[{at}].kind", evidence.kind, EVIDENCE_KINDS


def _numbers(diagnosis: Diagnosis) -> Iterator[tuple[str, float | None]]:
    yield "geomean_ratio", diagnosis.geomean_ratio
    for number, row in enumerate(diagnosis.ratios):
        for name in ("reference_ms", "generated_ms", "ratio", "noise"):
            yield f"ratios[{number}].{name}", getattr(row, name)
    for number, launch in enumerate(diagnosis.launches):
        for name in ("per_launch_us", "total_us"):
            yield f"launches[{number}].{name}", getattr(launch, name)
