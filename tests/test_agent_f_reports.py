"""What agent F leaves: the diagnosis as JSON, investigations that the gates take, reports, pictures."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st
from test_cli import SCHEMAS, check
from tileir_tools.validators.perf_investigation import validate_perf_investigation

from tileir_tools.agents.f import (
    ABOUT,
    CONFIDENCES,
    EVIDENCE_KINDS,
    SEVERITIES,
    SHAPE_PATTERNS,
    VERDICTS,
    Cause,
    ConfigRatio,
    Diagnosis,
    Evidence,
    IRRow,
    LaunchRow,
    TuningRow,
    launch_plot,
    ratio_plot,
    report_names,
    to_json,
    write_reports,
)
from tileir_tools.agents.f.plots import BAR, LEFT, LENGTH, MOST_BARS, ROW, TOP
from tileir_tools.agents.f.reports import ALL_SHAPES, MOST_REPORTS, WRITTEN, investigation
from tileir_tools.agents.gate import Check, run_validator
from tileir_tools.agents.workspace import Workspace, open_workspace
from tileir_tools.errors import UsageError

TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPTS = Path(TILEGYM) / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts"

REPORT = Evidence("performance report", "reports/performance.md", "ratios of 1.98 and 2.02")
WRAPPER = Evidence("wrapper source", "src/tilegym/ops/cutile_rs/softmax.py", "line 12")
CANARY = Cause(
    "WRP003",
    "Canary in the hot path",
    "Each call launches the kernel twice, 10.0 us each.",
    "host",
    "Launch the canary once.",
    "high",
    (REPORT, WRAPPER),
    "launches",
)
HINT = Cause(
    "HNT004",
    "Latency lost",
    "The loads have no latency.",
    "kernel",
    "Give the load the reference's latency.",
    "medium",
    (REPORT, Evidence("ir", "generated/generated_canon.mlir", "line 39")),
    "ir",
)
SLOW = ConfigRatio("8-64-torch.float16", 0.01, 0.0198, 1.98, 0.02)
SLOWER = ConfigRatio("8-128-torch.float16", 0.02, 0.0404, 2.02, 0.02)
EQUAL = ConfigRatio("8-256-torch.float16", 0.04, 0.0404, 1.01, 0.02)
NOISY = ConfigRatio("8-512-torch.float16", 0.04, 0.044, 1.1, 0.2)
ABSENT = ConfigRatio("8-1024-torch.float16", 0.08, None, None, None, False, "no median")
LAUNCHES = (
    LaunchRow("reference", 10.0, 1, 10.0, "softmax_kernel"),
    LaunchRow("cutile-rs pre", 10.0, 2, 20.0, "softmax"),
    LaunchRow("cutile-rs pre", 2.0, 1, 2.0, "fill"),
)


def diagnosis(**changes: object) -> Diagnosis:
    found = Diagnosis(
        kernel="softmax",
        verdict="FIXABLE",
        severity="LARGE_GAP",
        geomean_ratio=1.58,
        shape_pattern="uniform",
        pattern_detail="all within 10 % of 2.00",
        ratios=(SLOW, SLOWER, EQUAL, NOISY, ABSENT),
        launches=LAUNCHES,
        causes=(CANARY,),
        missing=("baseline_perf_triton_tileir.txt",),
        notes=("geomean_ratio is 1.6 in the report",),
        confidence="high",
        tuning_table=(TuningRow("num_ctas", "2", "1", "pinned"),),
        ir_table=(IRRow("latency of load_view_tko", "4", "none", "HNT004"),),
    )
    return found._replace(**changes)


def by_shape(**changes: object) -> Diagnosis:
    return diagnosis(shape_pattern="shape-specific", causes=(HINT,), **changes)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = open_workspace(str(tmp_path), "softmax")
    found.write("reports/performance.md", "VERDICT: INVESTIGATE\n")
    return found


# -- JSON -------------------------------------------------------------------------------------------


def test_json_keeps_its_schema_and_everything_that_was_found() -> None:
    text = to_json(diagnosis())
    found = check(text.encode())
    assert found["verdict"] == "FIXABLE"
    assert found["ratios"][4] == {  # type: ignore[index]
        "label": "8-1024-torch.float16",
        "reference_ms": 0.08,
        "generated_ms": None,
        "ratio": None,
        "noise": None,
        "valid": False,
        "why": "no median",
    }
    assert found["causes"][0]["evidence"][1] == WRAPPER._asdict()  # type: ignore[index]
    assert text == to_json(diagnosis())
    assert list(found)[1:] == list(Diagnosis._fields)


def test_the_schema_has_the_words_that_json_may_have() -> None:
    schema = json.loads((SCHEMAS / "tileir-agent-f-1.json").read_text())
    top, defined = schema["properties"], schema["$defs"]
    enums = {
        VERDICTS: top["verdict"],
        SEVERITIES: top["severity"],
        SHAPE_PATTERNS: top["shape_pattern"],
        CONFIDENCES: defined["confidence"],
        ABOUT: defined["cause"]["properties"]["about"],
        EVIDENCE_KINDS: defined["evidence"]["properties"]["kind"],
    }
    for words, said in enums.items():
        assert tuple(said["enum"]) == words


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "DONE"}, "verdict is 'DONE'; expected FIXABLE, ALIGNED, BLOCKED"),
        ({"severity": "HUGE"}, "severity is 'HUGE'"),
        ({"shape_pattern": "odd"}, "shape_pattern is 'odd'"),
        ({"confidence": "High"}, "confidence is 'High'"),
        ({"geomean_ratio": math.nan}, "geomean_ratio is nan"),
        ({"ratios": (EQUAL, SLOW._replace(noise=math.inf))}, r"ratios\[1\]\.noise is inf"),
        ({"launches": (LAUNCHES[0]._replace(total_us=-math.inf),)}, r"launches\[0\]\.total_us is -inf"),
        ({"causes": (HINT, CANARY._replace(about="luck"))}, r"causes\[1\]\.about is 'luck'"),
        ({"causes": (CANARY._replace(confidence=""),)}, r"causes\[0\]\.confidence is ''"),
        (
            {"causes": (CANARY._replace(evidence=(REPORT._replace(kind="rumour"),)),)},
            r"causes\[0\]\.evidence\[0\]\.kind is 'rumour'",
        ),
        ({"notes": ("\ud800",)}, "half of a surrogate pair"),
    ],
)  # fmt: skip
def test_what_json_refuses(changes: dict[str, object], message: str, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match=f"diagnosis: {message}"):
        to_json(diagnosis(**changes))
    with pytest.raises(UsageError):
        write_reports(workspace, diagnosis(**changes), (), ())
    assert workspace.names("reports/*") == ["reports/performance.md"]


@pytest.mark.parametrize(
    ("row", "slow"), [(SLOW, True), (EQUAL, False), (NOISY, False), (ABSENT, False),
                      (NOISY._replace(noise=None), True), (SLOW._replace(valid=False), False)],
)  # fmt: skip
def test_slow_is_beyond_tolerance_and_noise(row: ConfigRatio, slow: bool) -> None:
    assert row.slow is slow


# -- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (diagnosis(), ["all_shapes"]),
        (by_shape(), ["8-128-torch.float16", "8-64-torch.float16"]),
        (by_shape()._replace(causes=(CANARY, HINT)), ["all_shapes"]),
        (by_shape()._replace(causes=(HINT._replace(about="dispatch"),)), ["all_shapes"]),
        (by_shape()._replace(causes=(HINT, CANARY)), ["8-128-torch.float16", "8-64-torch.float16"]),
        (by_shape()._replace(causes=(HINT._replace(configs=(SLOW.label,)),)), ["8-64-torch.float16"]),
        (by_shape(verdict="BLOCKED"), ["all_shapes"]),
        (by_shape(ratios=(EQUAL, ABSENT)), ["all_shapes"]),
        (by_shape(ratios=()), ["all_shapes"]),
        (diagnosis(shape_pattern="single", causes=(HINT,)), ["all_shapes"]),
    ],
)  # fmt: skip
def test_one_report_or_one_for_each_slow_shape(found: Diagnosis, names: list[str]) -> None:
    assert list(report_names(found)) == [f"reports/perf_investigation_{n}.md" for n in names]


def test_at_most_eight_reports_the_slowest_first() -> None:
    rows = tuple(SLOW._replace(label=f"s{k}", ratio=1.5 + 0.1 * (k % 10)) for k in range(20))
    named = report_names(by_shape(ratios=rows))
    found = [config.label for config in named.values() if config is not None]
    assert found == ["s9", "s19", "s8", "s18", "s7", "s17", "s6", "s16"]
    assert len(found) == MOST_REPORTS


@given(st.lists(st.text(max_size=150), min_size=1, max_size=8))
def test_names_are_no_paths_and_differ(labels: list[str]) -> None:
    rows = tuple(
        SLOW._replace(label=label) for label in [*labels, "../x", "All_Shapes", "a/b", "a b"]
    )
    named = report_names(by_shape(ratios=rows))
    assert len({name.lower() for name in named}) == len(named) == min(len(rows), MOST_REPORTS)
    for name in named:
        assert re.fullmatch(r"reports/perf_investigation_[A-Za-z0-9][A-Za-z0-9._-]*\.md", name)
        assert len(name.removeprefix("reports/")) <= 100
        assert name.lower() != ALL_SHAPES


# -- files ------------------------------------------------------------------------------------------


def test_the_gates_take_what_is_written(workspace: Workspace) -> None:
    found = diagnosis()
    names = write_reports(workspace, found, ["tileir agent f softmax"], ())
    assert names == (
        ALL_SHAPES,
        "reports/agent_f.md",
        "reports/agent_f.json",
        "reports/agent_f_ratios.svg",
        "reports/agent_f_launches.svg",
        "reports/agent_logs/agent_f.md",
    )
    scripts = [None, *([str(SCRIPTS)] if SCRIPTS.is_dir() else [])]
    checks = [run_validator(workspace, "perf-investigation", ["softmax"], s) for s in scripts]
    said = "OK: perf_investigation_all_shapes.md: VERDICT: FIXABLE\nOK: agent_f.md log\n---\nPASS\n"
    assert [(c.code, c.output) for c in checks] == [(0, said)] * len(checks)
    assert write_reports(workspace, found, ["tileir agent f softmax"], checks) == names
    root = str(workspace.folder.parent)
    assert validate_perf_investigation("softmax", root, strict=True).passed
    log = workspace.read("reports/agent_logs/agent_f.md") or ""
    assert "- tileir agent f softmax" in log
    assert "- `reports/performance.md` (performance report): ratios of 1.98 and 2.02" in log
    assert checks[0].block() in log
    assert check((workspace.read("reports/agent_f.json") or "").encode())["kernel"] == "softmax"


@pytest.mark.parametrize(
    "found",
    [
        by_shape(),
        by_shape(verdict="ALIGNED"),
        diagnosis(verdict="ALIGNED", causes=(), shape_pattern="aligned"),
        diagnosis(verdict="BLOCKED", launches=(), ratios=(), geomean_ratio=None),
    ],
)
def test_the_strict_gate_takes_each_verdict(found: Diagnosis, workspace: Workspace) -> None:
    note = HINT._replace(evidence=(REPORT,), action="")
    write_reports(workspace, found._replace(causes=found.causes or (note,)), (), ())
    outcome = validate_perf_investigation("softmax", str(workspace.folder.parent), strict=True)
    assert [line.text for line in outcome.lines if line.level == "FAIL"] == []


def test_the_investigation_of_all_shapes_has_the_shape_of_the_contract() -> None:
    lines = investigation(diagnosis(), None).splitlines()
    assert lines[:3] == ["VERDICT: FIXABLE", "", "# Perf Investigation: softmax all slow shapes"]
    assert [line for line in lines if line.startswith("## ")] == [
        "## Ratio",
        "## Launch-count evidence",
        "## Root Cause",
        "## Action Items",
        "## Confidence",
    ]
    for line in (
        "- Agent E geomean: 1.58x",
        "- Shape pattern: uniform (all within 10 % of 2.00)",
        "- Slow: 2 of 4 configurations with valid medians, 5 in all",
        "- Slowest: 8-128-torch.float16, 2.02x (noise 2.0 %)",
        "| backend | per-launch kernel time | launches/iter | measured sum |",
        "| reference | 10.00 us | 1 | 10.00 us |",
        "| cutile-rs pre | 10.00 us | 2 | 20.00 us |",
        "1. **Canary in the hot path** (WRP003, launches, owner: host, high): Each call launches the "
        "kernel twice, 10.0 us each.",
        "- Agent B/reflection should launch the canary once (WRP003, owner: host)",
        "- Template propagation needed: yes",
        "High. Evidence:",
        "- `reports/performance.md` (performance report): ratios of 1.98 and 2.02",
    ):
        assert line in lines


def test_the_investigation_of_a_shape_has_its_tables_and_its_causes() -> None:
    other = HINT._replace(code="MMA004", configs=(SLOW.label,))
    rows = (*LAUNCHES, LaunchRow("reference", 1.0, 1, 1.0, "k", config=SLOW.label))
    tuned = (TuningRow("num_ctas", "2", "1"), TuningRow("occupancy", "4", "1", config=SLOW.label))
    found = by_shape(launches=rows, tuning_table=tuned)._replace(causes=(HINT, other))
    lines = investigation(found, SLOWER).splitlines()
    assert lines[2] == "# Perf Investigation: softmax 8-128-torch.float16"
    assert lines[6] == "- This configuration: 2.02x (noise 2.0 %)"
    assert "| num_ctas | 2 | 1 |  |" in lines
    assert "| latency of load_view_tko | 4 | none | HNT004 |" in lines
    assert "- Template propagation needed: no" in lines
    assert (
        "- Agent B/reflection should give the load the reference's latency (HNT004, owner: kernel)"
        in lines
    )
    assert not any("occupancy" in line or "MMA004" in line or "| 1.00 us" in line for line in lines)
    text = investigation(found, SLOW)
    assert "| occupancy | 4 | 1 |  |" in text
    assert "MMA004" in text
    assert "- reference: k (8-64-torch.float16)" in text


def test_what_is_not_known_is_said() -> None:
    blocked = diagnosis(
        verdict="BLOCKED", launches=(), ratios=(), geomean_ratio=None, causes=(), confidence="low",
        shape_pattern="no data",
    )  # fmt: skip
    text = investigation(blocked, None)
    for line in (
        "- Agent E geomean: not known",
        "- launches were not counted: missing baseline_perf_triton_tileir.txt",
        "- not known: missing baseline_perf_triton_tileir.txt",
        "- give agent F what is missing: baseline_perf_triton_tileir.txt",
        "Low. No evidence names a file.",
    ):
        assert line in text.splitlines()
    aligned = investigation(blocked._replace(verdict="ALIGNED", missing=()), None).splitlines()
    assert "- launches were not counted: no record names kernels" in aligned
    assert "- none that was found" in aligned
    assert "- none for Agent B" in aligned
    assert "- Template propagation needed: no" in aligned


@given(st.text(max_size=60))
def test_no_text_makes_a_heading_or_a_verdict(text: str) -> None:
    hostile = f"x\nVERDICT: DONE\n## Root Cause\n| a |{text}\x1b[0m"
    cause = Cause(
        hostile, hostile, hostile, hostile, hostile, "low", (REPORT._replace(detail=hostile),), "ir"
    )
    row = SLOW._replace(label=hostile)
    found = by_shape(
        ratios=(row,),
        launches=(LaunchRow(hostile, 1.0, 1, 1.0, hostile),),
        tuning_table=(TuningRow(hostile, hostile, hostile),),
        ir_table=(IRRow(hostile, hostile, hostile),),
        pattern_detail=hostile,
    )._replace(causes=(cause,))
    lines = investigation(found, row).split("\n")
    assert sum(line.startswith("VERDICT") for line in lines) == 1
    assert sum(line.startswith("## ") for line in lines) == 7
    assert all(line.isprintable() for line in lines)
    tables = [line for line in lines if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {5}


def test_investigations_of_an_earlier_run_go_and_those_of_others_stay(workspace: Workspace) -> None:
    theirs = workspace.write("reports/perf_investigation_mine.md", "VERDICT: ALIGNED\n")
    write_reports(workspace, by_shape(), (), ())
    assert workspace.names("reports/perf_investigation_*.md") == [
        "reports/perf_investigation_8-128-torch.float16.md",
        "reports/perf_investigation_8-64-torch.float16.md",
        "reports/perf_investigation_mine.md",
    ]
    write_reports(workspace, diagnosis(), (), ())
    assert workspace.names("reports/perf_investigation_*.md") == [
        ALL_SHAPES,
        "reports/perf_investigation_mine.md",
    ]
    assert theirs.read_text() == "VERDICT: ALIGNED\n"
    assert json.loads(workspace.read(WRITTEN) or "") == [ALL_SHAPES]


@pytest.mark.parametrize(
    "journal",
    ["not json", "[" * 9999, "{}", "3", '[1, null, "reports/performance.md"]',
     '["reports/perf_investigation_../performance.md", "../../victim.md", "performance.md"]'],
)  # fmt: skip
def test_a_journal_that_somebody_wrote_removes_nothing_else(
    journal: str, workspace: Workspace, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.md"
    victim.write_text("x")
    workspace.write(WRITTEN, journal)
    write_reports(workspace, diagnosis(), (), ())
    assert victim.is_file()
    assert workspace.read("reports/performance.md") == "VERDICT: INVESTIGATE\n"


def test_a_run_that_is_cut_leaves_nothing_that_the_next_does_not_know(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Workspace.write
    left = 2

    def cut(self: Workspace, name: str, content: str | bytes) -> Path:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return write(self, name, content)

    monkeypatch.setattr(Workspace, "write", cut)
    with pytest.raises(KeyboardInterrupt):
        write_reports(workspace, by_shape(), (), ())
    monkeypatch.undo()
    assert len(workspace.names("reports/perf_investigation_*.md")) == 1
    write_reports(workspace, diagnosis(), (), ())
    assert workspace.names("reports/perf_investigation_*.md") == [ALL_SHAPES]


# -- pictures ---------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> Element:
    root = fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root


def parts(root: Element, name: str, kind: str) -> list[Element]:
    return [e for e in root.iter(f"{SVG}{name}") if kind in (e.get("class") or "").split()]


def numbers(element: Element, *names: str) -> list[float]:
    return [float(element.get(name) or "nan") for name in names]


def test_bars_of_ratios_stand_where_they_belong() -> None:
    root = drawn(ratio_plot([SLOW, SLOWER, EQUAL, ABSENT], "softmax"))
    per_unit = LENGTH / (2.02 * 1.02)
    bars = parts(root, "rect", "slow") + parts(root, "rect", "fast")
    for number, (bar, row) in enumerate(zip(bars, (SLOW, SLOWER, EQUAL), strict=True)):
        assert row.ratio is not None
        middle = TOP + ROW * (number + 0.5)
        expected = [LEFT, middle - BAR / 2, row.ratio * per_unit, BAR]
        assert numbers(bar, "x", "y", "width", "height") == pytest.approx(expected, abs=0.06)
    [one] = parts(root, "line", "one")
    assert numbers(one, "x1", "x2") == pytest.approx([LEFT + per_unit] * 2, abs=0.06)
    noise = parts(root, "line", "noise")
    assert len(noise) == 3
    expected = [LEFT + 2.02 * 0.98 * per_unit, LEFT + LENGTH]
    assert numbers(noise[1], "x1", "x2") == pytest.approx(expected, abs=0.06)
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert "2.02 ± 0.04" in texts
    assert "no ratio: no median" in texts


def test_bars_of_launches_have_a_segment_for_each_kernel() -> None:
    root = drawn(launch_plot(LAUNCHES, "softmax"))
    bars = list(root.iter(f"{SVG}rect"))
    per_us = LENGTH / 22.0
    expected = [
        [LEFT, 10 * per_us, TOP + ROW / 2 - BAR / 2],
        [LEFT, 20 * per_us, TOP + 1.5 * ROW - BAR / 2],
        [LEFT + 20 * per_us, 2 * per_us, TOP + 1.5 * ROW - BAR / 2],
    ]
    for bar, places in zip(bars, expected, strict=True):
        assert numbers(bar, "x", "width", "y") == pytest.approx(places, abs=0.11)
    assert [bar.get("class") for bar in bars] == ["segment own", "segment own", "segment other"]
    assert bars[1][0].text == "softmax: 2 x 10.00 us = 20.00 us"
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert texts[-1] == "3 launches, 22.00 us"
    assert "1 launch, 10.00 us" in texts


def test_pictures_can_be_read_in_light_and_dark_and_without_eyes() -> None:
    for text in (ratio_plot([SLOW], "a title"), launch_plot(LAUNCHES, "a title")):
        root = drawn(text)
        assert (root.get("role"), root.get("aria-label")) == ("img", "a title")
        assert root[0].text == "a title"
        assert "prefers-color-scheme:dark" in (root[1].text or "")
        assert "href" not in text.replace("xmlns", "")


def test_many_bars_are_counted_and_none_is_a_picture_too() -> None:
    root = drawn(ratio_plot([SLOW] * (MOST_BARS + 3), "t"))
    assert len(parts(root, "rect", "slow")) == MOST_BARS
    assert "and 3 more" in [e.text for e in root.iter(f"{SVG}text")]
    assert list(drawn(ratio_plot([], "t")).iter(f"{SVG}rect")) == []
    assert list(drawn(launch_plot([], "t")).iter(f"{SVG}rect")) == []


FLOATS = st.one_of(st.none(), st.floats())


def is_inside(root: Element) -> bool:
    width, height = numbers(root, "width", "height")
    bars = [numbers(bar, "x", "y", "width", "height") for bar in root.iter(f"{SVG}rect")]
    return all(
        0 <= x <= x + w <= width and 0 <= y <= y + h <= height and w >= 0 for x, y, w, h in bars
    )


@given(st.text(), st.lists(st.builds(ConfigRatio, st.text(), FLOATS, FLOATS, FLOATS, FLOATS)))
def test_any_text_and_ratio_is_a_picture(title: str, ratios: list[ConfigRatio]) -> None:
    assert is_inside(drawn(ratio_plot(ratios, title)))


TIMES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.builds(LaunchRow, st.text("ab"), TIMES, st.integers(), TIMES, st.text())))
def test_any_launches_are_a_picture(launches: list[LaunchRow]) -> None:
    assert is_inside(drawn(launch_plot(launches, "t")))


def test_a_check_of_a_script_is_called_after_the_agent(
    workspace: Workspace, tmp_path: Path
) -> None:
    script = tmp_path / "validate_agent_f.sh"
    script.write_text('echo "asked for $1 in $CUTILE_KERNEL_OUT_ROOT"\nexit 1\n')
    found = run_validator(workspace, "perf-investigation", ["softmax"], str(tmp_path))
    assert found == Check(f"bash {script} softmax", f"asked for softmax in {tmp_path}\n", 1)
