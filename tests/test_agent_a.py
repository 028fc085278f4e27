"""Agent A: a project's operations from nothing to a verdict, cut anywhere, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_runs import EXPECTED, OPERATIONS, PROJECT, artifacts, logs_of, request, run
from test_calls import needs_torch
from test_cli import tool
from test_dump import needs_cutile

from tileir_tools import files
from tileir_tools.agents import read_analysis
from tileir_tools.agents.a import Request, captures, pipeline
from tileir_tools.agents.a.benchmarks import Benchmarks, expression, take_benchmarks
from tileir_tools.agents.a.captures import Dumps
from tileir_tools.agents.a.conditions import dispatch_condition
from tileir_tools.agents.a.pipeline import STEPS, Answer, run_agent_a
from tileir_tools.agents.a.sources import Sources, by_label, read_sources
from tileir_tools.agents.a.structure import Found, Structure
from tileir_tools.agents.gate import Check, final_response, run_validator
from tileir_tools.agents.workspace import Workspace, open_workspace
from tileir_tools.errors import InputError, UsageError
from tileir_tools.sources import find_project
from tileir_tools.toolchain.calls import Capture, capture_calls
from tileir_tools.toolchain.find import find_tool

TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPTS = Path(TILEGYM) / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts"
needs_scripts = pytest.mark.skipif(
    not SCRIPTS.is_dir(), reason="TILEGYM_PATH names no checkout of TileGym"
)
# The version that wrote `fixtures/agent_a`: another one may compile kernels in another way.
CUTILE = "1.7.0"


@pytest.fixture(scope="session")
def captured() -> Callable[..., Capture]:
    """`capture_calls`, each run of tests once: what launching costs is torch and pytest."""
    known: dict[str, Capture] = {}

    def capture(script: str, arguments: Any, **options: Any) -> Capture:
        key = json.dumps([script, list(arguments), {k: str(v) for k, v in options.items()}])
        if key not in known:
            known[key] = capture_calls(script, arguments, **options)
        return known[key]

    return capture


@pytest.fixture
def quick(captured: Callable[..., Capture], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "capture_calls", captured)


# -- from nothing to a verdict ----------------------------------------------------------------------


@needs_cutile
@needs_torch
@pytest.mark.parametrize("operation", OPERATIONS)
def test_from_nothing_to_pass(operation: str, tmp_path: Path, quick: None) -> None:
    answer = run(operation, tmp_path)
    assert (answer.verdict, answer.why, answer.exit_code) == ("PASS", (), 0)
    assert all(check.code == 0 for check in answer.checks)
    if find_tool("cuda-tile").version != CUTILE:
        pytest.skip(f"what is expected was written with cuda-tile {CUTILE}")
    found = artifacts(tmp_path / operation)
    expected = {
        path.relative_to(EXPECTED / operation).as_posix(): path.read_text("utf-8")
        for path in (EXPECTED / operation).rglob("*")
        if path.is_file()
    }
    assert sorted(found) == sorted(expected)
    for name, text in expected.items():
        assert found[name] == text, name


@needs_cutile
@needs_torch
def test_without_records_it_is_blocked_and_goes_on_with_them(tmp_path: Path, quick: None) -> None:
    said: list[str] = []
    asked = request("gemm", tmp_path, with_logs=False)
    answer = run_agent_a(asked._replace(say=lambda step, text: said.append(text)))
    assert (answer.verdict, answer.exit_code) == ("BLOCKED", 3)
    [reason] = answer.why
    assert reason.startswith("no performance records of cutile: ")
    folder = tmp_path / "gemm"
    blocked = folder / "SKILL_METHODOLOGY_BLOCKED.txt"
    assert reason in blocked.read_text()
    assert f"- {reason}" in (folder / "reports" / "agent_a.md").read_text()
    # Everything but the timing is there, and valid.
    assert (folder / "reference" / "analysis.json").is_file()
    assert len(answer.checks) == 4
    assert all(check.code == 0 for check in answer.checks)
    assert not any("taken from an earlier run" in text for text in said)

    again = run_agent_a(
        asked._replace(logs=logs_of("gemm"), say=lambda step, text: said.append(text))
    )
    assert again.verdict == "PASS"
    assert not blocked.exists()
    assert "taken from an earlier run: reference/dumps" in said


@needs_cutile
@needs_torch
def test_the_command_says_nothing_behind_the_verdict(tmp_path: Path) -> None:
    logs = [f"--perf-log={b}={file}" for b, [file] in logs_of("row_scale").items()]
    done = tool(
        "tileir", "agent", "a", "row_scale", "--project", PROJECT, "--out", tmp_path,
        "--arch", "sm_100", "--no-evidence", *logs,
    )  # fmt: skip
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert re.fullmatch(
        r"<VALIDATOR_OUTPUT>\n(?:\$ tileir validate .* 2>&1\n(?:.*\n)+?exit=0\n\n?){3}"
        r"</VALIDATOR_OUTPUT>\nVERDICT: PASS\n",
        text,
    )
    steps = {line.split()[0] for line in done.stderr.decode().splitlines()}
    assert steps == {
        "read", "dump", "variants", "benchmark", "reference", "analysis", "gate"
    }  # fmt: skip


@needs_cutile
@needs_torch
def test_it_stops_after_a_step_and_goes_on(tmp_path: Path, quick: None) -> None:
    asked = request("reduce_rows", tmp_path)
    folder = tmp_path / "reduce_rows"
    made = {
        "read": set(),
        "dump": {"reference/dumps/manifest.json"},
        "variants": set(),
        "benchmark": {"baseline_perf_cutile.txt"},
        "reference": {"reference/reference.mlir", "reference/supplements/reference_f32.mlir"},
        "analysis": {"reference/analysis.json", "baseline_perf.txt"},
        "gate": {"reports/agent_a.md", "reports/agent_logs/agent_a.md"},
    }
    later = {name for names in made.values() for name in names}
    for step in STEPS:
        later -= made[step]
        answer = run_agent_a(asked, until=step)
        assert answer.verdict == ("PASS" if step == "gate" else None)
        assert all((folder / name).is_file() for name in made[step]), step
        assert not any((folder / name).exists() for name in later), step


@needs_cutile
@needs_torch
@needs_scripts
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_scripts_of_tilegym_accept_what_is_written(
    operation: str, tmp_path: Path, quick: None
) -> None:
    answer = run_agent_a(request(operation, tmp_path)._replace(scripts=str(SCRIPTS)))
    assert {check.command.split()[0] for check in answer.checks} == {"bash"}
    failed = [check for check in answer.checks if check.code != 0]
    # `validate_ir.sh` counts the words of four operations, so that a kernel has to have them.
    assert not [check for check in failed if "validate_ir" not in check.command], failed
    assert answer.verdict == "PASS", failed


@pytest.mark.slow
@needs_cutile
@needs_torch
@pytest.mark.skipif(not TILEGYM, reason="TILEGYM_PATH names no checkout of TileGym")
@pytest.mark.parametrize("operation", ["softmax", "rms_norm", "silu_and_mul", "bmm"])
def test_operations_of_tilegym_pass_with_the_records_of_a_gpu(
    operation: str, tmp_path: Path
) -> None:
    home = Path(__file__).parent / "fixtures" / "perf" / "h200"
    files = {b: home / f"{operation}_{b}.log" for b in ("cutile", "pytorch")}
    answer = run_agent_a(
        Request(
            open_workspace(str(tmp_path), operation),
            find_project(TILEGYM),
            arch="sm_90",
            logs={backend: (str(file),) for backend, file in files.items() if file.is_file()},
            evidence=False,
        )
    )
    assert (answer.verdict, answer.why) == ("PASS", ())
    analysis = read_analysis(str(tmp_path / operation / "reference" / "analysis.json"))
    selection: Any = analysis["reference_backend_selection"]
    assert selection["winner"] == "cutile"
    assert selection["method"].startswith("CUPTI geomean")


# -- cut, anywhere ----------------------------------------------------------------------------------


class _Killed(BaseException):
    """What nobody catches."""


def _killed_at(number: int, written: list[str]) -> Callable[[bytes, str], None]:
    """`write_file` that lets so many files through and then ends everything."""
    real = files.write_file

    def write(data: bytes, path: str) -> None:
        if len(written) == number:
            raise _Killed
        real(data, path)
        written.append(path)

    return write


@needs_cutile
@needs_torch
def test_a_run_that_is_killed_after_any_artifact_is_finished_by_the_next(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are renamed into place, so what a kill leaves is what an end between two of them leaves."""
    from tileir_tools.agents import workspace
    from tileir_tools.toolchain import dump_folder

    # What the gate prints is the same each time.
    gates: dict[str, Check] = {}

    def gate(space: Workspace, contract: str, arguments: list[str], scripts: str | None) -> Check:
        if arguments[0] not in gates:
            gates[arguments[0]] = run_validator(space, contract, arguments, scripts)
        return gates[arguments[0]]

    monkeypatch.setattr("tileir_tools.agents.a.gate.run_validator", gate)
    out = tmp_path / "out"
    expected: dict[str, str] = {}
    number = 0
    while True:
        written: list[str] = []
        with monkeypatch.context() as patch:
            write = _killed_at(number, written)
            patch.setattr(workspace, "write_file", write)
            patch.setattr(dump_folder, "write_file", write)
            asked = request("reduce_rows", out)._replace(fresh=True)
            try:
                answer: Answer | None = run_agent_a(asked)
            except _Killed:
                answer = None
        if answer is not None:
            break
        assert not list(out.rglob(".tileir-*"))
        finished = run("reduce_rows", out)
        assert finished.verdict == "PASS", written[-1:]
        found = artifacts(out / "reduce_rows")
        expected = expected or found
        assert found == expected, written[-1:]
        _whole(out / "reduce_rows" / "reference")
        # Every file for its own, of dumps, which are many and written in one loop, some.
        number += 7 if written and "dumps" in written[-1] else 1
    assert number > 20


