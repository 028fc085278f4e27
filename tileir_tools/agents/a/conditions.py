"""When a variant is dispatched: what the source says on the way to its launch, and what its tests share.

Place in the flow: sources, variants -> **conditions** -> analysis; imports `sources`, `structure`.
"""

from __future__ import annotations

from collections.abc import Mapping

from .sources import Sources
from .structure import Found, Structure

Configs = Mapping[str, Mapping[str, object]]


def dispatch_condition(
    found: Found, structure: Structure, sources: Sources, configs: Configs
) -> str:
    """One text: conditions of the source with their lines, then parameters that tell configurations apart."""
    if len(structure.variants) == 1:
        return "all configs"
    parts = [
        *_in_source(found, sources),
        *_constants(found, structure),
        *_in_tests(found, structure, configs),
    ]
    main = [structure.config_to_variant.get(label) for label in found.labels]
    if found.labels and found.name not in main:
        parts.append(f"launched beside {' and '.join(sorted({str(name) for name in main}))}")
    if not parts:
        parts = [f"{len(found.labels)} of the configs, see config_to_variant"]
    return "; ".join(parts)


def _in_source(found: Found, sources: Sources) -> list[str]:
    """The conditions of each way to a launch of the kernel."""
    texts = []
    for launch in sources.operation.launches:
        if found.function not in launch.kernels:
            continue
        ways = [c.conditions for c in launch.chains] or [launch.conditions]
        for conditions in ways:
            words = [c.text if c.holds else f"not ({c.text})" for c in conditions]
            if words:
                where = f"{sources.operation.path}:{launch.line}"
                texts.append(f"{' and '.join(words)} ({where})")
    return list(dict.fromkeys(texts))


def _constants(found: Found, structure: Structure) -> list[str]:
    """Constants that tell the variant from others of its function."""
    others = [v for v in structure.variants if v.function == found.function and v is not found]
    texts = []
    for name, values in found.constants.items():
        rest = {value for other in others for value in other.constants.get(name, ())}
        if others and rest and not rest & set(values):
            texts.append(f"{name} = {' or '.join(map(str, sorted(values, key=str)))}")
    return texts


def _in_tests(found: Found, structure: Structure, configs: Configs) -> list[str]:
    """Parameters of the tests whose values in this variant are in no other, the ones with fewest values."""
    others = [
        label
        for variant in structure.variants
        if variant is not found
        for label in variant.labels
        if label not in found.labels
    ]
    mine = [configs[label] for label in found.labels if label in configs]
    theirs = [configs[label] for label in others if label in configs]
    if not mine or not theirs:
        return []
    telling: list[tuple[int, str]] = []
    for name in mine[0]:
        here = list(dict.fromkeys(str(c.get(name)) for c in mine))
        there = {str(c.get(name)) for c in theirs}
        if not there & set(here):
            telling.append((len(here), f"{name} = {' or '.join(here)}"))
    fewest = min((n for n, _ in telling), default=0)
    return [f"tests with {text}" for n, text in telling if n == fewest]
