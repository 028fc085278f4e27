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
from .attributes import read_dict
from .literals import unescape
from .regions import ensure_terminator, read_region
from .state import Failure, State, counted

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
    index = _operand_types(state, state.expect(index, ":"), operands)
    index = state.expect(index, "->")
    results, index = state.type_list(index)
    if spec is None:
        return _opaque(state, name, operands, results, attributes, regions, at), index
    segments = _segments(spec, operands, attributes, at)
    _check_shape(spec, results, regions, at)
    _check_required(spec, attributes, at)
    for region in regions:
        if spec.mnemonic in _IMPLICIT_TERMINATORS:
            ensure_terminator(region, _IMPLICIT_TERMINATORS[spec.mnemonic], UNKNOWN)
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
            region, index = read_region(state, index)
            regions.append(region)
        if state.tokens[index] != ",":
            return regions, state.expect(index, ")")
        index += 1


def _operand_types(state: State, index: int, operands: list[Value]) -> int:
    """`(type, type)`, one for each operand; the index behind it."""
    first = state.expect(index, "(")
    if state.tokens[first] == ")" or not operands:
        types, index = state.type_list(index)
        if len(types) != len(operands):
            raise Failure(first, f"expected {len(operands)} operand types, found {len(types)}")
        return index
    _, index = state.types_of(first, operands)
    return state.expect(index, ")")


def _check_shape(spec: OpSpec, results: list[Type], regions: list[Region], at: int) -> None:
    """Raises Failure where the numbers of results and regions are not those of the op."""
    name = spec.mnemonic
    if not any(row.arity for row in spec.results) and len(results) != len(spec.results):
        wanted = counted(len(spec.results), "result")
        raise Failure(at, f"{name} has {wanted}, found {counted(len(results), 'type')}")
    if len(regions) != len(spec.regions):
        wanted = counted(len(spec.regions), "region")
        raise Failure(at, f"{name} has {wanted}, found {len(regions)}")
    for region, row in zip(regions, spec.regions, strict=True):
        # An `if` without else.
        if region.empty and row != "elseRegion":
            raise Failure(at, f"the region '{row}' of {name} is empty")


def _segments(
    spec: OpSpec, operands: list[Value], attributes: dict[str, Attribute], at: int
) -> tuple[int, ...] | None:
    """The sizes of the operand groups, from `operandSegmentSizes` or by counting."""
    given = attributes.pop("operandSegmentSizes", None)
    single = sum(1 for row in spec.operands if not row.arity)
    if spec.single_operands:
        if len(operands) != single:
            wanted = counted(single, "operand")
            raise Failure(at, f"{spec.mnemonic} takes {wanted}, found {len(operands)}")
        return None
    if given is not None:
        sizes = given.values if isinstance(given, DenseArrayAttr) else ()
        if len(sizes) != len(spec.operands) or sum(sizes) != len(operands) or min(sizes) < 0:
            raise Failure(at, f"operandSegmentSizes does not fit the operands of {spec.mnemonic}")
        for row, size in zip(spec.operands, sizes, strict=True):
            if (size != 1 and row.arity == "") or (size > 1 and row.arity == "?"):
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
    state.warn(at, at, f"operation '{name}' is unknown: kept as it is, not understood")
    return op
