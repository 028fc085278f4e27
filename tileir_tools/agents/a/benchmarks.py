"""Step 3 of agent A: performance records of each backend, taken or measured, and the winner per variant.

Place in the flow: tests of a project, or logs -> **records** -> analysis; imports `bench`, `toolchain.run`. The
log of a backend lies in the kernel's folder as `baseline_perf_BACKEND.txt`, as pytest printed it; records that
were given as JUnit XML are written as such a log. What lies there already is not measured again.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...bench import Config, Measurement, Selection, choose_backends, parse_performance
from ...bench.records import PerformanceLog
from ...bench.results_block import write_results
from ...bench.untrusted import read_limited
from ...errors import TileIRError, ToolError
from ...toolchain.run import run_tool
from .captures import has_gpu, test_variables
from .kept import project_digest
from .request import Request
from .sources import BACKEND, Sources

# Backends whose Tile IR can be the reference, and what they are timed beside.
CANDIDATES = (BACKEND, "triton_tileir")
BESIDE = ("pytorch",)

# What says which sources a backend's log was taken for.
_KEPT = "reports/agent_logs/baseline_perf_{}.sources"

# What TileGym's harness prints of the GPU.
_DEVICE = re.compile(r"^device = (.{1,80})$", re.M)

# The function whose tests time themselves; others are timed by a plugin, with the reference beside them.
TIMED_TEST = "test_perf"

# How the tests of TileGym measure: what its pipeline exports.
ENVIRONMENT: Mapping[str, str] = {
    "ENABLE_TILE": "1",
    "TILEIR_ENABLE_FTZ": "1",
    "TILEIR_ENABLE_APPROX": "1",
    "CUPTI": "1",
    "DUMP_CUPTI_EVENTS": "1",
    "WARMUP": "100",
    "REP": "50",
    "MIN_REP": "2",
}


class Log(NamedTuple):
    """Records of one backend.

    Attributes:
        backend: its name.
        file: below the workspace.
        records: what the file holds of that backend.
        origin: the command that measured, or the files that were given; the GPU, where the log names it.
    """

    backend: str
    file: str
    records: tuple[Measurement, ...]
    origin: str


class Benchmarks(NamedTuple):
    """All records, and what follows from them.

    Attributes:
        logs: one for each backend that has records.
        selection: the winner among CANDIDATES for each variant, over what all have; None without records.
        overall: the same over all variants.
        missing: backend -> why it has no records.
        notes: other things to know about the records.
    """

    logs: tuple[Log, ...]
    selection: Selection | None
    overall: Selection | None
    missing: Mapping[str, str]
    notes: tuple[str, ...]


def log_file(backend: str) -> str:
    """Name of a backend's log in the kernel's folder."""
    return f"baseline_perf_{backend}.txt"


def take_benchmarks(
    request: Request, sources: Sources, test: str, config_to_variant: Mapping[str, str]
) -> Benchmarks:
    """Records of all backends: those that were given, lie there from an earlier run, or are measured now.

    Args:
        request: with `logs`, where they are given.
        sources: of the operation and its tests.
        test: function whose configurations count.
        config_to_variant: label of a configuration -> variant.

    Raises:
        UsageError: records of one variant were taken by several methods.
        InputError: a file that was given cannot be read.
    """
    logs: list[Log] = []
    missing: dict[str, str] = {}
    for backend in (*CANDIDATES, *BESIDE):
        found = _of_backend(request, sources, test, backend)
        if isinstance(found, Log):
            logs.append(found)
            spread = f"{len(found.records)} records"
            request.say("benchmark", f"{backend}: {spread}, {log_file(backend)}")
        else:
            missing[backend] = found
    notes = [f"{backend}: {why}" for backend, why in missing.items()]
    candidates = [m for log in logs if log.backend in CANDIDATES for m in log.records]
    if not candidates:
        return Benchmarks(tuple(logs), None, None, missing, tuple(notes))
    own = f"{os.path.basename(sources.tests.path)}::"

    def is_known(m: Measurement) -> bool:
        of_this = m.config.test == "" or (
            m.config.test.startswith(own) and m.config.test.rpartition("::")[2] == test
        )
        return of_this and m.config.label in config_to_variant

    known = [m for m in candidates if is_known(m)]
    notes += [
        f"{m.place}: {m.config.test}[{m.config.label}] is no configuration that a kernel was dumped for"
        for m in candidates
        if not is_known(m)
    ]
    timed = {m.config.label for m in known if m.backend == BACKEND}
    if left := [label for label in config_to_variant if label not in timed]:
        notes.append(
            f"{len(left)} of {len(config_to_variant)} configurations have no record: {left[0]}"
        )

    def variant_of(config: Config) -> str:
        return config_to_variant[config.label]

    selection, overall = choose_backends(known, variant_of), choose_backends(known)
    notes += [f"{e.measurement.place}: left out: {e.reason}" for e in selection.excluded]
    return Benchmarks(tuple(logs), selection, overall, missing, tuple(notes))


def _of_backend(request: Request, sources: Sources, test: str, backend: str) -> Log | str:
    """Records of one backend, or why there are none."""
    given = request.logs.get(backend, ())
    if given:
        return _given(request, backend, given)
    if request.logs:
        return "no log was given for it"
    if backend in BESIDE and test != TIMED_TEST:
        # The reference is timed in the same tests, so its records are in the same log.
        kept = request.workspace.read(log_file(BACKEND))
        if kept is None:
            return "no log that it could be in"
        path = request.workspace.path(log_file(BACKEND))
        found = _log(backend, kept, "the same tests", str(path))
        return found if isinstance(found, str) else found._replace(file=log_file(BACKEND))
    kept = None if request.fresh else request.workspace.read(log_file(backend))
    if kept is not None:
        path = request.workspace.path(log_file(backend))
        found = _log(backend, kept, "taken from an earlier run", str(path))
        # What was timed has to be what is dumped. A run that failed has left a log without records.
        if _is_of_these_sources(request, backend) and isinstance(found, Log):
            return found
        if not has_gpu():
            return f"{log_file(backend)} is of other sources, and there is no GPU to measure on"
    if backend == "triton_tileir" and not _has_triton_tileir():
        return "Triton-TileIR is not installed"
    if not has_gpu():
        return "no GPU to measure on"
    if backend != BACKEND and not sources.takes_backends(test):
        return "the tests measure one backend"
    return _measured(request, sources, test, backend)


def _keep(request: Request, backend: str, text: str) -> str:
    """Write a log, and what it was taken for; gives its path."""
    request.workspace.write(_KEPT.format(backend), project_digest(request.project))
    return str(request.workspace.write(log_file(backend), text))


def _is_of_these_sources(request: Request, backend: str) -> bool:
    return request.workspace.read(_KEPT.format(backend)) == project_digest(request.project)


def _has_triton_tileir() -> bool:
    from ...toolchain.find import find_tool

    return find_tool("triton-tileir").path is not None


def _log(backend: str, text: str, origin: str, path: str) -> Log | str:
    try:
        found = parse_performance(text.encode(), path)
    except TileIRError as error:
        return str(error)
    records = tuple(m for m in found.measurements if m.backend in (backend, None))
    if not records:
        return f"{path}: no record of {backend}"
    if device := _DEVICE.search(text):
        origin += f" (on {device[1].strip()})"
    return Log(
        backend, log_file(backend), tuple(m._replace(backend=backend) for m in records), origin
    )


# -- given ------------------------------------------------------------------------------------------


def _given(request: Request, backend: str, files: Sequence[str]) -> Log | str:
    """Records in files of any format, kept as one log."""
    texts = []
    for file in files:
        data = read_limited(file)
        log = parse_performance(data, file)
        text = data.decode("utf-8-sig", "replace")
        texts.append(text if log.format == "pytest log" else _as_log(log, data, backend))
    text = "\n".join(texts)
    path = _keep(request, backend, text)
    return _log(backend, text, f"given: {', '.join(files)}", path)


def _as_log(log: PerformanceLog, data: bytes, backend: str) -> str:
    """Records of another format as pytest and our plugin would have printed them."""
    digest = hashlib.sha256(data).hexdigest()
    lines = [
        f"# Records of {backend} in {os.path.basename(log.path)} ({log.format}, sha256 {digest})"
    ]
    of_test: dict[str, list[Measurement]] = {}
    for m in log.measurements:
        if m.backend in (backend, None):
            params = "-".join((backend, *m.config.params))
            of_test.setdefault(f"{m.config.test}[{params}]", []).append(m._replace(backend=backend))
    for test, measurements in of_test.items():
        lines += [f"{test} {measurements[0].outcome.upper()}", write_results(test, measurements)]
    return "\n".join(lines) + "\n"


# -- measured ---------------------------------------------------------------------------------------


def _measured(request: Request, sources: Sources, test: str, backend: str) -> Log | str:
    command = benchmark_command(request, sources, test, backend)
    request.say("benchmark", f"{backend}: {' '.join(command[3:])}")
    environment = {**os.environ, **test_variables(request), **ENVIRONMENT}
    # Events go to the standard error, at once: so does the rest, or it would come too late.
    environment["PYTHONUNBUFFERED"] = "1"
    environment.pop("PYTEST_CURRENT_TEST", None)
    if backend == "cutile":
        # For Triton only; cuda-tile does not look at it.
        environment.pop("ENABLE_TILE")
    try:
        done = run_tool(
            command,
            timeout=request.timeout,
            env=environment,
            cwd=request.project.root,
            name=f"pytest ({backend})",
            merged=True,
        )
    except ToolError as error:
        return str(error)
    text = done.stdout.decode("utf-8", "replace")
    path = _keep(request, backend, text)
    if done.code not in (0, 1):
        return f"pytest ended with exit status {done.code}: {_last(text)}"
    return _log(backend, text, " ".join(command[1:]), path)


def benchmark_command(request: Request, sources: Sources, test: str, backend: str) -> list[str]:
    """How the tests of one backend are timed: program and arguments."""
    plugins = ["-p", "tileir_tools.bench.pytest_plugin", "--print-record"]
    if test != TIMED_TEST:
        plugins += ["-p", "tileir_tools.bench.timed_checks"]
    selected = expression(sources, test, backend)
    if request.select:
        selected = f"{selected} and ({request.select})"
    junit = request.workspace.path(f"reports/agent_logs/junit_{backend}.xml")
    return [
        sys.executable,
        "-m",
        "pytest",
        sources.target,
        "-k",
        selected,
        *plugins,
        f"--junitxml={junit}",
        "-sv",
        "-p",
        "no:cacheprovider",
    ]


def expression(sources: Sources, test: str, backend: str) -> str:
    """What selects a test function's runs of a backend, for `-k`."""
    if not sources.takes_backends(test):
        return test
    # `-k cutile` alone would take `cutile-rs` too.
    others = " and not cutile-rs and not cutile_rs" if backend == BACKEND else ""
    return f"{test} and {backend}{others}"


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def baseline(benchmarks: Benchmarks, winner: str) -> Log | None:
    """The log of the backend that won, which is copied to `baseline_perf.txt`."""
    return next((log for log in benchmarks.logs if log.backend == winner), None)
