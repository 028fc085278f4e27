"""Statistics on measurements: geometric means, ratios, how the slowness is spread, which backend is faster.

Place in the flow: records -> **summary** -> report; imports `records`, `errors`. Nothing is averaged over
methods of measurement; what is left out is returned with the reason. Two records of one configuration count
as one, with the median of their medians.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import UsageError
from .records import Config, Measurement

# Thresholds of `pattern_of`: a kernel is as fast as the reference within TOLERANCE; slowness is uniform
# where UNIFORM_SHARE of the ratios are within a factor of UNIFORM_BAND of their median; NEAR_TWICE is
# what a second launch of the same work costs.
TOLERANCE = 1.05
UNIFORM_BAND = 1.10
UNIFORM_SHARE = 0.9
NEAR_TWICE = (1.8, 2.2)

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
    groups: tuple[Group, ...]
    excluded: tuple[Exclusion, ...]


class Ratio(NamedTuple):
    """One configuration in both: `ratio` is generated over reference (above 1: slower).

    `noise` is the relative spread of both together, None where neither record has one.
    """

    config: Config
    direction: str | None
    reference_ms: float
    generated_ms: float
    ratio: float
    noise: float | None


class Pattern(NamedTuple):
    """How ratios are spread.

    Attributes:
        name: "aligned", "uniform", "shape-specific", or "no data"; "single" for one configuration.
        n: ratios.
        geomean: their geometric mean.
        log_std: standard deviation of their natural logarithms, None for one.
        near_median: share of them within UNIFORM_BAND of their median.
        near_twice: uniform, and near a factor of two: most often a second launch.
        exceptions: configurations outside of the band.
    """

    name: str
    n: int
    geomean: float | None
    log_std: float | None
    near_median: float | None
    near_twice: bool
    exceptions: tuple[Config, ...]


class Influence(NamedTuple):
    """How much of the variance of log-ratios a parameter explains: adjusted R squared, 1 for all of it.

    `geomeans` has the geometric mean of the ratios for each of its values.
    """

    parameter: str
    explained: float
    geomeans: dict[str, float]


class Comparison(NamedTuple):
    """Generated against reference.

    Attributes:
        method: how both were measured; of each direction, where they differ ("cupti, cuda_event").
        rows: configurations in both, in the reference's order.
        pattern: how their ratios are spread.
        influences: what explains the differences, strongest first.
        only_reference, only_generated: configurations of one side.
        excluded: of both sides.
    """

    method: str
    rows: tuple[Ratio, ...]
    pattern: Pattern
    influences: tuple[Influence, ...]
    only_reference: tuple[Point, ...]
    only_generated: tuple[Point, ...]
    excluded: tuple[Exclusion, ...]


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
    choices: tuple[Choice, ...]
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


# -- selection ----------------------------------------------------------------------------------------


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


# -- comparison ---------------------------------------------------------------------------------------


def compare(reference: Iterable[Measurement], generated: Iterable[Measurement]) -> Comparison:
    """Ratios of the configurations that both have.

    Raises:
        UsageError: the sides were measured by different methods, or a side has several backends.
    """
    left, left_out = usable(reference)
    right, right_out = usable(generated)
    _only_backend(left, "reference")
    _only_backend(right, "generated")
    left, right = _directed(left, right), _directed(right, left)
    methods = []
    for direction in dict.fromkeys(m.direction for m in [*left, *right]):
        both = [m for m in [*left, *right] if m.direction == direction]
        methods.append(only_method(both, f"reference and generated{_said(direction)}"))
    if not {m.direction for m in left} & {m.direction for m in right}:
        only_method([*left, *right], "reference and generated")
    wanted = {(p.config, p.direction): p for p in points(left)}
    found = {(p.config, p.direction): p for p in points(right)}
    rows = tuple(_ratio(p, found[key]) for key, p in wanted.items() if key in found)
    return Comparison(
        ", ".join(dict.fromkeys(methods)),
        rows,
        pattern_of(rows),
        influences_of(rows),
        tuple(p for key, p in wanted.items() if key not in found),
        tuple(p for key, p in found.items() if key not in wanted),
        (*left_out, *right_out),
    )


def _directed(side: list[Measurement], other: Sequence[Measurement]) -> list[Measurement]:
    """With the other side's direction, where it has one only and this side says none at all."""
    directions = {m.direction for m in other}
    if len(directions) == 1 and {m.direction for m in side} == {None}:
        (direction,) = directions
        return [m._replace(direction=direction) for m in side]
    return side


