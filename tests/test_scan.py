"""Scans: tables of folders, engines, killed workers and scans, bad files, tarballs, references."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
from test_calls import Cached, write_cache
from test_cli import check, tool

import tileir_tools as tt
from tileir_tools.errors import InputError, ToolError, UsageError

pytest.importorskip("pyarrow", reason="needs the extra scan")
pytest.importorskip("duckdb", reason="needs the extra scan")

from tileir_tools.bridges.tables import TABLES
from tileir_tools.scan import Summary, reading, scan, scanning, store
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


# -- bad files --------------------------------------------------------------------------------------


def errors(out: Path) -> dict[str, tuple[Any, ...]]:
    """Name (or member) -> kind, line, column, offset, message."""
    contents = {row["content"]: row for row in table(out, "contents")}
    found = {}
    for row in table(out, "files"):
        about = contents.get(row["content"], {})
        place = [about.get(f"error_{c}") for c in ("kind", "line", "column", "offset")]
        name = row["member"] or Path(row["path"]).name
        found[name] = (*place, row["error"] or about.get("error"))
    return found


def test_bad_files_are_rows_with_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for name, data in BROKEN.items():
        (folder / name).write_bytes(data)
    (folder / "latin.mlir").write_bytes(b"entry @k() {\n  // \xe9\n return }\n")
    (folder / "nowhere.mlir").symlink_to(tmp_path / "absent")
    (folder / "folder.mlir").mkdir()
    os.mkfifo(folder / "pipe.mlir")
    summary = scan([folder], tmp_path / "out")
    with pytest.raises(tt.BytecodeError) as raised:
        tt.parse(BROKEN["cut.tileirbc"])
    found = errors(tmp_path / "out")
    assert found == {
        "parse.mlir": ("parse", 2, 13, None, found["parse.mlir"][4]),
        "cut.tileirbc": (
            "bytecode", None, None, raised.value.offset,
            f"{raised.value.message} (section {raised.value.section})",
        ),
        "cubin.bc": ("foreign:cubin", None, None, None, "this is an ELF file (a cubin or another "
                     "compiled binary), not Tile IR"),
        "empty.mlir": ("foreign:empty", None, None, None, "the input is empty"),
        "invalid.mlir": (None, None, None, None, None),
        "half.mlir.gz": (None, None, None, None, "broken gzip data: Compressed file ended before the "
                         "end-of-stream marker was reached"),
        "latin.mlir": ("input", None, None, None, "2: error: this is no UTF-8 text: byte 0xe9 at offset 18"),
        "nowhere.mlir": (None, None, None, None, "No such file or directory"),
        "pipe.mlir": (None, None, None, None, "this is no regular file"),
    }  # fmt: skip
    assert found["parse.mlir"][4] != ""
    assert summary.errors == 8
    (invalid,) = (r for r in table(tmp_path / "out", "contents") if r["verify_errors"])
    assert (invalid["verify_errors"], invalid["verify_line"]) == (1, 2)
    assert "powers of two" in invalid["verify_message"]


def test_mistakes_of_our_own_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("tileir_tools.scan.analysis.analyze", wrong)
    assert scan([MATMUL], tmp_path / "out").errors == 1
    assert errors(tmp_path / "out")[MATMUL.name] == (
        "internal", None, None, None, "RecursionError: too deep"
    )  # fmt: skip


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_BYTES", 3000)
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "large.mlir").write_bytes(b" " * 3001)
    (folder / "bomb.mlir.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    write_tarball(
        folder / "t.tgz", {"member.mlir": b" " * 3001, "small.mlir": b"entry @k() { return }"}
    )
    assert scan([folder], tmp_path / "out").errors == 3
    assert {name: found[-1] for name, found in errors(tmp_path / "out").items()} == {
        "large.mlir": "larger than 3000 bytes",
        "bomb.mlir.gz": "gzip data of more than 3000 bytes unpacked",
        "member.mlir": "larger than 3000 bytes",
        "small.mlir": None,
    }


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["x.mlir", "x.tileirbc", "x.mlir.gz", "x.tar", "x.tar.gz", "x.tar.xz", "cache.db"]
            ),
            st.one_of(
                st.binary(max_size=60),
                st.tuples(
                    st.sampled_from(
                        [MATMUL.with_suffix(".tileirbc").read_bytes(), SOFTMAX.read_bytes()]
                    ),
                    st.integers(0, 4000),
                    st.binary(max_size=4),
                ).map(lambda t: t[0][: t[1]] + t[2] + t[0][t[1] + len(t[2]) :]),
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_bytes_are_scanned(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for number, (name, data) in enumerate(files):
        (folder / "d" / str(number)).mkdir(parents=True)
        (folder / "d" / str(number) / name).write_bytes(data)
    summary = scan([folder / "d"], folder / "out")
    rows = table(folder / "out", "files")
    assert {row["path"] for row in rows} <= {
        str(folder / "d" / str(k) / name) for k, (name, _) in enumerate(files)
    }
    assert (
        summary.files
        == len(rows)
        >= sum(not name.startswith(("x.tar", "cache")) for name, _ in files)
    )


# -- tarballs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.tar", "t.tar.gz", "t.tgz", "t.tar.xz", "t.tar.bz2"])
def test_members_of_tarballs(tmp_path: Path, name: str) -> None:
    members = {"a/matmul.mlir": MATMUL.read_bytes(), "softmax.mlir.gz": gzip.compress(SOFTMAX.read_bytes()),
               "readme.txt": b"entry @no() { return }"}  # fmt: skip
    write_tarball(tmp_path / name, members)
    scan([tmp_path / name], tmp_path / "out")
    scan([MATMUL, SOFTMAX], tmp_path / "plain")
    found, plain = rows_of(tmp_path / "out"), rows_of(tmp_path / "plain")
    assert [row["member"] for row in table(tmp_path / "out", "files")] == [
        "a/matmul.mlir",
        "softmax.mlir.gz",
    ]
    assert {k: v for k, v in found.items() if k != "files"} == {
        k: v for k, v in plain.items() if k != "files"
    }


def info(name: str, kind: bytes = tarfile.REGTYPE, **about: Any) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    for key, value in about.items():
        setattr(made, key, value)
    return made


def test_hostile_names_and_links_reach_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret.mlir"
    secret.write_text("entry @secret() { return }")
    folder = tmp_path / "dumps"
    folder.mkdir()
    heads = [
        info("link.mlir", tarfile.SYMTYPE, linkname=str(secret)),
        info("hard.mlir", tarfile.LNKTYPE, linkname="../secret.mlir"),
        info("null.mlir", tarfile.CHRTYPE, devmajor=1, devminor=3),
        info("pipe.mlir", tarfile.FIFOTYPE),
        info("folder.mlir", tarfile.DIRTYPE),
    ]
    names = [
        "../../evil.mlir",
        "/tmp/evil.mlir",
        "new\nline\x1b[2J.mlir",
        "\udcff.mlir",
        "twice.mlir",
    ]
    write_tarball(
        folder / "t.tar",
        {name: b"entry @k%d() { return }" % k for k, name in enumerate(names)},
        heads,
    )
    with tarfile.open(folder / "t.tar", "a") as archive:
        archive.addfile(info("twice.mlir"))
    before = sorted(tmp_path.rglob("*"))
    scan([folder], tmp_path / "out")
    rows = table(tmp_path / "out", "files")
    assert [row["member"] for row in rows] == [
        "../../evil.mlir", "/tmp/evil.mlir", "new\nline\x1b[2J.mlir", "\\udcff.mlir",
        "twice.mlir", "twice.mlir",
    ]  # fmt: skip
    assert {row["symbol"] for row in table(tmp_path / "out", "entries")} == {
        f"k{k}" for k in range(5)
    }
    assert [
        p for p in sorted(tmp_path.rglob("*")) if (tmp_path / "out") not in (p, *p.parents)
    ] == before
    shown = tool("tileir", "query", "select member from files", tmp_path / "out").stdout
    assert b"\x1b" not in shown
    assert b"new\\nline\\x1b[2J.mlir" in shown


def test_tarballs_that_state_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_BYTES", 1 << 20)
    folder = tmp_path / "dumps"
    folder.mkdir()
    good = {"good.mlir": b"entry @k() { return }"}
    # A header for names may state any size; here four gigabytes..
    write_tarball(
        folder / "head.tar.gz", {}, [info("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=4 << 30)]
    )
    write_tarball(folder / "pax.tar.gz", {}, [info("x", tarfile.XHDTYPE, size=4 << 30)])
    write_tarball(folder / "size.tar", {}, [info("claims.mlir", size=4 << 30)])
    write_tarball(folder / "cut.tar.gz", {**good, "late.mlir": bytes(range(256)) * 40})
    (folder / "cut.tar.gz").write_bytes((folder / "cut.tar.gz").read_bytes()[:-100])
    (folder / "noise.tar").write_bytes(b"no tarball" * 200)
    (folder / "zstd.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd\x00\x00")
    write_tarball(folder / "long.tar.gz", {**good, "zeros.txt": b"\0" * 200_000, "late.mlir": b""})
    monkeypatch.setattr(reading, "_MOST_IN_ARCHIVE", 100_000)
    scan([folder], tmp_path / "out")
    found = {}
    for row in table(tmp_path / "out", "files"):
        found[Path(row["path"]).name, row["member"]] = row["error"]
    zstd = found.pop(("zstd.tar.zst", None))
    assert zstd is not None
    assert zstd.startswith("broken archive: ")
    assert found == {
        ("head.tar.gz", None): "broken archive: a member of more than 1048576 bytes",
        ("pax.tar.gz", None): "broken archive: a member of more than 1048576 bytes",
        ("size.tar", "claims.mlir"): "larger than 1048576 bytes",
        ("size.tar", None): "broken archive: more than 100000 bytes unpacked",
        ("cut.tar.gz", "good.mlir"): None,
        (
            "cut.tar.gz",
            None,
        ): "broken archive: Compressed file ended before the end-of-stream marker was reached",
        ("noise.tar", None): "broken archive: invalid header",
        ("long.tar.gz", "good.mlir"): None,
        ("long.tar.gz", None): "broken archive: more than 100000 bytes unpacked",
    }


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_MEMBERS", 3)
    write_tarball(tmp_path / "t.tar", {f"{k}.mlir": b"entry @k() { return }" for k in range(5)})
    scan([tmp_path / "t.tar"], tmp_path / "out")
    assert [(r["member"], r["error"]) for r in table(tmp_path / "out", "files")] == [
        ("0.mlir", None), ("1.mlir", None), ("2.mlir", None),
        (None, "broken archive: more than 3 members"),
    ]  # fmt: skip


def test_compile_caches(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    said = {"kernel_names": ["scale_Kt1_Sf32"], "compiler_version": "13.5.37"}
    write_cache(
        folder, [Cached("a" * 64, b"\x7fELF one", json.dumps(said)), Cached("b" * 64, b"two", None)]
    )
    (folder / "not_a_cache.db").write_bytes(b"")
    assert scan([folder], tmp_path / "out") == Summary(2, 2, 0, 0, 1, 0, {})
    assert {row["member"] for row in table(tmp_path / "out", "files")} == {"a" * 64, "b" * 64}
    columns = ("bytes", "kind", "producer", "symbols", "error")
    found = [tuple(row[c] for c in columns) for row in table(tmp_path / "out", "contents")]
    assert sorted(found) == [
        (3, "cubin", None, [], None),
        (8, "cubin", "tileiras 13.5.37", ["scale_Kt1_Sf32"], None),
    ]
    assert scan([folder], tmp_path / "out").read == 0


# -- references -------------------------------------------------------------------------------------


def test_entries_are_compared_with_those_of_the_reference(tmp_path: Path) -> None:
    reference, generated, out = tmp_path / "ref", tmp_path / "gen", tmp_path / "out"
    reference.mkdir()
    generated.mkdir()
    text = MATMUL.read_text()
    write_tarball(
        reference / "r.tar.gz", {"matmul.mlir": text.encode(), "softmax.mlir": SOFTMAX.read_bytes()}
    )
    (generated / "matmul.mlir").write_text(
        text.replace("(64x128), padding_value = zero", "(64x128)")
    )
    (generated / "softmax.mlir").write_bytes(SOFTMAX.read_bytes())
    (generated / "other.mlir").write_text("entry @other() { return }")
    summary = scan([generated], out, reference=[reference])
    assert summary.verdicts == {"FAIL_FIXABLE": 1, "PASS": 1, "UNMATCHED": 1}
    names = {row["content"]: row["function"] for row in table(out, "entries")}
    rows = {names[row["content"]]: row for row in table(out, "comparisons")}
    assert {n: (r["matched_by"], r["verdict"], r["codes"]) for n, r in rows.items()} == {
        "matmul": ("symbol", "FAIL_FIXABLE", ["MEM007"]),
        "softmax": ("symbol", "PASS", []),
        "other": (None, None, None),
    }
    (finding,) = table(out, "findings")
    expected = tt.diff(tt.parse(text), tt.load(generated / "matmul.mlir")).findings[0]
    assert expected.generated is not None
    assert expected.reference is not None
    assert (finding["code"], finding["severity"], finding["message"]) == expected[:2] + expected[
        4:5
    ]
    assert finding["line"] == expected.generated.line
    assert finding["reference_line"] == expected.reference.line
    # Nothing is compared twice; another reference is another comparison.
    assert scan([generated], out, reference=[reference]).verdicts == summary.verdicts
    again = scan([generated], out, reference=[generated])
    assert again.verdicts == {"PASS": 3}
    assert table(out, "findings") == []


def test_of_several_references_the_one_at_the_same_place_is_taken(tmp_path: Path) -> None:
    text = MATMUL.read_text()
    padded = text.replace("padding_value = zero, ", "")
    for side, names in (("ref", {"a": text, "b": padded}), ("gen", {"b": text, "sub/c": padded})):
        for name, content in names.items():
            path = tmp_path / side / f"{name}.mlir"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    scan([tmp_path / "gen"], tmp_path / "out", reference=[tmp_path / "ref"])
    places = {
        row["content"]: Path(row["path"]).name
        for row in table(tmp_path / "out", "files")
        if row["side"] == "reference"
    }
    texts = {
        row["content"]: Path(row["path"]).name
        for row in table(tmp_path / "out", "files")
        if row["side"] == "scanned"
    }
    found = {
        texts[row["content"]]: (places[row["reference_content"]], row["verdict"])
        for row in table(tmp_path / "out", "comparisons")
    }
    # b stands where b stands, though a is the same text; c is b's text, and stands nowhere.
    assert found == {"b.mlir": ("b.mlir", "FAIL_FIXABLE"), "c.mlir": ("b.mlir", "PASS")}


# -- the folder -------------------------------------------------------------------------------------


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(UsageError, match="not empty, and no folder of a scan"):
        scan([MATMUL], tmp_path / "mine")
    scan([MATMUL], tmp_path / "out", arch="sm_100")
    with pytest.raises(UsageError, match="a scan with arch sm_100, not sm_90; name another folder"):
        scan([MATMUL], tmp_path / "out", arch="sm_90")
    with (
        store.opened(str(tmp_path / "out"), store.read_about(str(tmp_path / "out"))),
        pytest.raises(UsageError, match="another scan is at work here"),
    ):
        scan([MATMUL], tmp_path / "out", arch="sm_100")
    with pytest.raises(InputError, match=r"absent: error: no such file"):
        scan([tmp_path / "absent"], tmp_path / "out")
    with pytest.raises(UsageError, match="unknown arch 'sm_1'"):
        scan([MATMUL], tmp_path / "new", arch="sm_1")
    assert not (tmp_path / "new").exists()


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = tool("tileir", "scan", MATMUL, "-o", out, "--format", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    document: Any = check(done.stdout)
    assert document == check((out / "scan.json").read_bytes())
    assert (document["complete"], document["summary"]["entries"]) == (True, 1)
    (tmp_path / "bad.mlir").write_text("entry")
    done = tool("tileir", "scan", MATMUL, tmp_path / "bad.mlir", "-o", out)
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "2 files, 2 contents, 1 entry; 1 file read and 1 content analysed now",
        "1 file could not be read: tileir query --named errors",
    ]
    assert tool("tileir", "scan", MATMUL, "-o", tmp_path / "bad.mlir").returncode == 3
    both = ("--jobs", 2, "--scheduler", "tcp://127.0.0.1:1")
    assert tool("tileir", "scan", MATMUL, "-o", out, *both).returncode == 3


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("pyarrow", ["scan", str(MATMUL), "-o", "out"], "tileir-tools[scan]"),
        (
            "distributed",
            ["scan", str(MATMUL), "-o", "out", "--scheduler", "tcp://x:1"],
            "tileir-tools[dask]",
        ),
        ("duckdb", ["query", "select 1", "out"], "tileir-tools[scan]"),
    ],
)
def test_missing_packages_are_named(
    tmp_path: Path, module: str, words: list[str], extra: str
) -> None:
    code = f"import sys; sys.modules['{module}'] = None; from tileir_tools.cli.tileir import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert f"pip install '{extra}'" in done.stderr
    assert "Traceback" not in done.stderr
