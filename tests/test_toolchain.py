"""NVIDIA's tools: found, run, read; and tools that misbehave in every way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import FIXTURES
from test_cli import check, tool

from tileir_tools import ToolError, load
from tileir_tools.read import parse
from tileir_tools.toolchain import evidence_store, find_tool, run_tool
from tileir_tools.toolchain.compiling import compile_module, listed_versions, numbered
from tileir_tools.toolchain.cubin import block_threads
from tileir_tools.toolchain.devices import device_of
from tileir_tools.toolchain.find import (
    all_tools,
    package_folders,
    tool_environment,
    tool_version,
)
from tileir_tools.toolchain.machine_code import Function, parse_functions
from tileir_tools.toolchain.occupancy import Occupancy, occupancy
from tileir_tools.toolchain.remarks import parse_remarks

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.tileirbc"

Fake = Callable[[str, str], Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts a shell script in the place of a tool."""

    def make(name: str, body: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv(f"{name.upper().replace('-', '_')}_BIN", str(path))
        return path

    return make


# -- running ----------------------------------------------------------------------------------------


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_a_tool_that_hangs_is_killed_with_its_children(fake: Fake, tmp_path: Path) -> None:
    path = fake("tileiras", f"sleep 100 &\necho $! > {tmp_path}/child\nwait")
    with pytest.raises(ToolError, match=r"tileiras: killed: it took longer than 0\.5 s") as caught:
        run_tool([path], timeout=0.5)
    assert caught.value.kind == "timeout"
    assert not _alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("body", ["kill -SEGV $$", "exit 139", "bash -c 'kill -SEGV $$'"])
def test_a_tool_that_crashes(fake: Fake, body: str, tmp_path: Path) -> None:
    path = fake("tileiras", f"cd {tmp_path}\n{body}")
    with pytest.raises(ToolError, match="tileiras: crashed: SIGSEGV") as caught:
        run_tool([path], timeout=10)
    assert caught.value.kind == "crashed"
    assert not list(tmp_path.glob("core*"))


def test_core_files_are_off_and_input_is_empty(fake: Fake) -> None:
    done = run_tool([fake("tileiras", "ulimit -c\ncat\nexit 7")], timeout=10)
    assert (done.code, done.stdout) == (7, b"0\n")


def test_a_tool_that_is_no_program(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(ToolError, match="cannot be started") as caught:
            run_tool([path], timeout=1)
        assert caught.value.kind == "missing"


def test_an_interrupt_leaves_nothing_running(fake: Fake, tmp_path: Path) -> None:
    # Reading from a pipe waits until the tool runs.
    os.mkfifo(tmp_path / "pid")
    path = fake("tileiras", f"echo $$ > {tmp_path}/pid\nexec sleep 100")
    code = (
        "import sys; from tileir_tools.toolchain import run_tool\n"
        "try: run_tool([sys.argv[1]], timeout=90)\nexcept KeyboardInterrupt: sys.exit(42)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, path], cwd=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 42
    assert not _alive(pid)


# -- finding ----------------------------------------------------------------------------------------


def test_a_variable_goes_before_everything(fake: Fake) -> None:
    path = fake("tileiras", "")
    found = find_tool("tileiras")
    assert (found.path, found.origin, found.problem) == (str(path), "variable TILEIRAS_BIN", None)
    gone = find_tool("tileiras", {"TILEIRAS_BIN": "/absent/tileiras"})
    assert gone.problem == "TILEIRAS_BIN=/absent/tileiras names no program"


def test_path_and_cuda_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileir_tools.toolchain.find.package_folders", list)
    home = tmp_path / "cuda"
    for folder in (tmp_path / "bin", home / "bin"):
        folder.mkdir(parents=True)
        (folder / "ptxas").write_text("#!/bin/bash\n")
        (folder / "ptxas").chmod(0o755)
    both = {"PATH": str(tmp_path / "bin"), "CUDA_HOME": str(home)}
    assert find_tool("ptxas", both).origin == f"PATH ({tmp_path / 'bin'})"
    only = {"PATH": "/absent", "CUDA_HOME": str(home)}
    assert find_tool("ptxas", only).path == str(home / "bin" / "ptxas")
    nothing = find_tool("ptxas", {"PATH": "/absent"})
    assert (nothing.path, nothing.problem) == (None, "not found")


def test_a_foreign_cuda_home_does_not_reach_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/usr/local/cuda-12")
    assert "CUDA_HOME" not in tool_environment("/opt/tools/tileiras")
    assert tool_environment("/usr/local/cuda-12/bin/tileiras")["CUDA_HOME"] == "/usr/local/cuda-12"
    assert tool_environment("/opt/tools/tileiras")["PATH"].startswith("/opt/tools:")


def test_an_older_ptxas_is_named(fake: Fake) -> None:
    fake("tileiras", "echo 'Cuda compilation tools, release 13.5, V13.5.37'")
    fake("ptxas", "echo 'Cuda compilation tools, release 12.9, V12.9.86'")
    tools = {t.name: t for t in all_tools()}
    assert tools["tileiras"].version == "13.5.37"
    assert tools["ptxas"].version == "12.9.86"
    assert "older than tileiras 13.5.37" in (tools["ptxas"].problem or "")


def test_doctor(fake: Fake) -> None:
    fake("tileiras", "echo 'release 13.5, V13.5.37'")
    fake("cuobjdump", "echo nonsense")
    fake("nvdisasm", "exit 139")
    done = tool("tileir", "doctor")
    assert done.returncode == 1
    text = done.stdout.decode()
    assert "ok       tileiras       13.5.37" in text
    assert "resources and machine code of a cubin: does not say its version" in text
    assert "nvdisasm: crashed: SIGSEGV" in text
    assert "-m pip install nvidia-cuda-cuobjdump" in text
    rows = {
        row["name"]: row
        for row in check(tool("tileir", "doctor", "--format", "json").stdout)["tools"]
    }  # type: ignore[attr-defined]
    assert rows["cuobjdump"]["problem"] == "does not say its version"


# -- reading what they say --------------------------------------------------------------------------

REMARKS = """--- !Passed
Pass:            Memory
Name:            RemarkMemoryLoadInstructionSelected
DebugLoc:        { File: '/operations', Line: 12, Column: 1 }
Function:        k
Args:
  - RemarkId:    4
  - Remark:      Load instruction selected
  - Instruction: TMA Load instruction
  - Reason:      aligned
  - Reason:      aligned
...
--- !Missed
Pass:            Memory
Name:            RemarkTensorViewIndexTypeNarrowing
Function:        k
Args:
  - RemarkId:    9
  - Remark:      'Could not narrow: 64 bits'
...
"""


def test_remarks_are_read_once_each_by_place() -> None:
    pytest.importorskip("yaml")
    first, second = parse_remarks(REMARKS + REMARKS.replace("RemarkId:    4", "RemarkId:    7"))
    assert (first.kind, first.place, first.message) == ("Missed", 0, "Could not narrow: 64 bits")
    assert (second.kind, second.place, second.instruction) == ("Passed", 12, "TMA Load instruction")
    assert second.details == (("Instruction", "TMA Load instruction"), ("Reason", "aligned"))
    assert parse_remarks("") == ()


@pytest.mark.parametrize(
    "text", ["--- !Passed\nPass: x\n", "--- [1", "--- 5\n", "--- !A\nArgs: [1]\n"]
)
def test_remarks_that_are_none(text: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(ToolError, match="its remarks cannot be read") as caught:
        parse_remarks(text)
    assert caught.value.kind == "garbage"


RESOURCES = """
Resource usage:
 Common:
  GLOBAL:64 CONSTANT[4]:8
 Function k:
  REG:255 STACK:1808 SHARED:214152 LOCAL:0 CONSTANT[0]:1024 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
SASS = """
\tcode for sm_90a
\t\tFunction : k
        /*0000*/                   LDC R1, c[0x0][0x28] ;          /* 0x00000a00ff017b82 */
                                                                   /* 0x000fe20000000800 */
        /*0010*/               @!P0 LDL.LU R2, [R1+0x10] ;          /* 0x0000000000057919 */
        /*0020*/               @UP1 UTMALDG.2D [UR8], [UR4] ;       /* 0x0000000000057919 */
        /*0030*/                   STL [R1+0x10], R2 ;             /* 0x0000000000057919 */
        /*0040*/                   HGMMA.64x128x16.F32 R24 ;       /* 0x0000000000057919 */
        /*0050*/                   LDG.E R3, [R2.64] ;             /* 0x0000000000057919 */
"""


def test_resources_and_machine_code() -> None:
    (function,) = parse_functions(RESOURCES, SASS)
    assert (function.registers, function.stack, function.shared) == (255, 1808, 214152)
    assert function.constant == 1024
    assert function.instructions == {
        "HGMMA": 1,
        "LDC": 1,
        "LDG": 1,
        "LDL": 1,
        "STL": 1,
        "UTMALDG": 1,
    }
    assert function.classes == {
        "local memory": 2,
        "other": 1,
        "TMA": 1,
        "tensor core": 1,
        "global memory": 1,
    }
    assert function.spills == 2
    with pytest.raises(ToolError, match="no function in what it prints"):
        parse_functions("", SASS)


# -- compiling --------------------------------------------------------------------------------------

_WRITES = 'while [ "$1" != -o ]; do shift; done; {} > "$2"'


def test_every_way_of_failing_is_named(fake: Fake, tmp_path: Path) -> None:
    module = load(MATMUL)
    before = set(Path("/tmp").glob("tileir-*"))
    fake("cuobjdump", "echo nothing")
    for body, kind, message in (
        (
            "echo 'error: no' >&2; exit 1",
            "failed",
            r"cannot compile for sm_90 \(exit status 1\): error: no",
        ),
        ("echo 'failed to compile Tile IR program' >&2; exit 5", "failed", "see `tileir doctor`"),
        ("exit 0", "failed", "it says nothing"),
        ("kill -ABRT $$", "crashed", "SIGABRT"),
        (_WRITES.format("echo cubin"), "garbage", "what it wrote is no cubin: Magic number"),
        (_WRITES.format("cat /bin/sh"), "garbage", "cuobjdump: no function"),
    ):
        fake("tileiras", body)
        with pytest.raises(ToolError, match=message) as caught:
            compile_module(module, "sm_90", timeout=20)
        assert caught.value.kind == kind
    fake("tileiras", "sleep 50")
    with pytest.raises(ToolError, match="longer than"):
        compile_module(module, "sm_90", timeout=0.5)
    assert set(Path("/tmp").glob("tileir-*")) == before


def test_a_full_disk_is_an_error(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("tileiras", "exit 0")
    fake("cuobjdump", "exit 0")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ToolError, match="its files cannot be written: No space left on device"):
        compile_module(load(MATMUL), "sm_90")


def test_the_command_with_a_tool_that_fails(fake: Fake, tmp_path: Path) -> None:
    fake("tileiras", "exit 139")
    fake("cuobjdump", "")
    done = tool("tileir", "compile", MATMUL, "--arch", "sm_90", "--cubin", tmp_path / "k.cubin")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"error: tileiras: crashed: SIGSEGV\n"
    assert not (tmp_path / "k.cubin").exists()
    assert tool("tileir", "compile", MATMUL).returncode == 3


def test_a_missing_tool_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIRAS_BIN", "/absent/tileiras")
    with pytest.raises(ToolError, match="-m pip install nvidia-cuda-tileiras") as caught:
        compile_module(load(MATMUL), "sm_90")
    assert caught.value.kind == "missing"


def test_numbered_operations_keep_the_kernel() -> None:
    module = load(MATMUL)
    before = module.to_text(debug_info=True)
    copy = numbered(module)
    assert copy.to_text() == module.to_text()
    assert module.to_text(debug_info=True) == before
    places = [op.location.file_line for op in copy.walk()]
    assert places == [("/operations", k + 1) for k in range(len(places))]


REAL = bool(package_folders()) and all(
    find_tool(name).path for name in ("tileiras", "ptxas", "cuobjdump", "nvdisasm")
)
needs_tools = pytest.mark.skipif(not REAL, reason="needs tileiras, ptxas, cuobjdump and nvdisasm")


@needs_tools
def test_what_the_compiler_says_of_a_real_kernel() -> None:
    module = load(MATMUL)
    evidence = compile_module(module, "sm_90")
    (function,) = evidence.functions
    assert function.symbol == module.entries[0].symbol
    assert function.instructions["HGMMA"] > 0
    assert function.instructions["UTMALDG"] > 0
    assert (function.spills, function.stack) == (0, 0)
    assert function.shared > 100_000
    operations = [None, *module.walk()]
    said = {
        (op.name if op else "", remark.instruction)
        for remark in evidence.remarks
        if (op := operations[remark.place]) is not None
    }
    assert ("load_view_tko", "TMA Load instruction") in said
    assert ("mmaf", "Tensor-core SM90") in said
    assert evidence.cubin[:4] == b"\x7fELF"


@needs_tools
def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "k.cubin"
    done = tool(
        "tileir", "compile", MATMUL.with_suffix(".mlir"), "--arch", "sm_90", "--cubin", out,
        "--format", "json",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    (target,) = check(done.stdout)["targets"]  # type: ignore[misc]
    assert target["cubin_bytes"] == out.stat().st_size
    lines = {r["operation"]["line"] for r in target["remarks"] if r["operation"]}
    assert 43 in lines
    assert "13.4" in listed_versions()


@needs_tools
def test_what_was_compiled_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "kept"))
    module = load(MATMUL)
    first = compile_module(module, "sm_90")
    [file] = (tmp_path / "kept").iterdir()
    assert compile_module(module, "sm_90") == first  # To the second that it took: not compiled.
    assert first.versions["tileiras"] == tool_version("tileiras")
    # Another target, and what is broken, is compiled.
    compile_module(module, "sm_100")
    assert len(list((tmp_path / "kept").iterdir())) == 2
    for broken in ("", "{}", "[1, 2]", file.read_text().replace('"registers"', '"registres"')):
        file.write_text(broken)
        again = compile_module(module, "sm_90")
        assert again._replace(seconds=0, cubin=b"") == first._replace(seconds=0, cubin=b"")
    monkeypatch.setenv("TILEIR_CACHE_DIR", "off")
    compile_module(module, "sm_90")
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_the_store_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(evidence_store, "_MOST", 3)
    nothing = {"functions": (), "remarks": (), "seconds": 1.0, "cubin": b"x", "versions": {}}
    for number in range(5):
        evidence_store.keep(str(number), nothing)
        os.utime(tmp_path / f"{number}.json", (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.json", "3.json", "4.json"]
    assert evidence_store.fetch("4") == nothing
    assert evidence_store.fetch("0") is None


@needs_tools
def test_a_block_of_a_real_kernel() -> None:
    evidence = compile_module(load(MATMUL), "sm_90")
    (function,) = evidence.functions
    # Two warp groups; 255 registers for each of 256 threads are all that there are.
    assert function.threads == 256
    hopper = device_of("sm_90")
    assert hopper is not None
    assert occupancy(function, hopper) == Occupancy(1, 8, "registers")
    with pytest.raises(ToolError, match="what it wrote is no cubin"):
        block_threads(evidence.cubin[:100])


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "arch", "expected"),
    [
        (32, 0, 256, "sm_90", Occupancy(8, 64, "registers")),
        (33, 0, 256, "sm_90", Occupancy(6, 48, "registers")),
        (33, 0, 32, "sm_90", Occupancy(32, 32, "blocks")),
        (40, 0, 64, "sm_80", Occupancy(24, 48, "registers")),
        (16, 0, 256, "sm_90", Occupancy(8, 64, "threads")),
        (16, 0, 32, "sm_90", Occupancy(32, 32, "blocks")),
        (64, 100 * 1024, 128, "sm_90", Occupancy(2, 8, "shared memory")),
        (64, 48 * 1024, 128, "sm_86", Occupancy(2, 8, "shared memory")),
        (64, 0, 512, "sm_120", Occupancy(2, 32, "registers")),
        (64, 0, 0, "sm_90", None),
    ],
)
def test_blocks_that_fit(
    registers: int, shared: int, threads: int, arch: str, expected: Occupancy | None
) -> None:
    function = Function("k", registers, 0, shared, 0, 0, threads, {}, {})
    device = device_of(arch)
    assert device is not None
    assert occupancy(function, device) == expected


@needs_tools
def test_facts_and_evidence_together() -> None:
    done = tool("tileir", "show", MATMUL, "--arch", "sm_90", "--evidence", "--format", "json")
    [row] = check(done.stdout)["evidence"]  # type: ignore[misc]
    [function] = row["functions"]
    assert function["occupancy"] == {"blocks": 1, "warps": 8, "limit": "registers"}
    assert row["versions"]["tileiras"] == tool_version("tileiras")
    text = tool("tileir", "show", MATMUL, "--arch", "sm_90", "--evidence").stdout.decode()
    assert (
        "256 threads a block; 1 blocks at a time on a multiprocessor, limited by registers" in text
    )
    assert tool("tileir", "show", MATMUL, "--evidence").stderr == (
        b"error: --evidence needs a target: --arch sm_90\n"
    )


@needs_tools
@pytest.mark.slow
def test_every_version_that_tileiras_lists_compiles() -> None:
    module = load(MATMUL)
    versions = listed_versions()
    assert set(versions) >= {"13.1", "13.2", "13.3", "13.4"}
    for version in versions:
        rewritten = parse(module.to_bytecode(version))
        assert rewritten.bytecode_version == version
        (function,) = compile_module(rewritten, "sm_90", cached=False).functions
        assert function.instructions["HGMMA"] > 0, version
