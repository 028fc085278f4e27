"""Rules of arithmetic and conversions: flush_to_zero, approximations, divi, casts.

Place in the flow: beside Module; imports `model`. Which rounding modes an op takes at all is in its row of the
op table; here is what depends on element types. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3); for the modes of `ftof`, tileirdisasm 13.5.37 (13.3 knows fewer, which
`versions` says).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import ElementType, Operation, TileType
from .rules import Rule, tile_of


def _modifiers(op: Operation) -> Iterator[str]:
    """flush_to_zero and the approximate modes are instructions of f32 only."""
    element = tile_of(op, "result").element
    if element is _F32:
        return
    if op.has("flush_to_zero"):
        yield f"flush_to_zero needs elements of f32, found {element}"
    mode = op.keyword("rounding_mode")
    # `exp` and `tanh` have no other exact mode than `full`, which takes all floats there.
    if mode == "approx" or (mode == "full" and op.name == "divf"):
        yield f"rounding mode {mode} needs elements of f32, found {element}"


_F32 = ElementType("f32")


def _divi(op: Operation) -> Iterator[str]:
    if op.keyword("rounding") == "negative_inf" and op.keyword("signedness") == "unsigned":
        yield "rounding mode negative_inf needs signed operands"


def _exti(op: Operation) -> Iterator[str]:
    source, result = _element(op, "from"), _element(op, "to")
    if result.width <= source.width:
        yield f"cannot extend {source} to {result}, which is no wider"


def _trunci(op: Operation) -> Iterator[str]:
    source, result = _element(op, "from"), _element(op, "to")
    if result.width >= source.width:
        yield f"cannot truncate {source} to {result}, which is no narrower"


def _itof(op: Operation) -> Iterator[str]:
    if _element(op, "to").name == "f8E8M0FNU":
        yield "cannot convert integers to f8E8M0FNU: convert to another float first"


_LOW_PRECISION = frozenset({"f8E4M3FN", "f8E5M2", "f4E2M1FN", "fnv8E5M3FNU"})
# What has room for every number of a format: conversion is exact but for what rounding does to NaN and
# subnormal numbers.
_WIDER: dict[str, frozenset[str]] = {
    "f32": frozenset({"f64"}),
    "tf32": frozenset({"f64", "f32"}),
    "f16": frozenset({"f64", "f32", "tf32"}),
    "bf16": frozenset({"f64", "f32", "tf32"}),
    "f8E4M3FN": frozenset({"f64", "f32", "tf32", "f16", "bf16"}),
    "f8E5M2": frozenset({"f64", "f32", "tf32", "f16", "bf16"}),
    "f8E8M0FNU": frozenset({"f64"}),
    "f4E2M1FN": frozenset({"f64", "f32", "tf32", "f16", "bf16"}),
    "fnv8E5M3FNU": frozenset({"f64", "f32", "tf32", "bf16"}),
}
_IEEE = ("nearest_even", "zero", "negative_inf", "positive_inf")


def ftof_modes(source: str, result: str) -> tuple[str, ...]:
    """The rounding modes of a conversion between two formats."""
    if result == "f8E8M0FNU":
        return ("zero", "positive_inf")
    if result in _LOW_PRECISION:
        return ("nearest_even",)
    if result in _WIDER.get(source, ()):
        return (*_IEEE, "nearest_away")
    if (source, result) == ("f64", "f32"):
        return _IEEE
    if (source, result) == ("f32", "tf32"):
        return ("nearest_even", "zero", "nearest_away")
    return ("nearest_even", "zero")


def _ftof(op: Operation) -> Iterator[str]:
    source, result = _element(op, "from"), _element(op, "to")
    if source is result:
        yield f"converts {source} to itself"
        return
    mode, allowed = op.keyword("rounding_mode"), ftof_modes(source.name, result.name)
    if mode not in allowed:
        modes = " or ".join(allowed)
        yield f"{source} is rounded to {result} by mode {modes}, found {mode}"


def _bitcast(op: Operation) -> Iterator[str]:
    source, result = _element(op, "source"), _element(op, "result")
    if source.width != result.width:
        yield f"{source} has {source.width} bits, {result} has {result.width}"


def _element(op: Operation, name: str) -> ElementType:
    tile: TileType = tile_of(op, name)
    assert isinstance(tile.element, ElementType)
    return tile.element


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        "addf subf mulf divf fma maxf minf exp exp2 rsqrt sqrt tanh".split(), _modifiers
    ),
    "divi": _divi,
    "exti": _exti,
    "trunci": _trunci,
    "itof": _itof,
    "ftof": _ftof,
    "bitcast": _bitcast,
}
