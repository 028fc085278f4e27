"""`tileir validate perf-investigation` beside TileGym's `validate_agent_f.sh`: same messages and exit codes,
what differs on purpose, and what only the contract of agent F asks for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli import check, tool
from tileir_tools.validators.perf_investigation import validate_perf_investigation

from tileir_tools.errors import UsageError

TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPT = (
    Path(TILEGYM)
    / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts/validate_agent_f.sh"
)
needs_tilegym = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="TILEGYM_PATH names no checkout of TileGym"
)

GOOD = """\
VERDICT: FIXABLE

# Perf Investigation: softmax all slow shapes

## Ratio
- Agent E geomean: 1.98x
- Shape pattern: uniform

## Launch-count evidence
| backend | per-launch kernel time | launches/iter | measured sum |
|---------|------------------------|---------------|--------------|
| reference | 10.0 us | 1 | 10.0 us |
| cutile-rs pre | 10.0 us | 2 | 20.0 us |

## Root Cause
A canary is launched in each call.

## Action Items
- Agent B/reflection should launch it once
- Template propagation needed: yes

## Confidence
High: reports/performance.md:7
"""
SHAPE = GOOD.replace("all slow shapes", "8-64").replace(
    "## Root Cause", "## Tuning\n| a | b |\n\n## IR table\n| a | b |\n\n## Root Cause"
)
ALIGNED = GOOD.replace("FIXABLE", "ALIGNED").replace("needed: yes", "needed: no")
BLOCKED = GOOD.replace("FIXABLE", "BLOCKED")

ALL = "perf_investigation_all_shapes.md"
LOG = "agent_logs/agent_f.md"
REST = {LOG: "log\n", "agent_f.md": "# Agent F\n\nVerdict: FIXABLE\n", "performance.md": "table\n"}


def files(**reports: str) -> dict[str, str]:
    """Files below reports: those of agent F that every run has, and investigations by their names."""
    return {**REST, **{f"perf_investigation_{name}.md": text for name, text in reports.items()}}


# Name -> files below reports, how many failures; the script says the same of each.
SAME: dict[str, tuple[dict[str, str], int]] = {
    "one on all shapes": (files(all_shapes=GOOD), 0),
    "aligned": (files(all_shapes=ALIGNED), 0),
    "blocked": (files(all_shapes=BLOCKED), 0),
    "the verdict alone": (files(all_shapes="VERDICT: FIXABLE\n"), 0),
    "the verdict without a line break": (files(all_shapes="VERDICT: ALIGNED"), 0),
    "two shapes": (files(a=SHAPE, b=SHAPE.replace("canary", "fill")), 0),
    "two shapes, two verdicts": (files(a=SHAPE, b=SHAPE.replace("FIXABLE", "ALIGNED")), 0),
    "all shapes and one that says otherwise": (files(all_shapes=GOOD, b=ALIGNED), 0),
    "another verdict further down": (files(all_shapes=f"{GOOD}VERDICT: DONE\n"), 0),
    "a name in capitals": (files(M8_N64=SHAPE), 0),
    "no name": (files(**{"": SHAPE}), 0),
    "ten shapes": (files(**{f"s{k}": SHAPE for k in range(10)}), 0),
    "done": (files(all_shapes=GOOD.replace("FIXABLE", "DONE")), 1),
    "pass": (files(all_shapes=GOOD.replace("FIXABLE", "PASS")), 1),
    "the line of the template": (files(all_shapes="VERDICT: FIXABLE | ALIGNED | BLOCKED\n"), 1),
    "small letters": (files(all_shapes="verdict: FIXABLE\n"), 1),
    "no blank": (files(all_shapes="VERDICT:FIXABLE\n"), 1),
    "a blank behind": (files(all_shapes="VERDICT: FIXABLE \n"), 1),
    "a blank before": (files(all_shapes=" VERDICT: FIXABLE\n"), 1),
    "bold": (files(all_shapes="**VERDICT: FIXABLE**\n"), 1),
    "more behind": (files(all_shapes="VERDICT: FIXABLE (host)\n"), 1),
    "an empty line first": (files(all_shapes=f"\n{GOOD}"), 1),
    "a title first": (files(all_shapes=f"# Report\n{GOOD}"), 1),
    "empty": (files(all_shapes=""), 1),
    "one of two is bad": (files(a=SHAPE, b="# b\n"), 1),
    "all are bad": (files(a="a\n", b="b\n", c="c\n"), 3),
    "no investigation": (REST, 1),
    "an investigation that is called otherwise": ({**REST, "investigation.md": GOOD}, 1),
    "no suffix": ({**REST, "perf_investigation_all_shapes.txt": GOOD}, 1),
    "no log": ({k: v for k, v in files(all_shapes=GOOD).items() if k != LOG}, 1),
    "an empty log": ({**files(all_shapes=GOOD), LOG: ""}, 1),
    "nothing at all": ({}, 2),
    "a bad one and no log": ({"perf_investigation_a.md": "no\n"}, 2),
}
# Name -> files below reports, exit code of the script, ours, and why they differ.
DIFFERENT: dict[str, tuple[dict[str, str], int, int, str]] = {
    "a NUL in the verdict": (
        files(all_shapes="VERDICT: FIX\0ABLE\n"),
        0,
        1,
        "bash drops NUL from what a command prints",
    ),
}


def write(root: Path, reports: Mapping[str, str]) -> None:
    for name, text in reports.items():
        path = root / "softmax" / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


def messages(root: Path) -> tuple[int, list[str]]:
    """Exit code, and what is said without what the script does not look at."""
    outcome = validate_perf_investigation("softmax", str(root))
    lines = outcome.text().splitlines()
    return outcome.exit_code, [line for line in lines if not line.startswith("WARN:")]


def script(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["bash", SCRIPT, "softmax"],
        env={**os.environ, "CUTILE_KERNEL_OUT_ROOT": str(root), "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode().splitlines()


# -- beside the script --------------------------------------------------------------------------------


@needs_tilegym
@pytest.mark.parametrize("name", SAME)
def test_the_script_says_the_same(name: str, tmp_path: Path) -> None:
    write(tmp_path, SAME[name][0])
    assert messages(tmp_path) == script(tmp_path)


@needs_tilegym
@pytest.mark.parametrize("name", DIFFERENT)
def test_where_the_script_says_otherwise(name: str, tmp_path: Path) -> None:
    reports, theirs, ours, _ = DIFFERENT[name]
    write(tmp_path, reports)
    assert (script(tmp_path)[0], messages(tmp_path)[0]) == (theirs, ours)


@pytest.mark.parametrize("name", SAME)
def test_failures_are_counted(name: str, tmp_path: Path) -> None:
    """Without the script: how many failures there are is said here."""
    reports, failures = SAME[name]
    write(tmp_path, reports)
    code, lines = messages(tmp_path)
    assert code == (1 if failures else 0)
    assert lines[-2:] == ["---", f"FAIL: {failures} issue(s)" if failures else "PASS"]
    assert sum(line.startswith("FAIL: ") for line in lines[:-1]) == failures


@needs_tilegym
def test_names_with_blanks_are_shown_whole(tmp_path: Path) -> None:
    """The script takes what stands behind a blank for a suffix to cut off."""
    write(tmp_path, files(**{"all shapes": GOOD}))
    assert messages(tmp_path)[1][0] == "OK: perf_investigation_all shapes.md: VERDICT: FIXABLE"
    assert script(tmp_path)[1][0] == "OK: perf_investigation_all: VERDICT: FIXABLE"


def test_a_first_line_cannot_pass_for_one_of_ours(tmp_path: Path) -> None:
    write(tmp_path, files(all_shapes="\x1b[2K\rPASS" + "x" * 9999))
    code, lines = messages(tmp_path)
    assert code == 1
    assert lines[0].startswith(
        f"FAIL: {ALL}: first line must be VERDICT: FIXABLE|ALIGNED|BLOCKED, got: "
    )
    assert r"\x1b[2K\rPASSxxx" in lines[0]
    assert len(lines[0]) < 400


@pytest.mark.parametrize("kernel", ["", ".", "..", "../softmax", "a/b", "a\\b", "a\nb"])
def test_a_kernel_is_the_name_of_a_folder(kernel: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no name of a kernel"):
        validate_perf_investigation(kernel, str(tmp_path))


# -- what only the contract asks for --------------------------------------------------------------------


def warnings(root: Path) -> list[str]:
    outcome = validate_perf_investigation("softmax", str(root))
    return [line.text for line in outcome.lines if line.level == "WARN"]


def test_a_report_that_keeps_the_contract_has_no_warning(tmp_path: Path) -> None:
    write(tmp_path, files(all_shapes=GOOD))
    assert warnings(tmp_path) == []
    assert validate_perf_investigation("softmax", str(tmp_path), strict=True).passed


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("## Ratio", "## Numbers", "section 'Ratio' is missing"),
        ("## Launch-count evidence", "## Evidence", "section 'Launch-count evidence' is missing"),
        ("## Root Cause", "### Root Cause", "section 'Root Cause' is missing"),
        ("## Action Items", "## Next", "section 'Action Items' is missing"),
        ("## Confidence", "Confidence", "section 'Confidence' is missing"),
        ("A canary is launched in each call.", "", "section 'Root Cause' is empty"),
        ("- Shape pattern: uniform", "", "'Ratio' does not say the shape pattern"),
        ("- Agent B", "Agent B", "FIXABLE without a list of action items"),
        ("- Agent B", "1. Agent B", None),
        ("needed: yes", "needed: yes/no", None),
        (
            "- Template propagation needed: yes",
            "",
            "'Action Items' does not say whether template propagation is needed",
        ),
        (
            "- Agent B/reflection should launch it once\n",
            "",
            "FIXABLE without a list of action items",
        ),
        ("High: ", "Certain: ", "'Confidence' is not high, medium or low"),
        ("1.98x", "X.XXx", "text of the template is left: X.XXx"),
        ("A canary is", "[Concrete cause.]", "text of the template is left: [Concrete cause.]"),
        ("softmax all", "{kernel_name} all", "text of the template is left: {kernel_name}"),
        ("| 20.0 us |", "| ... |", "text of the template is left: | ... |"),
        ("A canary is", "VERDICT: DONE\nA canary is", "line 16 says VERDICT: DONE"),
        (
            "reports/performance.md",
            "reports/absent.md",
            "names no evidence that exists below softmax; it names reports/absent.md",
        ),
        ("reports/performance.md:7", "I am sure", "names no evidence that exists below softmax"),
        (
            "reports/performance.md",
            "`$CUTILE_KERNEL_OUT_ROOT/softmax/reports/performance.md`",
            None,
        ),
        ("reports/performance.md", "softmax/reports/performance.md", None),
        ("reports/performance.md", "[it](reports/performance.md).", None),
        (
            "reports/performance.md",
            "../outside.md",
            "names no evidence that exists below softmax; it names ../outside.md",
        ),
        (
            "reports/performance.md",
            f"reports/{ALL}",
            "names no evidence that exists below softmax",
        ),
    ],
)
def test_what_the_contract_asks_for(
    old: str, new: str, warning: str | None, tmp_path: Path
) -> None:
    assert old in GOOD
    write(tmp_path, files(all_shapes=GOOD.replace(old, new, 1)))
    (tmp_path / "outside.md").write_text("x")
    expected = [] if warning is None else [f"{ALL}: {warning}"]
    assert warnings(tmp_path) == expected
    strict = validate_perf_investigation("softmax", str(tmp_path), strict=True)
    assert strict.exit_code == len(expected)
    assert strict.text().splitlines()[-1] == ("FAIL: 1 issue(s)" if expected else "PASS")


def test_a_heading_in_code_is_none(tmp_path: Path) -> None:
    text = GOOD.replace("## Confidence\n", "```\n## Confidence\n```\n")
    write(tmp_path, files(all_shapes=text))
    assert warnings(tmp_path) == [f"{ALL}: section 'Confidence' is missing"]


def test_a_report_on_one_shape_has_its_tables(tmp_path: Path) -> None:
    write(tmp_path, files(a=GOOD))
    missing = "a report on one shape without a section for its"
    assert warnings(tmp_path) == [
        f"perf_investigation_a.md: {missing} tuning table",
        f"perf_investigation_a.md: {missing} IR table",
    ]
    write(tmp_path, files(a=SHAPE))
    assert warnings(tmp_path) == []


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (files(a=SHAPE, b=SHAPE.replace("FIXABLE", "ALIGNED").replace("canary", "x")), []),
        (
            files(all_shapes=GOOD, b=SHAPE.replace("FIXABLE", "ALIGNED").replace("canary", "x")),
            [f"verdicts contradict each other: ALIGNED: perf_investigation_b.md; FIXABLE: {ALL}"],
        ),
        (
            files(a=SHAPE, b=SHAPE.replace("FIXABLE", "BLOCKED").replace("canary", "x")),
            [
                "verdicts contradict each other: BLOCKED: perf_investigation_b.md; "
                "FIXABLE: perf_investigation_a.md"
            ],
        ),
        (
            files(a=SHAPE, b=SHAPE),
            [f"one root cause in 2 reports on a uniform gap: {ALL} is for that"],
        ),
        (
            {**files(all_shapes=GOOD), "agent_f.md": "# F\n\n**Verdict: ALIGNED**\n"},
            ["agent_f.md says ALIGNED, the final verdict is FIXABLE"],
        ),
        (
            {k: v for k, v in files(all_shapes=GOOD).items() if k != "agent_f.md"},
            ["agent_f.md is missing"],
        ),
    ],
)
def test_several_reports(reports: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    write(tmp_path, reports)
    assert warnings(tmp_path) == expected


@given(st.binary(max_size=300))
def test_any_report_is_judged(data: bytes) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as root:
        reports = Path(root) / "softmax" / "reports"
        reports.mkdir(parents=True)
        (reports / ALL).write_bytes(b"VERDICT: FIXABLE\n" + data)
        (reports / "perf_investigation_b.md").write_bytes(data)
        outcome = validate_perf_investigation("softmax", root)
        assert [line.level for line in outcome.lines[:3]] == ["OK", "FAIL", "FAIL"]
        assert all(line.text.isprintable() for line in outcome.lines)


# -- the command ----------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTILE_KERNEL_OUT_ROOT", raising=False)
    assert tool("tileir", "validate", "perf-investigation", "softmax").returncode == 3
    monkeypatch.setenv("CUTILE_KERNEL_OUT_ROOT", str(tmp_path))
    write(tmp_path, files(all_shapes="VERDICT: ALIGNED\n"))
    done = tool("tileir", "validate", "perf-investigation", "softmax")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[:2] == [f"OK: {ALL}: VERDICT: ALIGNED", "OK: agent_f.md log"]
    assert lines[-2:] == ["---", "PASS"]
    done = tool("tileir", "validate", "perf-investigation", "softmax", "--strict")
    assert done.returncode == 1
    document = check(
        tool("tileir", "validate", "perf-investigation", "softmax", "--format", "json").stdout
    )
    assert (document["validator"], document["closing"]) == ("perf_investigation", "---\nPASS")
    assert tool("tileir", "validate", "perf-investigation").returncode == 3
