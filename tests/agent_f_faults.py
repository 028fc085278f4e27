"""Faults for agent F: kernels' folders as the agents before leave them, with one fault each.

    python tests/agent_f_faults.py [--no-evidence]

prints the table of docs/agent_f.md. References and generated kernels are our own, compiled by cuda-tile; a
fault is an edit of the generated IR, of the wrapper, or of what was measured. Times are made up: a slow
configuration is as much slower as the case says.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ir_faults import Edit, on_entry, on_loads, without_alignment

from tileir_tools.agents.f import Request, run_agent_f
from tileir_tools.agents.f.diagnosis import Diagnosis
from tileir_tools.agents.workspace import open_workspace
from tileir_tools.bench.records import Config, KernelTime, Measurement
from tileir_tools.bench.results_block import write_results
from tileir_tools.model import (
    I64,
    BoolAttr,
    IntegerAttr,
    Module,
)
from tileir_tools.read import load, parse
from tileir_tools.sources import find_project

FIXTURES = Path(__file__).parent / "fixtures"
PROJECT = FIXTURES / "project"
PAIRS = FIXTURES / "pairs"
SIZES = (512, 1024, 2048, 4096)

# File of the project -> (text that is there, what stands in its place).
Sources = Mapping[str, tuple[str, str]]


class Case(NamedTuple):
    """A fault.

    Attributes:
        name: what is wrong.
        kernel: name of the operation.
        verdict: that is expected.
        first: codes, one of which the first cause has to have; () for no cause.
        reference, generated: IR below `fixtures`; None for none. Without a generated one, it is the reference.
        edit: of the generated IR.
        ratios: generated over reference for each configuration, None for no records.
        extra: kernels that a call of the generated side launches besides its own.
        launches: of its own kernel in a call.
        profiled: whether records name kernels.
        sources: edits of the project's files.
        wrapper: whether there is a project.
        method: how the generated side was measured.
        measured: generated over reference on an NVIDIA H200 (`agent_f_on_gpu`), where that was launched.
    """

    name: str
    kernel: str
    verdict: str
    first: tuple[str, ...] = ()
    reference: str | None = None
    generated: str | None = None
    edit: Edit | None = None
    ratios: tuple[float, ...] | None = (1.0, 1.0, 1.0, 1.0)
    extra: tuple[KernelTime, ...] = ()
    launches: int = 1
    profiled: bool = True
    sources: Sources = MappingProxyType({})
    wrapper: bool = False
    method: str = "cupti"
    measured: float | None = None


# -- edits ------------------------------------------------------------------------------------------


def constant_as_argument(module: Module) -> None:
    """The step of the loop over K comes from the host."""
    text = module.to_text()
    step = re.search(r"for %\w+ in \(%\w+ to %[\w#]+, step (%\w+)\)", text)
    assert step is not None
    text = re.sub(rf"{step[1]}\b(?! =)", "%extra", text)
    text = re.sub(r"(entry @[^()]*\([^()]*)\)", r"\1, %extra: tile<i32>)", text, count=1)
    module.operations[:] = parse(text).operations


# -- a kernel's folder ------------------------------------------------------------------------------


def symbol_of(path: Path) -> str:
    return load(path).entries[0].symbol


def build(case: Case, root: Path) -> Request:
    """The folder of a case, and the request that diagnoses it."""
    workspace = open_workspace(str(root / "out"), case.kernel)
    symbols = {"reference": f"{case.kernel}_kernel", "generated": f"{case.kernel}_kernel"}
    if case.reference is not None:
        reference = load(FIXTURES / case.reference)
        generated = load(FIXTURES / (case.generated or case.reference))
        if case.edit is not None:
            case.edit(generated)
        symbols = {
            "reference": reference.entries[0].symbol,
            "generated": generated.entries[0].symbol,
        }
        workspace.write("reference/reference.mlir", reference.to_text(wrap=True))
        workspace.write("generated/generated_canon.mlir", generated.to_text(wrap=True))
        workspace.write("reference/analysis.json", json.dumps(_analysis(case)))
    if case.ratios is not None:
        records = list(_records(case, case.ratios, symbols))
        for backend, name in (
            ("cutile", "baseline_perf_cutile.txt"),
            ("cutile_rs", "perf_cutile_rs.txt"),
        ):
            mine = [m for m in records if m.backend == backend]
            workspace.write(name, "".join(map(_printed, mine)))
        workspace.write("reports/performance.md", _table(records))
    project = None
    if case.wrapper:
        project = find_project(_project(case, root))
    # The searches of the small project are those of sm_100.
    return Request(workspace, project, arch="sm_100" if case.wrapper else "sm_90")


def _analysis(case: Case) -> dict[str, object]:
    variant = {
        "variant_name": "default",
        "kernel_function": case.kernel,
        "reference_ir": "reference/reference.mlir",
    }
    return {
        "kernel_name": case.kernel,
        "reference_backend": "cutile",
        "kernel_variants": [variant],
        "config_to_variant": {f"{n}-{n}-torch.float16": "default" for n in SIZES},
    }


def _records(case: Case, ratios: Sequence[float], symbols: dict[str, str]) -> Iterator[Measurement]:
    for at, (n, ratio) in enumerate(zip(SIZES, ratios)):
        config = Config(
            f"test_{case.kernel}.py::Test::test_perf", (str(n), str(n), "torch.float16")
        )
        time = 0.05 * (at + 1)
        own = time * 1000
        yield _record(config, "cutile", time, "cupti", (_kernel(symbols["reference"], own),))
        extra = sum(k.total_us for k in case.extra)
        slow = own * ratio - extra if not case.launches - 1 else own * ratio / case.launches
        kernels = (_kernel(symbols["generated"], slow, case.launches), *case.extra)
        yield _record(
            config, "cutile_rs", time * ratio, case.method, kernels if case.profiled else ()
        )


def _kernel(symbol: str, us: float, launches: int = 1) -> KernelTime:
    return KernelTime(symbol, launches, us, us * launches)


def _record(
    config: Config, backend: str, ms: float, method: str, kernels: tuple[KernelTime, ...]
) -> Measurement:
    return Measurement(
        config, backend, "forward", method, "", ms, ms, ms * 0.004, ms * 0.99, ms * 1.02, 200, kernels
    )  # fmt: skip


def _printed(m: Measurement) -> str:
    test = f"tests/ops/{m.config.test}[{m.backend}-{m.config.label}]"
    return f"{test} PASSED\n{write_results(test, [m])}\n"


def _table(records: Sequence[Measurement]) -> str:
    """Agent E's report."""
    of_config: dict[str, dict[str, float]] = {}
    for m in records:
        assert m.median_ms is not None
        of_config.setdefault(m.config.label, {})[str(m.backend)] = m.median_ms
    lines = [
        "# Performance",
        "",
        "| config | cutile (ms) | cutile-rs (ms) | ratio |",
        "|---|---|---|---|",
    ]
    for label, times in of_config.items():
        one, other = times["cutile"], times["cutile_rs"]
        lines.append(f"| {label} | {one:.6f} | {other:.6f} | {other / one:.3f}x |")
    return "\n".join(lines) + "\n"


