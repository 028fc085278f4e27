"""Rules of the ops that make views and go through them: types that belong together, indices.

Place in the flow: beside Module; imports `model`. What makes the type of a view valid is in `types`. Source of
the facts: the op verifiers of the dialect (NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import (
    GatherScatterViewType,
    Operation,
    PointerType,
    TensorViewType,
    TileType,
    Type,
    Value,
    ViewType,
)
from .memory import check_atomic, check_scope
from .rules import Rule, tile_of, value_of


def _make_tensor_view(op: Operation) -> Iterator[str]:
    view = value_of(op, "result").type
    assert isinstance(view, TensorViewType)
    pointer = tile_of(op, "base").element
    if isinstance(pointer, PointerType) and pointer.pointee is not view.element:
        yield f"base points to {pointer.pointee}, the view is of {view.element}"
    shape, strides = op.operand_group("dynamicShape"), op.operand_group("dynamicStrides")
    for what, sizes, values in (("sizes", view.shape, shape), ("strides", view.strides, strides)):
        wanted = sum(1 for size in sizes if size is None)
        if wanted != len(values):
            yield f"{view} leaves {wanted} {what} open, found {len(values)}"
    if len({value.type for value in (*shape, *strides)}) > 1:
        yield "all sizes and strides must have one type"


def _make_view(op: Operation) -> Iterator[str]:
    view, source = value_of(op, "result").type, value_of(op, "tensor_view").type
    assert isinstance(view, ViewType)
    if view.tensor_view is not source:
        yield f"the result looks into {view.tensor_view}, the operand is {source}"


def _index_space_shape(op: Operation) -> Iterator[str]:
    yield from _one_size_each(op, "src")


def _one_size_each(op: Operation, name: str) -> Iterator[str]:
    type = value_of(op, name).type
    assert isinstance(type, (TensorViewType, ViewType))
    if len(op.results) != type.rank:
        yield f"{type} has {type.rank} dimensions, found {len(op.results)} results"


def _load(op: Operation) -> Iterator[str]:
    yield from _tile_and_indices(op, "tile")
    yield from check_scope(op)


def _tile_and_indices(op: Operation, tile_name: str) -> Iterator[str]:
    view, tile = value_of(op, "view").type, tile_of(op, tile_name)
    assert isinstance(view, ViewType)
    if tile is not view.tile:
        yield f"{tile_name} is {tile}, the view has tiles of {view.tile}"
    indices = op.operand_group("index")
    if len(indices) != view.rank:
        yield f"{view} takes {view.rank} indices, found {len(indices)}"
    elif isinstance(view, GatherScatterViewType):
        yield from _sparse_indices(view, indices)
    else:
        yield from _scalar_indices(dict(enumerate(indices)))


def _scalar_indices(indices: dict[int, Value]) -> Iterator[str]:
    types: dict[Type, int] = {}
    for k, index in indices.items():
        types.setdefault(index.type, k)
        if isinstance(index.type, TileType) and index.type.shape:
            yield f"index {k} must be a tile of one integer, found {index.type}"
    if len(types) > 1:
        shown = " and ".join(f"index {k} is {type}" for type, k in types.items())
        yield f"{shown}; they must have one type"


def _sparse_indices(view: GatherScatterViewType, indices: Sequence[Value]) -> Iterator[str]:
    """One index for each position along the sparse dimension, one scalar for each other dimension."""
    sparse = view.sparse_dim
    if not 0 <= sparse < len(indices):
        # The type of the view itself is wrong.
        return
    type = indices[sparse].type
    if not isinstance(type, TileType) or type.shape != (view.tile_shape[sparse],):
        wanted = view.tile_shape[sparse]
        yield f"index {sparse} must be a tile of {wanted} integers, one for each row, found {type}"
    yield from _scalar_indices({k: v for k, v in enumerate(indices) if k != sparse})


def _store(op: Operation) -> Iterator[str]:
    yield from _load(op)


def _reduce_into_view(op: Operation) -> Iterator[str]:
    view = value_of(op, "view").type
    assert isinstance(view, ViewType)
    if isinstance(view, GatherScatterViewType):
        yield "cannot reduce into a gather_scatter_view"
        return
    if view.padding is not None:
        yield f"cannot reduce into a view with padding_value {view.padding}"
    yield from _tile_and_indices(op, "value")
    yield from check_atomic(op.keyword("mode"), tile_of(op, "value").element)


RULES: dict[str, Rule] = {
    "make_tensor_view": _make_tensor_view,
    "make_partition_view": _make_view,
    "make_strided_view": _make_view,
    "make_gather_scatter_view": _make_view,
    "get_index_space_shape": _index_space_shape,
    "get_tensor_shape": _index_space_shape,
    "load_view_tko": _load,
    "store_view_tko": _store,
    "atomic_red_view_tko": _reduce_into_view,
}
