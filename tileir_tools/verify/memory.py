"""Rules of memory: which scope goes with which ordering, atomics, alloca, tokens.

Place in the flow: beside Module; imports `model`. Which orderings, scopes and modes an op takes at all is in
its row of the op table. Source of the facts: the op verifiers of the dialect (NVIDIA/cuda-tile, 13.3); for
multicast pointers, tileirdisasm 13.5.37.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import ElementType, IntegerAttr, Operation, PointerType, Type
from .rules import Rule, tile_of


def check_scope(op: Operation) -> Iterator[str]:
    """A weak access has no scope, every other one has."""
    ordering, scope = op.keyword("memory_ordering_semantics"), op.keyword("memory_scope")
    if ordering == "weak" and scope is not None:
        yield f"is weak, so it takes no memory scope, found {scope}"
    elif ordering != "weak" and scope is None:
        yield f"is {ordering}, so it needs a memory scope"


def check_not_multicast(attribute: str | None) -> Iterator[str]:
    """Only multimem operations go through a pointer to the copies on several devices."""
    if attribute == "multicast":
        yield "cannot go through a multicast pointer"


def _pointer(op: Operation, name: str) -> Iterator[str]:
    pointer = tile_of(op, name).element
    yield from check_not_multicast(pointer.attribute if isinstance(pointer, PointerType) else None)


def _load(op: Operation) -> Iterator[str]:
    yield from _pointer(op, "source")
    yield from check_scope(op)


def _store(op: Operation) -> Iterator[str]:
    yield from _pointer(op, "destination")
    yield from check_scope(op)


def check_atomic(mode: str | None, element: Type) -> Iterator[str]:
    """Which elements an atomic operation combines."""
    name = str(element)
    if mode == "addf":
        if name not in ("f16", "bf16", "f32", "f64"):
            yield f"mode addf takes elements of f16, bf16, f32 or f64, found {name}"
    elif mode == "xchg":
        if not _has_word_size(element):
            yield f"mode xchg takes elements of 32 or 64 bits, found {name}"
    elif name not in ("i32", "i64"):
        yield f"mode {mode} takes elements of i32 or i64, found {name}"


def _has_word_size(element: Type) -> bool:
    return isinstance(element, ElementType) and element.width in (32, 64)


def _atomic_rmw(op: Operation) -> Iterator[str]:
    yield from _pointer(op, "pointers")
    yield from check_atomic(op.keyword("mode"), tile_of(op, "arg").element)


def _atomic_cas(op: Operation) -> Iterator[str]:
    yield from _pointer(op, "pointers")
    element = tile_of(op, "val").element
    if not _has_word_size(element):
        yield f"compares elements of 32 or 64 bits, found {element}"


def _alloca(op: Operation) -> Iterator[str]:
    count, alignment = op.attributes["num_elem"], op.attributes["alignment"]
    assert isinstance(count, IntegerAttr)
    assert isinstance(alignment, IntegerAttr)
    if count.value < 0:
        yield f"num_elem is {count.value}, it cannot be negative"
    if alignment.value <= 0 or alignment.value & (alignment.value - 1):
        yield f"alignment is {alignment.value}, it must be a power of two"
        return
    pointer = tile_of(op, "result").element
    if isinstance(pointer, PointerType) and isinstance(pointer.pointee, ElementType):
        size = pointer.pointee.storage_bits // 8
        if alignment.value < size:
            yield f"alignment is {alignment.value}, one {pointer.pointee} takes {size} bytes"


def _join_tokens(op: Operation) -> Iterator[str]:
    if len(op.operands) < 2:
        yield f"joins two or more tokens, found {len(op.operands)}"


RULES: dict[str, Rule] = {
    "load_ptr_tko": _load,
    "store_ptr_tko": _store,
    "atomic_rmw_tko": _atomic_rmw,
    "atomic_cas_tko": _atomic_cas,
    "alloca": _alloca,
    "join_tokens": _join_tokens,
}
