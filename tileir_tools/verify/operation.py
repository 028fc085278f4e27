"""What is wrong with one operation by itself, wherever it stands.

Place in the flow: beside Module; imports `model` and the files that hold rules by subject. The answer depends
only on the op, its types and its attributes, which are interned: `structure` asks once for each combination.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..dialect import OpSpec
from ..model import (
    OpaqueAttr,
    OpaqueType,
    Operation,
    PointerType,
    TensorViewType,
    TileType,
    Type,
    ViewType,
)
from . import arithmetic, literals, matrices, memory, predicates, reductions, shapes, views
from .attributes import check_keywords, check_present
from .operands import check_counts, check_types
from .rules import Rule
from .types import check_type

RULES: dict[str, Rule] = {
    **arithmetic.RULES,
    **literals.RULES,
    **matrices.RULES,
    **memory.RULES,
    **predicates.RULES,
    **reductions.RULES,
    **shapes.RULES,
    **views.RULES,
}


def check_operation(op: Operation, spec: OpSpec) -> list[str]:
    """What is wrong with an operation, as sentences that begin with its name; empty for a valid one."""
    return [f"{op.name}: {message}" for message in _messages(op, spec)]


def missing_parts(op: Operation, spec: OpSpec) -> Iterator[str]:
    """What an operation lacks; rules look only at one that has all its parts."""
    yield from check_counts(op, spec)
    yield from check_present(op, spec)


def _messages(op: Operation, spec: OpSpec) -> Iterator[str]:
    missing = list(missing_parts(op, spec))
    if missing:
        # Nothing else can be asked of an op that lacks a part.
        yield from missing
        return
    for type in {result.type: None for result in op.results}:
        yield from check_type(type)
    yield from check_keywords(op, spec)
    wrong = list(check_types(op, spec))
    yield from wrong
    rule = RULES.get(op.name)
    if rule is not None and not wrong and not _is_partly_unknown(op):
        yield from rule(op)


def _is_partly_unknown(op: Operation) -> bool:
    """Whether a type or an attribute is one that this version does not know."""
    types = (value.type for value in (*op.operands, *op.results))
    if any(_is_opaque(type) for type in types):
        return True
    return any(isinstance(value, OpaqueAttr) for value in op.attributes.values())


def _is_opaque(type: Type) -> bool:
    if isinstance(type, ViewType):
        return _is_opaque(type.tensor_view)
    if isinstance(type, (TileType, TensorViewType)):
        return _is_opaque(type.element)
    return isinstance(type, OpaqueType) or (
        isinstance(type, PointerType) and isinstance(type.pointee, OpaqueType)
    )
