"""Performance records, their geometric means, ratios and launches, as text or JSON.

Place in the flow: summary -> **report**; imports `bench` records and `plain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..bench.comparison import Comparison
from ..bench.launches import LaunchComparison
from ..bench.records import Measurement, PerformanceLog
from ..bench.summary import Exclusion, Summary
from .plain import document, plain

PERF_SCHEMA = "tileir-perf/1"
_NAME = 72


class PerfAnswer(NamedTuple):
    """What `tileir perf` says.

    Attributes:
        logs: the files.
        measurements: those of the files that are shown.
        summary: their geometric means.
        comparison: against the reference, None without one.
        launches: (measurement of the slowest configuration, its launches on both sides), None where a
            side names no kernels.
    """

    logs: tuple[PerformanceLog, ...]
    measurements: tuple[Measurement, ...]
    summary: Summary
    comparison: Comparison | None = None
    launches: tuple[Measurement, LaunchComparison] | None = None


# -- JSON -------------------------------------------------------------------------------------------


def perf_json(answer: PerfAnswer) -> str:
    """A document of schema `tileir-perf/1`."""
    content: dict[str, object] = {
        "files": [
            {
                "path": log.path,
                "format": log.format,
                "tests": plain(log.tests),
                "notes": list(log.notes),
            }
            for log in answer.logs
        ],
        "measurements": [_measurement(m) for m in answer.measurements],
        "groups": plain(answer.summary.groups),
        "excluded": _excluded(answer.summary.excluded),
        "comparison": _comparison(answer.comparison) if answer.comparison else None,
        "launches": _launches(*answer.launches) if answer.launches else None,
    }
    return document(PERF_SCHEMA, content)


def _measurement(m: Measurement) -> dict[str, object]:
    fields = plain(m)
    assert isinstance(fields, dict)
    return {**fields, "launches": m.launches}


def _excluded(found: Iterable[Exclusion]) -> list[dict[str, object]]:
    return [
        {"config": plain(e.measurement.config), "place": e.measurement.place, "reason": e.reason}
        for e in found
    ]


def _comparison(found: Comparison) -> dict[str, object]:
    return {
        "method": found.method,
        "rows": plain(found.rows),
        "pattern": plain(found.pattern),
        "influences": plain(found.influences),
        "only_reference": [plain(p.config) for p in found.only_reference],
        "only_generated": [plain(p.config) for p in found.only_generated],
        "excluded": _excluded(found.excluded),
    }


def _launches(m: Measurement, found: LaunchComparison) -> dict[str, object]:
    return {
        "config": plain(m.config),
        "direction": m.direction,
        "verdict": found.verdict,
        "reasons": list(found.reasons),
        "rows": plain(found.rows),
    }


# -- text -------------------------------------------------------------------------------------------


def perf_text(answer: PerfAnswer) -> str:
    """For a terminal: records with their kernels, geometric means; ratios and launches where asked."""
    lines: list[str] = []
    for log in answer.logs:
        ended: dict[str, int] = {}
        for test in log.tests:
            ended[test.outcome] = ended.get(test.outcome, 0) + 1
        tests = ", ".join(f"{count} {outcome}" for outcome, count in ended.items())
        lines.append(f"{log.path}: {log.format}{f'; tests: {tests}' if tests else ''}")
        lines += [f"  note: {note}" for note in log.notes]
    lines.append("")
    if answer.comparison is None:
        lines += _records(answer.measurements)
    lines += _groups(answer.summary)
    if answer.comparison is not None:
        lines += _ratios(answer.comparison)
    if answer.launches is not None:
        lines += _launch_table(*answer.launches)
    return "\n".join(lines)


def _records(measurements: Sequence[Measurement]) -> list[str]:
    rows = [
        ["backend", "direction", "configuration", "median ms", "rel std", "n", "launches", "method"]
    ]
    for m in measurements:
        rel_std = m.std_ms / m.mean_ms if m.std_ms is not None and m.mean_ms else None
        rows.append(
            [
                m.backend or "-",
                m.direction or "-",
                m.config.label,
                "-" if m.median_ms is None else f"{m.median_ms:.6g}",
                "-" if rel_std is None else f"{rel_std:.2%}",
                "-" if m.nrep is None else str(m.nrep),
                str(m.launches) if m.kernels else "-",
                m.method,
            ]
        )
    lines = [*_table(rows), ""]
    profiles = [m for m in measurements if m.whole_profile]
    return lines + [line for m in profiles for line in _kernels(m)]


def _kernels(m: Measurement) -> list[str]:
    rows = [
        [
            "launches",
            "us each",
            "us in all",
            f"kernel{f' of {m.config.test}' if m.config.test else ''}",
        ]
    ]
    rows += [
        [str(k.launches), f"{k.per_launch_us:.2f}", f"{k.total_us:.2f}", _short(k.name)]
        for k in m.kernels
    ]
    return [*_table(rows), ""]


def _groups(summary: Summary) -> list[str]:
    rows = [["geomean ms", "configurations", "rel std", "backend", "direction", "group", "method"]]
    rows += [
        [
            f"{g.geomean_ms:.6g}",
            str(g.configs),
            "-" if g.rel_std is None else f"{g.rel_std:.2%}",
            g.backend or "-",
            g.direction or "-",
            g.name,
            g.method,
        ]
        for g in summary.groups
    ]
    lines = _table(rows) if summary.groups else ["no time of a call"]
    lines += [
        f"left out: {e.measurement.config.label}: {e.reason} ({e.measurement.place})"
        for e in summary.excluded
    ]
    return lines


def _ratios(found: Comparison) -> list[str]:
    rows = [["ratio", "reference ms", "generated ms", "noise", "direction", "configuration"]]
    rows += [
        [
            f"{r.ratio:.3f}",
            f"{r.reference_ms:.6g}",
            f"{r.generated_ms:.6g}",
            "-" if r.noise is None else f"{r.noise:.2%}",
            r.direction or "-",
            r.config.label,
        ]
        for r in found.rows
    ]
    lines = ["", *_table(rows)] if found.rows else ["", "no configuration is in both"]
    lines += [f"only in the reference: {p.config.label}" for p in found.only_reference]
    lines += [f"only in the generated: {p.config.label}" for p in found.only_generated]
    lines += [f"left out: {e.measurement.config.label}: {e.reason}" for e in found.excluded]
    pattern = found.pattern
    if pattern.geomean is not None:
        near = (
            f", {pattern.near_median:.0%} near the median"
            if pattern.near_median is not None
            else ""
        )
        lines.append(f"geomean ratio {pattern.geomean:.4f}, {pattern.name} (n = {pattern.n}{near})")
    if pattern.near_twice:
        lines.append("near a factor of two everywhere: look for a second launch first")
    for influence in found.influences[:3]:
        means = ", ".join(f"{value} {mean:.3f}" for value, mean in influence.geomeans.items())
        lines.append(f"{influence.parameter} explains {influence.explained:.0%}: {means}")
    return lines


def _launch_table(m: Measurement, found: LaunchComparison) -> list[str]:
    what = " ".join(part for part in (m.config.label, m.direction) if part)
    rows = [
        ["launches of", "reference", "us each", "us in all", "generated", "us each", "us in all"]
    ]
    rows += [
        [
            r.kind,
            str(r.reference_launches),
            f"{r.reference_per_launch_us:.2f}",
            f"{r.reference_us:.2f}",
            str(r.generated_launches),
            f"{r.generated_per_launch_us:.2f}",
            f"{r.generated_us:.2f}",
        ]
        for r in found.rows
    ]
    return ["", f"{what}: {found.verdict}", *_table(rows), *found.reasons]


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths)).rstrip() for row in rows]
