"""Performance records of GPU kernels: read, summarised and compared.

Place in the flow: bytes -> records -> summary -> report, beside that of kernels; imports `errors` and
`analyze.symbols`.

    log = read_performance("perf_cutile.txt")
    for group in summarise(log.measurements).groups:
        print(group.backend, group.direction, group.geomean_ms)
    choose_backends(log.measurements).choices
    compare(reference.measurements, generated.measurements).pattern

Formats are seen from the content: JUnit XML of TileGym's tests, pytest logs with `Performance Test Results`
or CUPTI event blocks, exports of nsys, ncu, torch.profiler, pytest-benchmark and proton.
"""

from __future__ import annotations

from .comparison import Comparison, Influence, Pattern, Ratio, compare
from .launches import (
    LaunchComparison,
    Row,
    compare_launches,
    function_of,
    is_same_kernel,
    kind_of,
)
from .node_ids import backend_name
from .performance_report import PerformanceReport, PerformanceRow, read_performance_report
from .reading import parse_performance, read_performance
from .records import METHODS, CaseOutcome, Config, KernelTime, Measurement, PerformanceLog
from .selection import Choice, Selection, choose_backends
from .summary import GROUPINGS, Exclusion, Group, Point, Spread, Summary, geomean, points, summarise

__all__ = [
    "GROUPINGS",
    "METHODS",
    "CaseOutcome",
    "Choice",
    "Comparison",
    "Config",
    "Exclusion",
    "Group",
    "Influence",
    "KernelTime",
    "LaunchComparison",
    "Measurement",
    "Pattern",
    "PerformanceLog",
    "PerformanceReport",
    "PerformanceRow",
    "Point",
    "Ratio",
    "Row",
    "Selection",
    "Spread",
    "Summary",
    "backend_name",
    "choose_backends",
    "compare",
    "compare_launches",
    "function_of",
    "geomean",
    "is_same_kernel",
    "kind_of",
    "parse_performance",
    "points",
    "read_performance",
    "read_performance_report",
    "summarise",
]
