"""Rules about optimization hints.

Place in the flow: beside Module; imports `model`, `dialect`, `errors`. Source of the ranges: the hints
attribute of the dialect's public definition (NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from ..dialect import ARCHES, BOOLEAN_HINTS, DEFAULT_KEY, HINT_KEYS
from ..errors import Diagnostic
from ..model import BoolAttr, DictAttr, IntegerAttr, Module, Operation

# Hint -> values that it may have.
_ALLOWED: dict[str, range | tuple[int, ...]] = {
    "num_cta_in_cga": (1, 2, 4, 8, 16),
    "num_worker_warps_per_cta": (4, 8),
    "occupancy": range(1, 33),
    "latency": range(1, 11),
}


def check_hints(module: Module, severity: str) -> list[Diagnostic]:
    """Targets, keys and values that the dialect does not know."""
    found: list[Diagnostic] = []
    for op in module.walk():
        if op.hints is not None and op.spec is not None:
            for message in _problems(op):
                found.append(Diagnostic(severity, message, op.span))
    return found


def _problems(op: Operation) -> list[str]:
    assert op.hints is not None
    messages = []
    keys = HINT_KEYS.get(op.name, ())
    for arch, entries in op.hints.value.items:
        if arch != DEFAULT_KEY and arch not in ARCHES:
            messages.append(f"hints name '{arch}', which is no target; known: {', '.join(ARCHES)}")
        if not isinstance(entries, DictAttr):
            continue
        for key, value in entries.items:
            if key not in keys:
                messages.append(
                    f"{op.name} takes no hint '{key}'; known: {', '.join(keys) or 'none'}"
                )
            elif not _fits(key, value):
                messages.append(f"hint {key} for {arch} has a value out of range")
    return messages


def _fits(key: str, value: object) -> bool:
    if key in BOOLEAN_HINTS:
        return isinstance(value, BoolAttr)
    return isinstance(value, IntegerAttr) and value.value in _ALLOWED[key]
