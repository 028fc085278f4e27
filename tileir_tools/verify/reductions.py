"""Rules of `reduce` and `scan`: operands, identities, bodies.

Place in the flow: beside Module; imports `model`. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import (
    ArrayAttr,
    Block,
    BoolAttr,
    FloatAttr,
    IntegerAttr,
    Operation,
    TileType,
    Type,
    Value,
)
from .rules import Rule

# What ends their bodies counts as an effect.
_LOOPS = frozenset({"for", "loop"})

# Ops that touch no memory and still cannot be computed ahead: for some operands they are undefined, or they
# hold others. Compilers up to 13.3 do not take them in a body.
UNSAFE_AHEAD = frozenset(
    "divi get_index_space_shape get_tensor_shape make_tensor_view if reduce scan".split()
)


def _operands(op: Operation) -> Iterator[str]:
    if not op.operands:
        yield "needs at least one operand"
        return
    yield from _identities(op)
    dim = op.attributes["dim"]
    assert isinstance(dim, IntegerAttr)
    first = op.operands[0].type
    assert isinstance(first, TileType)
    if not 0 <= dim.value < first.rank:
        yield f"dim is {dim.value}, {first} has {first.rank} dimensions"
        return
    if len(op.operands) != len(op.results):
        yield f"has {len(op.operands)} operands and {len(op.results)} results"
        return
    for k, (operand, result) in enumerate(zip(op.operands, op.results)):
        wanted = _result_type(op, operand.type, dim.value)
        if result.type is not wanted:
            yield f"result {k} is {result.type}, operand {k} makes it {wanted}"


def _result_type(op: Operation, operand: Type, dim: int) -> Type:
    if op.name == "scan" or not isinstance(operand, TileType):
        return operand
    return TileType(operand.shape[:dim] + operand.shape[dim + 1 :], operand.element)


def _identities(op: Operation) -> Iterator[str]:
    identities = op.attributes["identities"]
    assert isinstance(identities, ArrayAttr)
    if len(identities.items) != len(op.operands):
        yield f"has {len(op.operands)} operands and {len(identities.items)} identities"
        return
    for k, (identity, operand) in enumerate(zip(identities.items, op.operands)):
        assert isinstance(operand.type, TileType)
        if not isinstance(identity, (BoolAttr, IntegerAttr, FloatAttr)):
            yield f"identity {k} is no number"
            continue
        found = "i1" if isinstance(identity, BoolAttr) else str(identity.type)
        wanted = str(operand.type.element)
        # The official check takes the two 16-bit floats for each other.
        if wanted != found and {wanted, found} != {"f16", "bf16"}:
            yield f"identity {k} is of {found}, operand {k} has elements of {wanted}"


RULES: dict[str, Rule] = {"reduce": _operands, "scan": _operands}


def check_body(op: Operation) -> Iterator[tuple[Operation, str]]:
    """What is wrong with the region of a reduce or scan, and with which operation."""
    scalars = [_scalar(value) for value in op.operands]
    block = op.regions[0].block
    wanted = [t for t in scalars for _ in (0, 1)]
    if [v.type for v in block.arguments] != wanted:
        yield op, f"the body of {op.name} must take two scalars for each operand"
    yield from _yielded(op, block, scalars)
    yield from _effects(op, op)


def _effects(op: Operation, inside: Operation) -> Iterator[tuple[Operation, str]]:
    """The operations in a body, and in branches in it, that do more than compute."""
    for block in (b for region in inside.regions for b in region.blocks):
        for inner in block.operations:
            spec = inner.spec
            if inner.name in _LOOPS or not (spec is None or spec.is_pure or inner.regions):
                yield inner, f"{inner.name} has effects: it cannot stand in the body of {op.name}"
            else:
                yield from _effects(op, inner)


def _scalar(value: Value) -> Type:
    return TileType((), value.type.element) if isinstance(value.type, TileType) else value.type


def _yielded(op: Operation, block: Block, wanted: list[Type]) -> Iterator[tuple[Operation, str]]:
    last = block.terminator
    if last is None or last.name != "yield":
        return
    given = [v.type for v in last.operands]
    if len(given) != len(wanted):
        yield op, f"the body of {op.name} yields {len(given)} values for {len(wanted)} operands"
        return
    for k, (found, type) in enumerate(zip(given, wanted)):
        if found is not type:
            yield op, f"the body of {op.name} yields {found} for operand {k}, wanted {type}"