def _project(case: Case, root: Path) -> Path:
    """A copy of the small project with the case's edits."""
    copy = root / "project"
    shutil.copytree(PROJECT, copy)
    for name, (old, new) in case.sources.items():
        path = copy / name
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{name}: {old!r} stands there {text.count(old)} times"
        path.write_text(text.replace(old, new), "utf-8")
    return copy


def diagnose(case: Case, root: Path, evidence: bool = True) -> Diagnosis:
    """Run agent F on a case."""
    return run_agent_f(build(case, root)._replace(evidence=evidence)).diagnosis


def is_right(case: Case, found: Diagnosis) -> bool:
    """Whether the verdict and the first cause are what is expected."""
    if found.verdict != case.verdict:
        return False
    if not case.first:
        return case.verdict != "FIXABLE"
    return bool(found.causes) and found.causes[0].code in case.first


# -- the cases --------------------------------------------------------------------------------------

MATMUL = "evidence/matmul__128x128x64-float16__sm_100__bc13.3.tileirbc"
SOFTMAX = "kernels/softmax__tile1024-float32__sm_100__bc13.4.tileirbc"
SOFTMAX_GATHER = "kernels/softmax_gather__tile512-float16__sm_100__bc13.4.tileirbc"
RMS_NORM = "kernels/rms_norm__tile1024-bfloat16__sm_100__bc13.4.tileirbc"
BMM = "kernels/bmm__64x128x32-float16__sm_100__bc13.4.tileirbc"
LAYER_NORM = "kernels/layer_norm__row4096-float16__sm_100__bc13.4.tileirbc"


