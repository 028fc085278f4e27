"""Step 1 of agent F: what the agents before have left, and what is missing of it.

Place in the flow: files -> **inputs** -> causes; imports `bench`, `read`, `agents.analysis`, `sources`,
`wrappers`. A file that is not there, or cannot be read, is missing: it is written down, and the diagnosis
goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from ...bench import Measurement, PerformanceLog, parse_performance
from ...bench.performance_report import PerformanceReport, read_performance_report
from ...bench.records import Config
from ...bench.untrusted import read_limited
from ...errors import TileIRError
from ...model import Module
from ...read import load_all
from ...sources import OperationSource, read_source
from ...toolchain.devices import DEFAULT_ARCH, device_of
from ...wrappers import Wrapper, read_wrapper, undecided_of
from ..analysis import read_analysis
from .request import Request

REPORT = "reports/performance.md"
GENERATED_LOG = "perf_cutile_rs.txt"
BASELINES = ("baseline_perf_cutile.txt", "baseline_perf_triton_tileir.txt", "baseline_perf.txt")
ANALYSIS = "reference/analysis.json"
# In the order in which they are looked for.
GENERATED = ("generated/generated_canon.mlir", "generated/generated.mlir")

BACKEND = "cutile_rs"
# Of whom there may be profiles.
SIDES = ("reference", "generated")
_PROFILED = Config("profile")

_Read = TypeVar("_Read")


class Log(NamedTuple):
    """Records of one backend: the file below the kernel's folder, what it holds."""

    file: str
    records: tuple[Measurement, ...]


class Inputs(NamedTuple):
    """Everything there is.

    Attributes:
        report: agent E's table.
        generated: records of the generated kernel.
        reference: records of the winning reference backend.
        analysis: content of agent A's analysis.
        modules: the generated IR, with its file.
        wrapper: host code of the generated kernel, with the source of the reference.
        profiles: of the reference and of the generated kernel; None where not both were given.
        missing: what is not there or cannot be read, a sentence each.
    """

    report: PerformanceReport | None
    generated: Log | None
    reference: Log | None
    analysis: Mapping[str, Any] | None
    modules: tuple[str, list[Module]] | None
    wrapper: tuple[Wrapper, OperationSource] | None
    profiles: tuple[Log, Log] | None
    missing: tuple[str, ...]


def read_inputs(request: Request) -> Inputs:
    """Read what is there; nothing is raised for what is not."""
    missing: list[str] = []

    def attempt(name: str, read: Callable[[], _Read]) -> _Read | None:
        if not request.workspace.path(name).is_file():
            missing.append(f"{name}: not there")
            return None
        try:
            return read()
        except TileIRError as error:
            missing.append(f"{name}: {str(error).splitlines()[0]}")
            return None

    path = request.workspace.path
    report = attempt(REPORT, lambda: read_performance_report(str(path(REPORT))))
    analysis = attempt(ANALYSIS, lambda: read_analysis(str(path(ANALYSIS))))
    generated = attempt(GENERATED_LOG, lambda: _log(request, GENERATED_LOG))
    inputs = Inputs(
        report,
        _of_backend(generated, BACKEND, missing),
        _reference(request, analysis, missing),
        analysis,
        _modules(request, missing),
        _wrapper(request, analysis, missing),
        _profiles(request, missing),
        (),
    )
    for text in missing:
        request.say("read", text)
    return inputs._replace(missing=tuple(missing))


def _log(request: Request, name: str) -> tuple[str, PerformanceLog]:
    text = request.workspace.read(name) or ""
    return name, parse_performance(text.encode(), str(request.workspace.path(name)))


def _of_backend(
    log: tuple[str, PerformanceLog] | None, backend: str | None, missing: list[str]
) -> Log | None:
    """The records of a backend in a log, those that name none among them."""
    if log is None:
        return None
    name, found = log
    records = tuple(
        m._replace(backend=backend) for m in found.measurements if m.backend in (backend, None)
    )
    if not any(m.median_ms is not None or m.kernels for m in records):
        missing.append(f"{name}: no record of {backend or 'any backend'} with a time")
        return None
    return Log(name, records)


