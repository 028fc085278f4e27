"""Facts about memory operations.

Place in the flow: Module -> **facts**; imports `model`, `facts`, `expressions`, `hints`, `ordering`.
"""

from __future__ import annotations

from ..model import (
    DenseArrayAttr,
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    StridedViewType,
    TileType,
    Type,
    ViewType,
)
from .expressions import Expressions
from .facts import MemoryFact, Where
from .hints import effective, resolved_hints
from .ordering import direct_predecessors

_ADDRESSES = ("view", "source", "destination", "pointers")
_MOVED = ("tile", "value", "arg", "val")

_VIEW_NAMES: dict[type[Type], str] = {
    PartitionViewType: "partition_view",
    StridedViewType: "strided_view",
    GatherScatterViewType: "gather_scatter_view",
}


def where(op: Operation) -> Where:
    """The place of an operation."""
    span = op.span
    line, column = (span.line, span.column) if span else (0, 0)
    return Where(line, column, op.location.file_line)


def is_memory_op(op: Operation) -> bool:
    """Whether an operation loads, stores or updates memory."""
    return op.spec is not None and bool(op.spec.traits & {"loads", "stores", "atomic"})


def memory_fact(op: Operation, expressions: Expressions, arch: str | None) -> MemoryFact:
    """What is known about one load, store or atomic."""
    assert op.spec is not None
    traits = op.spec.traits
    access = "load" if "loads" in traits else "store" if "stores" in traits else "atomic"
    groups = {row.name for row in op.spec.operands}
    address = op.operand(next(name for name in _ADDRESSES if name in groups))
    assert address is not None
    view = address.type if isinstance(address.type, ViewType) else None
    moved = _moved_type(op, groups)
    hints = resolved_hints(op.hints, arch)
    takes_tma = op.name in ("load_view_tko", "store_view_tko")
    indices = op.operand_group("index") if "index" in groups else []
    return MemoryFact(
        op=op.name,
        where=where(op),
        access=access,
        family="pointer" if view is None else "view",
        view=_VIEW_NAMES.get(type(view)) if view is not None else None,
        base=expressions.base(address),
        tile=moved.shape,
        element=str(moved.element),
        bytes=moved.bytes,
        indices=tuple(expressions.expression(v) for v in indices),
        shape=view.tensor_view.shape if view else None,
        strides=view.tensor_view.strides if view else None,
        dim_map=getattr(view, "dim_map", None),
        traversal_strides=getattr(view, "traversal_strides", None),
        sparse_dim=getattr(view, "sparse_dim", None),
        padding=_padding(op, groups, view, expressions),
        masked="mask" in groups and op.operand("mask") is not None,
        inbounds=_inbounds(op),
        latency=effective(hints, "latency"),
        allow_tma=effective(hints, "allow_tma") if takes_tma else None,
        ordering=op.keyword("memory_ordering_semantics"),
        scope=op.keyword("memory_scope"),
        loop_depth=op.loop_depth,
        token_from=_token_from(op),
    )


def _moved_type(op: Operation, groups: set[str]) -> TileType:
    for name in _MOVED:
        value = op.operand(name) if name in groups else None
        if value is not None and isinstance(value.type, TileType):
            return value.type
    type = op.results[0].type
    assert isinstance(type, TileType)
    return type


def _padding(
    op: Operation, groups: set[str], view: ViewType | None, expressions: Expressions
) -> str | None:
    if view is not None:
        return view.padding
    value = op.operand("paddingValue") if "paddingValue" in groups else None
    return expressions.expression(value) if value is not None else None


def _inbounds(op: Operation) -> tuple[int, ...]:
    found = op.attribute("inbounds")
    values = found.values if isinstance(found, DenseArrayAttr) else ()
    return tuple(k for k, promised in enumerate(values) if promised)


def _token_from(op: Operation) -> tuple[str, ...]:
    found = []
    for before in direct_predecessors(op):
        span = before.op.span
        line = f" at line {span.line}" if span else ""
        again = " of an earlier iteration" if before.carried else ""
        found.append(f"{before.op.name}{line}{again}")
    return tuple(sorted(found))
