"""A Python program run with its kernel launches watched: `python -m tileir_tools.toolchain.watched_run`.

Place in the flow: the other process of `calls`; imports `devices`, `pretend_cuda`, `signatures`. It stands
between the program and cuda-tile's `launch` and `exhaustive_search`: each call is written down as one line
of JSON, with the Tile IR of the kernel for its arguments beside it. With a GPU the call then goes on as it
would have; without one it ends there, a search takes its first configuration, and PyTorch pretends to
have the device.

Takes one argument, a JSON object: `script` (a file, or with `module` a module's name), `arguments`, `folder`
(to write to), `arch` (null: that of the GPU), `version` (of the bytecode, or null), `launch` (null: where there
is a GPU of that target), `names` (of functions -> what entries call them), `tensors` ("meta" or "cpu").
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import io
import json
import math
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .devices import device_of
from .pretend_cuda import pretend_cuda
from .signatures import launch_signature

CALLS = "calls.jsonl"
JIT = "jit"


class _Watch:
    """What is written down of one run.

    Attributes:
        request: the object that this process was given.
        compiled: kernels that were compiled already: key -> what a call says of them.
        searches: how many searches there were.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.compiled: dict[Any, dict[str, Any]] = {}
        self.searches = 0
        self.file = open(os.path.join(request["folder"], CALLS), "w", encoding="utf-8")  # noqa: SIM115
        self._write({"arch": request["arch"], "launch": request["launch"]})

    def call(
        self, kernel: Any, grid: Any, values: Sequence[Any], tuning: Any = None
    ) -> Exception | None:
        """Write one call down. Gives what compiling the kernel raised."""
        function = kernel._pyfunc
        row, error = self._compiled(kernel, function, values)
        row = {
            **row,
            "grid": [int(n) for n in grid],
            "arguments": [
                {**_described(value), **_annotated(note)}
                for value, note in zip(values, kernel._annotated_function.parameter_annotations)
            ],
            "caller": _caller(),
            "tuning": tuning,
            # Where pytest is the program: "tests/test_x.py::test_op[..] (call)".
            "test": os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] or None,
        }
        self._write(row)
        return error

    def result(self, search: int, measured: Sequence[Any]) -> None:
        """Write down what a search measured: (configuration, microseconds), the best one first."""
        rows = [{"config": _config(config), "us": us} for config, us in measured]
        self._write({"search": search, "measured": rows})

    def _write(self, row: dict[str, Any]) -> None:
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def _compiled(
        self, kernel: Any, function: Any, values: Sequence[Any]
    ) -> tuple[dict[str, Any], Exception | None]:
        """What is said of a kernel for these arguments, and what compiling it raised."""
        names = list(inspect.signature(function).parameters)
        annotations = kernel._annotated_function.parameter_annotations
        constants = {
            name: value
            for name, value, note in zip(names, values, annotations)
            if getattr(note, "constant", False) and isinstance(value, (bool, int, float))
        }
        options = {k: str(v) for k, v in dataclasses.asdict(kernel._compiler_options).items()}
        about = {
            "kernel": function.__name__,
            "source": {
                "file": inspect.getsourcefile(function) or "",
                "line": function.__code__.co_firstlineno,
            },
            "parameters": {
                name: _text(value) for name, value in zip(names, values) if name not in constants
            },
            "constants": constants,
            "options": {k: v for k, v in options.items() if v != "None"},
            "symbol": None,
            "bytecode": None,
            "error": None,
        }
        try:
            name = self.request["names"].get(function.__name__, function.__name__)
            signature = launch_signature(kernel, values, name)
        except (TypeError, ValueError, OverflowError) as error:
            return {**about, "error": f"{type(error).__name__}: {error}"}, error
        about["symbol"] = signature.symbol
        key = (function, signature.symbol, json.dumps(options), repr(signature.parameters))
        if key in self.compiled:
            return {**about, **self.compiled[key]}, None
        try:
            self.compiled[key] = {"bytecode": self._exported(kernel, signature)}
        except Exception as error:
            # cuda-tile raises what its checks of the kernel's code raise.
            return {**about, "error": f"{type(error).__name__}: {error}"}, error
        return {**about, **self.compiled[key]}, None

    def _exported(self, kernel: Any, signature: Any) -> str:
        buffer = io.BytesIO()
        importlib.import_module("cuda.tile.compilation").export_kernel(
            kernel,
            [signature],
            buffer,
            gpu_code=self.request["arch"],
            output_format="tileir_bytecode",
            bytecode_version=self.request["version"],
        )
        name = f"{len(self.compiled)}.tileirbc"
        with open(os.path.join(self.request["folder"], name), "wb") as file:
            file.write(buffer.getvalue())
        return name


# -- what stands in cuda-tile's place --------------------------------------------------------------


def _launch(watch: _Watch, real: Callable[..., Any]) -> Callable[..., Any]:
    def launch(stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, **options: Any) -> Any:
        error = watch.call(kernel, grid, kernel_args)
        if watch.request["launch"]:
            return real(stream, grid, kernel, kernel_args, **options)
        if error is not None:
            raise error
        return None

    return launch