def pair(name: str) -> tuple[str, str]:
    """Reference and generated kernel of `examples/pairs`."""
    index = json.loads((PAIRS / "index.json").read_text("utf-8"))
    stem = next(i for i in index if i["kernel"] == f"{name}_reference")["file"]
    return f"pairs/{stem}", f"pairs/{stem}".replace("_reference", "_generated")


FILL = KernelTime(
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", 1, 20, 20
)
COPY = KernelTime("void at::native::elementwise_kernel<direct_copy_kernel_cuda>", 1, 25, 25)
CAST = KernelTime(
    "void at::native::vectorized_elementwise_kernel<float16_copy_kernel_cuda>", 1, 25, 25
)
ELEMENTWISE = KernelTime(
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor>", 1, 20, 20
)
GEMM = KernelTime("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64", 1, 60, 60)


def _everywhere(ratio: float) -> tuple[float, ...]:
    return (ratio,) * len(SIZES)


IR_FAULTS = (
    Case("latency = 1 on both loads", "matmul", "FIXABLE", ("pipelining lost", "HNT004"), MATMUL,
         edit=on_loads("latency", IntegerAttr(1, I64)), ratios=_everywhere(2.23), measured=2.23),
    Case("TMA off", "matmul", "FIXABLE", ("TMA lost",), MATMUL,
         edit=on_loads("allow_tma", BoolAttr(False)), ratios=_everywhere(10.8), measured=10.8),
    Case("tiles too big: 128x256x64", "matmul", "FIXABLE", ("spills",), MATMUL,
         "evidence/matmul__128x256x64-float16__sm_100__bc13.3.tileirbc", ratios=_everywhere(14.3),
         measured=14.3),
    Case("tiles too big: 256x128x64", "matmul", "FIXABLE", ("spills",), MATMUL,
         "evidence/matmul__256x128x64-float16__sm_100__bc13.3.tileirbc", ratios=_everywhere(8.7), measured=8.7),
    Case("tiles too small: 64x64x64", "matmul", "FIXABLE", ("less reuse",), MATMUL,
         "evidence/matmul__64x64x64-float16__sm_100__bc13.3.tileirbc", ratios=_everywhere(1.78), measured=1.78),
    Case("num_cta_in_cga = 2", "matmul", "FIXABLE", ("HNT002", "HNT001", "HNT003"), MATMUL,
         edit=on_entry("num_cta_in_cga", 2), ratios=_everywhere(1.40), measured=1.4),
    Case("alignment of pointers not promised", "matmul", "FIXABLE", ("TMA lost", "ASM001", "ASM002"), MATMUL,
         edit=without_alignment, ratios=_everywhere(25.1), measured=25.1),
    Case("alignment of raw pointers not promised", "softmax_gather", "FIXABLE", ("ASM002",), SOFTMAX_GATHER,
         edit=without_alignment, ratios=_everywhere(1.5), measured=1),
    Case("occupancy = 1 for 4", "softmax", "FIXABLE", ("occupancy lost", "HNT001"), SOFTMAX,
         edit=on_entry("occupancy", 1), ratios=_everywhere(2.30), measured=2.3),
    Case("occupancy = 1 for 4", "rms_norm", "FIXABLE", ("occupancy lost", "HNT001"), RMS_NORM,
         edit=on_entry("occupancy", 1), ratios=_everywhere(2.16), measured=2.16),
    Case("a constant as an argument", "matmul", "FIXABLE", ("ABI001", "ABI002"), MATMUL,
         edit=constant_as_argument, ratios=_everywhere(1.3), measured=1),
    Case("accumulator in f16", "accumulator", "FIXABLE", ("MMA002",), *pair("accumulator"),
         ratios=_everywhere(1.15), measured=1),
    Case("ftof before the store missing", "epilogue", "FIXABLE", ("CVT001",), *pair("epilogue_type"),
         ratios=_everywhere(1.1), measured=1),
    Case("swizzle of blocks lost", "swizzle", "FIXABLE", ("PRF001",), *pair("swizzle"),
         ratios=(1.0, 1.02, 1.2, 1.4), measured=1.01),
    Case("pointers for views", "pointers", "FIXABLE", ("TMA lost", "MEM003"), *pair("pointers"),
         ratios=_everywhere(1.4), measured=1),
    Case("TMA off", "bmm", "FIXABLE", ("TMA lost",), BMM,
         edit=on_loads("allow_tma", BoolAttr(False)), ratios=_everywhere(2.43), measured=2.43),
    # Measured: the hint costs nothing in this kernel.
    Case("latency = 1 on loads", "bmm", "ALIGNED", ("pipelining lost", "HNT004"), BMM,
         edit=on_loads("latency", IntegerAttr(1, I64)), ratios=_everywhere(1.04), measured=1.04),
)  # fmt: skip

