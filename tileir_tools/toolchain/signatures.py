"""What a kernel's parameters are, in cuda-tile's words: stated by somebody, or taken from a launch.

Place in the flow: beside what runs cuda-tile; imports `errors`. cuda-tile specialises a kernel for what is
known about each argument; the same facts give the same bytecode and the same symbol.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import UsageError

_ARGUMENT = re.compile(r"^(?:(\w+)=)?(\w+)(?:\[([^\]]*)\])?(?::(\w+))?$")
_LAYOUTS = ("rows", "strided", "int64")

# Bytes that strides and addresses are tested for, and elements that sizes are, at a launch.
_ALIGNMENT = 16
# Alignment of memory that PyTorch takes from CUDA, in bytes: more than is tested for.
_ALLOCATED = 512

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
    """What a kernel gets for a parameter, as somebody states it.

    Attributes:
        name: of the parameter; None: the next one that nothing was said about.
        dtype: number format, in either spelling (`f16`, `float16`).
        shape: a size or None (any) for each dimension; None for a scalar.
        layout: "rows" (C-contiguous, strides and address divisible by 16 bytes, last size divisible by
            16), "strided" (nothing known) or "int64" (as rows, indexed by 64 bits).
    """

    name: str | None
    dtype: str
    shape: tuple[int | None, ...] | None
    layout: str

    def __str__(self) -> str:
        if self.shape is None:
            return self.dtype
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]:{self.layout}"


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


def stated_signature(values: Sequence[Any], symbol: str) -> Any:
    """A KernelSignature for stated arguments (an Argument, or the value of a constant, each)."""
    constraints = [_stated(v) if isinstance(v, Argument) else v for v in values]
    return _signature(constraints, symbol)


def launch_signature(kernel: Any, values: Sequence[Any], symbol: str) -> Any:
    """The KernelSignature that launching with these arguments would compile for.

    Where there is a driver, cuda-tile says it itself; elsewhere it is worked out by the same rules (as
    measured on an H200 with cuda-tile 1.7.0) from the tensors' sizes, strides and offsets.

    Args:
        kernel: a cuda.tile.kernel.
        values: of its parameters.
        symbol: function name in the entry's symbol.

    Raises:
        TypeError, ValueError, OverflowError: as launching raises them.
    """
    annotations = kernel._annotated_function.parameter_annotations
    if len(values) != len(annotations):
        raise TypeError(f"the kernel takes {len(annotations)} arguments, not {len(values)}")
    if _has_driver():
        return _signature(_asked(kernel, values), symbol)
    return _signature([_launched(v, a) for v, a in zip(values, annotations)], symbol)


def _signature(constraints: Sequence[Any], symbol: str) -> Any:
    """The signature by the oldest calling convention that can say it, as launching chooses it."""
    compilation = importlib.import_module("cuda.tile.compilation")
    convention = compilation.CallingConvention
    try:
        signature = compilation.KernelSignature(constraints, convention.cutile_python_v1())
    except ValueError:
        signature = compilation.KernelSignature(constraints, convention.cutile_python_v2())
    return signature.with_mangled_symbol(symbol)


def _has_driver() -> bool:
    try:
        importlib.import_module("cuda.tile._load_libcuda")
    except OSError:
        return False
    return True


def _asked(kernel: Any, values: Sequence[Any]) -> Sequence[Any]:
    compilation = importlib.import_module("cuda.tile.compilation")
    convention = compilation.CallingConvention
    signature = compilation.KernelSignature.from_kernel_args(
        kernel, tuple(values), convention.cutile_python_v2()
    )
    constraints: Sequence[Any] = signature.parameters
    return constraints


# -- stated -----------------------------------------------------------------------------------------


def _stated(value: Argument) -> Any:
    """What cuda-tile calls a parameter's constraint."""
    ct = importlib.import_module("cuda.tile")
    compilation = importlib.import_module("cuda.tile.compilation")
    dtype = getattr(ct, value.dtype)
    if value.shape is None:
        return compilation.ScalarConstraint(dtype)
    known: dict[str, Any] = {}
    rank = len(value.shape)
    if value.layout != "strided" and rank:
        outer = rank - 1
        elements = max(_ALIGNMENT * 8 // dtype.bitwidth, 1)
        known = {
            "stride_constant": (*[None] * outer, 1),
            "stride_divisible_by": (*[elements] * outer, 1),
            "shape_divisible_by": (*[1] * outer, _ALIGNMENT),
            "base_addr_divisible_by": _ALIGNMENT,
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


# -- launched ---------------------------------------------------------------------------------------


def _launched(value: Any, annotation: Any) -> Any:
    """The constraint of one argument of a launch."""
    compilation = importlib.import_module("cuda.tile.compilation")
    if isinstance(value, tuple):
        items = getattr(annotation, "items", None) or [getattr(annotation, "each", annotation)]
        items = list(items) * (len(value) if len(items) == 1 else 1)
        return compilation.TupleConstraint([_launched(v, a) for v, a in zip(value, items)])
    if getattr(annotation, "constant", False):
        return compilation.ConstantConstraint(value)
    if isinstance(value, list):
        return _list(value, annotation)
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return _array(value, getattr(annotation, "array", None))
    return compilation.ScalarConstraint(_scalar(value, getattr(annotation, "scalar", None)))


def _scalar(value: Any, annotation: Any) -> Any:
    """The number format of a scalar."""
    ct = importlib.import_module("cuda.tile")
    if isinstance(value, bool):
        return ct.bool_
    if isinstance(value, float):
        return ct.float32
    if not isinstance(value, int):
        raise TypeError(f"Objects of type '{type(value).__name__}' are not supported.")
    dtype = annotation.dtype if annotation is not None else ct.int32
    if not -(2 ** (dtype.bitwidth - 1)) <= value < 2 ** (dtype.bitwidth - 1):
        raise OverflowError(f"{value} is too large for {dtype}")
    return dtype


def _array(tensor: Any, annotation: Any) -> Any:
    """The constraint of a PyTorch tensor."""
    ct = importlib.import_module("cuda.tile")
    compilation = importlib.import_module("cuda.tile.compilation")
    dtype = _dtype(tensor.dtype)
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    index = annotation.index_dtype if annotation is not None else ct.int32
    if max((*shape, *strides), default=0) >= 2 ** (index.bitwidth - 1):
        raise OverflowError("shape is too big")
    # A size of 1 is compiled in, whatever the annotation says.
    fixed = {k for k, n in enumerate(shape) if n == 1}
    if annotation is not None:
        fixed |= {d % len(shape) for d in annotation.static_shape_dims}
    named = (
        {d % len(shape) for d in annotation.static_stride_dims} if annotation is not None else ()
    )
    constant = [s if (k in named if named else s == 1) else None for k, s in enumerate(strides)]
    bytes_each = tensor.element_size()
    return compilation.ArrayConstraint(
        dtype,
        len(shape),
        index_dtype=index,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=_overlaps(shape, strides),
        stride_constant=constant,
        shape_constant=[n if k in fixed else None for k, n in enumerate(shape)] if fixed else None,
        stride_divisible_by=[
            _ALIGNMENT // bytes_each if c is None and s * bytes_each % _ALIGNMENT == 0 else 1
            for s, c in zip(strides, constant)
        ],
        shape_divisible_by=[
            _ALIGNMENT if k not in fixed and n % _ALIGNMENT == 0 else 1 for k, n in enumerate(shape)
        ],
        base_addr_divisible_by=_ALIGNMENT if _address(tensor) % _ALIGNMENT == 0 else 1,
    )


def _address(tensor: Any) -> int:
    """Where a tensor would begin in memory that CUDA gave: its offset in it, in bytes."""
    offset: int = tensor.storage_offset() * tensor.element_size()
    return _ALLOCATED + offset


def _overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices can mean one element."""
    reached = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if stride <= reached:
            return 0 not in shape
        reached += stride * (size - 1)
    return False


def _dtype(dtype: Any) -> Any:
    """PyTorch's number format as cuda-tile's. Raises TypeError."""
    ct = importlib.import_module("cuda.tile")
    name = str(dtype).partition(".")[2]
    found = getattr(ct, {"bool": "bool_"}.get(name, name), None)
    if found is None:
        raise TypeError(f"Unsupported array dtype {dtype}")
    return found


def _list(values: Sequence[Any], annotation: Any) -> Any:
    """The constraint of a list of arrays: what holds for each of them."""
    compilation = importlib.import_module("cuda.tile.compilation")
    if not values:
        raise TypeError("Empty lists are not supported as kernel arguments")
    of_list = getattr(annotation, "list", None)
    element = of_list.element if of_list is not None else None
    # Either the annotation itself, or a type that it was put on.
    about = [m for m in getattr(element, "__metadata__", (element,)) if hasattr(m, "index_dtype")]
    each = [_array(v, about[0] if about else None) for v in values]
    first = each[0]
    if len({(c.dtype, c.ndim) for c in each}) > 1:
        raise TypeError("the arrays of a list have one number format and one rank")

    def shared(field: str, otherwise: Any) -> list[Any]:
        columns = zip(*(getattr(c, field) for c in each))
        return [column[0] if len(set(column)) == 1 else otherwise for column in columns]

    common = compilation.ArrayConstraint(
        first.dtype,
        first.ndim,
        index_dtype=first.index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=any(c.may_alias_internally for c in each),
        stride_constant=shared("stride_constant", None),
        stride_divisible_by=shared("stride_divisible_by", 1),
        shape_constant=shared("shape_constant", None),
        shape_divisible_by=shared("shape_divisible_by", 1),
        base_addr_divisible_by=min(c.base_addr_divisible_by for c in each),
    )
    return compilation.ListConstraint(common, alias_groups=(), elements_may_alias=True)
