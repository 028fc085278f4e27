"""The record that a TileGym test makes: `record_property("benchmark", {backend: {direction: {..}}})`.

Place in the flow: Python values -> records; imports `records`, `node_ids`. The same value stands in JUnit
XML, in printed records and in a test report, so all three are read here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .node_ids import NodeId, backend_name
from .records import METHODS, Config, KernelTime, Measurement

_DIRECTIONS = ("forward", "backward")


def measurements_of(value: object, node: NodeId, place: str) -> Iterator[Measurement]:
    """The measurements in a `benchmark` property.

    Args:
        value: `{backend: {direction: result}}`, or one of the inner levels alone.
        node: the test that recorded it.
        place: where it stands.

    Raises:
        ValueError: it has another form; says which part.
    """
    if not isinstance(value, dict) or not value:
        raise ValueError("a benchmark record is a dict {backend: {direction: {..}}}")
    if "median" in value or "mean" in value:
        yield _measurement(value, node, None, None, place)
        return
    for key, inner in value.items():
        if not isinstance(inner, dict):
            raise ValueError(f"benchmark record: {key!r} holds {type(inner).__name__}, not a dict")
        if key in _DIRECTIONS:
            yield _measurement(inner, node, None, str(key), place)
            continue
        if "median" in inner or "mean" in inner:
            yield _measurement(inner, node, str(key), None, place)
            continue
        for direction, result in inner.items():
            if not isinstance(result, dict):
                raise ValueError(
                    f"benchmark record: {key!r}, {direction!r} holds {type(result).__name__}, not a dict"
                )
            yield _measurement(result, node, str(key), str(direction), place)


def _measurement(
    result: dict[object, object],
    node: NodeId,
    backend: str | None,
    direction: str | None,
    place: str,
) -> Measurement:
    return Measurement(
        Config(node.test, node.params),
        backend_name(backend) if backend else node.backend,
        direction,
        method_of(result),
        place,
        number(result.get("median")),
        number(result.get("mean")),
        number(result.get("std")),
        number(result.get("min")),
        number(result.get("max")),
        whole(result.get("nrep")),
        tuple(_kernels(result.get("kernel_times"))),
    )


def method_of(result: dict[object, object]) -> str:
    """How a result was measured: as it says itself (`method`), else read off its numbers.

    Only event timing records quantiles (`iqr`). CUPTI's times are whole nanoseconds, and so their median is
    a multiple of half a nanosecond; events and graphs give single-precision milliseconds. TileGym times some
    backward passes with events under CUPTI=1 too. The numbers have to be as they were measured: rounded
    ones look like whole nanoseconds.
    """
    said = result.get("method")
    if isinstance(said, str) and said in METHODS:
        return said
    if "iqr" in result or "q25" in result:
        return "cuda_event"
    median, *ends = (number(result.get(key)) for key in ("median", "min", "max"))
    # In units that the sample has to be a whole number of; more than a day is no time, and beyond
    # what this test can tell.
    counts = [s * 2e6 for s in (median,) if s is not None and 0 < s < 1e8]
    counts += [s * 1e6 for s in ends if s is not None and 0 < s < 1e8]
    if counts and all(abs(count - round(count)) < 1e-6 for count in counts):
        return "cupti"
    return "unknown"


def number(value: object) -> float | None:
    """A number as a float, also from text ("nan"); None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None


def whole(value: object) -> int | None:
    """A number as a whole one; None for anything else, nan and infinities included."""
    found = number(value)
    return int(found) if found is not None and math.isfinite(found) else None


def _kernels(value: object) -> Iterator[KernelTime]:
    if not isinstance(value, list):
        return
    for item in value:
        if not isinstance(item, dict):
            raise ValueError("benchmark record: kernel_times holds something else than dicts")
        launches = whole(item.get("count")) or 1
        total = number(item.get("self_time_us")) or 0.0
        yield KernelTime(str(item.get("name", "")), launches, total / launches, total)
