"""Profiles of Triton's proton (`.hatchet` files).

Place in the flow: bytes -> **records**; imports `records`. The file is JSON: a tree of frames with metrics,
then what the devices are. Kernels are the frames that have a time; frames around them are scopes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InputError
from .benchmark_property import number, whole
from .records import Config, KernelTime, Measurement, PerformanceLog

_UNITS = {"time (ns)": 1e-3, "time (us)": 1.0, "time (ms)": 1e3, "time (s)": 1e6}


def read_proton(content: list[object], path: str) -> PerformanceLog:
    """One measurement for each scope that launches kernels. Raises InputError."""
    scopes: dict[str, dict[str, KernelTime]] = {}
    for scope, name, metrics in _frames(content[0], path):
        found = _kernel(name, metrics)
        if found is not None:
            kernels = scopes.setdefault(scope, {})
            # One kernel launched from two places of a scope is one kernel.
            kernels[name] = _sum(kernels[name], found) if name in kernels else found
    measurements = tuple(
        Measurement(
            Config(scope),
            None,
            None,
            "proton",
            path,
            kernels=tuple(kernels.values()),
            whole_profile=True,
        )
        for scope, kernels in scopes.items()
    )
    return PerformanceLog(path, "proton", measurements, blocks=len(measurements))


def _frames(root: object, path: str) -> Iterator[tuple[str, str, dict[str, object]]]:
    """(names of the scopes around it, name, metrics) of each frame; without recursion: files may nest."""
    todo: list[tuple[str, object]] = [("", root)]
    while todo:
        scope, node = todo.pop()
        frame = node.get("frame") if isinstance(node, dict) else None
        if not isinstance(node, dict) or not isinstance(frame, dict):
            raise InputError(
                f"{path}: error: expected frames with children, found {type(node).__name__}"
            )
        name = str(frame.get("name", ""))
        metrics = node.get("metrics")
        yield scope, name, metrics if isinstance(metrics, dict) else {}
        inner = scope if name == "ROOT" else f"{scope}/{name}" if scope else name
        children = node.get("children")
        if isinstance(children, list):
            todo += [(inner, child) for child in reversed(children)]


def _kernel(name: str, metrics: dict[str, object]) -> KernelTime | None:
    """The kernel of a frame; None for a scope."""
    lowered = {str(key).lower(): value for key, value in metrics.items()}
    for metric, factor in _UNITS.items():
        time, count = number(lowered.get(metric)), whole(lowered.get("count"))
        if time is not None and count is not None and count >= 1:
            return KernelTime(name, count, time * factor / count, time * factor)
    return None


def _sum(left: KernelTime, right: KernelTime) -> KernelTime:
    launches = left.launches + right.launches
    total = left.total_us + right.total_us
    return KernelTime(left.name, launches, total / launches, total)
