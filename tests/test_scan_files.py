"""What a scan reads: bad files, tarballs, hostile ones too, compile caches."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scanned import BROKEN, MATMUL, SOFTMAX, rows_of, table, write_tarball
from test_calls import Cached, write_cache
from test_cli import tool

import tileir_tools as tt

pytest.importorskip("pyarrow", reason="needs the extra scan")
pytest.importorskip("duckdb", reason="needs the extra scan")

from tileir_tools.scan import Summary, reading, scan

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


def test_numbers_that_no_table_holds_stop_nothing(tmp_path: Path) -> None:
    tile = "tile<1073741824x1073741824x1073741824xf16>"
    text = f"entry @k() {{\n  %0 = constant <f16: 0.0> : {tile}\n  return\n}}\n"
    (tmp_path / "huge.mlir").write_text(text)
    scan([tmp_path / "huge.mlir", MATMUL], tmp_path / "out")
    found = errors(tmp_path / "out")
    assert found[MATMUL.name] == (None,) * 5
    assert found["huge.mlir"][0] == "internal"
    assert found["huge.mlir"][4].startswith("OverflowError: ")


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
