"""Ratios of generated over reference: how much slower, everywhere or somewhere, and what explains it.

Place in the flow: records -> summary -> **comparison** -> report; imports `records`, `summary`, `errors`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import UsageError
from .records import Config, Measurement
from .summary import Exclusion, Point, only_method, points, usable

# Thresholds of `pattern_of`: a kernel is as fast as the reference within TOLERANCE; slowness is uniform
# where UNIFORM_SHARE of the ratios are within a factor of UNIFORM_BAND of their median; NEAR_TWICE is
# what a second launch of the same work costs.
TOLERANCE = 1.05
UNIFORM_BAND = 1.10
UNIFORM_SHARE = 0.9
NEAR_TWICE = (1.8, 2.2)


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
