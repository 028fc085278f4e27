"""Does a log have a performance record for each test that passed? Takes the place of TileGym's
`validate_perf_log.sh LOG [LABEL]`.

Place in the flow: a thin consumer of performance records; imports `bench`, `errors`, `outcome`.

The script counts lines that hold a word. Here the log is read: an outcome is that of a test (a sentence about
something that FAILED is none), a record is one that has a median, and JUnit XML is as good as a log.
"""

from __future__ import annotations

import math
import os

from tileir_tools.bench import PerformanceLog, read_performance
from tileir_tools.errors import ForeignFormatError, TileIRError

from .outcome import Line, Outcome

_PLUGIN = "run pytest with -p tileir_tools.bench.pytest_plugin, or give this the file of --junitxml"
_SHOWN = 10


def validate_perf_log(path: str, label: str | None = None) -> Outcome:
    """Whether a log has records, and no test of it failed.

    Args:
        path: a pytest log or JUnit XML.
        label: stands before every message; the file's name by default.

    Returns:
        An Outcome; a file that cannot be read is a failure, not an exception.
    """
    label = label or os.path.basename(path)
    if not os.path.isfile(path):
        return _outcome(path, [Line("FAIL", f"{label}: file not found → {path}")])
    if os.path.getsize(path) == 0:
        return _outcome(path, [Line("FAIL", f"{label}: file is empty → {path}")])
    try:
        log = read_performance(path)
    except ForeignFormatError as error:
        if error.kind != "unknown":
            return _outcome(path, [Line("FAIL", f"{label}: {error}")])
        # Some text: a log without tests.
        log = PerformanceLog(path, "pytest log", ())
    except TileIRError as error:
        return _outcome(path, [Line("FAIL", f"{label}: {error}")])
    counts = dict.fromkeys(("passed", "failed", "skipped", "error"), 0)
    for test in log.tests:
        counts[test.outcome] = counts.get(test.outcome, 0) + 1
    heading = (
        f"{label}: perf_sections={log.blocks} passed={counts['passed']} failed={counts['failed']} "
        f"skipped={counts['skipped']}"
    )
    lines = [*_failures(log, counts, label), *_warnings(log, counts["passed"], label)]
    if not lines:
        passed = f"{log.blocks} perf records for {counts['passed']} passed tests"
        lines.append(Line("PASS", f"{label}: {passed}"))
    return _outcome(path, lines, heading)


def _outcome(path: str, lines: list[Line], heading: str = "") -> Outcome:
    return Outcome("perf_log", path, tuple(lines), heading, counted=False)


def _failures(log: PerformanceLog, counts: dict[str, int], label: str) -> list[Line]:
    lines = []
    if log.format not in ("pytest log", "junit"):
        lines.append(
            Line("FAIL", f"{label}: this is {log.format}, not a log of pytest or its JUnit XML")
        )
    elif log.blocks == 0:
        missing = "'benchmark' property" if log.format == "junit" else "'Performance Test Results'"
        why = f"{label}: no {missing} found — --print-record was not effective"
        lines.append(Line("FAIL", why, (_PLUGIN,)))
    for outcome, said in (("failed", "FAILED"), ("error", "ended in ERROR")):
        if counts[outcome]:
            named = [t.test for t in log.tests if t.outcome == outcome and t.test][:_SHOWN]
            lines.append(Line("FAIL", f"{label}: {counts[outcome]} test(s) {said}", tuple(named)))
    if log.blocks and not any(_is_time(m.median_ms) for m in log.measurements):
        lines.append(Line("FAIL", f"{label}: no record has a median that is a time"))
    return lines


def _warnings(log: PerformanceLog, passed: int, label: str) -> list[Line]:
    lines = []
    if log.blocks and log.blocks != passed:
        lines.append(Line("WARN", f"{label}: perf_sections({log.blocks}) != passed({passed})"))
    bad = [m for m in log.measurements if m.median_ms is not None and not _is_time(m.median_ms)]
    if bad:
        shown = tuple(f"{m.config.label}: median {m.median_ms} ms" for m in bad[:_SHOWN])
        lines.append(Line("WARN", f"{label}: {len(bad)} median(s) that are no time", shown))
    if log.notes:
        lines.append(Line("WARN", f"{label}: {len(log.notes)} note(s)", log.notes[:_SHOWN]))
    return lines


def _is_time(median: float | None) -> bool:
    return median is not None and math.isfinite(median) and median > 0
