"""Step 7 of agent A: every validator over every artifact.

Place in the flow: artifacts -> **checks** -> verdict; imports `agents.gate`.
"""

from __future__ import annotations

from ..gate import Check, run_validator
from .benchmarks import CANDIDATES, log_file
from .request import Request


def run_gate(request: Request) -> tuple[Check, ...]:
    """Check all top-level references, the analysis and the logs that there are.

    Raises:
        ToolError: a validator cannot be started, crashes or hangs.
    """
    workspace = request.workspace
    checks = [
        run_validator(
            workspace,
            "ir",
            [str(workspace.path(name)), workspace.kernel],
            request.scripts,
        )
        for name in structural_references(request)
    ]
    checks.append(run_validator(workspace, "analysis", [workspace.kernel], request.scripts))
    for backend in CANDIDATES:
        if workspace.read(log_file(backend)):
            arguments = [str(workspace.path(log_file(backend))), f"baseline_perf_{backend}"]
            checks.append(run_validator(workspace, "perf-log", arguments, request.scripts))
    for check in checks:
        request.say("gate", f"exit={check.code}  {check.command}")
    return tuple(checks)


def structural_references(request: Request) -> list[str]:
    """`reference/reference.mlir` and `reference/reference_*.mlir`, as the gate of the contract finds them."""
    names = request.workspace.names("reference/reference.mlir")
    return names + request.workspace.names("reference/reference_*.mlir")