LAUNCH_FAULTS = (
    Case("an output is filled in each call", "softmax", "FIXABLE", ("extra launch: fill",), SOFTMAX,
         ratios=(1.4, 1.2, 1.13, 1.1), extra=(FILL,), measured=1.22),
    Case("an input is copied in each call", "rms_norm", "FIXABLE", ("extra launch: copy",), RMS_NORM,
         ratios=(1.5, 1.25, 1.17, 1.13), extra=(COPY,), measured=2.69),
    Case("an input is cast in each call", "layer_norm", "FIXABLE", ("extra launch: cast",), LAYER_NORM,
         ratios=(1.5, 1.25, 1.17, 1.13), extra=(CAST,), measured=1.74),
    Case("the kernel is launched twice", "matmul", "FIXABLE", ("extra launch: kernel",), MATMUL,
         ratios=_everywhere(2.0), launches=2, measured=1.98),
    Case("a library does the product too", "bmm", "FIXABLE", ("extra launch: fallback",), BMM,
         ratios=(2.2, 1.6, 1.4, 1.3), extra=(GEMM,)),
)  # fmt: skip

_HOME = "src/demo/ops/cutile_rs"
_ROWS, _REDUCE, _GEMM = (f"{_HOME}/{name}.py" for name in ("row_scale", "reduce_rows", "gemm"))
_ROWS_IR = "agent_a/row_scale/reference/reference.mlir"
_REDUCE_IR = "agent_a/reduce_rows/reference/reference.mlir"
_GEMM_IR = "agent_a/gemm/reference/reference_base.mlir"
_ALLOCATED = "        y = torch.empty(m, dtype=x.dtype, device=x.device)\n"
_KEY = "key=(m, n, k, a.dtype, str(a.device), transpose_b, short)"
_SEARCHED = """    return autotune_launch(
        kernel_fn=kernel_fn,
        configs=_configs(),
        key=(m, n, x.dtype, str(x.device)),
        kernel_name="reduce_rows",
    )
"""


def host(name: str, kernel: str, first: tuple[str, ...], sources: Sources, **rest: Any) -> Case:
    """A fault of a wrapper of the small project."""
    ir = {"row_scale": _ROWS_IR, "reduce_rows": _REDUCE_IR, "gemm": _GEMM_IR}[kernel]
    asked = {"ratios": _everywhere(1.3), **rest}
    return Case(name, kernel, "FIXABLE", first, ir, sources=sources, wrapper=True, **asked)


HOST_FAULTS = (
    host("key without the format, and nothing is slower", "reduce_rows", ("WRP012",),
         {_REDUCE: ("(m, n, x.dtype, str", "(m, n, str")}, ratios=_everywhere(1.0)),
    host("a canary before the search", "reduce_rows", ("WRP001",),
         {_REDUCE: (_SEARCHED, f"    kernel_fn(_configs()[0])\n{_SEARCHED}")},
         ratios=_everywhere(2.0), launches=2),
    host("the output is filled", "row_scale", ("WRP005",),
         {_ROWS: ("torch.empty_like(x)", "torch.zeros_like(x)")}, extra=(FILL,)),
    host("the output is filled in kernel_fn", "reduce_rows", ("WRP003",),
         {_REDUCE: ("torch.empty(m", "torch.zeros(m")}, extra=(FILL,)),
    host("the output is allocated twice", "reduce_rows", ("WRP008",),
         {_REDUCE: ("    def kernel_fn(cfg):\n", f"{_ALLOCATED[4:]}    def kernel_fn(cfg):\n")},
         profiled=False),
    host("the result is copied", "row_scale", ("WRP007",),
         {_ROWS: ("    return y\n", "    return y.clone()\n")}, extra=(COPY,)),
    host("PyTorch for long rows", "row_scale", ("WRP004",),
         {_ROWS: ("    tile = 256",
                  "    if columns > 4096:\n        return torch.mul(x, scale[:, None])\n    tile = 256")},
         extra=(ELEMENTWISE,)),
    host("nothing is tuned", "reduce_rows", ("WRP010",),
         {_REDUCE: (_SEARCHED, "    return kernel_fn(_configs()[0])\n")}),
    host("key without a size", "reduce_rows", ("WRP011",),
         {_REDUCE: ("(m, n, x.dtype, str", "(m, x.dtype, str")}),
    host("key without the format", "reduce_rows", ("WRP012",),
         {_REDUCE: ("(m, n, x.dtype, str", "(m, n, str")}),
    host("key without the variant", "gemm", ("WRP013",),
         {_GEMM: (_KEY, _KEY.replace(", transpose_b, short", ""))}),
    host("the best configuration is not tried", "reduce_rows", ("WRP015", "WRP017"),
         {_REDUCE: ("in (256, 512)", "in (256,)")}),
    host("another variant is launched", "gemm", ("WRP020", "WRP021"),
         {_GEMM: ("int(short)", "int(not short)")}),
    host("another format is launched", "gemm", ("WRP023",),
         {f"{_HOME}/gemm_kernel/ffi.rs": ('launch!(f16, "f16")', 'launch!(f32, "f16")')}),
    host("a format is let through", "gemm", ("WRP022",),
         {_GEMM: ("(torch.float16, torch.float32)", "(torch.float16, torch.float32, torch.bfloat16)")}),
    host("occupancy is not handed on", "reduce_rows", ("WRP030",),
         {_REDUCE: ("        int(occupancy),\n", "        _AUTO,\n")}),
)  # fmt: skip