def _whole(folder: Path) -> None:
    for name in ("dumps", "alias_dumps"):
        manifest = json.loads((folder / name / "manifest.json").read_text())
        for row in manifest["kernels"]:
            assert (folder / name / row["bytecode"]).read_bytes().startswith(b"\x7fTileIR")


@needs_cutile
@needs_torch
def test_what_an_earlier_run_installed_and_this_one_does_not_goes_away(
    tmp_path: Path, quick: None
) -> None:
    space = open_workspace(str(tmp_path), "row_scale")
    space.write("reference/reference_old.mlir", "old")
    space.write("reference/reference_somebodys.mlir", "cuda_tile.module")
    space.write("reference/dumps/installed.json", json.dumps(["reference/reference_old.mlir"]))
    space.write("outside.txt", "kept")
    run("row_scale", tmp_path)
    assert not (tmp_path / "row_scale/reference/reference_old.mlir").exists()
    assert (tmp_path / "row_scale/reference/reference_somebodys.mlir").exists()
    assert (tmp_path / "row_scale/outside.txt").exists()


@needs_cutile
@needs_torch
@pytest.mark.parametrize(
    "damage",
    [
        {"kernels": 5},
        {"kernels": [1, 2]},
        {"kernels": [{}]},
        {"script": 5},
        {"digests": {}},
        {"made_for": 0, "kernels": [{"bytecode": "../../x"}]},
        None,
        "swap",
        "lose",
    ],
    ids=str,
)
def test_dumps_that_are_not_sound_are_made_anew(
    damage: object, tmp_path: Path, quick: None
) -> None:
    run("gemm", tmp_path)
    folder = tmp_path / "gemm" / "reference" / "dumps"
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    files = [folder / row["bytecode"] for row in content["kernels"]]
    if damage is None:
        path.write_text("[1, 2")
    elif damage == "swap":
        files[0].write_bytes(files[1].read_bytes())
    elif damage == "lose":
        files[0].unlink()
    else:
        path.write_text(json.dumps({**content, **damage}))  # type: ignore[dict-item]
    (tmp_path / "gemm" / "x").write_text("kept")
    (folder / "installed.json").write_text("5" if damage is None else "[5, null]")
    assert run("gemm", tmp_path).verdict == "PASS"
    assert json.loads(path.read_text()) == content
    assert (tmp_path / "gemm" / "x").read_text() == "kept"


