"""Statistics on measurements: what may be used, one number for each configuration, geometric means.

Place in the flow: records -> **summary** -> selection, comparison -> report; imports `records`, `errors`.
Nothing is averaged over methods of measurement; what is left out is returned with the reason. Two records of
one configuration count as one, with the median of their medians.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..errors import UsageError
from .records import Config, Measurement

# A clock cycle is longer, a day shorter (milliseconds).
_SHORTEST, _LONGEST = 1e-8, 1e8
_EVENTS = frozenset({"cuda_event", "cuda_graph"})
# What a median absolute deviation is multiplied by to compare with a standard deviation.
_MAD_SCALE = 1.4826

Grouping = Callable[[Config], str]
GROUPINGS: dict[str, Grouping] = {
    "all": lambda config: "all",
    "dtype": lambda config: config.dtype or "-",
    "shape": lambda config: config.shape or "-",
}


class Exclusion(NamedTuple):
    """A measurement that no number was made of, and why."""

    measurement: Measurement
    reason: str


class Spread(NamedTuple):
    """How far samples lie apart.

    Attributes:
        n: samples.
        rel_std: standard deviation over mean, None where the record has none.
        rel_mad: median absolute deviation over median, scaled to a standard deviation; of repeated
            records, None where there is one.
    """

    n: int
    rel_std: float | None
    rel_mad: float | None


class Point(NamedTuple):
    """One configuration of one backend: the median of its records' medians, in milliseconds."""

    config: Config
    backend: str | None
    direction: str | None
    method: str
    median_ms: float
    spread: Spread


class Group(NamedTuple):
    """Configurations of one backend and direction under one geometric mean.

    `rel_std` is the median of theirs, None where no record has one.
    """

    name: str
    backend: str | None
    direction: str | None
    method: str
    configs: int
    geomean_ms: float
    rel_std: float | None


class Summary(NamedTuple):
    """The groups with their means, and the records that were left out."""

    groups: tuple[Group, ...]
    excluded: tuple[Exclusion, ...]


def geomean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers. Raises ValueError for none."""
    logs = [math.log(value) for value in values]
    if not logs:
        raise ValueError("the geometric mean of nothing")
    return math.exp(math.fsum(logs) / len(logs))


# -- one number for each configuration ----------------------------------------------------------------


def usable(measurements: Iterable[Measurement]) -> tuple[list[Measurement], list[Exclusion]]:
    """The measurements that have a time of a call, and the others with the reason."""
    kept: list[Measurement] = []
    excluded: list[Exclusion] = []
    for m in measurements:
        reason = _why_not(m)
        if reason is None:
            kept.append(m)
        else:
            excluded.append(Exclusion(m, reason))
    return kept, excluded


def _why_not(m: Measurement) -> str | None:
    if m.outcome != "passed":
        return f"its test ended as {m.outcome}"
    if m.whole_profile:
        return "a profile of several calls has no median of one"
    if m.median_ms is None:
        return "no median"
    if not math.isfinite(m.median_ms):
        return f"median is {m.median_ms}"
    if m.median_ms <= 0:
        return "median is zero" if m.median_ms == 0 else "median is negative"
    if not _SHORTEST < m.median_ms < _LONGEST:
        return f"median is {m.median_ms:g} ms, which is no time of a call"
    return None


def without_events(
    measurements: Iterable[Measurement],
) -> tuple[list[Measurement], list[Exclusion]]:
    """Without those that events timed, where CUPTI timed others of the same direction."""
    given = list(measurements)
    directions = {m.direction for m in given if m.method == "cupti"}
    kept: list[Measurement] = []
    excluded: list[Exclusion] = []
    for m in given:
        if m.method in _EVENTS and m.direction in directions:
            excluded.append(Exclusion(m, f"timed by {m.method} where CUPTI timed others"))
        else:
            kept.append(m)
    return kept, excluded


def only_method(measurements: Iterable[Measurement], what: str) -> str:
    """The method of all; "" for none. Raises UsageError that names two which differ."""
    first: Measurement | None = None
    for m in measurements:
        if first is None:
            first = m
        elif m.method != first.method:
            raise UsageError(
                f"{what}: measured by {first.method} ({first.place}) and by {m.method} ({m.place}); "
                "numbers of two methods are not comparable"
            )
    return first.method if first is not None else ""


def points(measurements: Iterable[Measurement]) -> tuple[Point, ...]:
    """One point for each configuration, backend and direction, in order of appearance.

    Args:
        measurements: usable ones.

    Raises:
        UsageError: records of one configuration were measured by different methods.
    """
    found: dict[tuple[object, ...], list[Measurement]] = {}
    for m in measurements:
        found.setdefault((m.config, m.backend, m.direction), []).append(m)
    return tuple(_point(records) for records in found.values())


def _point(records: Sequence[Measurement]) -> Point:
    first = records[0]
    method = only_method(records, first.config.label)
    medians = [m.median_ms for m in records if m.median_ms is not None]
    middle = statistics.median(medians)
    spread = _spread(records, medians, middle)
    return Point(first.config, first.backend, first.direction, method, middle, spread)


def _spread(records: Sequence[Measurement], medians: Sequence[float], middle: float) -> Spread:
    deviations = [
        m.std_ms / m.mean_ms
        for m in records
        if m.std_ms is not None
        and m.mean_ms
        and math.isfinite(m.std_ms / m.mean_ms)
        # Of one sample there is none; some tools write 0 then.
        and (m.nrep or 0) != 1
    ]
    rel_mad = None
    if len(medians) > 1:
        rel_mad = _MAD_SCALE * statistics.median(abs(x - middle) for x in medians) / middle
    samples = sum(m.nrep or 1 for m in records)
    return Spread(samples, statistics.median(deviations) if deviations else None, rel_mad)


# -- groups -------------------------------------------------------------------------------------------


def summarise(measurements: Iterable[Measurement], by: Grouping | None = None) -> Summary:
    """Geometric means of each backend and direction, of all configurations or of each group.

    Args:
        measurements: of any number of files.
        by: name of the group of a configuration: one of GROUPINGS, or a variant.

    Raises:
        UsageError: a group was measured by different methods.
    """
    kept, excluded = usable(measurements)
    grouping = by or GROUPINGS["all"]
    groups: dict[tuple[str, str | None, str | None], list[Measurement]] = {}
    for m in kept:
        groups.setdefault((grouping(m.config), m.backend, m.direction), []).append(m)
    return Summary(tuple(_group(key, group) for key, group in groups.items()), tuple(excluded))


def _group(key: tuple[str, str | None, str | None], group: Sequence[Measurement]) -> Group:
    name, backend, direction = key
    what = " ".join(part for part in (backend, direction, name if name != "all" else "") if part)
    method = only_method(group, what or "measurements")
    found = points(group)
    known = [p.spread.rel_std for p in found if p.spread.rel_std is not None]
    return Group(
        name,
        backend,
        direction,
        method,
        len(found),
        geomean(p.median_ms for p in found),
        statistics.median(known) if known else None,
    )
