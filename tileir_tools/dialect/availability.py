"""Which bytecode version brought what an operation uses.

Place in the flow: what the bytecode writer refuses and what `verify` says of a stated version; imports
`bytecode`, `enums` and `model`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import (
    ElementType,
    EnumAttr,
    Operation,
    PointerType,
    TensorViewType,
    TileType,
    Type,
    ViewType,
)
from .bytecode import ELEMENT_TAGS, POINTER_ATTRIBUTES_SINCE, TYPE_TAGS, version_key
from .enums import KEYWORDS_SINCE

_FIRST = "13.1"


def newer_parts(op: Operation, version: str) -> Iterator[tuple[str, str]]:
    """What of an operation a version does not have, in words, and the version that brought it.

    Types are not among it: see `type_since`. An operation that the table does not know has no parts.
    """
    spec = op.spec
    if spec is None:
        return
    key = version_key(version)
    if version_key(spec.since) > key:
        yield f"operation {op.name}", spec.since
        return
    for name, value in op.attributes.items():
        row = spec.attributes.get(name)
        if row is not None and version_key(row.since) > key:
            yield f"attribute {name} of {op.name}", row.since
        elif isinstance(value, EnumAttr):
            since = KEYWORDS_SINCE.get((value.kind, value.value), _FIRST)
            if version_key(since) > key:
                yield f"{name} {value.value} of {op.name}", since
    for group, size in zip(spec.operands, op.segments or ()):
        if size and version_key(group.since) > key:
            yield f"operand {group.name} of {op.name}", group.since
    for result, given in zip(spec.results, op.results):
        # A result that nobody reads is left out.
        if given.users and version_key(result.since) > key:
            yield f"the result of {op.name}", result.since


def type_since(type: Type) -> str:
    """The version that brought a type with all that is in it; the first one where it is not known."""
    parts: list[str] = [_FIRST]
    if isinstance(type, ElementType):
        parts.append(ELEMENT_TAGS[type.name][1])
    elif isinstance(type, PointerType):
        parts.append(type_since(type.pointee))
    elif isinstance(type, (TileType, TensorViewType)):
        parts.append(type_since(type.element))
    elif isinstance(type, ViewType):
        parts += [type_since(type.tensor_view), TYPE_TAGS[_kind(type)][1]]
    if isinstance(type, (PointerType, TensorViewType)) and type.attribute is not None:
        parts.append(POINTER_ATTRIBUTES_SINCE[type.attribute])
    return max(parts, key=version_key)


def _kind(type: ViewType) -> str:
    return str(type).partition("<")[0]
