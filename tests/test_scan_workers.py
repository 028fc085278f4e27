"""Scans by any engine, with workers and scans that are killed, and scans again: always the same rows."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from samples import FIXTURES
from scanned import (
    BROKEN,
    MATMUL,
    SOFTMAX,
    Killing,
    doubled,
    given_up,
    rows_of,
    table,
    write_dumps,
    write_tarball,
)
from test_cli import tool

from tileir_tools.errors import ToolError

pytest.importorskip("pyarrow", reason="needs the extra scan")
pytest.importorskip("duckdb", reason="needs the extra scan")

from tileir_tools.bridges.tables import TABLES
from tileir_tools.scan import Summary, scan, scanning, store
from tileir_tools.scan.sharing import Work, Workers

VARIANTS = FIXTURES.parent / "variants"
ROOT = FIXTURES.parents[2]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan") / "dumps"
    write_dumps(folder)
    return folder


def scanned(dumps: Path, out: Path, **options: Any) -> Summary:
    return scan([dumps], out, arch="sm_100", reference=[VARIANTS], **options)


@pytest.fixture(scope="module")
def here(dumps: Path) -> tuple[Summary, dict[str, list[str]]]:
    """What one process finds."""
    out = dumps.parent / "here"
    return scanned(dumps, out), rows_of(out)


# -- engines ----------------------------------------------------------------------------------------


def test_one_process(here: tuple[Summary, dict[str, list[str]]], dumps: Path) -> None:
    summary, rows = here
    ours = len(list(FIXTURES.glob("[a-m]*13.4.mlir")))
    references = len([p for p in VARIANTS.iterdir() if p.suffix in (".mlir", ".tileirbc")])
    files = 2 * ours + 2 + 2 * len(BROKEN) + 1 + references
    unread = 2 * (len(BROKEN) - 1)
    assert (summary.files, summary.errors) == (files, unread)
    assert {name: len(found) for name, found in rows.items()}["files"] == files
    # Of the bad ones, broken gzip has no content; equal files have one.
    assert summary.contents == summary.analyzed == 2 * ours + 1 + len(BROKEN) - 1 + references
    assert summary.read == files - len(BROKEN)
    assert len(rows["entries"]) == summary.entries == summary.contents - (len(BROKEN) - 2)
    assert all(len(set(found)) == len(found) for found in rows.values())


@pytest.mark.parametrize("jobs", [2, 3])
def test_processes(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path, jobs: int
) -> None:
    assert scanned(dumps, tmp_path / "out", jobs=jobs) == here[0]
    assert rows_of(tmp_path / "out") == here[1]


def test_any_executor(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert scanned(dumps, tmp_path / "out", executor=executor) == here[0]
    assert rows_of(tmp_path / "out") == here[1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found


def test_dask(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path, cluster: Any
) -> None:
    done = tool(
        "tileir", "scan", dumps, "-o", tmp_path / "out", "--arch", "sm_100",
        "--reference", VARIANTS, "--scheduler", cluster.scheduler_address,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.decode().startswith(f"{here[0].files} files, {here[0].contents} contents, ")
    assert rows_of(tmp_path / "out") == here[1]


# -- workers that die -------------------------------------------------------------------------------


def processes() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def own_processes() -> Callable[[], list[int]]:
    """Gives the processes that were started since; a cluster for other tests may be running."""
    before = set(processes())
    return lambda: [pid for pid in processes() if pid not in before]


def test_a_killed_process_loses_nothing(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path
) -> None:
    killing = Killing(own_processes(), 40)
    assert scanned(dumps, tmp_path / "out", jobs=2, progress=killing) == here[0]
    assert len(killing.killed) == 1
    assert rows_of(tmp_path / "out") == here[1]


def test_a_killed_worker_of_dask_loses_nothing(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path, cluster: Any
) -> None:
    from distributed import Client

    with Client(cluster) as client:
        pids = client.run(os.getpid)
        killing = Killing(pids.values, 40)
        executor = client.get_executor(pure=False)
        assert scanned(dumps, tmp_path / "out", executor=executor, progress=killing) == here[0]
    assert len(killing.killed) == 1
    assert rows_of(tmp_path / "out") == here[1]


def test_an_executor_that_breaks_ends_the_scan_and_the_next_goes_on(
    here: tuple[Summary, dict[str, list[str]]],
    dumps: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "_BATCH", 1)
    monkeypatch.setattr("tileir_tools.scan.sharing._AHEAD", 2)
    killing = Killing(own_processes(), 40)
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(ToolError, match=r"no more workers: .*; scan again to go on where it was"),
    ):
        scanned(dumps, tmp_path / "out", executor=executor, progress=killing)
    assert len(killing.killed) == 1
    summary = scanned(dumps, tmp_path / "out")
    assert 0 < summary.analyzed < here[0].analyzed
    assert rows_of(tmp_path / "out") == here[1]


def test_what_kills_every_worker_is_told_apart() -> None:
    batches = [[k, k + 1, k + 2] for k in range(0, 30, 3)]
    found = Workers(2).run(batches, Work(doubled, given_up))
    assert sorted(x for part in found for x in part) == sorted(
        -13 if k == 13 else 2 * k for k in range(30)
    )


def test_dask_gives_up_what_kills_every_worker(cluster: Any) -> None:
    from distributed import Client

    with Client(cluster) as client:
        workers = Workers(executor=client.get_executor(pure=False))
        found = workers.run([[11, 12], [13], [14, 15]], Work(doubled, given_up))
        assert sorted(x for part in found for x in part) == [-13, 22, 24, 28, 30]


def test_contents_that_workers_died_of_get_another_look(
    dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        scanning, "analyze_contents", lambda batch, arch: scanning.lost_contents(batch, "it died")
    )
    summary = scan([MATMUL], tmp_path / "out")
    (row,) = table(tmp_path / "out", "contents")
    assert (summary.errors, row["error_kind"], row["error"]) == (1, "worker", "it died")
    monkeypatch.undo()
    assert scan([MATMUL], tmp_path / "out").errors == 0
    (row,) = table(tmp_path / "out", "contents")
    assert (row["error_kind"], row["modules"]) == (None, 1)


# -- scans that are killed --------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from tileir_tools.scan import scan, scanning, store
store._PART_ROWS = scanning._BATCH = 4

def progress(step, done, total):
    if list(Path(sys.argv[2]).glob("parts/*/contents.parquet")):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    scan([sys.argv[1]], sys.argv[2], arch="sm_100", reference=[sys.argv[3]], jobs=int(sys.argv[4]),
         progress=progress)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_scan_goes_on_where_it_was(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path, jobs: int
) -> None:
    out = tmp_path / "out"
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(dumps), str(out), str(VARIANTS), str(jobs)]
    # Workers that outlived it would keep its output open.
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert list((out / "parts").iterdir()) != []
    asked = tool("tileir", "query", "select 1", out)
    assert asked.returncode == 3
    assert b"this scan is not finished: scan again to go on" in asked.stderr
    summary = scanned(dumps, out)
    assert 0 < summary.analyzed < here[0].analyzed
    assert summary.read < here[0].read
    assert rows_of(out) == here[1]
    assert sorted(p.name for p in out.iterdir()) == sorted(
        [*(f"{t}.parquet" for t in TABLES), "scan.json"]
    )


INTERRUPTED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from tileir_tools.cli import scan as scan_command
from tileir_tools.cli.tileir import main
from tileir_tools.scan import scanning, store
store._PART_ROWS = scanning._BATCH = 4

@contextmanager
def bar():
    def progress(step, done, total):
        if list(Path("out").glob("parts/*/contents.parquet")):
            os.kill(0, signal.SIGINT)
    yield progress

if __name__ == "__main__":
    scan_command.bar = bar
    main()
"""


