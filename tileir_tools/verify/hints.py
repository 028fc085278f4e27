"""Rules about optimization hints.

Place in the flow: beside Module; imports `model`, `dialect`. Source of the ranges: the hints attribute of the
dialect's public definition (NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..dialect import ARCHES, BOOLEAN_HINTS, DEFAULT_KEY, HINT_KEYS
from ..model import Attribute, BoolAttr, DictAttr, IntegerAttr, Operation
from .rules import Found

# Hint -> values that it may have, and how an error says them.
_ALLOWED: dict[str, tuple[range | tuple[int, ...], str]] = {
    "num_cta_in_cga": ((1, 2, 4, 8, 16), "1, 2, 4, 8 or 16"),
    "num_worker_warps_per_cta": ((1, 2, 4, 8, 16, 32), "1, 2, 4, 8, 16 or 32"),
    "occupancy": (range(1, 33), "in 1..32"),
    "latency": (range(1, 11), "in 1..10"),
}

# Targets that have no groups of CTAs.
_SINGLE_CTA = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")


def check_hints(operations: Iterable[Operation]) -> Found:
    """Targets, keys and values that the dialect does not know."""
    for op in operations:
        if "optimization_hints" in op.attributes and op.hints is not None and op.spec is not None:
            for message in _problems(op):
                yield op, message


def _problems(op: Operation) -> Iterator[str]:
    assert op.hints is not None
    keys = HINT_KEYS.get(op.name, ())
    for arch, entries in op.hints.value.items:
        if arch != DEFAULT_KEY and arch not in ARCHES:
            yield f"hints name '{arch}', which is no target; known: {', '.join(ARCHES)}"
        if not isinstance(entries, DictAttr):
            continue
        for key, value in entries.items:
            if key not in keys:
                yield f"{op.name} takes no hint '{key}'; known: {', '.join(keys) or 'none'}"
            else:
                yield from _value(arch, key, value)


def _value(arch: str, key: str, value: Attribute) -> Iterator[str]:
    if key in BOOLEAN_HINTS:
        if not isinstance(value, BoolAttr):
            yield f"hint {key} for {arch} must be true or false"
        return
    if not isinstance(value, IntegerAttr):
        yield f"hint {key} for {arch} must be a number"
        return
    allowed, in_words = _ALLOWED[key]
    if value.value not in allowed:
        yield f"hint {key} for {arch} is {value.value}, it must be {in_words}"
    elif key == "num_cta_in_cga" and arch in _SINGLE_CTA and value.value != 1:
        yield f"hint {key} for {arch} is {value.value}, this target takes only 1"