NO_FAULTS = (
    Case("no fault, with its wrapper", "row_scale", "ALIGNED", (), _ROWS_IR, wrapper=True),
    Case("no fault, with its wrapper", "reduce_rows", "ALIGNED", (), _REDUCE_IR, wrapper=True),
    Case("a gap of the compiler's, with its wrapper", "gemm", "ALIGNED", (), _GEMM_IR, wrapper=True,
         ratios=_everywhere(1.12)),
    Case("a configuration is not tried, and nothing is slower", "reduce_rows", "ALIGNED", (), _REDUCE_IR,
         wrapper=True, sources={_REDUCE: ("in (256, 512)", "in (256,)")}),
    Case("a fill in the source that no record shows", "row_scale", "ALIGNED", (), _ROWS_IR, wrapper=True,
         sources={_ROWS: ("torch.empty_like(x)", "torch.zeros_like(x)")}),
    Case("no fault", "matmul", "ALIGNED", (), MATMUL, ratios=(1.01, 0.99, 1.0, 1.02)),
    Case("no fault", "softmax", "ALIGNED", (), SOFTMAX, ratios=(1.0, 1.01, 0.98, 1.0)),
    Case("no fault", "rms_norm", "ALIGNED", (), RMS_NORM, ratios=(0.97, 1.0, 1.01, 1.0)),
    Case("no fault, a gap of the compiler's", "bmm", "ALIGNED", (), BMM, ratios=_everywhere(1.12)),
    Case("no fault, not profiled", "layer_norm", "ALIGNED", (), LAYER_NORM, ratios=_everywhere(1.0),
         profiled=False),
)  # fmt: skip

MISSING = (
    Case("nothing is there", "matmul", "BLOCKED", (), None, ratios=None),
    Case("times of a gap alone", "softmax", "BLOCKED", (), None, ratios=_everywhere(1.8), profiled=False),
    Case("no times; TMA off", "matmul", "FIXABLE", ("TMA lost",), MATMUL,
         edit=on_loads("allow_tma", BoolAttr(False)), ratios=None),
    Case("two methods of timing", "rms_norm", "BLOCKED", ("mixed methods",), RMS_NORM,
         ratios=_everywhere(1.5), method="cuda_graph"),
)  # fmt: skip

CASES = (*IR_FAULTS, *LAUNCH_FAULTS, *HOST_FAULTS, *NO_FAULTS, *MISSING)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--no-evidence", action="store_true", help="compile nothing")
    options = parser.parse_args()
    head = ("kernel", "fault", "measured", "verdict, confidence", "first cause", "right")
    print(f"| {' | '.join(head)} |\n| --- | --- | ---: | --- | --- | --- |")
    right = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as root:
            found = diagnose(case, Path(root), not options.no_evidence)
        good = is_right(case, found)
        right += good
        cells = (
            case.kernel,
            case.name,
            "" if case.measured is None else f"{case.measured:.3g}",
            f"{found.verdict}, {found.confidence}",
            f"{found.causes[0].code}: {found.causes[0].title}" if found.causes else "",
            "yes" if good else f"NO: {case.verdict}, {' or '.join(case.first)}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n{right} of {len(CASES)} right")


if __name__ == "__main__":
    main()