def test_an_interrupt_says_nothing_and_loses_nothing(
    here: tuple[Summary, dict[str, list[str]]], dumps: Path, tmp_path: Path
) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    words = ["scan", str(dumps), "-o", "out", "--arch", "sm_100", "--reference", str(VARIANTS)]
    # A terminal interrupts all processes of the group, the workers too.
    done = subprocess.run(
        [sys.executable, "interrupted.py", *words, "--jobs", "2"],
        check=False, cwd=tmp_path, capture_output=True, start_new_session=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")
    summary = scanned(dumps, tmp_path / "out")
    assert 0 < summary.analyzed < here[0].analyzed
    assert rows_of(tmp_path / "out") == here[1]


class Killed(BaseException):
    """Nothing runs after this: what would be renamed later is not."""


def test_killed_at_any_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels change while a scan that is killed each time goes on; a third file goes."""
    folder, whole = tmp_path / "dumps", tmp_path / "whole"
    folder.mkdir()
    monkeypatch.setattr(store, "_PART_ROWS", 1)
    kernels = sorted(FIXTURES.glob("[a-e]*13.4.mlir"))

    def write(first: int) -> None:
        for number, path in enumerate(kernels[first : first + 3]):
            shutil.copyfile(path, folder / f"{number}.mlir")

    def everything(out: Path) -> dict[str, list[str]]:
        scan([folder], out, reference=[folder])
        return rows_of(out, "modified_ns")

    write(2)
    (folder / "gone.mlir").unlink(missing_ok=True)
    expected = everything(whole)
    killed_at = 0
    while True:
        out = tmp_path / f"out{killed_at}"
        write(0)
        shutil.copyfile(kernels[4], folder / "gone.mlir")
        everything(out)
        write(2)
        (folder / "gone.mlir").unlink()
        with monkeypatch.context() as patched:
            count = _kill_at(killed_at, patched)
            try:
                everything(out)
            except Killed:
                pass
            else:
                break
        assert count() > killed_at
        assert everything(out) == expected
        killed_at += 1
    # Parts, tables, scan.json twice, the old parts.
    assert killed_at > 12


def _kill_at(number: int, patched: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let everything from the numbered rename on be the end."""
    done = 0

    def dying(name: str) -> Callable[..., None]:
        real = getattr(os, name)

        def rename(*arguments: Any) -> None:
            nonlocal done
            done += 1
            if done > number:
                raise Killed
            real(*arguments)

        return rename

    for name in ("rename", "replace"):
        patched.setattr(os, name, dying(name))
    return lambda: done


# -- scans again ------------------------------------------------------------------------------------


def test_what_has_not_changed_is_not_read_again(
    here: tuple[Summary, dict[str, list[str]]],
    dumps: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    shutil.copytree(dumps.parent / "here", out)
    read: list[str] = []
    real = scanning.read_pieces
    monkeypatch.setattr(scanning, "read_pieces", lambda path: (read.append(path), real(path))[1])
    summary = scanned(dumps, out)
    # A file with an error may be readable by now.
    assert read == [str(dumps / "half.mlir.gz"), str(dumps / "some.tar.gz")]
    assert summary == here[0]._replace(read=2, analyzed=0)
    assert rows_of(out) == here[1]


def test_what_has_changed_is_read_again(tmp_path: Path) -> None:
    folder, out = tmp_path / "dumps", tmp_path / "out"
    folder.mkdir()
    for path in (MATMUL, SOFTMAX):
        shutil.copy(path, folder)
    assert scan([folder], out)[:2] == (2, 2)
    (folder / SOFTMAX.name).write_text(SOFTMAX.read_text().replace("1024", "2048"))
    summary = scan([folder], out)
    assert (summary.read, summary.analyzed, summary.contents) == (1, 1, 2)
    assert len(table(out, "entries")) == len(table(out, "contents")) == 2
    (folder / MATMUL.name).unlink()
    assert scan([folder], out)._replace(verdicts={}) == Summary(1, 1, 1, 0, 0, 0, {})
    assert [row["function"] for row in table(out, "entries")] == ["softmax"]


def test_equal_contents_are_analysed_once(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    data = SOFTMAX.read_bytes()
    (folder / "a.mlir").write_bytes(data)
    (folder / "b.tile").write_bytes(data)
    (folder / "c.mlir.gz").write_bytes(gzip.compress(data))
    write_tarball(folder / "d.tar.xz", {"x/a.mlir": data, "b.mlir": data})
    summary = scan([folder, folder / "a.mlir"], tmp_path / "out")
    assert summary == Summary(5, 1, 1, 0, 4, 1, {})
    places = [(Path(r["path"]).name, r["member"]) for r in table(tmp_path / "out", "files")]
    assert sorted(places, key=str) == [
        ("a.mlir", None), ("b.tile", None), ("c.mlir.gz", None),
        ("d.tar.xz", "b.mlir"), ("d.tar.xz", "x/a.mlir"),
    ]  # fmt: skip