def _reference(
    request: Request, analysis: Mapping[str, Any] | None, missing: list[str]
) -> Log | None:
    """Records of the backend that the analysis chose, else of the first that there are."""
    chosen = analysis.get("reference_backend") if analysis is not None else None
    chosen = {"triton": "triton_tileir"}.get(str(chosen), chosen)
    order = sorted(BASELINES, key=lambda name: name != f"baseline_perf_{chosen}.txt")
    wrong: list[str] = []
    for name in order:
        if not request.workspace.path(name).is_file():
            continue
        backend = str(chosen or "cutile")
        if name != BASELINES[-1]:
            backend = name[len("baseline_perf_") : -4]
        try:
            found = _of_backend(_log(request, name), backend, wrong)
        except TileIRError as error:
            wrong.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        if found is not None:
            return found
    missing += wrong or ["baseline_perf*.txt: not there"]
    return None


def _modules(request: Request, missing: list[str]) -> tuple[str, list[Module]] | None:
    for name in GENERATED:
        path = request.workspace.path(name)
        if not path.is_file():
            continue
        try:
            modules = load_all(path)
        except TileIRError as error:
            missing.append(f"{name}: {str(error).splitlines()[0]}")
            return None
        if any(module.entries for module in modules):
            return name, modules
        missing.append(f"{name}: no entry in it")
        return None
    missing.append(f"{GENERATED[0]}: not there")
    return None


def _wrapper(
    request: Request, analysis: Mapping[str, Any] | None, missing: list[str]
) -> tuple[Wrapper, OperationSource] | None:
    kernel, project = request.workspace.kernel, request.project
    if project is None:
        missing.append("the wrapper: no project was given (TILEGYM_PATH)")
        return None
    device = device_of(target(request, analysis))
    try:
        wrapper = read_wrapper(project, kernel)
        if wrapper is None:
            missing.append(f"src/*/ops/cutile_rs/{kernel}.py: not there")
            return None
        # Searches differ by device: those of the target count.
        source = read_source(project, kernel, capability=device.capability if device else None)
        undecided = undecided_of(wrapper, source.operation, analysis)
    except TileIRError as error:
        missing.append(f"the wrapper of {kernel}: {str(error).splitlines()[0]}")
        return None
    missing += [f"{path}:{item.line}: not decided: {item.why}" for path, item in undecided]
    return (wrapper, source.operation) if wrapper.calls else None


def _profiles(request: Request, missing: list[str]) -> tuple[Log, Log] | None:
    """What a profiler saw of both sides, kept below `reports/agent_logs`."""
    sides = []
    for side in SIDES:
        if side not in request.profiles:
            continue
        given = request.profiles[side]
        try:
            data = read_limited(given)
            records = parse_performance(data, given).measurements
        except TileIRError as error:
            missing.append(str(error).splitlines()[0])
            continue
        name = f"reports/agent_logs/profile_{side}{os.path.splitext(given)[1]}"
        request.workspace.write(name, data)
        # A profile says neither what was measured nor by whom.
        sides.append(Log(name, tuple(m._replace(config=_PROFILED, backend=side) for m in records)))
    if len(sides) == 1:
        missing.append("a profile of the other side: launches are compared")
    return (sides[0], sides[1]) if len(sides) == len(SIDES) else None


def target(request: Request, analysis: Mapping[str, Any] | None) -> str:
    """The target that was asked for, else the one that the analysis was made for, else DEFAULT_ARCH."""
    if request.arch is not None:
        return request.arch
    variants = analysis.get("kernel_variants") if analysis is not None else None
    for variant in variants if isinstance(variants, list) else ():
        ir = variant.get("ir") if isinstance(variant, dict) else None
        evidence = ir.get("evidence") if isinstance(ir, dict) else None
        arch = evidence.get("arch") if isinstance(evidence, dict) else None
        if isinstance(arch, str) and device_of(arch) is not None:
            return arch
    return DEFAULT_ARCH
