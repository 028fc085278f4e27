"""Rules of matrix products: shapes, element types, scales.

Place in the flow: beside Module; imports `model`. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3); for scales of fnv8E5M3FNU, cuda-tile 1.7.0 and tileirdisasm 13.5.37.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Operation, TileType
from .rules import Rule, dims, tile_of

# Elements of lhs and rhs -> elements that the accumulator may have.
_ACCUMULATORS: dict[str, tuple[str, ...]] = {
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f32": ("f32",),
    "f64": ("f64",),
}

# (elements of lhs and rhs, elements of their scales) -> how many elements along k may share a scale.
_BLOCKS: dict[tuple[str, str], tuple[int, ...]] = {
    ("f8E4M3FN", "f8E8M0FNU"): (32,),
    ("f8E5M2", "f8E8M0FNU"): (32,),
    ("f4E2M1FN", "f8E4M3FN"): (16,),
    ("f4E2M1FN", "f8E8M0FNU"): (16, 32),
    ("f4E2M1FN", "fnv8E5M3FNU"): (16, 32),
}


def _mmaf(op: Operation) -> Iterator[str]:
    yield from _shapes(op)
    lhs, acc = tile_of(op, "lhs").element, tile_of(op, "acc").element
    allowed = _ACCUMULATORS[str(lhs)]
    if str(acc) not in allowed:
        yield f"products of {lhs} are added up in {' or '.join(allowed)}, found {acc}"


def _mmai(op: Operation) -> Iterator[str]:
    yield from _shapes(op)


def _shapes(op: Operation) -> Iterator[str]:
    lhs, rhs, acc = tile_of(op, "lhs"), tile_of(op, "rhs"), tile_of(op, "acc")
    if lhs.rank not in (2, 3):
        yield f"takes tiles of 2 or 3 dimensions, found {lhs}"
        return
    if lhs.rank == 3:
        yield from _equal("batches", lhs=(lhs, 0), rhs=(rhs, 0), acc=(acc, 0))
    yield from _equal("k", lhs=(lhs, -1), rhs=(rhs, -2))
    yield from _equal("rows", lhs=(lhs, -2), acc=(acc, -2))
    yield from _equal("columns", rhs=(rhs, -1), acc=(acc, -1))


def _equal(what: str, **places: tuple[TileType, int]) -> Iterator[str]:
    """The dimensions at these places must be equal."""
    sizes = {tile.shape[dim] for tile, dim in places.values()}
    if len(sizes) > 1:
        shown = ", ".join(
            f"{tile.shape[dim]} in {name} ({dims(tile)})" for name, (tile, dim) in places.items()
        )
        yield f"the number of {what} differs: {shown}" if what != "k" else f"k differs: {shown}"


def _mmaf_scaled(op: Operation) -> Iterator[str]:
    yield from _shapes(op)
    lhs, rhs = tile_of(op, "lhs"), tile_of(op, "rhs")
    lhs_scale, rhs_scale = tile_of(op, "lhs_scale"), tile_of(op, "rhs_scale")
    if lhs.rank not in (2, 3):
        return
    if lhs.rank == 3:
        yield from _equal("batches", lhs=(lhs, 0), lhs_scale=(lhs_scale, 0))
        yield from _equal("batches", rhs=(rhs, 0), rhs_scale=(rhs_scale, 0))
    yield from _equal("rows", lhs=(lhs, -2), lhs_scale=(lhs_scale, -2))
    yield from _equal("columns", rhs=(rhs, -1), rhs_scale=(rhs_scale, -1))
    yield from _equal("k", lhs_scale=(lhs_scale, -1), rhs_scale=(rhs_scale, -2))
    yield from _blocks(lhs, lhs_scale)


def _blocks(lhs: TileType, scale: TileType) -> Iterator[str]:
    elements, scales = str(lhs.element), str(scale.element)
    allowed = _BLOCKS.get((elements, scales))
    if allowed is None:
        fitting = " or ".join(e for e, s in _BLOCKS if s == scales)
        yield f"scales of {scales} go with elements of {fitting}, found {elements}"
        return
    k, count = lhs.shape[-1], scale.shape[-1]
    if count == 0 or k % count:
        yield f"k of lhs_scale is {count}, no divisor of k of lhs, which is {k}"
    elif k // count not in allowed:
        wanted = " or ".join(map(str, allowed))
        yield (
            f"one scale of {scales} holds for {wanted} elements of {elements} along k, "
            f"found {k // count}"
        )


RULES: dict[str, Rule] = {"mmaf": _mmaf, "mmai": _mmai, "mmaf_scaled": _mmaf_scaled}
