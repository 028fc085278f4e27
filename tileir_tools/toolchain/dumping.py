"""cuTile-Python kernels to Tile IR, without a GPU.

Place in the flow: cuda-tile -> bytes; imports `errors`, `model`, `read`. A kernel is compiled for the signature
that is stated; nothing is launched, no torch is needed. Importing the kernel's file runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import ToolError, UsageError

_ARGUMENT = re.compile(r"^(?:(\w+)=)?(\w+)(?:\[([^\]]*)\])?(?::(\w+))?$")
_LAYOUTS = ("rows", "strided", "int64")

# Names of number formats as Tile IR has them -> as cuda-tile has them.
_DTYPES: dict[str, str] = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "tf32": "tfloat32",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
    "i1": "bool_",
    **{
        f"{letter}{width}": f"{word}{width}"
        for letter, word in (("i", "int"), ("u", "uint"))
        for width in (8, 16, 32, 64)
    },
}


class Argument(NamedTuple):
    """What a kernel gets for a parameter.

    Attributes:
        name: of the parameter; None: the next one that nothing was said about.
        dtype: number format, in either spelling (`f16`, `float16`).
        shape: a size or None (any) for each dimension; None for a scalar.
        layout: "rows" (C-contiguous, aligned to 16 bytes, last size divisible by 16), "strided"
            (nothing known) or "int64" (as rows, indexed by 64 bits).
    """

    name: str | None
    dtype: str
    shape: tuple[int | None, ...] | None
    layout: str


class Dump(NamedTuple):
    """One kernel as it was compiled.

    Attributes:
        symbol: of the entry.
        kernel: name of the Python function.
        source: (file, line) of it.
        parameters: name -> what was said about it, as text.
        constants: name -> value.
        arch: target; None for none.
        bytecode: the Tile IR.
    """

    symbol: str
    kernel: str
    source: tuple[str, int]
    parameters: dict[str, str]
    constants: dict[str, bool | int | float]
    arch: str | None
    bytecode: bytes


def parse_argument(text: str) -> Argument:
    """`[NAME=]f16[?,64][:strided]`, `f32`. Raises UsageError."""
    match = _ARGUMENT.match(text.replace(" ", ""))
    if match is None:
        raise UsageError(
            f"argument '{text}': expected [NAME=]DTYPE, or [NAME=]DTYPE[SIZES][:LAYOUT]"
        )
    name, dtype, sizes, layout = match.groups()
    if _DTYPES.get(dtype, dtype) not in _DTYPES.values():
        raise UsageError(
            f"argument '{text}': unknown number format '{dtype}'; known: {', '.join(_DTYPES)}"
        )
    if layout is not None and (layout not in _LAYOUTS or sizes is None):
        raise UsageError(
            f"argument '{text}': a layout is one of {', '.join(_LAYOUTS)}, of an array"
        )
    shape = None
    if sizes is not None:
        parts = sizes.split(",") if sizes else []
        if not all(part == "?" or part.isdecimal() for part in parts):
            raise UsageError(f"argument '{text}': sizes are numbers or ?")
        shape = tuple(None if part == "?" else int(part) for part in parts)
    return Argument(name, _DTYPES.get(dtype, dtype), shape, layout or "rows")


def dump_kernel(
    where: str,
    arguments: Sequence[Argument],
    constants: Mapping[str, bool | int | float],
    *,
    arch: str | None = None,
    version: str | None = None,
    name: str | None = None,
) -> Dump:
    """Compile a cuTile kernel to Tile IR.

    Args:
        where: `file.py:kernel` or `package.module:kernel`.
        arguments: what the parameters get that are no constants.
        constants: values of `ct.Constant` parameters.
        arch: target, such as `sm_100`; None from version 13.3 on: none.
        version: of the bytecode; None: the newest one that cuda-tile writes.
        name: function name in the entry's symbol, for an alias; None: the kernel's own. The
            kernel's compiler options stay either way.

    Raises:
        UsageError: no such kernel, or arguments that do not fit its parameters.
        ToolError: cuda-tile is not installed, or refuses the kernel.
    """
    kernel = _kernel(where)
    function = getattr(kernel, "_pyfunc", None) or kernel
    given = _bound(inspect.signature(function), arguments, constants)
    try:
        compilation = importlib.import_module("cuda.tile.compilation")
        signature = compilation.KernelSignature(
            [_constraint(value) for value in given.values()],
            compilation.CallingConvention.cutile_python_v1(),
        ).with_mangled_symbol(name or function.__name__)
        buffer = io.BytesIO()
        compilation.export_kernel(
            kernel,
            [signature],
            buffer,
            gpu_code=arch,
            output_format="tileir_bytecode",
            bytecode_version=version,
        )
    except Exception as error:
        # What the kernel's code and cuda-tile raise can be anything.
        message = f"cuda-tile: {where}: {type(error).__name__}: {error}"
        raise ToolError(message, "cuda-tile", "failed") from error
    return Dump(
        signature.symbol,
        function.__name__,
        (inspect.getsourcefile(function) or "", inspect.getsourcelines(function)[1]),
        {name: _text(value) for name, value in given.items() if isinstance(value, Argument)},
        {name: value for name, value in given.items() if not isinstance(value, Argument)},
        arch,
        buffer.getvalue(),
    )


def _text(argument: Argument) -> str:
    if argument.shape is None:
        return argument.dtype
    sizes = ",".join("?" if size is None else str(size) for size in argument.shape)
    return f"{argument.dtype}[{sizes}]:{argument.layout}"


# -- finding the kernel -----------------------------------------------------------------------------


def _kernel(where: str) -> Any:
    place, separator, name = where.rpartition(":")
    if not separator or not name.isidentifier():
        raise UsageError(f"'{where}': expected FILE.py:KERNEL or MODULE:KERNEL")
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.tile") is None:
        message = f"cuda-tile: not installed. To get it: {sys.executable} -m pip install cuda-tile"
        raise ToolError(message, "cuda-tile", "missing")
    module = _module(place)
    kernel = getattr(module, name, None)
    if kernel is None or not isinstance(kernel, importlib.import_module("cuda.tile").kernel):
        known = [n for n, v in vars(module).items() if type(v).__name__ == "kernel"]
        raise UsageError(f"{place} has no kernel '{name}'; it has {', '.join(known) or 'none'}")
    return kernel


def _module(place: str) -> ModuleType:
    """Import a file or a module. Raises UsageError."""
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = Path(place)
        if not path.is_file():
            raise UsageError(f"{place}: no such file")
        # Kernels import what stands beside them.
        sys.path.insert(0, str(path.parent.resolve()))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # cuda-tile looks a kernel's globals up by module.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:
        # Importing runs somebody's code.
        raise UsageError(f"{place}: cannot be imported: {type(error).__name__}: {error}") from error
    return module


# -- signatures -------------------------------------------------------------------------------------


def _bound(
    signature: inspect.Signature,
    arguments: Sequence[Argument],
    constants: Mapping[str, bool | int | float],
) -> dict[str, Any]:
    """Parameter -> what it gets, in order. Raises UsageError: one is missing, unknown or given twice."""
    names = list(signature.parameters)
    given: dict[str, Any] = dict(constants)
    for argument in arguments:
        name = argument.name
        if name is None:
            name = next((n for n in names if n not in given), None)
            if name is None:
                raise UsageError(f"there are more arguments than parameters ({', '.join(names)})")
        elif name in given:
            raise UsageError(f"parameter '{name}' is given twice")
        given[name] = argument
    for name in given:
        if name not in names:
            raise UsageError(f"the kernel has no parameter '{name}'; it has {', '.join(names)}")
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(f"nothing is said about {', '.join(missing)}: use --arg or --const")
    return {name: given[name] for name in names}


def _constraint(value: Any) -> Any:
    """What cuda-tile calls a parameter's constraint."""
    if not isinstance(value, Argument):
        return value
    ct = importlib.import_module("cuda.tile")
    compilation = importlib.import_module("cuda.tile.compilation")
    dtype = getattr(ct, value.dtype)
    if value.shape is None:
        return compilation.ScalarConstraint(dtype)
    known: dict[str, Any] = {}
    rank = len(value.shape)
    if value.layout != "strided" and rank:
        outer = rank - 1
        known = {
            "stride_constant": (*[None] * outer, 1),
            "stride_divisible_by": (*[16] * outer, 1),
            "shape_divisible_by": (*[1] * outer, 16),
            "base_addr_divisible_by": 16,
        }
    if any(size is not None for size in value.shape):
        known["shape_constant"] = value.shape
        known.pop("shape_divisible_by", None)
    return compilation.ArrayConstraint(
        dtype,
        rank,
        index_dtype=ct.int64 if value.layout == "int64" else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        **known,
    )