def test_only_files_of_our_own_names_go(tmp_path: Path) -> None:
    from tileir_tools.agents.a.references import INSTALLED, _installed_before

    space = open_workspace(str(tmp_path), "gemm")
    ours = [
        "reference/reference.mlir",
        "reference/reference_a.mlir",
        "reference/supplements/reference_f32.mlir",
        "reference/orig_reference_a.mlir.bak",
    ]
    others = ["reference/mine.mlir", "reference/analysis.json", "reference/../x", "/etc/passwd", 5]
    space.write(INSTALLED, json.dumps([*ours, *others]))
    assert _installed_before(space) == set(ours)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    asked = request("gemm", tmp_path)
    with asked.workspace.locked(), pytest.raises(UsageError, match="another run is at work here"):
        run_agent_a(asked)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    space = open_workspace(str(tmp_path), "gemm")
    os.mkfifo(space.folder / "baseline_perf_cutile.txt")
    with pytest.raises(InputError, match="no file"):
        space.read("baseline_perf_cutile.txt")


@needs_cutile
@needs_torch
def test_a_run_that_is_terminated_leaves_no_process(tmp_path: Path) -> None:
    code = "import sys; sys.argv[0] = 'tileir'; from tileir_tools.cli.tileir import main; main()"
    command = [sys.executable, "-c", code, "agent", "a", "gemm", "--arch", "sm_100"]
    command += ["--project", str(PROJECT), "--out", str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, env=environment)
    assert process.stderr is not None
    said = b""
    while b"running" not in said:
        said = process.stderr.readline()
        assert said, "it ended before it ran the tests"
    process.terminate()
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.glob("tileir-*")) == []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            assert str(tmp_path).encode() not in (folder / "cmdline").read_bytes()


