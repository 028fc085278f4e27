"""Reads performance records of any format, which is seen from the content.

Place in the flow: bytes -> **records**; imports the readers, each when its format is met.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ..errors import ForeignFormatError, InputError, UsageError
from .records import METHODS, PerformanceLog
from .untrusted import load_json, read_limited

_EXPECTED = (
    "expected JUnit XML, a pytest log, nsys stats (CSV or JSON), ncu --csv, a torch profiler table or "
    "trace, pytest-benchmark JSON or a proton profile"
)
# Beginning of a file -> kind, what it is and what to do.
_MAGICS: tuple[tuple[bytes, str, str], ...] = (
    (b"SQLite format 3", "sqlite", "an SQLite database; export it: nsys stats --format csv"),
    (b"NVR", "ncu-rep", "a report of Nsight Compute; export it: ncu --import FILE --csv"),
    (b"\x1f\x8b", "gzip", "gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd; unpack it first"),
    (b"PK\x03\x04", "zip", "a zip archive; unpack it first"),
    (b"\x7fELF", "elf", "an ELF file"),
    (b"\x7fTileIR", "tileir", "Tile IR bytecode"),
)
_NSYS = re.compile(r"^\"?Time \(%\)\"?,", re.M)
_NSYS_JSON = re.compile(r"^\[\s*\{\s*\"Time \(%\)\"", re.M)
_NCU = re.compile(r"^(?:.*,)?\"?Kernel Name\"?,", re.M)
_TABLE = re.compile(r"^[ \t]*Name\s.*Self CUDA.*# of Calls", re.M)
_PYTEST = re.compile(
    r"Performance Test Results|=== CUPTI events|^=+ test session starts|^\S+\.py::\S+|^\[gw\d+\]"
    r"|^(?:FAILED|ERROR) \S+::"
    r"|^[ \t]*(?:PASSED|FAILED|SKIPPED)[ \t]*(?:\[ *\d+%\])?[ \t]*$"
    r"|^=+ .{0,99}\b(?:passed|failed|error).{0,99} in [0-9.]+s",
    re.M,
)
_TILE_IR = re.compile(r"\bcuda_tile\.module\b|^[ \t]*entry\s+@", re.M)


def read_performance(path: str, *, method: str | None = None) -> PerformanceLog:
    """The performance records in a file; `-` is the standard input.

    Args:
        path: the file.
        method: a key of METHODS, for records that do not say how they were measured.

    Raises:
        InputError: the file cannot be read or is broken; the message has the place.
        ForeignFormatError: it is something else, which the message names.
        UsageError: an unknown method; a reader that needs a package that is not installed.
    """
    if method is not None and method not in METHODS:
        raise UsageError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    log = parse_performance(read_limited(path), path)
    if method is None:
        return log
    known = tuple(
        m._replace(method=method) if m.method == "unknown" else m for m in log.measurements
    )
    return log._replace(measurements=known)


def parse_performance(data: bytes, path: str) -> PerformanceLog:
    """The performance records in some bytes; `path` names them. Raises as `read_performance`."""
    for magic, kind, what in _MAGICS:
        if data.startswith(magic):
            raise ForeignFormatError(f"{path}: error: this is {what}; {_EXPECTED}", kind)
    if b"\0" in data[:4096]:
        raise ForeignFormatError(f"{path}: error: this is a binary file; {_EXPECTED}", "binary")
    text = data.decode("utf-8-sig", errors="replace")
    start = text.lstrip()[:200]
    if not start:
        raise InputError(f"{path}: error: the file is empty")
    if start.startswith("<"):
        return _xml(data, start, path)
    if _NSYS_JSON.search(text):
        return _nsys_json(text, path)
    # A log may hold JSON, but does not begin with it.
    if start[0] in "{[" and not start.startswith("[gw"):
        return _json(text, path)
    for pattern, read in _TEXTS:
        if pattern.search(text):
            return read(text, path)
    if _TILE_IR.search(text):
        raise ForeignFormatError(f"{path}: error: this is Tile IR text; {_EXPECTED}", "tileir")
    raise ForeignFormatError(f"{path}: error: no performance records; {_EXPECTED}", "unknown")


def _xml(data: bytes, start: str, path: str) -> PerformanceLog:
    if start.lower().startswith(("<!doctype html", "<html")):
        raise ForeignFormatError(f"{path}: error: this is HTML; {_EXPECTED}", "html")
    from .junit import read_junit

    return read_junit(data, path)


def _json(text: str, path: str) -> PerformanceLog:
    if _json_lines(text):
        message = f"{path}: error: this is JSON Lines, of no known kind; {_EXPECTED}"
        raise ForeignFormatError(message, "jsonl")
    content = load_json(text, path)
    if isinstance(content, dict):
        if "traceEvents" in content:
            from .torch_profiler import read_chrome_trace

            return read_chrome_trace(content, path)
        if "benchmarks" in content:
            from .pytest_benchmark import read_pytest_benchmark

            return read_pytest_benchmark(content, path)
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(content, list) and isinstance(first, dict) and "frame" in first:
        from .proton import read_proton

        return read_proton(content, path)
    raise ForeignFormatError(f"{path}: error: JSON of no known kind; {_EXPECTED}", "json")


def _json_lines(text: str) -> bool:
    """Whether the first two lines are a document each."""
    lines = text.strip().split("\n", 2)[:2]
    if len(lines) < 2 or not all(line.strip().startswith("{") for line in lines):
        return False
    try:
        return all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _nsys_csv(text: str, path: str) -> PerformanceLog:
    from .nsight import read_nsys_csv

    return read_nsys_csv(text, path)


def _nsys_json(text: str, path: str) -> PerformanceLog:
    from .nsight import read_nsys_json

    return read_nsys_json(text, path)


def _ncu_csv(text: str, path: str) -> PerformanceLog:
    from .nsight import read_ncu_csv

    return read_ncu_csv(text, path)


def _table(text: str, path: str) -> PerformanceLog:
    from .torch_profiler import read_profiler_table

    return read_profiler_table(text, path)


def _log(text: str, path: str) -> PerformanceLog:
    from .pytest_log import read_pytest_log

    return read_pytest_log(text, path)


# What a text holds -> its reader. A pytest log may hold a profiler's table.
_TEXTS: tuple[tuple[re.Pattern[str], Callable[[str, str], PerformanceLog]], ...] = (
    (_PYTEST, _log),
    (_NSYS, _nsys_csv),
    (_NCU, _ncu_csv),
    (_TABLE, _table),
)
