"""Agent F: why the generated kernel is slower than its reference. The steps in their order.

Place in the flow: a thin consumer of everything; imports the steps. Nothing is written but below `reports/`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from ..gate import Check, final_response, run_validator
from .device import Compared, compare_kernels
from .diagnosis import BLOCKED, Diagnosis
from .host import wrapper_causes
from .inputs import GENERATED_LOG, Inputs, read_inputs
from .measured import Measured, measure, severity_of
from .reports import write_reports
from .request import Request
from .verdict import Decision, decide

CONTRACT = "perf-investigation"


class Answer(NamedTuple):
    """How a run ended: the diagnosis, the validator that ran, files below the kernel's folder."""

    diagnosis: Diagnosis
    checks: tuple[Check, ...]
    files: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0: a diagnosis; 1: the validator refuses the reports; 3: BLOCKED."""
        if any(check.code != 0 for check in self.checks):
            return 1
        return 3 if self.diagnosis.verdict == BLOCKED else 0

    def text(self) -> str:
        """The end of the final response: the block of the validator, and the verdict."""
        return final_response(self.checks, self.diagnosis.verdict)


def run_agent_f(request: Request) -> Answer:
    """Diagnose a kernel, write the reports, validate them.

    Raises:
        InputError: the reports cannot be written.
        ToolError: the validator cannot be started.
        UsageError: another run works on the kernel.
    """
    with request.workspace.locked():
        return _run(request)


def _run(request: Request) -> Answer:
    inputs = read_inputs(request)
    diagnosis = diagnose(request, inputs)
    commands = _commands(request)
    write_reports(request.workspace, diagnosis, commands, ())
    check = run_validator(request.workspace, CONTRACT, [request.workspace.kernel], request.scripts)
    request.say("gate", f"exit={check.code}  {check.command}")
    # Once more: the reports show what the validator said of them.
    files = write_reports(request.workspace, diagnosis, commands, (check,))
    return Answer(diagnosis, (check,), files)


def diagnose(request: Request, inputs: Inputs) -> Diagnosis:
    """What the inputs say, without writing anything."""
    measured = measure(inputs)
    slowest = measured.slow[0].label if measured.slow else None
    geomean = measured.geomean
    request.say(
        "measure", f"geometric mean of ratios: {'unknown' if geomean is None else f'{geomean:.3f}'}"
    )
    host = wrapper_causes(inputs)
    compared = compare_kernels(request, inputs, _config(slowest))
    device = compared if isinstance(compared, Compared) else None
    missing = [*inputs.missing, *([] if device else [f"comparison of the kernels: {compared}"])]
    decision = decide(measured, host, device, inputs.wrapper is not None)
    request.say("verdict", f"{decision.verdict}, confidence {decision.confidence}")
    return _diagnosis(request, measured, device, decision, missing)


def _config(label: str | None) -> str | None:
    """A configuration's label without a direction behind it."""
    return label.rpartition(" ")[0] or label if label is not None else None


def _diagnosis(
    request: Request,
    measured: Measured,
    device: Compared | None,
    decision: Decision,
    missing: Sequence[str],
) -> Diagnosis:
    pattern = measured.pattern
    detail = (
        "" if pattern is None else _pattern_detail(pattern.n, pattern.near_median, pattern.log_std)
    )
    return Diagnosis(
        kernel=request.workspace.kernel,
        verdict=decision.verdict,
        severity=severity_of(measured.geomean),
        geomean_ratio=measured.geomean,
        shape_pattern=pattern.name if pattern is not None else "no data",
        pattern_detail=detail,
        ratios=measured.ratios,
        launches=measured.rows,
        causes=decision.causes,
        missing=tuple(missing),
        notes=(*decision.reasons, *measured.notes, *(device.notes if device is not None else ())),
        confidence=decision.confidence,
        tuning_table=device.trials if device is not None else (),
        ir_table=device.rows if device is not None else (),
    )


def _pattern_detail(n: int, near: float | None, log_std: float | None) -> str:
    parts = [f"n = {n}"]
    if near is not None:
        parts.append(f"{near:.0%} within 10 % of the median")
    if log_std is not None:
        parts.append(f"standard deviation of the logarithms {log_std:.3f}")
    return ", ".join(parts)


def _commands(request: Request) -> list[str]:
    words = ["tileir", "agent", "f", request.workspace.kernel]
    if request.arch is not None:
        words += ["--arch", request.arch]
    if request.project is not None:
        words += ["--project", request.project.root]
    return [shlex.join(words), f"tileir perf {GENERATED_LOG} --reference baseline_perf.txt"]
