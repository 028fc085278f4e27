"""On a GPU: what a launch there tells cuda-tile is what is worked out without one, and launches are timed.

pytest -m gpu tests/test_gpu.py
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

from tileir_tools import load
from tileir_tools.diff.whatif import what_if
from tileir_tools.model import I64, DictAttr, IntegerAttr, OptimizationHintsAttr
from tileir_tools.toolchain import signatures
from tileir_tools.toolchain.calls import Capture, capture_calls
from tileir_tools.toolchain.dump_folder import read_manifest, write_dumps
from tileir_tools.toolchain.timing import Compiled, launch_of, time_kernels


def _device() -> bool:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("cuda") is None:
        return False
    available: bool = importlib.import_module("torch").cuda.is_available()
    return available


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not _device(), reason="needs a GPU, torch and cuda-tile"),
]

LAUNCHES = str(ROOT / "benchmarks" / "launches.py")


def tensors() -> Iterator[tuple[str, Any]]:
    """Arrays of every shape, stride, offset and number format that a launch may see."""
    torch: Any = importlib.import_module("torch")

    def base(*shape: int, dtype: str = "float16") -> Any:
        return torch.zeros(*shape, device="cuda", dtype=getattr(torch, dtype))

    for shape in (
        (128,),
        (100,),
        (1,),
        (0,),
        (8,),
        (16, 128),
        (16, 100),
        (3, 5, 16),
        (128, 1),
        (1, 128),
        (1, 100),
        (4, 1, 16),
        (2, 1, 1, 3),
        (1, 1),
    ):
        yield f"shape {shape}", base(*shape)
    square = base(64, 128)
    yield "transposed", square.t()
    for first in (1, 8, 16):
        yield f"columns from {first}", square[:, first:]
    yield "every second column", square[:, ::2]
    yield "rows from 1", square[1:]
    yield "expanded", base(1, 128).expand(16, 128)
    yield "permuted", base(2, 3, 16, 8).permute(0, 2, 1, 3)
    yield "windows", base(64).as_strided((4, 8), (4, 1))
    yield "windows of a wider step", base(64).as_strided((4, 4), (8, 1))
    yield "interleaved", base(64).as_strided((4, 4), (1, 4))
    yield "interleaved and overlapping", base(64).as_strided((4, 4), (1, 3))
    for offset in (1, 2, 4, 8, 16):
        yield f"offset {offset}", base(1024)[offset:]
        yield f"offset {offset}, 4 bytes", base(1024, dtype="float32")[offset:]
    for width in (12, 20, 24, 40, 48):
        yield f"rows of {width}", base(8, width)[:, :5]
    for dtype in (
        "float64",
        "bfloat16",
        "int8",
        "uint8",
        "int32",
        "int64",
        "uint32",
        "bool",
        "float8_e4m3fn",
    ):
        yield dtype, base(32, 48).to(getattr(torch, dtype))
    yield "scalar", torch.zeros((), device="cuda")


def arguments() -> Iterator[tuple[str, Any]]:
    yield from tensors()
    found = dict(tensors())
    yield from (("int", 5), ("negative", -3), ("bool", True), ("float", 1.5), ("tuple", (3, 4.0)))
    yield "tuple with an array", (found["transposed"], 3)
    yield "list", [found["shape (16, 128)"], found["transposed"]]
    yield "list of unlike arrays", [found["shape (16, 128)"], found["rows of 12"]]
    yield "list with a size of 1", [found["shape (1, 128)"], found["shape (128, 1)"]]
    yield "list of columns", [found["shape (128, 1)"], found["shape (128, 1)"]]
    yield "tuple with a size of 1", (found["shape (128, 1)"], 3)


class _Compiled(Exception):
    """What a launch asks to be compiled."""


def _kernel(annotation: object) -> Any:
    """A kernel of one parameter that is not compiled when it is launched."""
    ct: Any = importlib.import_module("cuda.tile")

    class Watched(ct.kernel):  # type: ignore[misc]
        def _compile(self, signature: Any, *rest: object) -> object:
            raise _Compiled(signature.with_mangled_symbol("k").symbol)

    def function(a):  # type: ignore[no-untyped-def]
        pass

    # Set, for an annotation in the source is text that cuda-tile looks up outside of this function.
    function.__annotations__ = {} if annotation is None else {"a": annotation}
    return Watched(function)


def _launched(kernel: Any, value: object) -> str:
    """The symbol that cuda-tile compiles for when it launches."""
    torch: Any = importlib.import_module("torch")
    with pytest.raises(_Compiled) as raised:
        importlib.import_module("cuda.tile").launch(
            torch.cuda.current_stream(), (1,), kernel, (value,)
        )
    return str(raised.value)


def test_a_launch_is_worked_out_as_cuda_tile_does(monkeypatch: pytest.MonkeyPatch) -> None:
    ct: Any = importlib.import_module("cuda.tile")
    cases = [(f"plain {name}", None, value) for name, value in arguments()]
    cases += [(f"wide {name}", ct.IndexedWithInt64, value) for name, value in tensors()]
    cases += [(f"constant {v}", ct.Constant[int], v) for v in (0, 1, -5, 2**40, True, 0.5)]
    for name, annotation, value in cases:
        kernel = _kernel(annotation)
        launched = _launched(kernel, value)
        asked = signatures.launch_signature(kernel, (value,), "k").symbol
        with monkeypatch.context() as patch:
            patch.setattr(signatures, "_has_driver", lambda: False)
            worked_out = signatures.launch_signature(kernel, (value,), "k").symbol
        assert (worked_out, asked) == (launched, launched), name


@pytest.fixture(scope="module")
def capture() -> Capture:
    return capture_calls(LAUNCHES)


def test_what_is_launched_is_what_cuda_tile_dumps(capture: Capture) -> None:
    assert capture.launched
    assert [dump.kernel for dump in capture.dumps] == ["matmul", "softmax", "rms_norm"]
    # cuda-tile dumped the same bytes as it compiled for the launches.
    assert capture.unseen == ()


def test_the_same_is_dumped_without_launching(capture: Capture) -> None:
    without = capture_calls(LAUNCHES, arch=capture.dumps[0].arch, launch=False)
    assert not without.launched
    assert [d.bytecode for d in without.dumps] == [d.bytecode for d in capture.dumps]
    assert [d.calls for d in without.dumps] == [d.calls for d in capture.dumps]


def test_a_search_is_measured(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        f"""
import runpy, torch
from cuda.tile.tune import exhaustive_search
matmul = runpy.run_path({str(ROOT / "examples" / "kernels" / "matmul.py")!r})["matmul"]
a, b, c = (torch.randn(1024, 1024, device="cuda").half() for _ in range(3))
exhaustive_search(
    [64, 128], torch.cuda.current_stream(), lambda t: (1024 // t, 1024 // t), matmul,
    lambda t: (a, b, c, t, t, 64), quiet=True,
)
"""
    )
    capture = capture_calls(str(script))
    assert {call["tuning"]["config"] for d in capture.dumps for call in d.calls} == {64, 128}  # type: ignore[index]
    [measured] = capture.measured.values()
    assert {row["config"] for row in measured} == {64, 128}
    assert 0 < measured[0]["us"] <= measured[1]["us"]


def test_what_if_proves_a_cause_by_time(capture: Capture, tmp_path: Path) -> None:
    write_dumps(capture.dumps, str(tmp_path))
    launch = launch_of(read_manifest(str(tmp_path)), "matmul")
    row = next(d for d in capture.dumps if d.kernel == "matmul")
    path = tmp_path / "reference.tileirbc"
    path.write_bytes(row.bytecode)
    reference, generated = load(path), load(path)
    hint = DictAttr((("default", DictAttr((("latency", IntegerAttr(1, I64)),))),))
    for op in generated.find("load_view_tko"):
        op.attributes["optimization_hints"] = OptimizationHintsAttr(hint)
    arch = row.arch
    assert arch is not None
    found = what_if(reference, generated, arch, timer=lambda code: time_kernels(launch, code)[0])
    timings = {t.name: t.timing for t in found.trials}
    nothing, everything = timings["nothing"], timings["everything"]
    assert found.timing is not None
    assert nothing is not None
    assert everything is not None
    # Measured on an H200: 2.2 times slower with the fault.
    assert nothing.median > 1.3 * found.timing.median
    assert everything.median < 1.1 * found.timing.median
    assert all(t.same for t in timings.values() if t is not None)


def test_another_result_is_seen(capture: Capture, tmp_path: Path) -> None:
    write_dumps(capture.dumps, str(tmp_path))
    launch = launch_of(read_manifest(str(tmp_path)), "softmax")
    from tileir_tools.toolchain.compiling import compile_module

    row = next(d for d in capture.dumps if d.kernel == "softmax")
    path = tmp_path / "reference.tileirbc"
    path.write_bytes(row.bytecode)
    modules = [load(path), load(path)]
    add = next(op for op in modules[1].find("exp"))
    add.result.replace_all_uses_with(add.operands[0])
    assert row.arch is not None
    codes = [Compiled(row.symbol, compile_module(m, row.arch).cubin) for m in modules]
    timings, machine = time_kernels(launch, [*codes, codes[0]], launches=4)
    assert [t.same for t in timings] == [True, False, True]
    assert all(t.launches == 4 and t.median > 0 for t in timings)
    assert "device" in machine