def _search(watch: _Watch, real: Callable[..., Any]) -> Callable[..., Any]:
    def exhaustive_search(
        search_space: Any,
        stream: Any,
        grid_fn: Callable[[Any], Any],
        kernel: Any,
        args_fn: Callable[[Any], Any],
        hints_fn: Callable[[Any], dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        configs = list(search_space)
        watch.searches += 1
        failures = []
        for config in configs:
            try:
                tried = kernel if hasattr(kernel, "_pyfunc") else kernel(config)
                if hints_fn is not None:
                    tried = tried.replace_hints(**hints_fn(config))
                tuning = {"search": watch.searches, "config": _config(config)}
                error = watch.call(tried, grid_fn(config), args_fn(config), tuning)
            except Exception as raised:
                # What a configuration does wrong takes it out of the search, as in a real one.
                error = raised
            if error is not None:
                failures.append((config, type(error), str(error)))
        if not watch.request["launch"]:
            return _first(configs, failures)
        found = real(configs, stream, grid_fn, kernel, args_fn, hints_fn, **options)
        ranked = sorted(found.successes, key=lambda m: m.mean_us)
        watch.result(watch.searches, [(m.config, m.mean_us) for m in ranked])
        return found

    return exhaustive_search


def _first(configs: list[Any], failures: list[Any]) -> Any:
    """A search's result where nothing can be timed: the first configuration that compiles."""
    tune = importlib.import_module("cuda.tile.tune")
    failed = [config for config, _, _ in failures]
    good = [config for config in configs if not any(config is f for f in failed)]
    if not good:
        config, kind, message = failures[0] if failures else (None, ValueError, "no configuration")
        raise ValueError(
            f"No valid config found in search space.\nConfig: {config}\n{kind.__name__}: {message}"
        )
    measured = [
        tune.Measurement(config=c, mean_us=math.nan, num_samples=0, error_margin_us=math.nan)
        for c in good
    ]
    return tune.TuningResult(best=measured[0], successes=tuple(measured), failures=tuple(failures))


# -- in words that JSON has -------------------------------------------------------------------------


def _described(value: Any) -> dict[str, Any]:
    """An argument, so that one of the same kind can be made again."""
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {"kind": kind, "items": [_described(item) for item in value]}
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return {
            "kind": "array",
            "dtype": str(value.dtype).partition(".")[2],
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "offset": value.storage_offset(),
        }
    if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return {"kind": "number", "value": value}
    return {"kind": "other", "value": repr(value)}


def _annotated(note: Any) -> dict[str, str]:
    """What a parameter's annotation says that its argument does not."""
    if getattr(note, "constant", False):
        return {"as": "constant"}
    for field, word in (("array", "int64"), ("scalar", "scalar64")):
        found = getattr(note, field, None)
        dtype = getattr(found, "index_dtype", getattr(found, "dtype", None))
        if dtype is not None and "int64" in str(dtype):
            return {"as": word}
    return {}


def _text(value: Any) -> str:
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        sizes, strides = (",".join(map(str, part)) for part in (value.shape, value.stride()))
        return f"{str(value.dtype).partition('.')[2]}[{sizes}]:({strides})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(_text, value))})"
    return f"{type(value).__name__} {value}"


def _config(config: Any) -> Any:
    """A configuration of a search: an object of its fields where it has some."""
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        config = dataclasses.asdict(config)
    elif hasattr(config, "_asdict"):
        config = config._asdict()
    elif not isinstance(config, dict) and hasattr(config, "__dict__"):
        config = vars(config)
    if isinstance(config, dict):
        return {str(k): v if isinstance(v, _PLAIN) else repr(v) for k, v in config.items()}
    return config if isinstance(config, _PLAIN) else repr(config)


_PLAIN = (bool, int, str, type(None))


def _caller() -> dict[str, Any] | None:
    """The place outside of this file and of cuda-tile that the call came from."""
    own = os.path.abspath(__file__)
    frame = inspect.currentframe()
    while frame is not None:
        path = frame.f_code.co_filename
        if os.path.abspath(path) != own and f"cuda{os.sep}tile{os.sep}" not in path:
            return {"file": path, "line": frame.f_lineno}
        frame = frame.f_back
    return None


def _decided(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its target, and whether there is a GPU of it to launch on."""
    found = None
    if request["launch"] is not False and _sees_a_device():
        # Read when cuda-tile is imported: it then dumps what it compiles.
        os.environ["CUDA_TILE_DUMP_BYTECODE"] = os.path.join(request["folder"], JIT)
        major, minor = importlib.import_module("cuda.tile._cext").get_compute_capability()
        found = f"sm_{major}{minor}"
    arch = request["arch"] or found
    if arch is None:
        sys.exit("error: there is no GPU here; name a target: --arch sm_100")
    if request["launch"] and arch != found:
        sys.exit(f"error: there is no GPU of {arch} here to launch on")
    return {**request, "arch": arch, "launch": arch == found}


def _sees_a_device() -> bool:
    try:
        available: bool = importlib.import_module("torch").cuda.is_available()
    except ImportError:
        return False
    return available


def main() -> None:
    """Run the program of the request that stands in the first argument."""
    request = _decided(json.loads(sys.argv[1]))
    cutile: Any = importlib.import_module("cuda.tile")
    tune: Any = importlib.import_module("cuda.tile.tune")
    watch = _Watch(request)
    cutile.launch = _launch(watch, cutile.launch)
    tune.exhaustive_search = _search(watch, tune.exhaustive_search)
    sys.argv = [request["script"], *request["arguments"]]
    # As for a program that Python runs itself; with -P it puts no folder first.
    if not getattr(sys.flags, "safe_path", False):
        folder = "" if request["module"] else os.path.dirname(os.path.abspath(request["script"]))
        sys.path[0] = folder or os.getcwd()
    device = device_of(request["arch"])
    with contextlib.ExitStack() as stack:
        if not request["launch"] and importlib.util.find_spec("torch") is not None:
            assert device is not None
            stack.enter_context(pretend_cuda(device, request["tensors"]))
        if request["module"]:
            runpy.run_module(request["script"], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(request["script"], run_name="__main__")


if __name__ == "__main__":
    main()
