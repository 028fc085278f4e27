"""Rules of the ops that change shapes: broadcast, reshape, permute, cat, extract, insert, pack, iota.

Place in the flow: beside Module; imports `model`. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3); for `insert`, tileirdisasm 13.5.37. A rule is asked only where the row of the
op holds: operands are tiles, elements and ranks agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import DenseArrayAttr, ElementType, IntegerAttr, Operation, TileType
from .rules import Rule, dims, tile_of


def _broadcast(op: Operation) -> Iterator[str]:
    source, result = tile_of(op, "source"), tile_of(op, "result")
    if any(s not in (r, 1) for s, r in zip(source.shape, result.shape)):
        yield f"cannot stretch {dims(source)} to {dims(result)}: only dimensions of size 1 stretch"


def _reshape(op: Operation) -> Iterator[str]:
    source, result = tile_of(op, "source"), tile_of(op, "result")
    if source.elements != result.elements:
        yield f"{source} has {source.elements} elements, {result} has {result.elements}"


def _permute(op: Operation) -> Iterator[str]:
    source, result = tile_of(op, "source"), tile_of(op, "result")
    permutation = op.attributes["permutation"]
    assert isinstance(permutation, DenseArrayAttr)
    order = permutation.values
    if source.rank < 2:
        yield f"needs at least 2 dimensions, found {source}"
    elif sorted(order) != list(range(source.rank)):
        shown = ", ".join(map(str, order))
        yield f"[{shown}] must name each of the dimensions 0..{source.rank - 1} once"
    elif result.shape != tuple(source.shape[k] for k in order):
        wanted = TileType(tuple(source.shape[k] for k in order), source.element)
        yield f"the result is {result}, the permutation makes {wanted}"


def _cat(op: Operation) -> Iterator[str]:
    lhs, rhs, result = tile_of(op, "lhs"), tile_of(op, "rhs"), tile_of(op, "result")
    dim = op.attributes["dim"]
    assert isinstance(dim, IntegerAttr)
    if not 0 <= dim.value < lhs.rank:
        yield f"dim is {dim.value}, it must be in 0..{lhs.rank - 1}"
        return
    for k, (a, b, both) in enumerate(zip(lhs.shape, rhs.shape, result.shape)):
        if k == dim.value and a + b != both:
            yield f"dimension {k} of the result is {both}, those of lhs and rhs add up to {a + b}"
        elif k != dim.value and not a == b == both:
            yield f"dimension {k} is {a} in lhs, {b} in rhs, {both} in the result; only {dim.value} may differ"


def _extract(op: Operation) -> Iterator[str]:
    yield from _slice(op, tile_of(op, "source"), tile_of(op, "result"))


def _insert(op: Operation) -> Iterator[str]:
    yield from _slice(op, tile_of(op, "destination"), tile_of(op, "source"))


def _slice(op: Operation, whole: TileType, part: TileType) -> Iterator[str]:
    """`part` must be one of equal pieces of `whole`, with an index for each dimension."""
    for k, (large, small) in enumerate(zip(whole.shape, part.shape)):
        if small == 0 or large % small:
            yield f"dimension {k} of {dims(whole)} is no multiple of that of {dims(part)}"
    indices = len(op.operand_group("indices"))
    if indices != whole.rank:
        yield f"needs {whole.rank} indices, one for each dimension, found {indices}"


def _pack(op: Operation) -> Iterator[str]:
    source, result = tile_of(op, "source"), tile_of(op, "result")
    if source.rank != 1:
        yield f"takes tiles of one dimension, found {source}"
        return
    if _width(source) == _width(result):
        yield f"the elements of {source} and {result} are equally wide"
        return
    sizes = [tile.elements * _packed_width(tile) for tile in (source, result)]
    if sizes[0] != sizes[1]:
        yield f"{source} takes {sizes[0]} bits, {result} takes {sizes[1]}"
    elif sizes[0] % 8:
        yield f"{source} takes {sizes[0]} bits, which are no whole bytes"


def _width(tile: TileType) -> int:
    return tile.element.width if isinstance(tile.element, ElementType) else 0


def _packed_width(tile: TileType) -> int:
    """Bits that an element takes in bytes: 19-bit tf32 takes 32, i1 a single one."""
    if isinstance(tile.element, ElementType) and tile.element.name == "tf32":
        return 32
    return _width(tile)


def _iota(op: Operation) -> Iterator[str]:
    result = tile_of(op, "result")
    if result.rank != 1:
        yield f"gives a tile of one dimension, found {result}"
    elif isinstance(result.element, ElementType) and result.elements > 1 << result.element.width:
        yield f"{result.element} cannot count {result.elements} elements"


def _select(op: Operation) -> Iterator[str]:
    element = tile_of(op, "result").element
    if isinstance(element, ElementType) and element.name == "f4E2M1FN":
        yield "cannot choose between elements of f4E2M1FN, which share bytes"


RULES: dict[str, Rule] = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
    "insert": _insert,
    "pack": _pack,
    "unpack": _pack,
    "iota": _iota,
    "select": _select,
}
