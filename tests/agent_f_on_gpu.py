"""How much slower the faults of `agent_f_faults` are on the GPU that is here.

    python tests/agent_f_on_gpu.py

prints the column "measured" of docs/agent_f.md: generated over reference, both launched in turns on equal
arguments. Kernels are launched as `fixtures` has them compiled; what a call does besides is done by PyTorch.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from typing import Any

from agent_f_faults import FIXTURES, IR_FAULTS, Case

from tileir_tools.errors import TileIRError
from tileir_tools.read import load
from tileir_tools.toolchain.compiling import compile_module
from tileir_tools.toolchain.timing import Compiled, Launch, time_kernels

N = 4096
ARCH = "sm_90"
ROUNDS = 50


def array(*shape: int, dtype: str = "float16") -> dict[str, Any]:
    """An array of a manifest."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return {"kind": "array", "dtype": dtype, "shape": list(shape), "stride": strides, "offset": 0}


def constants(*values: float) -> list[dict[str, Any]]:
    return [{"kind": "number", "value": value, "as": "constant"} for value in values]


def numbers(*values: int) -> list[dict[str, Any]]:
    return [{"kind": "number", "value": value} for value in values]


def product(rows: int, columns: int, *more: int) -> Launch:
    """A product of matrices, a block for each tile of `rows` by `columns`."""
    grid = (N // rows, N // columns)
    return Launch("product", grid, [array(N, N)] * 3 + constants(rows, columns, *more))


# The reference of a case -> how it is launched.
LAUNCHES = {
    "matmul__128x128x64": product(128, 128, 64),
    "softmax__tile1024": Launch(
        "softmax", (N,), [array(N, 2 * N, dtype="float32")] * 2 + constants(1024)
    ),
    "rms_norm__tile1024": Launch(
        "rms_norm",
        (N,),
        [
            array(N, 2 * N, dtype="bfloat16"),
            array(2 * N, dtype="bfloat16"),
            array(N, 2 * N, dtype="bfloat16"),
            *constants(1e-5, 1024),
        ],
    ),
    "bmm__64x128x32": Launch(
        "bmm", (32, 16, 8), [array(8, 2048, 2048)] * 3 + constants(64, 128, 32)
    ),
    "accumulator_reference": product(64, 64, 32),
    "swizzle_reference": product(64, 64, 32, 8)._replace(grid=((N // 64) ** 2,)),
    "softmax_gather__tile512": Launch(
        "softmax_gather",
        (528,),
        [array(16 * N, 512), array(16 * N, 512), *numbers(16 * N, 512), *constants(512)],
    ),
    "epilogue_type_reference": Launch(
        "product",
        (N // 64, N // 64),
        [array(N, N), array(N, N), array(1, N), array(N, N), *constants(64, 64, 32)],
    ),
    "pointers_reference": Launch(
        "scale", (N, 2 * N // 128), [array(N, 2 * N, dtype="float32")] * 2 + constants(128)
    ),
}


# Generated kernels that take another grid or other constants than their reference.
GENERATED = {
    "matmul__128x256x64": product(128, 256, 64),
    "matmul__256x128x64": product(256, 128, 64),
    "matmul__64x64x64": product(64, 64, 64),
    "swizzle_generated": product(64, 64, 32, 8),
}


def launch_of(file: str, table: Mapping[str, Launch]) -> Launch | None:
    stem = file.rpartition("/")[2]
    return next((launch for name, launch in table.items() if stem.startswith(name)), None)


def measured(case: Case) -> str:
    """`ratio (microseconds of both, n)`, or why there is none."""
    assert case.reference is not None
    launch = launch_of(case.reference, LAUNCHES)
    if launch is None:
        return "no launch is known"
    other_launch = launch_of(case.generated or "", GENERATED)
    modules = [load(FIXTURES / case.reference), load(FIXTURES / (case.generated or case.reference))]
    if case.edit is not None:
        case.edit(modules[1])
    before, after = (len(module.entries[0].arguments) for module in modules)
    if after > before:  # `constant_as_argument`: the step of the loop, which is 1.
        other_launch = launch._replace(arguments=[*launch.arguments, *numbers(1)])
    codes = [Compiled(m.entries[0].symbol, compile_module(m, ARCH).cubin) for m in modules]
    if other_launch is None:
        one, other = time_kernels(launch, codes, launches=ROUNDS)[0]
    else:
        (one,) = time_kernels(launch, codes[:1], launches=ROUNDS)[0]
        (other,) = time_kernels(other_launch, codes[1:], launches=ROUNDS)[0]
    spread = (one.spread / one.median + other.spread / other.median) / 2
    return (
        f"{other.median / one.median:.2f} ({one.median:.1f} -> {other.median:.1f} us, n = {ROUNDS}, "
        f"quartiles {spread:.1%} apart)"
    )


def with_extra() -> None:
    """A call with and without work that PyTorch does besides."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    x = torch.randn(N, 2 * N, device="cuda")
    half = x.half()
    square = torch.randn(N, N, device="cuda").half()
    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "an output is filled": (lambda: torch.softmax(x, 1), lambda: torch.zeros_like(x)),
        "an input is copied": (lambda: torch.softmax(x, 1), lambda: x.t().contiguous()),
        "an input is cast": (lambda: torch.softmax(half, 1), lambda: half.float()),
        "the product is done twice": (lambda: square @ square, lambda: square @ square),
    }
    for name, (call, extra) in calls.items():
        plain, more = [], []
        for _ in range(ROUNDS):
            plain.append(_timed(torch, call))
            more.append(_timed(torch, lambda: (extra(), call())))  # noqa: B023
        one, other = statistics.median(plain[5:]), statistics.median(more[5:])
        print(f"{name}: {other / one:.2f} ({one * 1000:.1f} -> {other * 1000:.1f} us)", flush=True)


def _timed(torch: Any, call: Callable[[], object]) -> float:
    """Milliseconds between events around a call, on an empty cache."""
    torch.empty(1 << 26, dtype=torch.int32, device="cuda").zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def main() -> None:
    for case in IR_FAULTS:
        try:
            print(f"{case.kernel}, {case.name}: {measured(case)}", flush=True)
        except TileIRError as error:
            print(f"{case.kernel}, {case.name}: {str(error).splitlines()[0]}", file=sys.stderr)
    with_extra()


if __name__ == "__main__":
    main()