# -- what it refuses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../gemm", "", ".", "..", "a/b", "/tmp/x", "a\\b", "a\0b", "a b", "-k", "é", "a" * 101]
)
def test_names_that_are_paths_are_refused(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="no name of a kernel"):
        open_workspace(str(out), name)
    assert not out.exists()


def test_nothing_is_written_through_links(tmp_path: Path) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    away.mkdir()
    space = open_workspace(str(out), "gemm")
    (out / "gemm" / "reference").symlink_to(away)
    for name in ("reference/analysis.json", "../x", "/tmp/x", "reports/../../x", "."):
        with pytest.raises(UsageError, match="outside of"):
            space.write(name, "text")
    assert list(away.iterdir()) == []
    (out / "linked").symlink_to(away)
    with pytest.raises(UsageError, match="a link"):
        open_workspace(str(out), "linked")
    (out / "file").write_text("")
    with pytest.raises(InputError):
        open_workspace(str(out), "file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gemm", "--out", "OUT"], "TILEGYM_PATH is not set; set it, or give --project"),
        (["gemm", "--project", "PROJECT"], "CUTILE_KERNEL_OUT_ROOT is not set"),
        (["../gemm", "--project", "PROJECT", "--out", "OUT"], "no name of a kernel"),
        (["gemm", "--project", "OUT/none", "--out", "OUT"], "none"),
        (["gemm", "--project", "PROJECT", "--out", "OUT", "--perf-log", "x"], "BACKEND=FILE"),
        (["gemm", "--project", "PROJECT", "--out", "OUT", "--perf-log", "cpu=x"], "BACKEND=FILE"),
        (["gemm", "--project", "PROJECT", "--out", "OUT", "--until", "never"], "--until"),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TILEGYM_PATH", "CUTILE_KERNEL_OUT_ROOT"):
        monkeypatch.delenv(name, raising=False)
    given = [
        a.replace("OUT", str(tmp_path / "out")).replace("PROJECT", str(PROJECT)) for a in arguments
    ]
    done = tool("tileir", "agent", "a", *given)
    assert done.returncode == 3
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert done.stdout == b""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("nothing", "has no operation nothing; it has: untested"),
        ("untested", "no tests/ops/**/test_untested"),
    ],
)
def test_an_operation_that_is_not_there_blocks(
    operation: str, message: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    home = project / "src/demo/ops/cutile"
    home.mkdir(parents=True)
    (home / "untested.py").write_text("")
    (project / "tests/ops").mkdir(parents=True)
    out = tmp_path / "out"
    done = tool("tileir", "agent", "a", operation, "--project", project, "--out", out)
    assert done.returncode == 3
    assert done.stdout.decode().endswith("</VALIDATOR_OUTPUT>\nVERDICT: BLOCKED\n")
    assert message in (out / operation / "SKILL_METHODOLOGY_BLOCKED.txt").read_text()
    assert message in (out / operation / "reports" / "agent_a.md").read_text()


def test_a_source_that_is_no_python_blocks_with_its_place(tmp_path: Path) -> None:
    home = tmp_path / "project/src/demo/ops/cutile"
    home.mkdir(parents=True)
    (home / "broken.py").write_text("def f(:\n")
    tests = tmp_path / "project/tests/ops"
    tests.mkdir(parents=True)
    (tests / "test_broken.py").write_text("def test_op(): pass\n")
    asked = request("gemm", tmp_path / "out")._replace(
        project=find_project(tmp_path / "project"),
        workspace=open_workspace(str(tmp_path / "out"), "broken"),
    )
    answer = run_agent_a(asked)
    assert answer.verdict == "BLOCKED"
    assert "broken.py:1:7" in answer.why[0]


@needs_cutile
@needs_torch
def test_tests_that_launch_nothing_block_in_their_own_words(tmp_path: Path) -> None:
    answer = run_agent_a(request("row_scale", tmp_path)._replace(select="nothing_of_that_name"))
    assert answer.verdict == "BLOCKED"
    assert "no cuTile kernel was launched" in answer.why[0]
    assert "deselected" in answer.why[0]


@needs_cutile
def test_a_package_that_the_tests_want_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "E   ModuleNotFoundError: No module named 'torch'\n1 error in 0.94s\n"
    nothing = Capture((), (), {}, False, (), (said, ""))
    monkeypatch.setattr(captures, "capture_calls", lambda *args, **rest: nothing)
    answer = run_agent_a(request("row_scale", tmp_path))
    assert answer.verdict == "BLOCKED"
    assert answer.why[0].splitlines()[0] == (
        "tests/ops/test_row_scale.py::Test_RowScale: no cuTile kernel was launched: torch is not installed "
        "(a CPU build is enough)"
    )


# -- records ----------------------------------------------------------------------------------------


def _sources(operation: str, out: Path) -> Sources:
    return read_sources(request(operation, out))


def _block(test: str, median: str, backend: str = "cutile") -> str:
    return (
        f"{test} PASSED\nPerformance Test Results: {test}\n  backend: {backend}\n"
        f"  median: {median} ms\n"
    )


TEST = "tests/ops/test_row_scale.py::Test_RowScale::test_perf"


def test_given_logs_are_kept_and_only_known_configurations_count(tmp_path: Path) -> None:
    log = tmp_path / "given.txt"
    text = _block(f"{TEST}[cutile-a]", "0.5") + _block(f"{TEST}[cutile-b]", "2.0")
    text += _block(f"{TEST}[cutile-c]", "0.01")
    text = f"torch = 2.11\ndevice = NVIDIA H200\n{text}"
    log.write_text(text)
    asked = request("row_scale", tmp_path)._replace(logs={"cutile": (str(log),)})
    found = take_benchmarks(
        asked, _sources("row_scale", tmp_path), "test_perf", {"a": "one", "b": "two"}
    )
    assert found.selection is not None
    assert {c.variant: c.geomeans_ms for c in found.selection.choices} == {
        "one": {"cutile": 0.5},
        "two": {"cutile": 2.0},
    }
    assert found.overall is not None
    assert found.overall.choices[0].geomeans_ms == {"cutile": 1.0}
    assert any("[c] is no configuration that a kernel was dumped for" in n for n in found.notes)
    assert found.missing["pytorch"] == "no log was given for it"
    assert found.logs[0].origin == f"given: {log} (on NVIDIA H200)"
    assert (tmp_path / "row_scale" / "baseline_perf_cutile.txt").read_text() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("row_scale", "softmax"),
        ("Test_RowScale::test_perf", "Test_RowScale::test_else"),
        ("[cutile-a]", "[cutile-z]"),
        ("median: 0.5 ms", "median: 1e308 ms"),
    ],
)
def test_records_of_something_else_block(old: str, new: str, tmp_path: Path) -> None:
    log = tmp_path / "given.txt"
    text = _block(f"{TEST}[cutile-a]", "0.5")
    assert old in text
    log.write_text(text.replace(old, new))
    asked = request("row_scale", tmp_path)._replace(logs={"cutile": (str(log),)})
    found = take_benchmarks(asked, _sources("row_scale", tmp_path), "test_perf", {"a": "one"})
    [reason] = pipeline.missing(found)
    assert reason.startswith("no performance records of cutile: none of its configurations")
    assert any("1 of 1 configurations have no record" in n for n in found.notes) or "1e308" in new


