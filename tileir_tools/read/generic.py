"""Reading MLIR's generic form: `"cuda_tile.addi"(%a, %b) <{..}> : (types) -> type`.

Place in the flow: part of bytes -> Module for text; imports `state`, `forms`, `regions`, `model`.
"""

from __future__ import annotations

from ..dialect import ALIASES, OPS, OpSpec
from ..model import (
    UNKNOWN,
    Attribute,
    DenseArrayAttr,
    Entry,
    Global,
    Operation,
    Region,
    Type,
    Value,
)
from .forms import read_dict
from .literals import unescape
from .regions import ensure_terminator, read_region
from .state import Failure, State

# What an op gets where its region leaves the terminator out.
_IMPLICIT_TERMINATORS = {
    "entry": "return",
    "testing$func": "return",
    "for": "continue",
    "loop": "continue",
    "if": "yield",
}

# Stands in for the row of an op that the table does not know.
_NO_ROW = OpSpec("", "", (), {}, (), (), frozenset(), (), "")


def generic_name(state: State, index: int) -> str:
    """The mnemonic, without `cuda_tile.`, of the quoted op name at a token."""
    return unescape(state.tokens[index][1:-1]).removeprefix("cuda_tile.")


def read_generic(state: State, index: int) -> tuple[Operation, int]:
    """An operation in the generic form; `index` is at the quoted name. Raises Failure."""
    at = index
    name = generic_name(state, index)
    spec = OPS.get(ALIASES.get(name, name))
    operands, index = _operands(state, index + 1)
    attributes: dict[str, Attribute] = {}
    if state.tokens[index] == "<" and state.tokens[index + 1] == "{":
        index = read_dict(state, index + 1, spec or _NO_ROW, attributes)
        index = state.expect(index, ">")
    regions: list[Region] = []
    if state.tokens[index] == "(":
        regions, index = _regions(state, index)
    if state.tokens[index] == "{":
        index = read_dict(state, index, spec or _NO_ROW, attributes)
    index = state.expect(index, ":")
    inputs, index = _parenthesised(state, index)
    index = state.expect(index, "->")
    results, index = state.type_list(index)
    _check_operands(at, operands, inputs)
    if spec is None:
        return _opaque(state, name, operands, results, attributes, regions, at), index
    segments = _segments(spec, operands, attributes, at)
    for region in regions:
        if spec.mnemonic in _IMPLICIT_TERMINATORS and region.blocks:
            ensure_terminator(region, _IMPLICIT_TERMINATORS[spec.mnemonic], UNKNOWN)
    _check_required(spec, attributes, at)
    kind = {"entry": Entry, "testing$func": Entry, "global": Global}.get(spec.mnemonic, Operation)
    op = kind(spec.mnemonic, spec, operands, results, attributes, regions, segments)
    return op, index


def _operands(state: State, index: int) -> tuple[list[Value], int]:
    index = state.expect(index, "(")
    if state.tokens[index] == ")":
        return [], index + 1
    values, index = state.operands(index)
    return values, state.expect(index, ")")


def _regions(state: State, index: int) -> tuple[list[Region], int]:
    """`({..}, {..})`."""
    index = state.expect(index, "(")
    regions: list[Region] = []
    while True:
        if state.tokens[index : index + 2] == ["{", "}"]:
            regions.append(Region())
            index += 2
        else:
            region, index = read_region(state, index, [], [])
            regions.append(region)
        if state.tokens[index] != ",":
            return regions, state.expect(index, ")")
        index += 1


def _parenthesised(state: State, index: int) -> tuple[list[Type], int]:
    if state.tokens[index] != "(":
        raise state.expected(index, "'('")
    return state.type_list(index)


def _check_operands(at: int, operands: list[Value], inputs: list[Type]) -> None:
    if len(operands) != len(inputs):
        raise Failure(at, f"{len(operands)} operands, but {len(inputs)} operand types")
    for value, type in zip(operands, inputs):
        if value.type is not type:
            raise Failure(at, f"{value.name} is {value.type}, the operation says {type}")


def _segments(
    spec: OpSpec, operands: list[Value], attributes: dict[str, Attribute], at: int
) -> tuple[int, ...] | None:
    """The sizes of the operand groups, from `operandSegmentSizes` or by counting."""
    given = attributes.pop("operandSegmentSizes", None)
    single = sum(1 for row in spec.operands if not row.arity)
    if spec.single_operands:
        if len(operands) != single:
            raise Failure(at, f"{spec.mnemonic} takes {single} operands, found {len(operands)}")
        return None
    if given is not None:
        sizes = given.values if isinstance(given, DenseArrayAttr) else ()
        if len(sizes) != len(spec.operands) or sum(sizes) != len(operands) or min(sizes) < 0:
            raise Failure(at, f"operandSegmentSizes does not fit the operands of {spec.mnemonic}")
        for row, size in zip(spec.operands, sizes):
            if size != 1 and row.arity == "" or size > 1 and row.arity == "?":
                raise Failure(at, f"{size} operands for '{row.name}' of {spec.mnemonic}")
        return sizes
    if "segments" in spec.traits:
        raise Failure(at, f"{spec.mnemonic} needs operandSegmentSizes in the generic form")
    flexible = len(operands) - single
    if flexible < 0 or (flexible > 1 and not any(row.arity == "*" for row in spec.operands)):
        raise Failure(at, f"{len(operands)} operands do not fit {spec.mnemonic}")
    return tuple(flexible if row.arity else 1 for row in spec.operands)


def _check_required(spec: OpSpec, attributes: dict[str, Attribute], at: int) -> None:
    for name, row in spec.attributes.items():
        if row.default is None and not row.optional and name not in attributes:
            raise Failure(at, f"{spec.mnemonic} needs an attribute '{name}'")


def _opaque(
    state: State,
    name: str,
    operands: list[Value],
    results: list[Type],
    attributes: dict[str, Attribute],
    regions: list[Region],
    at: int,
) -> Operation:
    """An op in the generic form that the table does not know: nothing of it is lost."""
    op = Operation(name, None, operands, results, attributes, regions)
    state.warn(at, at, f"unknown operation '{name}': kept as it is, not understood")
    return op
