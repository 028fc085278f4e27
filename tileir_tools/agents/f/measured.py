"""Steps 1 and 2 of agent F: how much slower, where, and what is launched in a call.

Place in the flow: inputs -> **ratios and launches** -> causes; imports `bench`, `inputs`, `diagnosis`. Launches
come before any theory about IR: a kernel that is as fast as the reference's and launched twice is no matter of
its code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...bench import (
    Comparison,
    LaunchComparison,
    Measurement,
    Ratio,
    compare,
    compare_launches,
)
from ...bench.comparison import TOLERANCE, Pattern, pattern_of
from ...bench.records import Config
from ...errors import UsageError
from .diagnosis import Cause, ConfigRatio, Evidence, LaunchRow
from .inputs import Inputs, Log
from .reports import slowest

# Geometric mean of the ratios, from which on agent E calls a gap so.
_GAPS = ((1.5, "LARGE_GAP"), (1.1, "MODERATE_GAP"), (TOLERANCE, "MILD_GAP"))


class Measured(NamedTuple):
    """What was measured of both sides.

    Attributes:
        ratios: of every configuration that both have, in the reference's order.
        pattern: how they are spread; None without any.
        launches: of the slowest configuration whose launches both sides have; None without any.
        rows: the same as the reports have it.
        causes: what the launches, or the records themselves, say is wrong.
        notes: other things to know.
    """

    ratios: tuple[ConfigRatio, ...]
    pattern: Pattern | None
    launches: LaunchComparison | None
    rows: tuple[LaunchRow, ...]
    causes: tuple[Cause, ...]
    notes: tuple[str, ...]

    @property
    def slow(self) -> tuple[ConfigRatio, ...]:
        """Configurations that are slower than the reference by more than noise, the slowest first."""
        return tuple(slowest(self.ratios))

    @property
    def geomean(self) -> float | None:
        return self.pattern.geomean if self.pattern is not None else None


def severity_of(geomean: float | None) -> str:
    """What agent E calls a geometric mean of ratios."""
    if geomean is None:
        return "MISSING_DATA"
    return next((name for least, name in _GAPS if geomean > least), "DONE")


def measure(inputs: Inputs) -> Measured:
    """Ratios and launches of what there is: logs of both sides, else agent E's table."""
    notes: list[str] = []
    causes: list[Cause] = []
    comparison = None
    if inputs.reference is not None and inputs.generated is not None:
        try:
            comparison = compare(inputs.reference.records, inputs.generated.records)
        except UsageError as error:
            causes.append(_not_comparable(inputs, str(error)))
    if comparison is not None and not comparison.rows:
        notes.append("no configuration stands in both logs under one label")
    launches, rows, more = _launches(inputs, comparison, notes)
    if comparison is not None:
        alone = [*comparison.only_reference, *comparison.only_generated]
        if alone:
            notes.append(
                f"{len(alone)} configurations are in one log only: {alone[0].config.label}"
            )
        notes += [f"{e.measurement.place}: left out: {e.reason}" for e in comparison.excluded]
        notes += [
            f"{i.parameter} explains {i.explained:.0%} of the differences between ratios"
            for i in comparison.influences[:2]
        ]
    ratios = _of_logs(comparison) if comparison is not None else []
    # Ratios of records that cannot be compared are none, wherever they were written down.
    if comparison is None and not causes:
        ratios = _of_report(inputs)
    causes += more
    if inputs.report is not None:
        notes += inputs.report.notes
    pattern = _pattern(ratios)
    return Measured(tuple(ratios), pattern, launches, rows, tuple(causes), tuple(notes))


def _not_comparable(inputs: Inputs, message: str) -> Cause:
    assert inputs.reference is not None
    assert inputs.generated is not None
    return Cause(
        code="mixed methods",
        title="records cannot be compared",
        message=message,
        owner="measurement",
        action="Measure both backends by one method (CUPTI=1), in one environment.",
        confidence="high",
        evidence=(
            Evidence("perf log", inputs.reference.file, "reference"),
            Evidence("perf log", inputs.generated.file, "generated"),
        ),
        about="measurement",
    )


# -- ratios -----------------------------------------------------------------------------------------


def _of_logs(comparison: Comparison) -> list[ConfigRatio]:
    several = len({row.direction for row in comparison.rows}) > 1
    return [
        ConfigRatio(
            f"{row.config.label} {row.direction}" if several else row.config.label,
            row.reference_ms,
            row.generated_ms,
            row.ratio,
            row.noise,
            True,
            "",
        )
        for row in comparison.rows
    ]