def test_kept_records_are_those_of_the_same_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileir_tools.agents.a.benchmarks.has_gpu", lambda: False)
    project = tmp_path / "project"
    shutil.copytree(PROJECT, project)
    log = tmp_path / "given.txt"
    log.write_text(_block(f"{TEST}[cutile-a]", "0.5"))
    given = request("row_scale", tmp_path)._replace(project=find_project(project))
    sources = _sources("row_scale", tmp_path)

    def taken(asked: Request) -> Benchmarks:
        return take_benchmarks(asked, sources, "test_perf", {"a": "one"})

    assert not pipeline.missing(taken(given._replace(logs={"cutile": (str(log),)})))
    kept = given._replace(logs={})
    assert taken(kept).logs[0].origin == "taken from an earlier run"
    # Any file of the project may be what a kernel is made of.
    (project / "src/demo/backend.py").open("a").write("\n")
    [reason] = pipeline.missing(taken(kept))
    assert "baseline_perf_cutile.txt is of other sources" in reason


def test_methods_are_not_mixed(tmp_path: Path) -> None:
    log = tmp_path / "given.txt"
    text = _block(f"{TEST}[cutile-a]", "0.5") + _block(f"{TEST}[cutile-b]", "2.0").replace(
        "  median", "  method: cuda_graph\n  median"
    )
    log.write_text(text)
    asked = request("row_scale", tmp_path)._replace(logs={"cutile": (str(log),)})
    with pytest.raises(UsageError, match=r"measured by unknown .* and by cuda_graph"):
        take_benchmarks(
            asked, _sources("row_scale", tmp_path), "test_perf", {"a": "one", "b": "one"}
        )


