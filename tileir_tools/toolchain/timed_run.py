"""The process that launches and times kernels: `python -m tileir_tools.toolchain.timed_run FOLDER`.

Place in the flow: the other process of `timing`. cuda-tile's own launcher passes the arguments; of a kernel
that is to be launched it asks for machine code, and gets what lies in the folder.
"""

from __future__ import annotations

import importlib
import inspect
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from .timing import ANSWER, REQUEST

# Launches before any is timed.
_WARM = 3
# Bytes that are written to empty the second-level cache; more than any device has.
_FLUSH = 256 << 20
# Rounding of a number format, beside which results are compared: relative, and to the largest number.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 2e-2}


def main() -> None:
    """Launch what the folder in the first argument holds, and write down how long it took."""
    folder = Path(sys.argv[1])
    request = json.loads((folder / REQUEST).read_text())
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        sys.exit("there is no GPU here")
    codes = [(folder / f"{n}.cubin").read_bytes() for n in range(len(request["symbols"]))]
    kernels = [
        _kernel(request["arguments"], symbol, code)
        for symbol, code in zip(request["symbols"], codes)
    ]
    results = [_result(torch, request, kernel) for kernel in kernels]
    times = _times(torch, request, kernels)
    rows = []
    for found, result in zip(times, results):
        first, _, third = statistics.quantiles(found, n=4)
        rows.append(
            {
                "median": statistics.median(found),
                "spread": third - first,
                "launches": len(found),
                "same": _same(torch, results[0], result),
            }
        )
    answer = {"timings": rows, "machine": _machine(torch)}
    (folder / ANSWER).write_text(json.dumps(answer))


# -- kernels ----------------------------------------------------------------------------------------


def _kernel(arguments: list[dict[str, Any]], symbol: str, code: bytes) -> Any:
    """A kernel with the parameters of a launch, whose machine code is there already."""
    ct: Any = importlib.import_module("cuda.tile")

    class Given(ct.kernel):  # type: ignore[misc]
        def _compile(self, signature: Any, context: Any, *rest: Any) -> Any:
            return code, symbol, None, ()

    def stub() -> None:
        """Never compiled: only its parameters are looked at."""

    kinds = {
        "constant": ct.Constant,
        "int64": ct.IndexedWithInt64,
        "scalar64": ct.ScalarInt64,
    }
    annotations = [
        kinds.get(argument.get("as", ""), inspect.Parameter.empty) for argument in arguments
    ]
    parameters = [
        inspect.Parameter(f"p{number}", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
        for number, kind in enumerate(annotations)
    ]
    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    stub.__annotations__ = {
        p.name: p.annotation for p in parameters if p.annotation is not inspect.Parameter.empty
    }
    return Given(stub)


# -- arguments --------------------------------------------------------------------------------------


def _values(torch: Any, arguments: list[dict[str, Any]]) -> list[Any]:
    """Arguments of the kinds that were written down; the same numbers in the arrays every time."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    return [_value(torch, argument, generator) for argument in arguments]


def _value(torch: Any, argument: dict[str, Any], generator: Any) -> Any:
    kind = argument["kind"]
    if kind in ("list", "tuple"):
        items = [_value(torch, item, generator) for item in argument["items"]]
        return items if kind == "list" else tuple(items)
    if kind != "array":
        return argument["value"]
    shape, stride, offset = argument["shape"], argument["stride"], argument["offset"]
    size = offset + 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 1
    dtype = getattr(torch, argument["dtype"])
    if dtype.is_floating_point:
        numbers = torch.randn(size, device="cuda", generator=generator) * 0.5
        memory = numbers.to(dtype)
    else:
        # Numbers that may be indices: none is out of bounds.
        memory = torch.zeros(size, device="cuda", dtype=dtype)
    return memory.as_strided(shape, stride, offset)


def _arrays(torch: Any, values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in _arrays(torch, value)]
    return [values] if isinstance(values, torch.Tensor) else []


def _result(torch: Any, request: dict[str, Any], kernel: Any) -> list[Any]:
    """What the arrays hold after one launch."""
    values = _values(torch, request["arguments"])
    _launch(torch, request, kernel, values)
    torch.cuda.synchronize()
    return [array.clone() for array in _arrays(torch, values)]


def _same(torch: Any, wanted: list[Any], found: list[Any]) -> bool:
    for one, other in zip(wanted, found):
        name = str(one.dtype).partition(".")[2]
        if name not in _TOLERANCE:
            if not torch.equal(one.view(torch.uint8), other.view(torch.uint8)):
                return False
            continue
        left, right = one.double(), other.double()
        largest = float(left.abs().nan_to_num(0, 0, 0).max()) if left.numel() else 0.0
        tolerance = _TOLERANCE[name]
        if not torch.allclose(left, right, tolerance, tolerance * largest, equal_nan=True):
            return False
    return True


# -- time -------------------------------------------------------------------------------------------


def _launch(torch: Any, request: dict[str, Any], kernel: Any, values: list[Any]) -> None:
    ct: Any = importlib.import_module("cuda.tile")
    ct.launch(torch.cuda.current_stream(), tuple(request["grid"]), kernel, tuple(values))


def _times(torch: Any, request: dict[str, Any], kernels: list[Any]) -> list[list[float]]:
    """Microseconds of each launch; the kernels take turns, so that a change of clocks meets all of them."""
    values = _values(torch, request["arguments"])
    flush = torch.empty(_FLUSH, device="cuda", dtype=torch.int8)
    found: list[list[float]] = [[] for _ in kernels]
    for turn in range(_WARM + request["launches"]):
        for number, kernel in enumerate(kernels):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            start.record()
            _launch(torch, request, kernel, values)
            end.record()
            torch.cuda.synchronize()
            if turn >= _WARM:
                found[number].append(start.elapsed_time(end) * 1000)
    return found


def _machine(torch: Any) -> dict[str, str]:
    version = importlib.import_module("importlib.metadata").version
    driver = importlib.import_module("cuda.tile._cext").get_driver_version()
    return {
        "device": torch.cuda.get_device_name(),
        "driver": str(driver),
        "torch": torch.__version__,
        "cuda_tile": version("cuda-tile"),
        "method": "CUDA events around each launch, kernels in turns, second-level cache emptied before",
    }


if __name__ == "__main__":
    main()
