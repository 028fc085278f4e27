"""Agent F: faults named first, verdicts right, and what it does with what is missing, damaged or real."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_f_faults import (
    CASES,
    FIXTURES,
    IR_FAULTS,
    MISSING,
    NO_FAULTS,
    Case,
    build,
    diagnose,
    is_right,
)
from agent_f_on_gpu import LAUNCHES, launch_of
from test_cli import check, tool
from test_toolchain import needs_tools

from tileir_tools.agents.f import Request, run_agent_f, verdict
from tileir_tools.agents.f.inputs import read_inputs
from tileir_tools.agents.f.measured import measure, severity_of
from tileir_tools.agents.workspace import open_workspace
from tileir_tools.read import load

SHARED = Path(__file__).resolve().parents[2] / "shared"
TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPTS = Path(TILEGYM) / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts"


@needs_tools
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.kernel}: {c.name}")
def test_the_cause_is_named_first_and_the_verdict_is_right(case: Case, tmp_path: Path) -> None:
    found = diagnose(case, tmp_path)
    causes = [(c.code, c.confidence) for c in found.causes]
    assert is_right(case, found), (found.verdict, causes, found.notes)
    if case.first:
        first = found.causes[0]
        assert first.action
        assert first.evidence
        for evidence in first.evidence:
            roots = (tmp_path / "out" / case.kernel, tmp_path / "project")
            file = evidence.path.partition(":")[0]
            assert any((root / file).is_file() for root in roots), evidence


def test_there_are_enough_cases_of_every_kind() -> None:
    assert len(CASES) >= 25
    assert len({case.kernel for case in CASES}) >= 5
    assert len(NO_FAULTS) >= 5
    assert len(MISSING) >= 3


@pytest.mark.parametrize("case", [*IR_FAULTS, *NO_FAULTS], ids=lambda c: f"{c.kernel}: {c.name}")
def test_what_is_launched_on_a_gpu_gets_the_arguments_that_it_takes(case: Case) -> None:
    if case.reference is None:
        return
    launch = launch_of(case.reference, LAUNCHES)
    if launch is None:
        assert case not in IR_FAULTS
        return
    given = sum(
        1 + 2 * len(argument["shape"]) if argument["kind"] == "array" else "as" not in argument
        for argument in launch.arguments
    )
    assert given == len(load(FIXTURES / case.reference).entries[0].arguments)


@pytest.mark.parametrize("case", [*IR_FAULTS, *NO_FAULTS], ids=lambda c: f"{c.kernel}: {c.name}")
def test_without_a_compiler_the_verdict_is_as_right_and_less_sure(
    case: Case, tmp_path: Path
) -> None:
    found = diagnose(case, tmp_path, evidence=False)
    assert found.verdict == case.verdict
    if case.verdict == "FIXABLE":
        assert found.confidence in ("low", "medium")
        # Differences in the order of the contract, from the comparison alone.
        assert all(c.code.isupper() or c.about != "ir" for c in found.causes)
    assert "machine code was not looked at" in found.notes


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_is_written_but_below_reports(tmp_path: Path) -> None:
    asked = build(CASES[0], tmp_path)._replace(evidence=False)
    before = _digests(tmp_path)
    answer = run_agent_f(asked)
    after = _digests(tmp_path)
    assert {k: v for k, v in after.items() if k in before} == before
    home = "out/matmul/reports/"
    assert all(name.startswith(home) for name in set(after) - set(before))
    assert {f"out/matmul/{name}" for name in answer.files} <= set(after)
    document = (tmp_path / f"{home}agent_f.json").read_bytes()
    assert check(document)["verdict"] == "FIXABLE"
    report = (tmp_path / f"{home}perf_investigation_all_shapes.md").read_text()
    assert report.startswith("VERDICT: FIXABLE\n")


def test_the_command_ends_with_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEGYM_PATH", raising=False)
    build(CASES[0], tmp_path)
    done = tool("tileir", "agent", "f", "matmul", "--out", tmp_path / "out", "--no-evidence")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == (
        "<VALIDATOR_OUTPUT>\n$ tileir validate perf-investigation matmul 2>&1\n"
        "OK: perf_investigation_all_shapes.md: VERDICT: FIXABLE\nOK: agent_f.md log\n---\nPASS\nexit=0\n"
        "</VALIDATOR_OUTPUT>\nVERDICT: FIXABLE\n"
    )
    assert "the wrapper: no project was given" in done.stderr.decode()


@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="TILEGYM_PATH names no checkout of TileGym")
@pytest.mark.parametrize("case", [CASES[0], NO_FAULTS[0], MISSING[0]], ids=lambda c: c.name)
def test_the_script_of_tilegym_accepts_what_is_written(case: Case, tmp_path: Path) -> None:
    asked = build(case, tmp_path)._replace(evidence=False, scripts=str(SCRIPTS))
    [checked] = run_agent_f(asked).checks
    assert "validate_agent_f.sh" in checked.command
    assert checked.code == 0, checked.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["../x", "--out", "OUT"], "no name of a kernel"),
        (["matmul", "--out", "OUT/none"], "no such folder"),
        (["matmul"], "CUTILE_KERNEL_OUT_ROOT is not set"),
        (["matmul", "--out", "OUT", "--arch", "sm_1"], "sm_1"),
        (["matmul", "--out", "OUT", "--profile", "both=x"], "--profile takes SIDE=FILE"),
        (["matmul", "--out", "OUT", "--profile", "reference=OUT/x"], "not there"),
        (["matmul", "--out", "OUT", "--run", "OUT/x"], "not there"),
        (["matmul", "--out", "OUT", "--scripts", "OUT/x"], "not there"),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TILEGYM_PATH", "CUTILE_KERNEL_OUT_ROOT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "matmul").mkdir()
    done = tool("tileir", "agent", "f", *[a.replace("OUT", str(tmp_path)) for a in arguments])
    assert done.returncode == 3
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert list((tmp_path / "matmul").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("reference/analysis.json", b'{"kernel_variants": 3}'),
        ("reference/analysis.json", b"[1, 2"),
        ("reference/analysis.json", b'{"kernel_variants": [null, {"reference_ir": "../../x"}]}'),
        ("reference/reference.mlir", b"entry @x("),
        ("generated/generated_canon.mlir", b"\x7fTileIR\x00"),
        ("generated/generated_canon.mlir", b"tt.func @x() {}"),
        ("perf_cutile_rs.txt", b"\x00\x01"),
        ("perf_cutile_rs.txt", b""),
        ("baseline_perf_cutile.txt", b"<xml"),
        ("reports/performance.md", b"| a |"),
    ],
)
def test_damaged_inputs_are_missing_ones(name: str, damage: bytes, tmp_path: Path) -> None:
    asked = build(CASES[0], tmp_path)._replace(evidence=False)
    (asked.workspace.folder / name).write_bytes(damage)
    answer = run_agent_f(asked)
    assert answer.exit_code in (0, 3)
    document = json.loads((asked.workspace.folder / "reports" / "agent_f.json").read_text())
    if b"variants" not in damage:
        file = "baseline_perf" if "baseline" in name else name.rpartition("/")[2]
        assert any(file in text for text in document["missing"]), document["missing"]


def test_profiles_tell_launches_where_logs_do_not(tmp_path: Path) -> None:
    """A fill for each launch more than the reference has, in exports of nsys."""
    head = (
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    )
    kernel = '80.0,120000,10,12000.0,11900.0,11000,13000,100.0,"_scale_kernel_Kt1_A1f16_p16_I128"\n'
    fill = '20.0,30000,20,1500.0,1500.0,1400,1600,10.0,"void at::native::FillFunctor<float>(int)"\n'
    profiles = {}
    for side, text in (("reference", head + kernel), ("generated", head + kernel + fill)):
        path = tmp_path / f"{side}.csv"
        path.write_text(text)
        profiles[side] = str(path)
    case = next(c for c in MISSING if c.name == "times of a gap alone")
    asked = build(case, tmp_path)._replace(evidence=False, profiles=profiles)
    found = run_agent_f(asked).diagnosis
    assert found.verdict == "FIXABLE"
    assert found.causes[0].code == "extra launch: fill"
    assert found.causes[0].evidence[0].path == "reports/agent_logs/profile_generated.csv"
    assert [(row.backend, row.launches) for row in found.launches] == [
        ("reference", 10), ("generated", 10), ("generated", 20)
    ]  # fmt: skip
    # One side alone says nothing.
    alone = run_agent_f(asked._replace(profiles={"reference": profiles["reference"]})).diagnosis
    assert alone.verdict == "BLOCKED"
    assert any("other side" in text for text in alone.missing)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/measurements")
@pytest.mark.parametrize("operation", ["bmm", "matmul", "rms_norm", "rope", "silu_and_mul"])
def test_real_logs_are_compared_whole(operation: str, tmp_path: Path) -> None:
    """A log beside itself, also one that was cut off: as many launches, no gap."""
    text = (SHARED / "measurements" / f"cupti_{operation}.log").read_bytes()
    workspace = open_workspace(str(tmp_path), operation)
    workspace.write("baseline_perf_cutile.txt", text)
    workspace.write("perf_cutile_rs.txt", text.replace(b"[cutile-", b"[cutile_rs-"))
    inputs = read_inputs(Request(workspace, None))
    assert inputs.generated is not None
    assert inputs.reference is not None
    measured = measure(inputs)
    assert measured.ratios
    assert all(r.ratio == 1.0 for r in measured.ratios)
    assert measured.launches is not None
    assert measured.launches.verdict == "aligned"


def test_what_is_wrong_whatever_it_costs() -> None:
    # Keys, variants, formats, arguments; no launches, no configurations that are merely slower.
    assert {"WRP011", "WRP012", "WRP013", "WRP020", "WRP021", "WRP023", "WRP024"} <= verdict._WRONG
    assert not verdict._WRONG & {"WRP001", "WRP003", "WRP005", "WRP010", "WRP015", "WRP030"}


GAP = next(c for c in NO_FAULTS if c.name == "no fault")._replace(ratios=(2.0,) * 4)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: (f / "generated/generated_canon.mlir").unlink(),
        lambda f: (f / "reference/reference.mlir").unlink(),
        lambda f: (f / "generated/generated_canon.mlir").write_text("entry @matmul("),
        # Another kernel says nothing about this one.
        lambda f: (f / "generated/generated_canon.mlir").write_bytes(
            (FIXTURES / "kernels/gelu__tile1024-bfloat16__sm_100__bc13.4.mlir").read_bytes()
        ),
    ],
    ids=["no generated IR", "no reference", "damaged", "another kernel"],
)
def test_a_gap_without_kernels_to_compare_blocks(
    spoil: Callable[[Path], object], tmp_path: Path
) -> None:
    asked = build(GAP, tmp_path)._replace(evidence=False)
    spoil(asked.workspace.folder)
    found = run_agent_f(asked).diagnosis
    assert (found.verdict, found.confidence) == ("BLOCKED", "low")
    assert "there is a gap, and the kernels could not be compared" in found.notes


def test_another_kernel_is_named(tmp_path: Path) -> None:
    asked = build(GAP, tmp_path)._replace(evidence=False)
    path = asked.workspace.folder / "generated" / "generated_canon.mlir"
    name = "kernels/gelu__tile1024-bfloat16__sm_100__bc13.4.mlir"
    path.write_bytes((FIXTURES / name).read_bytes())
    missing = run_agent_f(asked).diagnosis.missing
    assert any("@gelu is another kernel than @matmul" in text for text in missing), missing


def test_a_log_of_another_backend_is_no_log_of_the_generated_kernel(tmp_path: Path) -> None:
    asked = build(GAP, tmp_path)._replace(evidence=False)
    folder = asked.workspace.folder
    (folder / "perf_cutile_rs.txt").write_bytes((folder / "baseline_perf_cutile.txt").read_bytes())
    missing = run_agent_f(asked).diagnosis.missing
    assert "perf_cutile_rs.txt: no record of cutile_rs with a time" in missing


def test_only_what_was_looked_at_explains_nothing(tmp_path: Path) -> None:
    notes = run_agent_f(build(GAP, tmp_path)._replace(evidence=False)).diagnosis.notes
    assert "nothing in launches, IR explains the gap: compiler or noise" in notes
    assert "not looked at: host code" in notes


def test_gaps_are_called_as_agent_e_calls_them() -> None:
    said = [severity_of(x) for x in (None, 0.9, 1.05, 1.06, 1.1, 1.11, 1.5, 1.51)]
    assert said == [
        "MISSING_DATA", "DONE", "DONE", "MILD_GAP", "MILD_GAP", "MODERATE_GAP", "MODERATE_GAP", "LARGE_GAP",
    ]  # fmt: skip