def test_a_faster_backend_without_ir_blocks(tmp_path: Path) -> None:
    logs = {}
    for backend, median in (("cutile", "0.5"), ("triton_tileir", "0.25")):
        log = tmp_path / f"{backend}.txt"
        log.write_text(_block(f"{TEST}[{backend}-a]", median, backend))
        logs[backend] = (str(log),)
    asked = request("row_scale", tmp_path)._replace(logs=logs)
    found = take_benchmarks(asked, _sources("row_scale", tmp_path), "test_perf", {"a": "one"})
    assert found.selection is not None
    [choice] = found.selection.choices
    assert (choice.winner, choice.margin) == ("triton_tileir", 2.0)
    [reason] = pipeline.missing(found)
    assert reason == ("variant one: triton_tileir is faster, and only the IR of cutile was dumped")


def test_what_selects_the_runs_of_a_backend(tmp_path: Path) -> None:
    sources = _sources("row_scale", tmp_path)
    assert expression(sources, "test_perf", "cutile") == (
        "test_perf and cutile and not cutile-rs and not cutile_rs"
    )
    assert expression(sources, "test_perf", "pytorch") == "test_perf and pytorch"
    assert expression(_sources("reduce_rows", tmp_path), "test_perf", "cutile") == "test_perf"
    assert pipeline.selected_tests(
        request("reduce_rows", tmp_path)._replace(select="not slow"),
        _sources("reduce_rows", tmp_path),
    ) == ("((test_op) or (test_perf)) and (not slow)")


# -- configurations and variants --------------------------------------------------------------------


def test_labels_are_those_of_test_ids(tmp_path: Path) -> None:
    test = _sources("row_scale", tmp_path).parametrisation("test_perf")
    assert test is not None
    found = by_label(test)
    # As TileGym's conftest makes them, and as pytest does.
    assert found["torch.float16-4096-256"] == {"dtype": "float16", "m": 4096, "n": 256}
    assert found["dtype1-4096-2048"] == {"dtype": "float32", "m": 4096, "n": 2048}
    assert len(found) == 16
    # Ids that only the test itself knows stand for the configurations in their order.
    gemm = _sources("gemm", tmp_path).parametrisation("test_perf")
    assert gemm is not None
    launched = ("dtype0-short", "dtype0-deep", "dtype1-short", "dtype1-deep")
    assert by_label(gemm, launched)["dtype1-short"] == {
        "dtype": "float32", "m": 1024, "n": 1024, "k": 64
    }  # fmt: skip


def test_equal_ids_are_told_apart_as_pytest_does() -> None:
    from tileir_tools.agents.a.sources import _unique

    assert _unique(("a", "b", "a", "a1", "a1")) == ("a0", "b", "a1", "a1_0", "a1_1")


def _found(name: str, function: str, labels: tuple[str, ...], **constants: object) -> Found:
    values = {key: (value,) for key, value in constants.items()}
    return Found(name, function, {}, (), (), labels, (), None, values, True)


