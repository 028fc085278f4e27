"""Comparing folders and patterns."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from samples import FIXTURES
from test_cli import check, tool

from tileir_tools.diff import Policy
from tileir_tools.diff.many import diff_files
from tileir_tools.errors import UsageError

NAMES = {
    "matmul": "matmul__128x128x64-float16__sm_100__bc13.4",
    "deep/softmax": "softmax__tile1024-float32__sm_100__bc13.4",
    "bmm": "bmm__64x128x32-float16__sm_100__bc13.4",
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for side, suffix in (("ref", ".mlir"), ("gen", ".tileirbc")):
        for name, fixture in NAMES.items():
            target = tmp_path / side / f"{name}{suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(FIXTURES / f"{fixture}{suffix}", target)
    return tmp_path / "ref", tmp_path / "gen"


def entries(left: Path | str, right: Path | str, **options: object) -> list[tuple[str, str, str]]:
    found, unread = diff_files(str(left), str(right), **options)  # type: ignore[arg-type]
    assert unread == ()
    return [
        ((e.reference or "-").split("_K")[0], (e.generated or "-").split("_K")[0], e.verdict)
        for e in found.entries
    ]


ALL = [("bmm", "bmm", "PASS"), ("softmax", "softmax", "PASS"), ("matmul", "matmul", "PASS")]


def test_folders_are_compared_by_path_whatever_the_suffix(folders: tuple[Path, Path]) -> None:
    assert entries(*folders) == ALL


def test_patterns(folders: tuple[Path, Path]) -> None:
    left, right = folders
    assert entries(left / "**" / "*.mlir", right / "**" / "*.tileirbc") == ALL
    assert entries(left / "m*.mlir", right / "m*") == [("matmul", "matmul", "PASS")]


def test_equal_names_go_before_equal_stems(folders: tuple[Path, Path]) -> None:
    left, right = folders
    # Another kernel under the same stem must not take the place of the file itself.
    shutil.copy(left / "bmm.mlir", right / "bmm.mlir")
    shutil.copy(FIXTURES / f"{NAMES['matmul']}.tileirbc", left / "bmm.tileirbc")
    found = entries(left, right)
    assert found[0] == ("bmm", "bmm", "PASS")
    assert found[1][2] == "FAIL_FIXABLE"
    assert found[2:] == ALL[1:]


def test_what_is_left_over_is_compared_entry_by_entry(folders: tuple[Path, Path]) -> None:
    left, right = folders
    (left / "matmul.mlir").rename(left / "first.mlir")
    (right / "matmul.tileirbc").rename(right / "second.tileirbc")
    assert sorted(entries(left, right)) == sorted(ALL)
    (right / "second.tileirbc").unlink()
    assert sorted(entries(left, right))[-2] == ("matmul", "-", "FAIL_FIXABLE")


def test_an_executor_gives_the_same_answer(folders: tuple[Path, Path]) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert entries(*folders, executor=executor) == ALL


def test_one_entry_of_many(folders: tuple[Path, Path]) -> None:
    assert entries(*folders, entry="bmm") == ALL[:1]
    with pytest.raises(UsageError, match="no entry to compare: none contains 'absent'"):
        diff_files(*map(str, folders), entry="absent")


def test_targets_and_notes_are_put_together(folders: tuple[Path, Path]) -> None:
    found, _ = diff_files(*map(str, folders), policy=Policy(arches=("sm_90", "sm_100")))
    assert found.arches == ("sm_90", "sm_100")


def test_nothing_there(folders: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no files of Tile IR in .*empty"):
        diff_files(str(folders[0]), str(tmp_path / "empty"))
    with pytest.raises(UsageError, match=r"no files of Tile IR in .*\*\.txt"):
        diff_files(str(folders[0] / "*.txt"), str(folders[1]))


def test_the_command(folders: tuple[Path, Path]) -> None:
    left, right = folders
    done = tool("diff", left, right, "--jobs", 2)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"PASS: no differences; 3 entries compared\n")
    (right / "bmm.tileirbc").write_bytes(b"\x7fELF")
    done = tool("diff", left, right, "--format", "json")
    assert done.returncode == 3
    assert done.stderr.decode().startswith(f"{right / 'bmm.tileirbc'}: error: ")
    document = check(done.stdout)
    assert len(document["entries"]) == 2  # type: ignore[arg-type]
    for option in ("-y", "--report=r.md"):
        assert tool("diff", left, right, option).returncode == 3
    assert tool("diff", left, right / "absent").returncode == 3
