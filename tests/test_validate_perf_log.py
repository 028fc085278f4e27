"""`tileir validate perf-log` beside TileGym's `validate_perf_log.sh`: same messages and exit codes, and
what differs on purpose."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_cli import check, tool
from tileir_tools.validators.perf_log import validate_perf_log

PERF = Path(__file__).parent / "fixtures" / "perf"
MEASURED = Path(__file__).resolve().parents[2] / "shared" / "measurements"
TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPT = (
    Path(TILEGYM)
    / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts/validate_perf_log.sh"
)

ID = "tests/ops/test_a.py::Test_A::test_perf[{}-cutile]"
RECORD = "Performance Test Results\n  forward median: 0.5 ms\n"


def passed(k: int, record: str = RECORD) -> str:
    return f"{ID.format(k)} {record}PASSED\n"


HEAD = "============ test session starts ============\n"
# Name -> log; the script and we say the same of each.
SAME = {
    "one test": HEAD + passed(1) + "===== 1 passed in 1.00s =====\n",
    "three tests": HEAD + passed(1) + passed(2) + passed(3),
    "records behind the outcome": "".join(f"{ID.format(k)} PASSED\n{RECORD}" for k in (1, 2)),
    "without a head": passed(1),
    "sanitized: records and outcomes only": f"{RECORD}PASSED\n{RECORD}PASSED\n",
    "percentages": f"{ID.format(1)} {RECORD}PASSED [ 50%]\n{ID.format(2)} {RECORD}PASSED [100%]\n",
    "glued to output": f"{ID.format(1)} {RECORD}donePASSED\n",
    "glued to a record": f"{ID.format(1)} Performance Test Results\nmedian: 0.5 usPASSED\n",
    "skipped tests": passed(1) + f"{ID.format(2)} SKIPPED (no triton)\n",
    "a record too few": passed(1) + passed(2, ""),
    "a record too many": passed(1, RECORD + RECORD),
    "no records": HEAD + passed(1, "") + passed(2, ""),
    "event blocks only": passed(
        1,
        "=== CUPTI events (total=1.0 us) ===\n  k  total=1.0 us  per_call=1.00 us  rep_num=1\n=== end ===\n",
    ),
    "a failed test": passed(1) + f"{ID.format(2)} FAILED\n",
    "a failed test without output": passed(1) + f"{ID.format(2)} {RECORD}FAILED\n",
    "all failed": f"{ID.format(1)} FAILED\n",
    "python values": passed(
        1, "Performance Test Results\n{'cutile': {'forward': {'median': 0.5}}}\n"
    ),
    "table": passed(1, "Performance Test Results\n| mean | 0.6 |\n| median | 0.5 |\n"),
    "windows newlines": passed(1).replace("\n", "\r\n"),
    "a distributed run": f"[gw0] [100%] PASSED {ID.format(1)}\n{RECORD}",
    "records only": RECORD + RECORD,
    "other output": "hello\nPASSED\n",
    "no output of pytest": "hello\n",
    "no test": HEAD + "===== no tests ran in 0.01s =====\n",
    "empty": "",
}
# Name -> log, exit code of the script, ours, and why they differ.
DIFFERENT = {
    "a sentence about FAILED": (
        passed(1, RECORD + "the run of yesterday FAILED, this one did not\n"),
        1,
        0,
        "a sentence is not the outcome of a test",
    ),
    "FAILED in the name of a kernel": (
        passed(1, RECORD + "  on_FAILED_kernel  total=1.0 us  per_call=1.00 us  rep_num=1\n"),
        1,
        0,
        "nor is a name",
    ),
    "a record without a median": (
        passed(1, "Performance Test Results\n  nothing\n"),
        0,
        1,
        "a record has a median",
    ),
    "only nan": (
        passed(1, RECORD.replace("0.5", "nan")),
        0,
        1,
        "a median is a time",
    ),
    "a sentence about records": (
        passed(1, "no Performance Test Results were printed\n"),
        0,
        1,
        "a sentence is no record",
    ),
    "an error in a fixture": (
        passed(1) + f"{ID.format(2)} ERROR\n",
        0,
        1,
        "a test that could not run is none that passed",
    ),
    "a quiet run that failed": (
        f".F\n{RECORD}===== 1 failed, 1 passed in 1.00s =====\n",
        0,
        1,
        "the summary counts in small letters",
    ),
}


def messages(path: Path, label: str) -> tuple[int, list[str]]:
    """Exit code, and what is said with the details of ours left out."""
    outcome = validate_perf_log(str(path), label)
    lines = [line for line in outcome.text().splitlines() if not line.startswith("      ")]
    return outcome.exit_code, lines


def script(path: Path, label: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["bash", SCRIPT, path, label], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


needs_tilegym = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="TILEGYM_PATH names no checkout of TileGym"
)


@needs_tilegym
@pytest.mark.parametrize("name", SAME)
def test_the_script_says_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_bytes(SAME[name].encode())
    code, lines = messages(path, "label")
    wanted, said = script(path, "label")
    # The script stops at the first failure; we go on.
    assert (code, lines[: len(said)] if code else lines) == (wanted, said)


@needs_tilegym
def test_the_script_says_the_same_of_a_missing_file(tmp_path: Path) -> None:
    assert messages(tmp_path / "absent", "x") == script(tmp_path / "absent", "x")


@needs_tilegym
@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_on_purpose(name: str, tmp_path: Path) -> None:
    text, theirs, ours, _ = DIFFERENT[name]
    path = tmp_path / "perf.txt"
    path.write_text(text)
    assert (script(path, "x")[0], messages(path, "x")[0]) == (theirs, ours)


@needs_tilegym
@pytest.mark.skipif(not MEASURED.is_dir(), reason="needs ../shared/measurements")
def test_real_logs() -> None:
    for path in sorted(MEASURED.glob("*.log")):
        code, lines = messages(path, "x")
        assert (code, lines[:2]) == script(path, "x")


@pytest.mark.parametrize("name", [*SAME, *DIFFERENT])
def test_exit_codes(name: str, tmp_path: Path) -> None:
    """Without the script: what fails is named here."""
    failing = {
        "no records",
        "event blocks only",
        "a failed test",
        "a failed test without output",
        "all failed",
        "other output",
        "no output of pytest",
        "no test",
        "empty",
        *(name for name, (_, _, ours, _) in DIFFERENT.items() if ours),
    }
    path = tmp_path / "perf.txt"
    path.write_text(SAME[name] if name in SAME else DIFFERENT[name][0])
    assert messages(path, "x")[0] == (name in failing)


def test_junit_xml_is_as_good_as_a_log() -> None:
    assert messages(PERF / "junit_xunit1.xml", "x") == (
        0,
        [
            "x: perf_sections=1 passed=1 failed=0 skipped=0",
            "PASS: x: 1 perf records for 1 passed tests",
        ],
    )
    code, lines = messages(PERF / "junit_xunit2.xml", "x")
    assert code == 1
    assert lines == [
        "x: perf_sections=4 passed=2 failed=1 skipped=1",
        "FAIL: x: 1 test(s) FAILED",
        "FAIL: x: 1 test(s) ended in ERROR",
        "WARN: x: perf_sections(4) != passed(2)",
        "WARN: x: 1 median(s) that are no time",
        "WARN: x: 1 note(s)",
    ]


def test_a_log_that_was_cut_off_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(passed(1) + ID.format(2) + " \n")
    outcome = validate_perf_log(str(path), "x")
    assert outcome.exit_code == 0
    assert [(line.level, line.text) for line in outcome.lines] == [("WARN", "x: 1 note(s)")]
    assert outcome.lines[0].detail == (
        f"{path}:4: no outcome of {ID.format(2)}: the log was cut off",
    )


def test_a_record_that_is_no_test_run() -> None:
    code, lines = messages(PERF / "nsys.csv", "x")
    assert code == 1
    assert lines[1] == "FAIL: x: this is nsys csv, not a log of pytest or its JUnit XML"


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "perf_cutile_rs.txt"
    path.write_text(SAME["three tests"])
    done = tool("tileir", "validate", "perf-log", path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "perf_cutile_rs.txt: perf_sections=3 passed=3 failed=0 skipped=0",
        "PASS: perf_cutile_rs.txt: 3 perf records for 3 passed tests",
    ]
    done = tool("tileir", "validate", "perf-log", tmp_path / "absent", "label", "--format", "json")
    assert done.returncode == 1
    document = check(done.stdout)
    assert (document["validator"], document["passed"]) == ("perf_log", False)
    document = check(tool("tileir", "validate", "perf-log", path, "--format", "json").stdout)
    assert document["heading"] == "perf_cutile_rs.txt: perf_sections=3 passed=3 failed=0 skipped=0"
    assert tool("tileir", "validate", "perf-log").returncode == 3
