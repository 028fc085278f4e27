"""cuTile-Python kernels to Tile IR, without a GPU.

Place in the flow: cuda-tile -> bytes; imports `errors`, `dump_folder`, `signatures`. A kernel is compiled for
the signature that is stated; nothing is launched, no torch is needed. Importing the kernel's file runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import ToolError, UsageError
from .dump_folder import Dump
from .signatures import Argument, stated_signature


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
        signature = stated_signature(list(given.values()), name or function.__name__)
        buffer = io.BytesIO()
        importlib.import_module("cuda.tile.compilation").export_kernel(
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
        {name: str(value) for name, value in given.items() if isinstance(value, Argument)},
        {name: value for name, value in given.items() if not isinstance(value, Argument)},
        arch,
        buffer.getvalue(),
    )


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
