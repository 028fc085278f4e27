"""Optimization hints, resolved for a target.

Place in the flow: Module -> **facts**; imports `model` and `dialect`. Hints resolve key by key: the
target's own key first, then `default`.
"""

from __future__ import annotations

from ..dialect import ABSENT_MEANS, ARCHES, DEFAULT_KEY
from ..errors import UsageError
from ..model import (
    BoolAttr,
    DictAttr,
    IntegerAttr,
    Module,
    OptimizationHintsAttr,
)

HintValue = int | bool | str


def raw_hints(hints: OptimizationHintsAttr | None) -> dict[str, dict[str, HintValue]]:
    """Hints as written: arch key -> hint key -> value."""
    if hints is None:
        return {}
    return {
        arch: {key: _value(value) for key, value in entries.items}
        for arch, entries in hints.value.items
        if isinstance(entries, DictAttr)
    }


def _value(value: object) -> HintValue:
    if isinstance(value, (IntegerAttr, BoolAttr)):
        return value.value
    return str(value)


def resolved_hints(hints: OptimizationHintsAttr | None, arch: str | None) -> dict[str, HintValue]:
    """What holds for a target: hint key -> value. `arch` None looks at `default` alone."""
    raw = raw_hints(hints)
    found = dict(raw.get(DEFAULT_KEY, {}))
    if arch is not None:
        found.update(raw.get(arch, {}))
    return found


def normal_hints(hints: OptimizationHintsAttr | None, arch: str | None) -> str:
    """Hints as text, equal for hints that mean the same.

    For a target what they resolve to; else as written, without what only repeats what holds anyway.
    """
    if hints is None:
        return ""
    written = {arch: resolved_hints(hints, arch)} if arch is not None else raw_hints(hints)
    default = written.get(DEFAULT_KEY, {})
    parts = []
    for target, values in sorted(written.items()):
        for key, value in sorted(values.items()):
            holds: HintValue | None = ABSENT_MEANS.get(key)
            if target != DEFAULT_KEY:
                holds = default.get(key, holds)
            if value != holds:
                parts.append(f"{target}: {key} = {value}")
    return ", ".join(parts)


def effective(resolved: dict[str, HintValue], key: str) -> HintValue | None:
    """The value of a key, what its absence means included (`allow_tma`: true); None if absent."""
    return resolved.get(key, ABSENT_MEANS.get(key))


def arches_named(*modules: Module) -> list[str]:
    """The targets that some hint of the modules names, oldest first; without `default`."""
    named = {
        arch
        for module in modules
        for op in module.walk()
        if op.hints is not None
        for arch, _ in op.hints.value.items
        if arch != DEFAULT_KEY
    }
    known = [arch for arch in ARCHES if arch in named]
    return known + sorted(named - set(known))


def check_arch(arch: str | None) -> None:
    """Raises UsageError where `arch` is no target that hints can name."""
    if arch is not None and arch not in ARCHES:
        raise UsageError(f"unknown arch '{arch}'; known: {', '.join(ARCHES)}")
