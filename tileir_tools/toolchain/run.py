"""Running a tool: it ends when it should, and leaves nothing behind.

Place in the flow: below everything that runs tools; imports `errors`. A tool runs in a process group of its
own, without core files; at the end of its time, or when somebody interrupts, the whole group is killed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import ToolError

# Output kept of a tool that writes without end.
_MOST_OUTPUT = 64 << 20


class Completed(NamedTuple):
    """A tool that ran to its end: exit status, what it wrote, seconds it took."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


def run_tool(
    command: Sequence[str | os.PathLike[str]],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    name: str | None = None,
    merged: bool = False,
) -> Completed:
    """Run a tool to its end.

    Args:
        command: program and arguments.
        timeout: seconds it may take.
        env: all of its environment; None: ours.
        cwd: where it runs.
        name: what errors call it; None: the program's name.
        merged: put what it writes to its standard error into the standard output, where it stands.

    Returns:
        A Completed, whatever the exit status is.

    Raises:
        ToolError: the program cannot be started (kind "missing"), takes too long ("timeout"), was killed
            by a signal ("crashed"), or wrote more than any output is long ("garbage").
    """
    name = name or os.path.basename(os.fspath(command[0]))
    start = time.monotonic()
    # An interrupt waits until the tool is known: else nobody could kill it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: _in_the_child(before),
        )
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        reason = error.strerror or str(error)
        raise ToolError(f"{name}: cannot be started: {reason}", name, "missing") from None
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        stdout, stderr = process.communicate(timeout=timeout)
        stderr = stderr or b""
    except subprocess.TimeoutExpired:
        _kill(process)
        message = f"{name}: killed: it took longer than {timeout:g} s"
        raise ToolError(message, name, "timeout") from None
    except BaseException:
        # Somebody interrupts: nothing of ours goes on running.
        _kill(process)
        raise
    if len(stdout) > _MOST_OUTPUT or len(stderr) > _MOST_OUTPUT:
        raise ToolError(f"{name}: wrote {len(stdout) + len(stderr)} bytes", name, "garbage")
    code = process.returncode
    # A shell says 128 + N for a program that signal N killed.
    killed = -code if code < 0 else code - 128 if code > 128 else 0
    if killed:
        raise ToolError(f"{name}: crashed: {_signal_name(killed)}", name, "crashed")
    return Completed(code, stdout, stderr, time.monotonic() - start)


def _in_the_child(mask: set[int]) -> None:
    """Between fork and exec: signals as they were, no core files."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a tool with everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