def _of_report(inputs: Inputs) -> list[ConfigRatio]:
    if inputs.report is None:
        return []
    return [
        ConfigRatio(
            row.label,
            row.reference_ms,
            row.generated_ms,
            row.recomputed or row.ratio,
            None,
            row.valid,
            row.why,
        )
        for row in inputs.report.rows
    ]


def _pattern(ratios: Sequence[ConfigRatio]) -> Pattern | None:
    rows = [
        Ratio(
            Config("", (r.label,)),
            None,
            r.reference_ms or 1.0,
            r.generated_ms or 1.0,
            r.ratio,
            r.noise,
        )
        for r in ratios
        if r.valid and r.ratio is not None and math.isfinite(r.ratio) and r.ratio > 0
    ]
    return pattern_of(rows) if rows else None


# -- launches ---------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """Records of one call, or one profile, on both sides; the file of the generated one."""

    reference: Measurement
    generated: Measurement
    file: str


def _pairs(inputs: Inputs, comparison: Comparison | None) -> Iterator[_Pair]:
    """Configurations for which both logs name kernels, the slowest first; then profiles."""
    if comparison is not None and inputs.reference is not None and inputs.generated is not None:
        for row in sorted(comparison.rows, key=lambda r: -r.ratio):
            one, other = _record(inputs.reference, row), _record(inputs.generated, row)
            if one is not None and other is not None:
                yield _Pair(one, other, inputs.generated.file)
    if inputs.profiles is not None:
        sides = [next((m for m in log.records if m.kernels), None) for log in inputs.profiles]
        if sides[0] is not None and sides[1] is not None:
            yield _Pair(sides[0], sides[1], inputs.profiles[1].file)


def _launches(
    inputs: Inputs, comparison: Comparison | None, notes: list[str]
) -> tuple[LaunchComparison | None, tuple[LaunchRow, ...], list[Cause]]:
    """Launches of the first pair of records that can be compared."""
    for pair in _pairs(inputs, comparison):
        try:
            found = compare_launches(pair.reference, pair.generated)
        except UsageError as error:
            notes.append(str(error))
            continue
        rows = tuple(_rows(pair.reference, pair.generated, found))
        return found, rows, _more_launches(pair, found)
    return None, (), []


def _record(log: Log, row: Ratio) -> Measurement | None:
    return next(
        (
            m
            for m in log.records
            if m.config == row.config and m.direction in (row.direction, None) and m.kernels
        ),
        None,
    )


def _rows(one: Measurement, other: Measurement, found: LaunchComparison) -> list[LaunchRow]:
    rows = []
    for kind in found.rows:
        sides = (
            (one, kind.reference_names, kind.reference_launches, kind.reference_us),
            (other, kind.generated_names, kind.generated_launches, kind.generated_us),
        )
        for m, names, launches, us in sides:
            if launches:
                rows.append(
                    LaunchRow(
                        str(m.backend), us / launches, launches, us, f"{kind.kind}: {names[0]}"
                    )
                )
    return rows


def _more_launches(pair: _Pair, found: LaunchComparison) -> list[Cause]:
    if found.verdict not in ("more launches", "both"):
        return []
    extra = [r for r in found.rows if r.generated_launches > r.reference_launches]
    kinds = ", ".join(r.kind for r in extra)
    detail = f"{pair.generated.config.label}: {found.reasons[0]}"
    return [
        Cause(
            code=f"extra launch: {kinds}",
            title=f"more work on the GPU in a call: {kinds}",
            message="; ".join(found.reasons),
            owner="host",
            action=_ACTIONS.get(extra[0].kind, _ACTIONS["kernel"]),
            confidence="high",
            evidence=(Evidence("launches", pair.file, detail),),
            about="launches",
        )
    ]


# What to do about an extra launch of each kind.
_ACTIONS = {
    "kernel": "Launch the kernel once in a call: no canary before autotune_launch, no second launch.",
    "canary": "Take the canary out of the measured path: try configurations while tuning only.",
    "copy": "Take .contiguous(), .clone() and copies out of the call, or do as the reference does.",
    "fill": "Allocate outputs by torch.empty, once, outside of kernel_fn.",
    "cast": "Hand tensors to the kernel in their own number format.",
    "fallback": "Take the PyTorch fallback out of the measured path.",
}
