"""Rules of the ops that make views and go through them: types that belong together, indices.

Place in the flow: beside Module; imports `model`. What makes the type of a view valid is in `types`. Source of
the facts: the op verifiers of the dialect (NVIDIA/cuda-tile, 13.3); for `multimem_*` and `inbounds`,
tileirdisasm 13.5.37.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import (
    DenseArrayAttr,
    ElementType,
    GatherScatterViewType,
    Operation,
    PointerType,
    TensorViewType,
    TileType,
    Type,
    Value,
    ViewType,
)
from .memory import check_atomic, check_not_multicast, check_scope
from .rules import Rule, tile_of, value_of


def _make_tensor_view(op: Operation) -> Iterator[str]:
    view = value_of(op, "result").type
    assert isinstance(view, TensorViewType)
    pointer = tile_of(op, "base").element
    if isinstance(pointer, PointerType) and pointer.pointee is not view.element:
        yield f"base points to {pointer.pointee}, the view is of {view.element}"
    if isinstance(pointer, PointerType) and pointer.attribute != view.attribute:
        names = [attribute or "no attribute" for attribute in (pointer.attribute, view.attribute)]
        yield f"the pointer has {names[0]}, the view {names[1]}; they must agree"
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


def _shape_query(op: Operation) -> Iterator[str]:
    type = value_of(op, "src").type
    assert isinstance(type, (TensorViewType, ViewType))
    if len(op.results) != type.rank:
        yield f"{type} has {type.rank} dimensions, found {len(op.results)} results"


def _access(op: Operation) -> Iterator[str]:
    yield from _tile_and_indices(op, "tile")
    yield from _not_multicast(op)
    yield from check_scope(op)


def _not_multicast(op: Operation) -> Iterator[str]:
    view = value_of(op, "view").type
    assert isinstance(view, ViewType)
    yield from check_not_multicast(view.tensor_view.attribute)


def _tile_and_indices(op: Operation, tile_name: str) -> Iterator[str]:
    view, tile = value_of(op, "view").type, tile_of(op, tile_name)
    assert isinstance(view, ViewType)
    if tile is not view.tile:
        yield f"{tile_name} is {tile}, the view has tiles of {view.tile}"
    indices = op.operand_group("index")
    yield from _inbounds(op, len(indices))
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


def _inbounds(op: Operation, indices: int) -> Iterator[str]:
    inbounds = op.attributes.get("inbounds")
    if isinstance(inbounds, DenseArrayAttr) and len(inbounds.values) != indices:
        yield f"inbounds has {len(inbounds.values)} flags for {indices} indices"


def _reduce_into_view(op: Operation) -> Iterator[str]:
    view = value_of(op, "view").type
    assert isinstance(view, ViewType)
    if isinstance(view, GatherScatterViewType):
        yield "cannot reduce into a gather_scatter_view"
        return
    yield from _tile_and_indices(op, "value")
    yield from _not_multicast(op)
    yield from check_atomic(op.keyword("mode"), tile_of(op, "value").element)


def _multimem_load(op: Operation) -> Iterator[str]:
    element = tile_of(op, "reduced_values").element
    yield from _multimem(op, "reduced_values")
    yield from check_scope(op)
    yield from _multimem_reduction(op, element, ("add", "min", "max"))


def _multimem_store(op: Operation) -> Iterator[str]:
    yield from _multimem(op, "tile")
    yield from check_scope(op)


def _multimem_reduce(op: Operation) -> Iterator[str]:
    yield from _multimem(op, "tile")
    yield from _multimem_reduction(op, tile_of(op, "tile").element, ("add",))


def _multimem(op: Operation, tile_name: str) -> Iterator[str]:
    """Multimem operations reach the copies that several devices hold, through a multicast pointer."""
    yield from _tile_and_indices(op, tile_name)
    view = value_of(op, "view").type
    assert isinstance(view, ViewType)
    if view.tensor_view.attribute != "multicast":
        yield f"needs a view through a multicast pointer, found {view.tensor_view}"
    element = str(tile_of(op, tile_name).element)
    if element not in ("i32", "i64", "f16", "bf16", "f32", "f64"):
        yield f"takes elements of i32, i64, f16, bf16, f32 or f64, found {element}"


def _multimem_reduction(op: Operation, element: Type, floats: tuple[str, ...]) -> Iterator[str]:
    """Integers combine in every way, 16-bit floats in some, the others by addition."""
    if not isinstance(element, ElementType) or element.is_integer:
        return
    allowed = floats if element.width == 16 else ("add",)
    reduction = op.keyword("reduction")
    if reduction not in allowed:
        yield f"{element} is reduced by {' or '.join(allowed)}, found {reduction}"


RULES: dict[str, Rule] = {
    "make_tensor_view": _make_tensor_view,
    "make_partition_view": _make_view,
    "make_strided_view": _make_view,
    "make_gather_scatter_view": _make_view,
    "get_index_space_shape": _shape_query,
    "get_tensor_shape": _shape_query,
    "load_view_tko": _access,
    "store_view_tko": _access,
    "atomic_red_view_tko": _reduce_into_view,
    "multimem_load_reduce_view_tko": _multimem_load,
    "multimem_reduce_view_tko": _multimem_reduce,
    "multimem_store_view_tko": _multimem_store,
}
