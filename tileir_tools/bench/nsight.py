"""What NVIDIA's profilers export: `nsys stats` (CSV and JSON) and `ncu --csv`.

Place in the flow: bytes -> **records**; imports `records`, `untrusted`. Both print lines of their own
before the table. A profile is of a whole process: how many calls it holds is not known, so there is no
median of a call.

Columns of `nsys stats --report cuda_gpu_kern_sum`: `Time (%),Total Time (ns),Instances,Avg (ns),..,Name`;
the sums of memory operations have `Count` and `Operation` instead. ncu has one row for each launch and
metric, or with `--page raw` one row for each launch below a row of units.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..errors import InputError
from .benchmark_property import number
from .records import Config, KernelTime, Measurement, PerformanceLog
from .untrusted import load_json

# Unit -> microseconds.
_UNITS = {
    "ns": 1e-3,
    "nsec": 1e-3,
    "nsecond": 1e-3,
    "us": 1.0,
    "µs": 1.0,
    "usec": 1.0,
    "usecond": 1.0,
    "ms": 1e3,
    "msec": 1e3,
    "msecond": 1e3,
    "s": 1e6,
    "sec": 1e6,
    "second": 1e6,
}
_ROWS = re.compile(r"^\[\s*\{", re.M)
_TOTAL = re.compile(r"^Total Time \((\S+)\)$")
# Columns of ncu that only rows of its rules have.
_OPTIONAL = frozenset(
    {
        "Rule Name",
        "Rule Type",
        "Rule Description",
        "Estimated Speedup Type",
        "Estimated Speedup",
        "",
    }
)


def read_nsys_csv(text: str, path: str) -> PerformanceLog:
    """The kernels of `nsys stats --format csv`. Raises InputError with the line."""
    rows = _table(text, path, _is_nsys_head)
    kernels = [_nsys_kernel(row, f"{path}:{line}") for line, row in rows]
    if not kernels:
        raise InputError(
            f"{path}: error: no sums of kernels: nsys stats --report cuda_gpu_kern_sum"
        )
    return _profile(kernels, path, "nsys csv", "nsys")


def _is_nsys_head(fields: Sequence[str]) -> bool:
    """Whether a table sums kernels or memory operations; those of API calls and ranges look alike."""
    launches = {"Instances", "Name"} <= set(fields) or {"Count", "Operation"} <= set(fields)
    return launches and any(_TOTAL.match(field) for field in fields)


def read_nsys_json(text: str, path: str) -> PerformanceLog:
    """The kernels of `nsys stats --format json`; messages around the document are left out.

    Raises:
        InputError: broken JSON, rows of another kind.
    """
    start = _ROWS.search(text)
    rows = load_json(text, path, start.start() if start else 0)
    kernels = []
    for index, row in enumerate(rows if isinstance(rows, list) else [], 1):
        if not isinstance(row, dict) or not _is_nsys_head(list(row)):
            raise InputError(f"{path}: error: row {index} is not one of a sum of kernels")
        fields = {str(k): str(v) for k, v in row.items()}
        kernels.append(_nsys_kernel(fields, f"{path}: row {index}"))
    return _profile(kernels, path, "nsys json", "nsys")


def _nsys_kernel(row: Mapping[str, str], where: str) -> KernelTime:
    column = next((name for name in row if _TOTAL.match(name)), "Total Time (ns)")
    unit = column.partition("(")[2].rstrip(")")
    if unit not in _UNITS:
        raise InputError(f"{where}: error: unknown unit of time {unit!r}")
    total = _float(row, column, where) * _UNITS[unit]
    count = _float(row, "Instances" if "Instances" in row else "Count", where)
    if count < 1:
        raise InputError(f"{where}: error: {count:g} launches")
    name = row.get("Name") or row.get("Operation") or ""
    return KernelTime(name, int(count), total / count, total)


def read_ncu_csv(text: str, path: str) -> PerformanceLog:
    """The kernels of `ncu --csv`, launches of one name together. Raises InputError with the line."""
    rows = list(_table(text, path, lambda fields: "Kernel Name" in fields))
    pick = _duration if rows and "Metric Name" in rows[0][1] else _raw_duration
    units = rows[0][1] if rows and not rows[0][1].get("ID", "").strip() else {}
    times: dict[str, list[float]] = {}
    for line, row in rows:
        duration = pick(row, units, f"{path}:{line}")
        if duration is not None:
            times.setdefault(row["Kernel Name"], []).append(duration)
    if not times:
        raise InputError(f"{path}: error: no durations: ncu has to collect gpu__time_duration.sum")
    kernels = [KernelTime(n, len(t), sum(t) / len(t), sum(t)) for n, t in times.items()]
    return _profile(kernels, path, "ncu csv", "ncu")


def _duration(row: Mapping[str, str], units: Mapping[str, str], where: str) -> float | None:
    """Microseconds of a row of one metric; None where the metric is another one."""
    if row["Metric Name"] not in ("Duration", "gpu__time_duration.sum"):
        return None
    return _float(row, "Metric Value", where) * _unit(row.get("Metric Unit", ""), where)


def _raw_duration(row: Mapping[str, str], units: Mapping[str, str], where: str) -> float | None:
    """Microseconds of a row of all metrics of a launch; None for the row of units."""
    if row is units or "gpu__time_duration.sum" not in row:
        return None
    unit = units.get("gpu__time_duration.sum", "ns")
    return _float(row, "gpu__time_duration.sum", where) * _unit(unit, where)


def _unit(text: str, where: str) -> float:
    if text not in _UNITS:
        raise InputError(f"{where}: error: unknown unit of time {text!r}")
    return _UNITS[text]


def _float(row: Mapping[str, str], column: str, where: str) -> float:
    text = row.get(column, "")
    value = number(text.replace(",", ""))
    if value is None or not math.isfinite(value):
        raise InputError(f"{where}: error: {column}: expected a number, found {text!r}")
    return value


def _table(
    text: str, path: str, is_head: Callable[[Sequence[str]], bool]
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, column -> field) of each row of the first table that has such a head."""
    head: list[str] = []
    reader = csv.reader(text.splitlines(keepends=True))
    try:
        for row in reader:
            if not head:
                fields = [field.strip() for field in row]
                head = fields if is_head(fields) else []
            elif len(row) <= 1:
                # The end of the table: a blank line, or a message of the profiler's.
                return
            else:
                yield reader.line_num, _fields(row, head, f"{path}:{reader.line_num}")
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: error: no CSV: {error}") from None


def _fields(row: list[str], head: Sequence[str], where: str) -> dict[str, str]:
    """Column -> field. Some versions end rows, but not the head, in a comma; names that are not quoted
    hold commas, and stand last."""
    while len(row) > len(head) and not row[-1].strip():
        row = row[:-1]
    if len(row) < len(head):
        if set(head[len(row) :]) <= _OPTIONAL:
            return dict(zip(head, row))
        raise InputError(f"{where}: error: {len(row)} columns, the head has {len(head)}: cut off?")
    last = ",".join(row[len(head) - 1 :])
    return dict(zip(head, [*row[: len(head) - 1], last]))


def _profile(kernels: Iterable[KernelTime], path: str, form: str, method: str) -> PerformanceLog:
    record = Measurement(
        Config(""), None, None, method, path, kernels=tuple(kernels), whole_profile=True
    )
    return PerformanceLog(path, form, (record,), blocks=1)
