"""What tests of scans share: folders to scan, work that kills workers, tables as rows."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from samples import FIXTURES

from tileir_tools.bridges.tables import TABLES

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
SOFTMAX = FIXTURES / "softmax__tile1024-float32__sm_100__bc13.4.mlir"

BROKEN = {
    "parse.mlir": b"entry @k() {\n  %0 = iota oops : tile<4xi32>\n  return\n}\n",
    "cut.tileirbc": MATMUL.with_suffix(".tileirbc").read_bytes()[:400],
    "cubin.bc": b"\x7fELF\x02\x01\x01\x00",
    "empty.mlir": b"",
    "invalid.mlir": b"entry @k() {\n  %0 = iota : tile<6xi32>\n  return\n}\n",
    "half.mlir.gz": gzip.compress(SOFTMAX.read_bytes())[:200],
}


def write_dumps(folder: Path) -> None:
    """Some forty files: text and bytecode, equal ones, gzip, tarballs, bad ones."""
    (folder / "deep").mkdir(parents=True)
    for path in sorted(FIXTURES.glob("[a-m]*13.4.mlir")):
        shutil.copy(path, folder)
        shutil.copy(path.with_suffix(".tileirbc"), folder / "deep")
    shutil.copy(SOFTMAX, folder / "deep" / "again.mlir")
    (folder / "softmax.mlir.gz").write_bytes(gzip.compress(SOFTMAX.read_bytes()))
    write_tarball(folder / "some.tar.gz", {"a/softmax.mlir": SOFTMAX.read_bytes(), **BROKEN})
    for name, data in BROKEN.items():
        (folder / name).write_bytes(data)


def write_tarball(
    path: Path, members: dict[str, bytes], more: Sequence[tarfile.TarInfo] = ()
) -> None:
    """A tarball, compressed as its name says; of `more`, only the heads are written."""
    kind = {".gz": "gz", ".tgz": "gz", ".xz": "xz", ".bz2": "bz2"}.get(path.suffix, "")
    with tarfile.open(path, f"w:{kind}") as archive:  # type: ignore[call-overload]
        for info in more:
            archive.addfile(info)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def rows_of(out: Path, *left_out: str) -> dict[str, list[str]]:
    """The rows of all tables as texts, sorted; without some columns."""
    from pyarrow import parquet

    found = {}
    for name in TABLES:
        rows = parquet.read_table(out / f"{name}.parquet").to_pylist()
        found[name] = sorted(
            repr({k: v for k, v in row.items() if k not in left_out}) for row in rows
        )
    return found


def table(out: Path, name: str) -> list[dict[str, Any]]:
    from pyarrow import parquet

    found: list[dict[str, Any]] = parquet.read_table(out / f"{name}.parquet").to_pylist()
    return found


class Killing:
    """A progress that kills a process, once, when so many files were read."""

    def __init__(self, pids: Any, at: int):
        self.pids = pids
        self.at = at
        self.killed: list[int] = []

    def __call__(self, step: str, done: int, total: int) -> None:
        if step == "files" and done >= self.at and not self.killed:
            self.killed = list(self.pids())[:1]
            for pid in self.killed:
                os.kill(pid, signal.SIGKILL)


def doubled(batch: Sequence[int]) -> list[int]:
    """Work of a worker; 13 kills it."""
    if 13 in batch:
        os.kill(os.getpid(), signal.SIGKILL)
    return [2 * item for item in batch]


def given_up(batch: Sequence[int], why: str) -> list[int]:
    return [-item for item in batch]
