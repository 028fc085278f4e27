"""The JSON file of the plugin pytest-benchmark.

Place in the flow: bytes -> **records**; imports `records`, `node_ids`. Its times are seconds on the host's
clock.
"""

from __future__ import annotations

from ..errors import InputError
from .benchmark_property import number, whole
from .node_ids import backend_name, split_node_id
from .records import Config, Measurement, PerformanceLog


def read_pytest_benchmark(content: dict[object, object], path: str) -> PerformanceLog:
    """One measurement for each benchmark. Raises InputError."""
    entries = content.get("benchmarks")
    if not isinstance(entries, list):
        raise InputError(f"{path}: error: benchmarks is no list")
    found = tuple(_measurement(entry, path, index) for index, entry in enumerate(entries))
    return PerformanceLog(path, "pytest-benchmark", found, blocks=len(found))


def _measurement(entry: object, path: str, index: int) -> Measurement:
    stats = entry.get("stats") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(stats, dict):
        raise InputError(f"{path}: error: benchmarks[{index}] has no stats")
    node = split_node_id(str(entry.get("fullname") or entry.get("name") or ""))
    backend = node.backend
    extra = entry.get("extra_info")
    if backend is None and isinstance(extra, dict) and isinstance(extra.get("backend"), str):
        backend = backend_name(extra["backend"])
    rounds, iterations = whole(stats.get("rounds")), whole(stats.get("iterations"))
    return Measurement(
        Config(node.test, node.params),
        backend,
        None,
        "pytest_benchmark",
        f"{path}: benchmarks[{index}]",
        _ms(stats, "median"),
        _ms(stats, "mean"),
        _ms(stats, "stddev"),
        _ms(stats, "min"),
        _ms(stats, "max"),
        rounds * (iterations or 1) if rounds is not None else None,
    )


def _ms(stats: dict[object, object], name: str) -> float | None:
    seconds = number(stats.get(name))
    return None if seconds is None else seconds * 1000
