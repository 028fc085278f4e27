"""Scans a folder of 10000 dumps by one process, by two, and by two workers of Dask, and with workers killed.

    python benchmarks/scan_folder.py [--files 10000]

Needs the extras `scan` and `dask`. The dumps are the fixtures of the tests under other names, every tenth
equal to another. All runs must give the same rows; the table says how long each took beside one process.
Times mean something on two cores that nobody else uses.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import multiprocessing
import os
import signal
import string
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tileir_tools import load
from tileir_tools.bridges.tables import TABLES
from tileir_tools.scan import scan

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "kernels"
EQUAL = 10

# Gives the processes of which one may be killed.
Processes = Callable[[], Iterable[int]]


def make_dumps(folder: Path, count: int) -> None:
    """So many files: text and bytecode of each kernel in turn, each with an entry of another name."""
    kernels = []
    for path in sorted(FIXTURES.glob("*13.4.mlir")):
        (entry,) = load(path).entries
        kernels += [
            (p.suffix, p.read_bytes(), entry.symbol) for p in (path, path.with_suffix(".tileirbc"))
        ]
    # As long as the shortest name: bytecode says how long its texts are.
    names = map("".join, itertools.product(string.ascii_lowercase, repeat=3))
    data, suffix = b"", ""
    for number in range(count):
        if number % EQUAL:
            suffix, original, symbol = kernels[number % len(kernels)]
            renamed = next(names) + symbol[3:]
            data = original.replace(symbol.encode(), renamed.encode())
        place = folder / f"{number % 100:02}" / f"{number:06}{suffix or '.mlir'}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data or kernels[0][1])


def digest(out: Path) -> str:
    """A hash of all rows of all tables, in an order of its own."""
    from pyarrow import parquet

    found = hashlib.sha256()
    for name in TABLES:
        for row in sorted(map(repr, parquet.read_table(out / f"{name}.parquet").to_pylist())):
            found.update(row.encode())
    return found.hexdigest()


def killing(processes: Processes, at: int) -> Callable[[str, int, int], None]:
    """A progress that kills one process when so many files were read."""
    killed: list[int] = []

    def progress(step: str, done: int, total: int) -> None:
        if done >= at and not killed:
            killed.extend(list(processes())[:1])
            os.kill(killed[0], signal.SIGKILL)

    return progress


def children() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def timed(name: str, dumps: Path, base: Path, **options: Any) -> tuple[str, float, str]:
    """Name, seconds and digest of a scan."""
    out = base / name.replace(" ", "_")
    start = time.perf_counter()
    summary = scan([dumps], out, arch="sm_100", **options)
    seconds = time.perf_counter() - start
    print(f"{name}: {seconds:.1f} s, {summary}", file=sys.stderr, flush=True)
    return name, seconds, digest(out)


def with_dask(dumps: Path, base: Path, count: int) -> list[tuple[str, float, str]]:
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        executor = client.get_executor(pure=False)
        kill = killing(client.run(os.getpid).values, count // 2)
        return [
            timed("dask, 2 workers", dumps, base, executor=executor),
            timed("dask, one killed", dumps, base, executor=executor, progress=kill),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        dumps = base / "dumps"
        make_dumps(dumps, count)
        runs = [
            timed("1 process", dumps, base),
            timed("2 processes", dumps, base, jobs=2),
            timed(
                "2 processes, one killed",
                dumps,
                base,
                jobs=2,
                progress=killing(children, count // 2),
            ),
            *with_dask(dumps, base, count),
        ]
    print(f"{count} files")
    for name, seconds, found in runs:
        same = "same rows" if found == runs[0][2] else "OTHER ROWS"
        print(f"{name:25}{seconds:8.1f} s{runs[0][1] / seconds:6.2f}x  {same}")
    if len({found for _, _, found in runs}) > 1:
        sys.exit(1)


if __name__ == "__main__":
    main()
