"""Rules of a stated target: element types that it does not have.

Place in the flow: beside Module; imports `model`. Source of the facts: the checks of cuda-tile 1.7.0, which
go by what tileiras compiles.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..dialect import ARCHES
from ..errors import UsageError
from ..model import (
    ElementType,
    Operation,
    PointerType,
    TensorViewType,
    TileType,
    Type,
    Value,
    ViewType,
)
from .rules import Found, tile_of

# Element type -> the oldest target that has it.
_SINCE: dict[str, int] = {
    "f8E4M3FN": 90,
    "f8E5M2": 90,
    "f8E8M0FNU": 100,
    "f4E2M1FN": 100,
    "fnv8E5M3FNU": 107,
}
# The oldest target that adds bf16 in memory.
_BFLOAT_ADDITION_SINCE = 90


def check_known(arch: str) -> None:
    """Raises UsageError where there is no such target."""
    if arch not in ARCHES:
        raise UsageError(f"unknown arch '{arch}'; known: {', '.join(ARCHES)}")


def check_target(operations: Iterable[Operation], arch: str, broken: Container[Operation]) -> Found:
    """Everything that a target cannot do; operations that are broken are passed over."""
    target = int(arch.removeprefix("sm_"))
    for op in operations:
        if op in broken:
            continue
        named: set[str] = set()
        for value in _defined(op):
            element = _element(value.type)
            since = _SINCE.get(element, 0)
            if since > target and element not in named:
                named.add(element)
                yield op, f"{op.name}: {element} needs sm_{since} or later, the target is {arch}"
        if target < _BFLOAT_ADDITION_SINCE and _adds_bfloats(op):
            wanted = f"sm_{_BFLOAT_ADDITION_SINCE}"
            yield op, f"{op.name}: addition of bf16 needs {wanted} or later, the target is {arch}"


def _defined(op: Operation) -> list[Value]:
    blocks = (block for region in op.regions for block in region.blocks)
    return [*op.results, *(value for block in blocks for value in block.arguments)]


def _element(type: Type) -> str:
    """The name of the element type in a type, that of what is pointed to for pointers."""
    if isinstance(type, ViewType):
        return _element(type.tensor_view)
    if isinstance(type, (TileType, TensorViewType)):
        return _element(type.element)
    if isinstance(type, PointerType):
        return _element(type.pointee)
    return type.name if isinstance(type, ElementType) else ""


def _adds_bfloats(op: Operation) -> bool:
    name = {"atomic_rmw_tko": "arg", "atomic_red_view_tko": "value"}.get(op.name)
    if name is None or op.keyword("mode") != "addf":
        return False
    return str(tile_of(op, name).element) == "bf16"
