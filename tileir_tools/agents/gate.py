"""The gate at the end of an agent's run: validators as commands, what they print, and the verdict.

Place in the flow: artifacts -> **gate** -> final response; imports `workspace`, `toolchain.run`. The validators
run as processes of their own, so that what the response shows is what anybody gets who types the same.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..toolchain.run import run_tool
from .workspace import Workspace

PASS, FAIL_FIXABLE, BLOCKED = "PASS", "FAIL_FIXABLE", "BLOCKED"
EXIT_CODES = {PASS: 0, FAIL_FIXABLE: 1, BLOCKED: 3}
# Where a run that could not be finished says why.
BLOCKED_FILE = "SKILL_METHODOLOGY_BLOCKED.txt"

# Scripts that are called after the agent, not after what they check.
_SCRIPTS = {"perf-investigation": "validate_agent_f.sh"}

_TIMEOUT = 300.0
_OURS = ("-c", "from tileir_tools.cli.tileir import main; main()")


class Check(NamedTuple):
    """One validator that ran: the command as somebody would type it, what it printed, its exit status."""

    command: str
    output: str
    code: int

    def block(self) -> str:
        """As the final response shows it."""
        return f"$ {self.command} 2>&1\n{self.output}exit={self.code}\n"


def run_validator(
    workspace: Workspace, contract: str, arguments: Sequence[str], scripts: str | None
) -> Check:
    """Run `tileir validate CONTRACT ARGUMENTS..`, or the shell script of that name in `scripts`.

    Args:
        workspace: of the kernel.
        contract: "ir", "analysis", "perf-log"..
        arguments: of the validator.
        scripts: folder of `validate_ir.sh` and its like; None: ours.

    Raises:
        ToolError: it cannot be started, crashes or hangs.
    """
    environment = {**os.environ, "CUTILE_KERNEL_OUT_ROOT": str(workspace.folder.parent)}
    if scripts is None:
        command = [sys.executable, *_OURS, "validate", contract, *arguments]
        shown = ["tileir", "validate", contract, *arguments]
    else:
        name = _SCRIPTS.get(contract, f"validate_{contract.replace('-', '_')}.sh")
        script = os.path.join(os.path.abspath(scripts), name)
        command = shown = ["bash", script, *arguments]
    # Python takes modules from where it runs first: a checkout of ours there would stand in our way.
    folder = workspace.folder
    done = run_tool(
        command, timeout=_TIMEOUT, env=environment, cwd=folder, name=shown[0], merged=True
    )
    output = done.stdout.decode("utf-8", "replace")
    if output and not output.endswith("\n"):
        output += "\n"
    return Check(shlex.join(shown), output, done.code)


def final_response(checks: Sequence[Check], verdict: str) -> str:
    """The literal block and one verdict line, nothing behind it."""
    blocks = "\n".join(check.block() for check in checks)
    return f"<VALIDATOR_OUTPUT>\n{blocks}</VALIDATOR_OUTPUT>\nVERDICT: {verdict}"
