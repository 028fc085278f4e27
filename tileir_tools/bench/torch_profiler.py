"""What torch.profiler exports: the table of `key_averages()` and traces in Chrome's format.

Place in the flow: bytes -> **records**; imports `records`. A profile is of everything between its start and
end: how many calls that were is not known. Names in tables are cut, with `...` at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import InputError
from .benchmark_property import number
from .records import Config, KernelTime, Measurement, PerformanceLog

_TIME = re.compile(r"^([0-9.]+)(ns|us|ms|s)$")
_COUNT = re.compile(r"^\d{1,15}$")
_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
# What ran on the GPU, by the categories of a trace's events.
_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_CUT = "..."


def read_profiler_table(text: str, path: str) -> PerformanceLog:
    """The kernels of a printed `key_averages().table()`. Raises InputError with the line.

    Rows of operators repeat the time of the kernels that they launch; they have time on the CPU, kernels
    have none.
    """
    kernels = []
    rows = list(_rows(text))
    if not rows:
        raise InputError(f"{path}: error: no table of key_averages() with its head and rows")
    for line, row in rows:
        name, device = row.get("Name"), row.get("Self CUDA")
        count = row.get("# of Calls", "")
        if name is None or device is None or not _COUNT.match(count):
            raise InputError(
                f"{path}:{line}: error: expected columns 'Name', 'Self CUDA' and '# of Calls'"
            )
        total = _us(device, f"{path}:{line}")
        cpu = _us(row.get("Self CPU", "0.000us"), f"{path}:{line}")
        # Ranges of the user's are shown on the GPU too.
        if total > 0 and cpu == 0 and int(count) > 0 and not name.startswith("ProfilerStep"):
            cut = name.endswith(_CUT)
            shown = name.removesuffix(_CUT) if cut else name
            kernels.append(KernelTime(shown, int(count), total / int(count), total, cut))
    return _profile(kernels, path, "torch profiler table")


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, column -> cell) of each row. Two spaces or more part cells; heads may be wider than the
    dashes below them."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if "# of Calls" in line and at + 1 < len(lines) and lines[at + 1].startswith("---"):
            head = re.split(" {2,}", line.strip())
            for number, row in enumerate(lines[at + 2 :], at + 3):
                if row.startswith("---") or not row.strip():
                    return
                cells = re.split(" {2,}", row.strip())
                # A name that has two spaces itself.
                behind = len(cells) - len(head) + 1
                yield number, dict(zip(head, ["  ".join(cells[:behind]), *cells[behind:]]))
            return


def _us(text: str, where: str) -> float:
    found = _TIME.match(text)
    if found is None:
        raise InputError(f"{where}: error: expected a time such as 52.3us, found {text!r}")
    try:
        return float(found[1]) * _UNITS[found[2]]
    except ValueError:
        raise InputError(f"{where}: error: {found[1]!r} is no number") from None


def read_chrome_trace(content: dict[object, object], path: str) -> PerformanceLog:
    """The kernels, copies and fills of a trace (`export_chrome_trace`), those of one name together.

    Raises:
        InputError: `traceEvents` is no list.
    """
    events = content.get("traceEvents")
    if not isinstance(events, list):
        raise InputError(f"{path}: error: traceEvents is no list")
    times: dict[str, list[float]] = {}
    for event in events:
        if isinstance(event, dict) and str(event.get("cat", "")).lower() in _CATEGORIES:
            duration = number(event.get("dur"))
            if duration is not None:
                times.setdefault(str(event.get("name", "")), []).append(duration)
    kernels = [KernelTime(n, len(t), sum(t) / len(t), sum(t)) for n, t in times.items()]
    return _profile(kernels, path, "chrome trace")


def _profile(kernels: list[KernelTime], path: str, form: str) -> PerformanceLog:
    record = Measurement(
        Config(""), None, None, "torch_profiler", path, kernels=tuple(kernels), whole_profile=True
    )
    return PerformanceLog(path, form, (record,), blocks=1)
