"""Rules that an op's row in the table says of its operands and results.

Place in the flow: beside Module; imports `dialect`, `model`. Each function yields what is wrong, as
sentences without a position and without the name of the op.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..dialect import OperandSpec, OpSpec, ResultSpec
from ..dialect.constraints import CONSTRAINTS
from ..model import Operation, PointerType, TensorViewType, TileType, Type, Value


def check_counts(op: Operation, spec: OpSpec) -> Iterator[str]:
    """Numbers of operands, sizes of their groups, numbers of results."""
    sizes = op.segments if op.segments is not None else (1,) * len(spec.operands)
    if len(sizes) != len(spec.operands) or sum(sizes) != len(op.operands):
        yield f"has {len(op.operands)} operands, its groups say {sum(sizes)}"
    else:
        for row, size in zip(spec.operands, sizes):
            if (row.arity == "" and size != 1) or (row.arity == "?" and size > 1) or size < 0:
                yield f"has {size} values for operand '{row.name}'"
    variadic = any(row.arity for row in spec.results)
    if not variadic and len(op.results) != len(spec.results):
        yield f"has {len(op.results)} results, it gives {len(spec.results)}"


def check_types(op: Operation, spec: OpSpec) -> Iterator[str]:
    """Types of operands and results, each by itself and together. The counts must be right."""
    groups = dict(value_groups(op, spec))
    found = False
    for message in (*_constraints(groups, spec), *_same(groups, spec)):
        found = True
        yield message
    if not found:
        # Only tiles of the right kind have a shape to compare.
        yield from _alike(groups, spec)


def value_groups(op: Operation, spec: OpSpec) -> Iterator[tuple[str, Sequence[Value]]]:
    """Name of each operand group and each result, and its values."""
    place = 0
    for k, row in enumerate(spec.operands):
        size = op.segments[k] if op.segments is not None else 1
        yield row.name, op.operands[place : place + size]
        place += size
    for k, result in enumerate(spec.results):
        yield result.name, op.results if result.arity else op.results[k : k + 1]


def _constraints(groups: dict[str, Sequence[Value]], spec: OpSpec) -> Iterator[str]:
    # Operands that break one rule in one way are named together: most often they have one cause.
    broken: dict[tuple[str, Type], list[str]] = {}
    rows: tuple[OperandSpec | ResultSpec, ...] = (*spec.operands, *spec.results)
    for row in rows:
        values = groups[row.name]
        for k, value in enumerate(values):
            if not CONSTRAINTS[row.constraint].allows(value.type):
                name = f"{row.name}[{k}]" if row.arity == "*" else row.name
                broken.setdefault((row.constraint, value.type), []).append(name)
    for (constraint, type), names in broken.items():
        yield f"{' and '.join(names)} must be {CONSTRAINTS[constraint].words}, found {type}"


def _same(groups: dict[str, Sequence[Value]], spec: OpSpec) -> Iterator[str]:
    for names in spec.same:
        types: dict[Type, str] = {}
        for name in names:
            for value in groups[name]:
                types.setdefault(value.type, name)
        if len(types) > 1:
            shown = " and ".join(f"{name} is {type}" for type, name in types.items())
            yield f"{shown}; they must have one type"


_ASPECTS = {
    "shape": "one shape",
    "rank": "as many dimensions",
    "element": "one element type",
    "pointee": "one element type, that of what is pointed to",
}


def _alike(groups: dict[str, Sequence[Value]], spec: OpSpec) -> Iterator[str]:
    for aspect, names in spec.alike:
        found: dict[object, str] = {}
        for name in names:
            # The first of a group is the one that points.
            what = "element" if aspect == "pointee" and name != names[0] else aspect
            for value in groups[name]:
                found.setdefault(_aspect(value.type, what), f"{name} is {value.type}")
        if len(found) > 1:
            yield f"{' and '.join(found.values())}; they must have {_ASPECTS[aspect]}"


def _aspect(type: Type, aspect: str) -> object:
    if not isinstance(type, (TileType, TensorViewType)):
        return None
    if aspect == "shape":
        return type.shape
    if aspect == "rank":
        return len(type.shape)
    if aspect == "pointee" and isinstance(type.element, PointerType):
        return type.element.pointee
    return type.element