def test_a_condition_is_what_source_constants_and_tests_say(tmp_path: Path) -> None:
    sources = _sources("gemm", tmp_path)
    variants = (
        _found("short", "_gemm_short_kernel", ("a",)),
        _found("base", "_gemm_kernel", ("b", "c"), TRANSPOSE_B=False),
        _found("transposed", "_gemm_kernel", (), TRANSPOSE_B=True),
    )
    mapped = {"a": "short", "b": "base", "c": "base"}
    structure = Structure(variants, "test_perf", mapped, {}, ())
    configs = {"a": {"k": 64, "n": 8}, "b": {"k": 128, "n": 8}, "c": {"k": 256, "n": 8}}
    said = [dispatch_condition(v, structure, sources, configs) for v in variants]
    assert re.fullmatch(
        r"not transpose_b and k <= SHORT \(src/demo/ops/cutile/gemm.py:\d+\); tests with k = 64",
        said[0],
    )
    assert said[1].endswith("TRANSPOSE_B = False; tests with k = 128 or 256")
    assert said[2].endswith("TRANSPOSE_B = True")
    beside = _found("reduce", "_sum_kernel", ("a", "b"))
    both = Structure((*variants, beside), "test_perf", mapped, {}, ())
    said_beside = dispatch_condition(beside, both, sources, configs)
    assert said_beside.endswith("; launched beside base and short")
    alone = Structure(variants[:1], "test_perf", {}, {}, ())
    assert dispatch_condition(variants[0], alone, sources, configs) == "all configs"


def test_launches_of_a_search_count_where_there_is_no_other() -> None:
    from tileir_tools.agents.a.structure import _launched

    def row(name: str, *calls: tuple[str, object]) -> dict[str, object]:
        made = [
            {"order": n, "test": test, "tuning": None if c is None else {"search": 1, "config": c}}
            for n, (test, c) in enumerate(calls, 1)
        ]
        return {"bytecode": name, "calls": made}

    dumps = Dumps(
        "dumps",
        (
            row("tried", ("t.py::test_perf[a]", {"T": 1}), ("t.py::test_perf[b]", {"T": 1})),
            row("best", ("t.py::test_perf[a]", {"T": 2}), ("t.py::test_perf[a]", None)),
        ),
        {},
    )
    kept = {(x.row["bytecode"], x.label) for x in _launched(dumps.launches)}
    assert kept == {("best", "a"), ("tried", "b")}


def test_the_best_of_searches_is_what_most_of_them_found() -> None:
    from tileir_tools.agents.a.structure import _best

    def call(search: int) -> dict[str, object]:
        return {"tuning": {"search": search, "config": {"T": 1}}}

    rows = [{"calls": [call(1), call(2), {"tuning": None}]}, {"calls": [call(3), call(4)]}, {}]
    small, large = ({"config": {"T": n}, "us": 1.0} for n in (64, 128))
    measured = {"1": [small, large], "2": [large, small], "3": [large], "9": [small, small]}
    assert _best(rows, measured) == {"T": 128}
    assert _best(rows, {}) is None


# -- the end of the response ------------------------------------------------------------------------


def test_the_final_response_is_literal() -> None:
    checks = [Check("tileir validate ir a b", "PASS: x\n", 0), Check("c", "FAIL: y\n", 1)]
    assert final_response(checks, "FAIL_FIXABLE") == (
        "<VALIDATOR_OUTPUT>\n$ tileir validate ir a b 2>&1\nPASS: x\nexit=0\n\n$ c 2>&1\nFAIL: y\nexit=1\n"
        "</VALIDATOR_OUTPUT>\nVERDICT: FAIL_FIXABLE"
    )


@needs_cutile
@needs_torch
def test_a_validator_that_fails_makes_it_fixable(tmp_path: Path, quick: None) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in ("ir", "analysis", "perf_log"):
        code = 1 if name == "analysis" else 0
        (scripts / f"validate_{name}.sh").write_text(f"echo checked; exit {code}\n")
    answer = run_agent_a(request("row_scale", tmp_path)._replace(scripts=str(scripts)))
    assert (answer.verdict, answer.exit_code) == ("FAIL_FIXABLE", 1)
    assert [check.code for check in answer.checks] == [0, 1, 0]
    assert "VERDICT: FAIL_FIXABLE" in answer.text().splitlines()[-1]
