"""Agent A: dump and analyse a kernel. The steps in their order, and what becomes of it.

Place in the flow: a thin consumer of everything; imports the steps. Each step can be called alone. What takes
long (dumps, measurements) is kept in the kernel's folder and taken from there by the next run; everything
else is written anew, whole files at a time, so that a run may be cut anywhere and started again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import TileIRError
from ..analysis import Analysis, to_json
from ..gate import BLOCKED, BLOCKED_FILE, EXIT_CODES, FAIL_FIXABLE, PASS, Check, final_response
from .benchmarks import Benchmarks, baseline, expression, take_benchmarks
from .captures import Dumps, dump_tests
from .describe import Material, describe
from .gate import run_gate
from .references import install_references
from .reports import AUDIT, REPORT, audit, report
from .request import Request
from .sources import BACKEND, Sources, by_label, read_sources
from .structure import find_variants

ANALYSIS = "reference/analysis.json"
BASELINE = "baseline_perf.txt"

# What a run may stop after.
STEPS = ("read", "dump", "variants", "benchmark", "reference", "analysis", "gate")


class Answer(NamedTuple):
    """How a run ended.

    Attributes:
        verdict: "PASS", "FAIL_FIXABLE" or "BLOCKED"; None where it was told to stop before the gate.
        why: reasons of a verdict that is no PASS.
        checks: validators that ran.
    """

    verdict: str | None
    why: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """That of the verdict; 0 where the run was to stop before it."""
        return EXIT_CODES[self.verdict] if self.verdict is not None else 0

    def text(self) -> str:
        """The end of the final response: the block of validators, and the verdict."""
        return "" if self.verdict is None else final_response(self.checks, self.verdict)


def run_agent_a(request: Request, until: str = STEPS[-1]) -> Answer:
    """Run agent A up to and with a step.

    Args:
        request: the kernel, the project, what was given.
        until: one of STEPS.

    Returns:
        An Answer; what blocks the run is in it, not raised.

    Raises:
        InputError: the reports cannot be written.
        UsageError: another run works on the kernel.
    """
    with request.workspace.locked():
        return _run_or_block(request, until)


def _run_or_block(request: Request, until: str) -> Answer:
    try:
        return _run(request, until)
    except TileIRError as error:
        reason = str(error)
        request.say("blocked", reason.splitlines()[0])
        _block(request, [reason])
        text = f"# Agent A: {request.workspace.kernel}\n\nVerdict: {BLOCKED}\n\n{reason}\n"
        request.workspace.write(REPORT, text)
        request.workspace.write(AUDIT, text)
        return Answer(BLOCKED, (reason,), ())


def _run(request: Request, until: str) -> Answer:
    last = STEPS.index(until)
    unfinished = Answer(None, (), ())
    sources = read_sources(request)
    if last < STEPS.index("dump"):
        return unfinished
    dumps = dump_tests(request, [sources.target], select=selected_tests(request, sources))
    if last < STEPS.index("variants"):
        return unfinished
    structure = find_variants(request.workspace, dumps, sources.operation.path)
    request.say("variants", ", ".join(f"{v.name} ({v.function})" for v in structure.variants))
    if last < STEPS.index("benchmark"):
        return unfinished
    benchmarks = take_benchmarks(request, sources, structure.test, structure.config_to_variant)
    if last < STEPS.index("reference"):
        return unfinished
    installed = install_references(request, dumps, structure)
    if last < STEPS.index("analysis"):
        return unfinished
    test = sources.parametrisation(structure.test)
    configs = by_label(test, structure.config_to_variant) if test is not None else {}
    material = Material(sources, structure, configs, installed, benchmarks)
    analysis = describe(request, material)
    request.workspace.write(ANALYSIS, to_json(analysis) + "\n")
    request.say("analysis", f"{ANALYSIS}: {len(analysis.variants)} variants")
    copy_baseline(request, benchmarks, analysis)
    if last < STEPS.index("gate"):
        return unfinished
    checks = run_gate(request)
    return _finish(request, dumps, material, analysis, checks)


def selected_tests(request: Request, sources: Sources) -> str:
    """The expression of `-k` for the tests that are dumped: `test_op`, `test_perf` and those called like them,
    with our backend; all tests of the class where none is called so."""
    tests = [p.name for p in (sources.tests.op, sources.tests.perf, *sources.tests.others) if p]
    named = [name for name in tests if name.startswith(("test_op", "test_perf"))]
    parts = [expression(sources, test, BACKEND) for test in named or tests]
    selected = " or ".join(f"({part})" for part in parts)
    return f"({selected}) and ({request.select})" if request.select else selected


def copy_baseline(request: Request, benchmarks: Benchmarks, analysis: Analysis) -> None:
    """`baseline_perf.txt`: the log of the winner."""
    winner = baseline(benchmarks, analysis.selection.winner)
    text = request.workspace.read(winner.file) if winner is not None else None
    if text is not None:
        request.workspace.write(BASELINE, text)


def _finish(
    request: Request,
    dumps: Dumps,
    material: Material,
    analysis: Analysis,
    checks: tuple[Check, ...],
) -> Answer:
    why = [f"exit={check.code}: {check.command}" for check in checks if check.code != 0]
    verdict = FAIL_FIXABLE if why else PASS
    if not why and (lacking := missing(material.benchmarks)):
        verdict, why = BLOCKED, lacking
    request.workspace.write(
        REPORT, report(request, dumps, material, analysis, checks, verdict, why)
    )
    request.workspace.write(AUDIT, audit(request, dumps, material, checks))
    if verdict == BLOCKED:
        _block(request, why)
    else:
        request.workspace.remove(BLOCKED_FILE)
    return Answer(verdict, tuple(why), checks)


def missing(benchmarks: Benchmarks) -> list[str]:
    """What a trustworthy choice of the reference lacks: records of cuTile, IR of the winner."""
    chosen = benchmarks.selection.choices if benchmarks.selection is not None else ()
    if not any(BACKEND in choice.geomeans_ms for choice in chosen):
        why = benchmarks.missing.get(BACKEND, "none of its configurations is one that was dumped")
        return [
            f"no performance records of {BACKEND}: {why}; give them by --perf-log {BACKEND}=FILE"
        ]
    return [
        f"variant {choice.variant}: {choice.winner} is faster, and only the IR of {BACKEND} was dumped"
        for choice in chosen
        if choice.winner != BACKEND
    ]


def _block(request: Request, reasons: Sequence[str]) -> None:
    text = "\n".join([f"{request.workspace.kernel}: agent A is blocked.", *reasons])
    request.workspace.write(BLOCKED_FILE, f"{text}\n")
