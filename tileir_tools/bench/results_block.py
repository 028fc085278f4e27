"""One `Performance Test Results` block: how it is printed, and how any is read.

Place in the flow: text <-> records; imports `benchmark_property`, `records`, `untrusted`. The public
TileGym prints no such block; logs of others agree on the header and on the word `median` only. So a block
is read either as the Python value of the record, or line by line as names of statistics with numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .benchmark_property import measurements_of, number
from .node_ids import BACKENDS, NodeId, backend_name
from .records import METHODS, KernelTime, Measurement
from .untrusted import literal

RESULTS_HEADER = "Performance Test Results"

# CUPTI event blocks cut the names of kernels at this length.
CUT = 100

_KERNEL = re.compile(
    r"^\s+(\S.*?) {1,8}total=([0-9.]+) us +per_call=([0-9.]+) us +rep_num=(\d{1,18})\s*$"
)
_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)"
_STATISTIC = re.compile(
    rf"\b(median|mean|std|min|max|nrep|iqr|q25)\b[\"'\s]{{0,8}}(?:[(\[](\w+)[)\]])?[\s:=|]{{1,40}}{_NUMBER}"
    r"\s*(ns|us|µs|ms|s)?\b",
    re.I,
)
_DIRECTION = re.compile(r"\b(forward|backward)\b", re.I)
_BACKEND = re.compile(r"\b(?:backend|framework)\b[\s:=|\"']+([\w-]+)", re.I)
_METHOD = re.compile(r"\bmethod\b[\s:=|\"']+(\w+)", re.I)
_TITLE = re.compile(r"^\W{0,8}([\w-]{1,40})\W{0,8}$")
# Unit -> milliseconds.
_UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_TIMES = frozenset({"median", "mean", "std", "min", "max"})


def kernel_of(line: str) -> KernelTime | None:
    """The kernel of a line `  NAME  total=.. us  per_call=.. us  rep_num=N`; None for another line."""
    found = _KERNEL.match(line)
    if found is None:
        return None
    name, total, per_call, count = found.groups()
    try:
        return KernelTime(name, int(count), float(per_call), float(total), len(name) >= CUT)
    except ValueError:
        return None


def read_results(
    lines: Sequence[str], node: NodeId, place: str, method: str
) -> tuple[list[Measurement], str | None]:
    """The measurements of a block, and what is wrong with it (None for nothing).

    Args:
        lines: the block, its header first.
        node: the test that it belongs to.
        place: `file:line` of the header.
        method: how the run measured, for records that do not show it themselves.
    """
    found = _written_as_python("\n".join(lines[1:]), node, place)
    if found is None:
        found = list(_line_by_line(lines[1:], node, place))
    if not any(m.median_ms is not None for m in found):
        return [], f"'{RESULTS_HEADER}' without a median"
    return [m._replace(method=method) if m.method == "unknown" else m for m in found], None


def _written_as_python(text: str, node: NodeId, place: str) -> list[Measurement] | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        return list(measurements_of(literal(text[start : end + 1]), node, place))
    except ValueError:
        return None


def _line_by_line(lines: Sequence[str], node: NodeId, place: str) -> Iterator[Measurement]:
    """A record goes on until one of its statistics comes again, or a direction or backend is named."""
    values: dict[object, object] = {}
    kernels: list[KernelTime] = []
    backend, direction, method = node.backend, None, "unknown"

    def finished() -> Iterator[Measurement]:
        if values:
            how = "cuda_event" if "iqr" in values or "q25" in values else method
            yield _record(values, tuple(kernels), node, place)._replace(
                backend=backend, direction=direction, method=how
            )
            values.clear()
            kernels.clear()

    for line in lines:
        kernel = kernel_of(line)
        if kernel is not None:
            kernels.append(kernel)
            continue
        title = _TITLE.match(line)
        named = _BACKEND.search(line) or (
            title if title and backend_name(title[1]) in BACKENDS else None
        )
        if named:
            yield from finished()
            backend = backend_name(named[1])
        turned = _DIRECTION.search(line)
        if turned:
            yield from finished()
            direction = turned[1].lower()
        said = _METHOD.search(line)
        if said and said[1] in METHODS:
            method = said[1]
        for name, value in _statistics(line):
            if name in values:
                yield from finished()
            values[name] = value
    yield from finished()


def _statistics(line: str) -> Iterator[tuple[str, float]]:
    """(name, value) in a line, times in milliseconds."""
    for name, unit, text, suffix in _STATISTIC.findall(line):
        value = number(text)
        if value is not None:
            name = name.lower()
            factor = _UNITS.get(suffix or unit.lower(), 1.0) if name in _TIMES else 1.0
            yield name, value if factor == 1.0 else value * factor


def _record(
    values: dict[object, object], kernels: tuple[KernelTime, ...], node: NodeId, place: str
) -> Measurement:
    (measured,) = measurements_of({"median": None, **values}, node, place)
    return measured._replace(kernels=kernels)


def write_results(test: str, measurements: Sequence[Measurement]) -> str:
    """The block of one test, as `pytest_plugin` prints it: `read_results` reads everything back."""
    lines = [f"{RESULTS_HEADER}: {test}"]
    for m in measurements:
        lines.append(f"  backend: {m.backend or 'unknown'}")
        if m.direction:
            lines.append(f"  direction: {m.direction}")
        lines.append(f"  method: {m.method}")
        for name, value in (
            ("median", m.median_ms),
            ("mean", m.mean_ms),
            ("std", m.std_ms),
            ("min", m.min_ms),
            ("max", m.max_ms),
        ):
            if value is not None:
                lines.append(f"  {name}: {value!r} ms")
        if m.nrep is not None:
            lines.append(f"  nrep: {m.nrep}")
        lines += [
            f"    {k.name}  total={k.total_us:.3f} us  per_call={k.per_launch_us:.3f} us  rep_num={k.launches}"
            for k in m.kernels
        ]
    return "\n".join(lines)
