"""Kernels that a program launches: what is caught without a GPU, and what is written down of it."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from samples import ROOT
from test_cli import check, tool
from test_dump import needs_cutile

from tileir_tools import load
from tileir_tools.errors import InputError, ToolError, UsageError
from tileir_tools.toolchain.calls import capture_calls
from tileir_tools.toolchain.compile_cache import default_cache, read_cache
from tileir_tools.toolchain.dump_folder import collect, read_manifest
from tileir_tools.toolchain.triton import capture_triton

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch (a CPU build is enough)"
)

# A tensor as far as a launch looks at it, so that programs need no torch.
TENSOR = """
import cuda.tile as ct

class Tensor:
    def __init__(self, shape, stride, dtype="float16", size=2, offset=0):
        self.shape, self._stride, self.dtype, self._size = shape, stride, f"torch.{dtype}", size
        self._offset = offset
    def stride(self): return self._stride
    def element_size(self): return self._size
    def storage_offset(self): return self._offset

@ct.kernel(num_ctas=2)
def scale(source, target, factor, TM: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(source, (i, 0), (TM, 16), latency=4)
    ct.store(target, (i, 0), (tile.astype(ct.float32) * factor).astype(target.dtype))

x, y = Tensor((64, 16), (16, 1)), Tensor((64, 16), (16, 1))
"""


def program(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(TENSOR + textwrap.dedent(text))
    return str(path)


@needs_cutile
def test_a_launch_is_written_down(tmp_path: Path) -> None:
    script = program(tmp_path, "ct.launch(None, (4, 1, 1), scale, (x, y, 2.0, 16)); print('done')")
    capture = capture_calls(script, arch="sm_100", version="13.3")
    [dump] = capture.dumps
    assert dump.kernel == "scale"
    # A float16 stride of 16 is 32 bytes, of which 16 are asked for: 8 elements.
    assert dump.symbol == ("scale_Kt1_A2f16_1v8l0_2t1_3i16_p16_A2f16_1v8l0_2t1_3i16_p16_Sf32_I16")
    assert dump.source == (script, 12)
    assert dump.constants == {"TM": 16}
    assert dump.parameters == {
        "source": "float16[64,16]:(16,1)",
        "target": "float16[64,16]:(16,1)",
        "factor": "float 2.0",
    }
    assert dump.options == {"num_ctas": "2", "opt_level": "3"}
    [call] = dump.calls
    assert (call["order"], call["grid"], call["tuning"]) == (1, [4, 1, 1], None)
    assert call["caller"] == {"file": script, "line": 19}
    arguments: Any = call["arguments"]
    array = {"kind": "array", "dtype": "float16", "shape": [64, 16], "stride": [16, 1], "offset": 0}
    assert arguments == [
        array, array, {"kind": "number", "value": 2.0},
        {"kind": "number", "value": 16, "as": "constant"},
    ]  # fmt: skip
    assert capture.output[0] == "done\n"
    assert not capture.launched


@needs_cutile
def test_equal_kernels_are_dumped_once(tmp_path: Path) -> None:
    script = program(
        tmp_path,
        """
        odd = Tensor((64, 16), (17, 1), offset=1)
        for grid in (1, 2):
            ct.launch(None, (grid,), scale, (x, y, 2.0, 16))
        ct.launch(None, (1,), scale, (odd, y, 2.0, 16))
        ct.launch(None, (1,), scale.replace_hints(num_ctas=4), (x, y, 2.0, 16))
        """,
    )
    dumps = capture_calls(script, arch="sm_100").dumps
    assert [[call["order"] for call in dump.calls] for dump in dumps] == [[1, 2], [3], [4]]
    assert "scale_Kt1_A2f16_1l0_2t1_3i16_A2f16" in dumps[1].symbol
    assert dumps[2].options["num_ctas"] == "4"


@needs_cutile
def test_a_search_gives_every_configuration(tmp_path: Path) -> None:
    script = program(
        tmp_path,
        """
        from types import SimpleNamespace
        from cuda.tile.tune import exhaustive_search
        found = exhaustive_search(
            [SimpleNamespace(tm=tm, ctas=ctas) for tm in (15, 16, 32) for ctas in (1, 2)],
            None,
            lambda cfg: (64 // cfg.tm,),
            scale,
            lambda cfg: (x, y, 2.0, cfg.tm),
            lambda cfg: {"num_ctas": cfg.ctas},
        )
        best = found.best.config
        ct.launch(None, (1,), scale.replace_hints(num_ctas=best.ctas), (x, y, 2.0, best.tm))
        """,
    )
    capture = capture_calls(script, arch="sm_100")
    configs = [call["tuning"] for dump in capture.dumps for call in dump.calls]
    first: Any = {"search": 1, "config": {"tm": 16, "ctas": 1}}
    assert configs[:2] == [first, None]  # The best is the first that compiles, and is launched.
    others: list[Any] = configs[2:]
    assert [c["config"] for c in others] == [
        {"tm": 16, "ctas": 2}, {"tm": 32, "ctas": 1}, {"tm": 32, "ctas": 2}
    ]  # fmt: skip
    # 15 is no power of two.
    assert [f["tuning"]["config"]["tm"] for f in capture.failures] == [15, 15]
    assert all(f["kernel"] == "scale" and f["error"] for f in capture.failures)


@needs_cutile
@pytest.mark.parametrize(
    ("text", "message", "timeout"),
    [
        ("raise ValueError('no such luck')", "exit status 1: ValueError: no such luck", 120),
        ("import sys; sys.exit(7)", "exit status 7: it says nothing", 120),
        ("import os; os.abort()", "crashed: SIGABRT", 120),
        ("import no_such_module", "No module named 'no_such_module'", 120),
        ("while True: pass", "took longer than 1 s", 1),
    ],
)
def test_programs_that_fail(tmp_path: Path, text: str, message: str, timeout: float) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        capture_calls(program(tmp_path, text), arch="sm_100", timeout=timeout)
    assert "program.py" in str(caught.value)


@needs_cutile
def test_what_a_failing_program_launched_can_be_kept(tmp_path: Path) -> None:
    text = "ct.launch(None, (1,), scale, (x, y, 2.0, 16)); raise SystemExit(1)"
    capture = capture_calls(program(tmp_path, text), arch="sm_100", keep_going=True)
    assert [dump.kernel for dump in capture.dumps] == ["scale"]


def test_wrong_requests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.py: error: no such file"):
        capture_calls("absent.py", arch="sm_100")
    script = program(tmp_path, "")
    with pytest.raises(UsageError, match="no device is known for sm_101; known: sm_80"):
        capture_calls(script, arch="sm_101")


@needs_cutile
def test_the_command_writes_a_folder(tmp_path: Path) -> None:
    script = program(
        tmp_path, "import sys; print(sys.argv[1]); ct.launch(None, (1,), scale, (x, y, 2.0, 16))"
    )
    done = tool(
        "tileir", "dump", "--call", script, "--arch", "sm_90", "--arch", "sm_100",
        "-o", tmp_path / "out", "--", "hello",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"hello\nhello\n")
    manifest: Any = check((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest == read_manifest(str(tmp_path / "out"))
    assert [row["bytecode"] for row in manifest["kernels"]] == [
        "scale__sm_90.tileirbc", "scale__sm_100.tileirbc"
    ]  # fmt: skip
    assert manifest["script"] == {"file": script, "arguments": ["hello"]}
    for row in manifest["kernels"]:
        assert load(tmp_path / "out" / row["canonical"]).entries[0].symbol == row["symbol"]
    nothing = tool(
        "tileir", "dump", "--call", program(tmp_path, ""), "--arch", "sm_90", "-o", tmp_path / "no"
    )
    assert nothing.returncode == 3
    assert b"launches no cuTile kernel" in nothing.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    "arguments",
    [(), ("--from", "a", "--cache"), ("k.py:k", "--call", "s.py", "--from", "d"), ("a:b", "c:d")],
)
def test_one_way_at_a_time(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = tool("tileir", "dump", *arguments, "-o", tmp_path / "out")
    assert done.returncode == 3
    assert not (tmp_path / "out").exists()


def test_a_folder_of_dumps(tmp_path: Path) -> None:
    source, out = tmp_path / "jit", tmp_path / "out"
    (source / "deep").mkdir(parents=True)
    kernels = sorted((ROOT / "tests" / "fixtures" / "kernels").glob("matmul__*bc13.3.tileirbc"))[:2]
    for number, path in enumerate((*kernels, kernels[0])):
        (source / "deep" / f"{number}.tileirbc").write_bytes(path.read_bytes())
    (source / "broken.tileirbc").write_bytes(kernels[0].read_bytes()[:100])
    (source / "notes.txt").write_text("not looked at")
    done = tool("tileir", "dump", "--from", source, "-o", out)
    assert done.returncode == 0
    assert b"broken.tileirbc: error:" in done.stderr
    manifest: Any = check((out / "manifest.json").read_bytes())
    symbols = [load(path).entries[0].symbol for path in kernels]
    assert [row["symbol"] for row in manifest["kernels"]] == symbols
    row = manifest["kernels"][0]
    assert row["kernel"] == "matmul"
    assert row["constants"] == {"#4": 128, "#5": 128, "#6": 64}
    assert (out / row["bytecode"]).read_bytes() == kernels[0].read_bytes()
    with pytest.raises(InputError, match="no such folder"):
        collect(str(tmp_path / "absent"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no kernel in a file of this folder"):
        collect(str(tmp_path / "empty"))


# -- the compile cache ------------------------------------------------------------------------------


class Cached(NamedTuple):
    key: str
    blob: bytes
    metadata: str | None


def write_cache(folder: Path, rows: list[Cached], *, metadata: bool = True) -> None:
    with sqlite3.connect(folder / "cache.db") as connection:
        more = ", metadata TEXT" if metadata else ""
        connection.execute(
            f"CREATE TABLE cache (key TEXT PRIMARY KEY, blob BLOB, blob_size INTEGER, atime REAL{more})"
        )
        for row in rows:
            values = (row.key, row.blob, len(row.blob), 0.0, *([row.metadata] if metadata else []))
            marks = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO cache VALUES ({marks})", values)
    connection.close()


def test_the_compile_cache(tmp_path: Path) -> None:
    said = {
        "kernel_names": ["scale_Kt1_Sf32"],
        "compiler_version": "release 13.5, V13.5.37",
        "compilation_time_seconds": 0.5,
        "remarks": "--- !Passed\n",
        "version": 1,
    }
    rows = [
        Cached("b" * 64, b"\x7fELF two", None),
        Cached("a" * 64, b"\x7fELF one", json.dumps(said)),
        Cached("c" * 64, b"\x7fELF three", "{broken"),
    ]
    write_cache(tmp_path, rows)
    before = (tmp_path / "cache.db").read_bytes()
    one, two, three = read_cache(str(tmp_path))
    assert (one.symbols, one.seconds, one.cubin) == (("scale_Kt1_Sf32",), 0.5, b"\x7fELF one")
    assert one.compiler == "release 13.5, V13.5.37"
    assert (two.symbols, two.compiler, two.remarks) == ((), None, "")
    assert (three.symbols, three.cubin) == ((), b"\x7fELF three")
    done = tool("tileir", "dump", "--cache", tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 0
    manifest: Any = check((tmp_path / "out" / "manifest.json").read_bytes())
    assert [row["cubin"] for row in manifest["cached"]] == [
        "scale__aaaaaaaaaaaa.cubin", "kernel__bbbbbbbbbbbb.cubin", "kernel__cccccccccccc.cubin"
    ]  # fmt: skip
    assert (tmp_path / "out" / "scale__aaaaaaaaaaaa.cubin").read_bytes() == b"\x7fELF one"
    assert (tmp_path / "cache.db").read_bytes() == before


def test_an_old_compile_cache(tmp_path: Path) -> None:
    write_cache(tmp_path, [Cached("a", b"\x7fELF", None)], metadata=False)
    [only] = read_cache(str(tmp_path))
    assert (only.key, only.symbols) == ("a", ())


def test_what_is_no_compile_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such file: no compile cache"):
        read_cache(str(tmp_path))
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(InputError, match="no compile cache of cuda-tile: file is not a database"):
        read_cache(str(tmp_path))
    monkeypatch.setenv("CUDA_TILE_CACHE_DIR", "/elsewhere")
    assert default_cache() == "/elsewhere"


# -- aliases, Triton --------------------------------------------------------------------------------


@needs_cutile
def test_an_alias_of_a_launched_kernel_is_proven(tmp_path: Path) -> None:
    script = program(tmp_path, "ct.launch(None, (1,), scale, (x, y, 2.0, 16))")
    done = tool(
        "tileir", "alias-dump", "scale", "--as", "rescale", "--call", script, "--arch", "sm_100",
        "--format", "json", "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    proof = check(done.stdout)
    assert (proof["proven"], proof["op"]) == (True, "rescale")
    module = load(tmp_path / "out" / "rescale__scale__sm_100.tileirbc")
    alias = module.entries[0]
    original = load(tmp_path / "out" / "scale__sm_100.tileirbc").entries[0]
    assert alias.symbol == f"rescale__{original.symbol}"
    # The documented recipe loses them.
    assert alias.hints is original.hints
    assert "optimization_hints=<default = {num_cta_in_cga = 2}>" in module.to_text()
    other = tool(
        "tileir", "alias-dump", "other", "--as", "rescale", "--call", script, "--arch", "sm_100",
        "-o", tmp_path / "none",
    )  # fmt: skip
    assert (other.returncode, other.stdout) == (3, b"")
    assert b"launches no kernel 'other'" in other.stderr
    assert not (tmp_path / "none").exists()


def test_triton_without_its_backend(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="triton-tileir: not installed") as caught:
        capture_triton(program(tmp_path, ""))
    assert caught.value.kind == "missing"


def test_triton_with_a_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = next((ROOT / "tests" / "fixtures" / "kernels").glob("matmul__*bc13.3.tileirbc"))
    backend = tmp_path / "site" / "triton" / "backends" / "tileir"
    backend.mkdir(parents=True)
    for folder in (backend, backend.parent, backend.parent.parent):
        (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    script = tmp_path / "program.py"
    script.write_text(
        f"""
import os, pathlib, shutil
assert os.environ["ENABLE_TILE"] == "1"
folder = pathlib.Path(os.environ["TRITON_CACHE_DIR"]) / "ABC"
folder.mkdir()
shutil.copy({str(kernel)!r}, folder / "matmul.tileirbc")
"""
    )
    [dump] = capture_triton(str(script))
    assert dump.bytecode == kernel.read_bytes()


@needs_cutile
@pytest.mark.parametrize(
    ("value", "symbol"),
    [
        ("Tensor((1,), (1,))", "k_Kt2_A1f16_1s1t1_p16"),
        ("Tensor((128, 1), (1, 1))", "k_Kt2_A2f16_1i16_2s1_3t1_p16"),
        ("Tensor((100, 1), (1, 1))", "k_Kt2_A2f16_2s1_3t1_p16"),
        (
            "[Tensor((128, 1), (1, 1)), Tensor((128, 1), (1, 1))]",
            "k_Kt2_LiA2f16_1i16_2s1_3t1_p16",
        ),
        (
            "[Tensor((1, 128), (128, 1)), Tensor((16, 128), (128, 1))]",
            "k_Kt1_LiA2f16_1v8l0_2i16t1_p16",
        ),
    ],
)
def test_a_size_of_one_is_compiled_in(tmp_path: Path, value: str, symbol: str) -> None:
    """As a launch on an H200 asked for it."""
    script = program(
        tmp_path,
        f"""
        @ct.kernel
        def k(a):
            pass
        ct.launch(None, (1,), k, ({value},))
        """,
    )
    [dump] = capture_calls(script, arch="sm_100", launch=False).dumps
    assert dump.symbol.startswith(symbol)


# -- PyTorch ----------------------------------------------------------------------------------------


@needs_cutile
@needs_torch
@pytest.mark.parametrize("tensors", ["meta", "cpu"])
def test_torch_believes_in_a_device(tmp_path: Path, tensors: str) -> None:
    script = program(
        tmp_path,
        """
        import torch
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1
        assert torch.cuda.get_device_capability() == (10, 0)
        assert torch.cuda.get_device_properties("cuda").multi_processor_count == 148
        a = torch.randn(64, 32, device="cuda", dtype=torch.float16)
        b = torch.ones(64, 32).cuda().half()
        assert a.is_cuda and b.is_cuda and a.device == torch.device("cuda:0") == (a + b).device
        c = torch.empty_like(a)[:, 16:]
        assert c.to("cuda").to(torch.float32).new_zeros(3).is_cuda
        with torch.cuda.stream(torch.cuda.current_stream()):
            ct.launch(torch.cuda.current_stream(), (1,), scale, (a[:, :16], c, 2.0, 16))
        torch.cuda.synchronize()
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            torch.cuda.synchronize()
        assert sum(event.count for event in profiled.key_averages()) == 0
        assert torch.allclose(a, a)
        """,
    )
    [dump] = capture_calls(script, arch="sm_100", tensors=tensors, launch=False).dumps
    assert dump.parameters["source"] == "float16[64,16]:(32,1)"
    assert dump.symbol.startswith("scale_Kt1_A2f16_1v8l0_2t1_3i16_p16_A2f16_1v8l0_2t1_3i16_p16_")


@needs_cutile
@needs_torch
def test_a_program_that_looks_into_its_tensors(tmp_path: Path) -> None:
    script = program(
        tmp_path,
        """
        import torch
        n = int(torch.tensor([16], device="cuda").item())
        ct.launch(None, (1,), scale, (x, y, 2.0, n))
        """,
    )
    with pytest.raises(ToolError, match="looks into its tensors: try --tensors cpu"):
        capture_calls(script, arch="sm_100", launch=False)
    [dump] = capture_calls(script, arch="sm_100", launch=False, tensors="cpu").dumps
    assert dump.constants == {"TM": 16}
