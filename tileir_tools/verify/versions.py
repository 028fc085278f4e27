"""Rules of a stated bytecode version: what it does not have yet, and what its compilers did not take yet.

Place in the flow: beside Module; imports `dialect`, `model`. Source of the facts: the dialect's public
definition (NVIDIA/cuda-tile, 13.3) where it is stricter than tileirdisasm 13.5.37, and the versions that
cuda-tile 1.7.0 asks for.

Without a stated version a module is valid where some version takes it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ..dialect import VERSIONS
from ..dialect.availability import newer_parts, type_since
from ..dialect.bytecode import version_key
from ..errors import UsageError
from ..model import Operation, Type, Value, ViewType
from .control import leaves_through_loop
from .reductions import UNSAFE_AHEAD
from .rules import Found, tile_of, value_of

# Up to this version compilers were as strict as the public definition.
_STRICT_UNTIL = "13.3"

# The version that brought the addition of bf16 in memory.
_BFLOAT_ADDITION_SINCE = "13.3"

# What `tanh` takes. The public definition reports another mode and takes it nonetheless.
_TANH_MODES = ("approx", "full")


def check_known(version: str) -> None:
    """Raises UsageError where there is no such version."""
    if version not in VERSIONS:
        raise UsageError(f"unknown bytecode version '{version}'; known: {', '.join(VERSIONS)}")


def check_tanh(operations: Iterable[Operation]) -> Found:
    """What to say of a module without a stated version, since no two versions agree on it."""
    for op in operations:
        if op.name != "tanh":
            continue
        mode = op.keyword("rounding_mode")
        if mode not in _TANH_MODES:
            yield op, f"tanh: rounding_mode {mode} is ignored up to {_STRICT_UNTIL}, later an error"


def check_version(
    operations: Iterable[Operation], version: str, broken: Container[Operation]
) -> Found:
    """Everything that a version does not take; operations that are broken are passed over."""
    for op in operations:
        if op in broken:
            continue
        for what, since in newer_parts(op, version):
            yield op, f"{what} needs bytecode {since}, the version is {version}"
        for type in _new_types(op):
            since = type_since(type)
            if version_key(since) > version_key(version):
                yield op, f"{type} needs bytecode {since}, the version is {version}"
        if op.spec is not None:
            strict = version_key(version) <= version_key(_STRICT_UNTIL)
            for message in _early(op, version) if strict else _late(op):
                yield op, f"{op.name}: {message}"


def _new_types(op: Operation) -> dict[Type, None]:
    """The types of the values that an operation or its regions define."""
    blocks = (block for region in op.regions for block in region.blocks)
    values: list[Value] = [*op.results, *(v for block in blocks for v in block.arguments)]
    return {value.type: None for value in values}


def _late(op: Operation) -> Iterator[str]:
    if op.name == "tanh" and op.keyword("rounding_mode") not in _TANH_MODES:
        yield f"rounding_mode must be approx or full, found {op.keyword('rounding_mode')}"


def _early(op: Operation, version: str) -> Iterator[str]:
    """What compilers up to 13.3 do not take, though every part of it was there."""
    later = f"needs bytecode 13.4, the version is {version}"
    if op.name == "ftof":
        to, mode = tile_of(op, "to").element, op.keyword("rounding_mode")
        if mode != "nearest_even" and str(to) != "f8E8M0FNU":
            yield f"rounding mode {mode} {later}"
    elif op.name == "atomic_red_view_tko":
        view = value_of(op, "view").type
        if isinstance(view, ViewType) and view.padding is not None:
            yield f"a view with padding_value {later}"
    elif op.name == "return" and leaves_through_loop(op):
        yield f"leaving an entry out of a loop {later}"
    elif op.name in UNSAFE_AHEAD and op.parent_op is not None:
        body = op.parent_op.name
        if body in ("reduce", "scan"):
            yield f"what cannot be computed ahead, in the body of {body}, {later}"
    if op.name in ("atomic_rmw_tko", "atomic_red_view_tko"):
        yield from _bfloat_addition(op, version)


def _bfloat_addition(op: Operation, version: str) -> Iterator[str]:
    value = tile_of(op, "arg" if op.name == "atomic_rmw_tko" else "value")
    is_addition = op.keyword("mode") == "addf" and str(value.element) == "bf16"
    if is_addition and version_key(version) < version_key(_BFLOAT_ADDITION_SINCE):
        yield f"addition of bf16 needs bytecode {_BFLOAT_ADDITION_SINCE}, the version is {version}"
