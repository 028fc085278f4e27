"""Rules about types: sizes of tiles, views and what they look into, padding.

Place in the flow: beside Module; imports `model`. Source of the facts: the type verifiers of the dialect
(NVIDIA/cuda-tile, 13.3). Each function yields what is wrong, as sentences without a position.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import (
    ElementType,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
    ViewType,
)

# No tile may have more elements.
MAX_TILE_ELEMENTS = 1 << 24

_LARGEST_I32 = (1 << 31) - 1


def check_type(type: Type) -> Iterator[str]:
    """What is wrong with a type; nothing for one that this version does not know."""
    if isinstance(type, TileType):
        yield from _tile(str(type), type.shape, type.element)
    elif isinstance(type, TensorViewType):
        yield from _tensor_view(type)
    elif isinstance(type, ViewType):
        yield from _tensor_view(type.tensor_view)
        yield from _view(type)


def _tile(name: str, shape: tuple[int, ...], element: Type) -> Iterator[str]:
    if isinstance(element, PointerType):
        yield from _memory_element(name, element.pointee)
    if any(size <= 0 for size in shape):
        yield f"{name} has a dimension without elements"
    elif any(size & (size - 1) for size in shape):
        yield f"the dimensions of {name} must be powers of two"
    elif _elements(shape) > MAX_TILE_ELEMENTS:
        yield f"{name} has more than {MAX_TILE_ELEMENTS} elements"
    # Two such elements share a byte.
    if isinstance(element, ElementType) and element.name == "f4E2M1FN" and _elements(shape) % 2:
        yield f"{name} must have an even number of elements"


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _memory_element(name: str, element: Type) -> Iterator[str]:
    """i4 lives in tiles only: memory holds it packed in bytes."""
    if isinstance(element, ElementType) and element.name == "i4":
        yield f"{name} is about i4 in memory; i4 elements exist in tiles only"


def _tensor_view(type: TensorViewType) -> Iterator[str]:
    yield from _memory_element(str(type), type.element)
    if len(type.shape) != len(type.strides):
        yield f"{type} has {len(type.shape)} sizes and {len(type.strides)} strides"
    if any(size is not None and size <= 0 for size in type.shape):
        yield f"the sizes of {type} must be positive"
    if any(stride is not None and stride <= 0 for stride in type.strides):
        yield f"the strides of {type} must be positive"


def _view(type: ViewType) -> Iterator[str]:
    shape, rank = type.tile_shape, type.tensor_view.rank
    if not shape:
        yield f"{type} has a tile without dimensions"
        return
    if len(shape) != rank:
        yield f"the tile of {type} has {len(shape)} dimensions, its tensor_view {rank}"
        return
    if any(size > _LARGEST_I32 for size in shape):
        yield f"the tile of {type} has a dimension that does not fit 32 bits"
    yield from _tile(f"the tile of {type}", shape, type.tensor_view.element)
    if isinstance(type, (PartitionViewType, StridedViewType)):
        yield from _dim_map(type, type.dim_map, rank)
    if isinstance(type, StridedViewType):
        yield from _traversal(type)
    if isinstance(type, GatherScatterViewType) and not 0 <= type.sparse_dim < rank:
        yield f"sparse_dim of {type} is {type.sparse_dim}, it must be in 0..{rank - 1}"
    yield from _padding(type)


def _dim_map(type: ViewType, dim_map: tuple[int, ...], rank: int) -> Iterator[str]:
    if sorted(dim_map) != list(range(rank)):
        yield f"dim_map of {type} must name each of the dimensions 0..{rank - 1} once"


def _traversal(type: StridedViewType) -> Iterator[str]:
    strides = type.traversal_strides
    if len(strides) != len(type.tile_shape):
        yield f"{type} has {len(strides)} traversal strides, its tile {len(type.tile_shape)} dimensions"
    if any(stride <= 0 for stride in strides):
        yield f"the traversal strides of {type} must be positive"


def _padding(type: ViewType) -> Iterator[str]:
    element = type.tensor_view.element
    if type.padding in (None, "zero") or not isinstance(element, ElementType):
        return
    if not element.is_float:
        yield f"padding_value {type.padding} of {type} needs elements that are floats"