def _said(direction: str | None) -> str:
    return f", {direction}" if direction else ""


def _only_backend(measurements: Iterable[Measurement], side: str) -> None:
    backends = dict.fromkeys(str(m.backend) for m in measurements)
    if len(backends) > 1:
        raise UsageError(f"{side}: several backends ({', '.join(backends)}): choose one")


def _ratio(reference: Point, generated: Point) -> Ratio:
    spreads = [s for s in (reference.spread.rel_std, generated.spread.rel_std) if s is not None]
    return Ratio(
        reference.config,
        reference.direction,
        reference.median_ms,
        generated.median_ms,
        generated.median_ms / reference.median_ms,
        math.hypot(*spreads) if spreads else None,
    )


def pattern_of(rows: Sequence[Ratio]) -> Pattern:
    """Whether ratios are all alike, by their logarithms: see Pattern and the thresholds above."""
    if not rows:
        return Pattern("no data", 0, None, None, None, False, ())
    logs = [math.log(row.ratio) for row in rows]
    middle, band = statistics.median(logs), math.log(UNIFORM_BAND)
    exceptions = tuple(row.config for row, x in zip(rows, logs) if abs(x - middle) > band)
    near = 1 - len(exceptions) / len(rows)
    mean = math.exp(math.fsum(logs) / len(logs))
    if all(abs(x) <= math.log(TOLERANCE) for x in logs):
        name = "aligned"
    elif len(rows) == 1:
        name = "single"
    else:
        name = "uniform" if near >= UNIFORM_SHARE else "shape-specific"
    twice = name in ("uniform", "single") and NEAR_TWICE[0] <= mean <= NEAR_TWICE[1]
    log_std = statistics.stdev(logs) if len(logs) > 1 else None
    return Pattern(name, len(rows), mean, log_std, near, twice, exceptions)


def influences_of(rows: Sequence[Ratio]) -> tuple[Influence, ...]:
    """What explains the differences between ratios, strongest first: direction, number format, and each
    position among the parameters. Only what has several values, some of them with several ratios."""
    if len(rows) < 3:
        return ()
    aspects: dict[str, Callable[[Ratio], str]] = {
        "direction": lambda row: row.direction or "-",
        "dtype": lambda row: row.config.dtype or "-",
    }
    width = min(len(row.config.params) for row in rows)
    for at in range(width):
        aspects[f"parameter {at + 1}"] = _parameter(at)
    found: list[Influence] = []
    partitions: set[tuple[int, ...]] = set()
    for name, aspect in aspects.items():
        groups: dict[str, list[float]] = {}
        for row in rows:
            groups.setdefault(aspect(row), []).append(math.log(row.ratio))
        numbers = {value: number for number, value in enumerate(groups)}
        # Number format and the parameter that names it part the rows alike.
        partition = tuple(numbers[aspect(row)] for row in rows)
        explained = _explained(groups)
        if explained is not None and explained > 0 and partition not in partitions:
            means = {value: math.exp(statistics.fmean(logs)) for value, logs in groups.items()}
            found.append(Influence(name, explained, means))
        partitions.add(partition)
    return tuple(sorted(found, key=lambda i: -i.explained))


def _parameter(at: int) -> Callable[[Ratio], str]:
    return lambda row: row.config.params[at]


def _explained(groups: Mapping[str, Sequence[float]]) -> float | None:
    """Adjusted share of the variance that lies between groups; None where that cannot be said."""
    values = [x for group in groups.values() for x in group]
    n, k = len(values), len(groups)
    if k < 2 or n <= k:
        return None
    mean = statistics.fmean(values)
    total = sum((x - mean) ** 2 for x in values)
    if total < 1e-18:
        return None
    inside = sum((x - statistics.fmean(group)) ** 2 for group in groups.values() for x in group)
    return 1 - (inside / (n - k)) / (total / (n - 1))
