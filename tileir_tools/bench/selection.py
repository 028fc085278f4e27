"""Which backend is the fastest, for each structural variant.

Place in the flow: records -> summary -> **selection** -> report; imports `records`, `summary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .records import Measurement
from .summary import Exclusion, Grouping, geomean, only_method, points, usable, without_events


class Choice(NamedTuple):
    """The fastest backend of a variant.

    Attributes:
        variant: its name.
        winner: the backend with the least geometric mean.
        geomeans_ms: of every backend, over the configurations that all of them have.
        configs: how many those are (each direction counts).
        margin: geometric mean of the second over that of the winner, None for a single backend.
        method: how all were measured.
        left_out: backends that have no configuration in common with the others.
    """

    variant: str
    winner: str
    geomeans_ms: dict[str, float]
    configs: int
    margin: float | None
    method: str
    left_out: tuple[str, ...]


class Selection(NamedTuple):
    """The backend chosen of each group, and the records that were left out."""

    choices: tuple[Choice, ...]
    excluded: tuple[Exclusion, ...]


def choose_backends(
    measurements: Iterable[Measurement], variant_of: Grouping | None = None
) -> Selection:
    """The backend with the least geometric mean, for each variant.

    Backends are compared over the configurations that all of them have. Event timings are not used
    where CUPTI's are there.

    Args:
        measurements: of all backends.
        variant_of: structural variant of a configuration; one for all by default.

    Raises:
        UsageError: a variant was measured by different methods.
    """
    kept, excluded = usable(measurements)
    kept, events = without_events(kept)
    unknown = [Exclusion(m, "no backend in the record") for m in kept if m.backend is None]
    variants: dict[str, list[Measurement]] = {}
    for m in kept:
        if m.backend is not None:
            name = variant_of(m.config) if variant_of is not None else "default"
            variants.setdefault(name, []).append(m)
    choices = tuple(_choice(name, group) for name, group in variants.items())
    return Selection(choices, (*excluded, *events, *unknown))


def _choice(variant: str, group: Sequence[Measurement]) -> Choice:
    method = only_method(group, f"variant {variant}")
    times: dict[str, dict[tuple[object, ...], float]] = {}
    for p in points(group):
        times.setdefault(str(p.backend), {})[p.config, p.direction] = p.median_ms
    # The backend with most configurations is compared; one that shares none with it is left out.
    widest = max(times, key=lambda backend: len(times[backend]))
    common = set(times[widest])
    left_out = tuple(b for b in times if not common & set(times[b]))
    for backend in times:
        if backend not in left_out:
            narrowed = common & set(times[backend])
            left_out += () if narrowed else (backend,)
            common = narrowed or common
    means = {b: geomean(t[c] for c in common) for b, t in times.items() if b not in left_out}
    ranked = sorted(means, key=means.__getitem__)
    margin = means[ranked[1]] / means[ranked[0]] if len(ranked) > 1 else None
    return Choice(variant, ranked[0], means, len(common), margin, method, left_out)
