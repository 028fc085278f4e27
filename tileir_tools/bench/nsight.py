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
import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import InputError
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
_TOTAL = re.compile(r"^Total Time \((\S+)\)$")
# The longest name of a kernel that is read: C++ templates reach tens of kilobytes.
_FIELD = 1 << 20


def read_nsys_csv(text: str, path: str) -> PerformanceLog:
    """The kernels of `nsys stats --format csv`. Raises InputError with the line."""
    rows = _table(text, path, lambda fields: any(_TOTAL.match(f) for f in fields))
    kernels = [_nsys_kernel(row, f"{path}:{line}") for line, row in rows]
    return _profile(kernels, path, "nsys csv", "nsys")


def read_nsys_json(rows: object, path: str) -> PerformanceLog:
    """The kernels of `nsys stats --format json`, once decoded. Raises InputError."""
    if not isinstance(rows, list):
        raise InputError(f"{path}: error: expected a list of rows")
    kernels = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}: error: row {number} is not an object")
        fields = {str(k): str(v) for k, v in row.items()}
        kernels.append(_nsys_kernel(fields, f"{path}: row {number}"))
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
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise InputError(f"{where}: error: {column}: expected a number, found {text!r}") from None


def _table(text: str, path: str, is_head: object) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, column -> field) of each row of the first table that has such a head."""
    assert callable(is_head)
    head: list[str] = []
    reader = csv.reader(text.splitlines(keepends=True))
    csv.field_size_limit(_FIELD)
    try:
        for row in reader:
            if not head:
                fields = [field.strip() for field in row]
                head = fields if is_head(fields) else []
            elif not row:
                return
            elif len(row) != len(head):
                if len(row) == 1:
                    # A message of the profiler's, or the head of the next report.
                    return
                raise InputError(
                    f"{path}:{reader.line_num}: error: {len(row)} columns, the head has {len(head)}"
                )
            else:
                yield reader.line_num, dict(zip(head, row))
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: error: no CSV: {error}") from None


def _profile(kernels: Iterable[KernelTime], path: str, form: str, method: str) -> PerformanceLog:
    record = Measurement(
        Config(""), None, None, method, path, kernels=tuple(kernels), whole_profile=True
    )
    return PerformanceLog(path, form, (record,), blocks=1)


def nsys_json_of(text: str, path: str) -> object:
    """The document in what `nsys stats --format json` prints, messages before it left out."""
    start = text.find("[\n") if not text.lstrip().startswith("[") else 0
    return load_json(text[max(start, 0) :], path)
