"""Scans: comparisons with a reference, the folder that is written, the command."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scanned import MATMUL, SOFTMAX, table, write_tarball
from test_cli import check, tool

import tileir_tools as tt
from tileir_tools.errors import InputError, UsageError

pytest.importorskip("pyarrow", reason="needs the extra scan")
pytest.importorskip("duckdb", reason="needs the extra scan")

from tileir_tools.scan import scan, store

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


def test_what_stands_alone_at_the_same_place_corresponds(tmp_path: Path) -> None:
    other = 'entry @b() {\n  %0 = print_tko "other" -> token\n  return\n}\n'
    two = "entry @c() {\n  return\n}\nentry @d(%x: tile<i1>) {\n  return\n}\n"
    texts = {
        "ref": {"one": other.replace("@b", "@a"), "two": other},
        "gen": {"one": SOFTMAX.read_text(), "two": two},
    }
    for side, files in texts.items():
        for name, text in files.items():
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / f"{name}.mlir").write_text(text)
    scan([tmp_path / "gen"], tmp_path / "out", reference=[tmp_path / "ref"])
    rows = table(tmp_path / "out", "comparisons")
    # Two entries in one file: neither stands for the only one of the reference.
    assert sorted(str(row["matched_by"]) for row in rows) == ["None", "None", "place"]


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


def test_a_full_disk_is_an_error_and_the_next_scan_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "out"
    for name, place in (("rename", "parts"), ("replace", "scan.json"), ("makedirs", "")):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, full)
            with pytest.raises(InputError, match=rf"{place}: error: .*No space left on device"):
                scan([MATMUL], out)
    assert scan([MATMUL], out).entries == 1
    assert sorted(p.suffix for p in out.iterdir()) == [".json", *[".parquet"] * 7]


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


def test_names_that_are_no_text_are_compared_too(tmp_path: Path) -> None:
    for side in ("ref", "gen"):
        (tmp_path / side).mkdir()
        # Other comments: other contents.
        text = f"// {side}\n{MATMUL.read_text()}"
        Path(os.fsdecode(os.fsencode(tmp_path / side) + b"/a\xff.mlir")).write_text(text)
    summary = scan([tmp_path / "gen"], tmp_path / "out", reference=[tmp_path / "ref"])
    assert summary.verdicts == {"PASS": 1}
