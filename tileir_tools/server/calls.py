"""Runs a command in a process of its own: it can be cancelled, and whatever it does, the server lives.

Place in the flow: tools -> **process** -> its output; imports `access`, anyio. The event loop is never
blocked; at most as many commands run as there are processors, the others wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ..errors import TileIRError
from ..toolchain.evidence_store import store_folder
from .access import Access

# Bytes that a command may print.
_MOST_OUTPUT = 256 << 20
# Bytes of one line of what it says beside its answer.
_MOST_LINE = 1 << 20
# Seconds in which a command that is told to end clears up after itself.
_GRACE = 5.0

# Called with each line that a command says while it runs.
Say = Callable[[str], Awaitable[None]]


class Command(NamedTuple):
    """What is to run.

    Attributes:
        arguments: of `tileir`.
        writes: real paths of folders that it may change.
        programs: what it may start; see `guard.Limits`.
        kernels: the folder of all kernels ($CUTILE_KERNEL_OUT_ROOT).
    """

    arguments: tuple[str, ...]
    writes: tuple[str, ...] = ()
    programs: str = "none"
    kernels: str | None = None


class Ended(NamedTuple):
    """A command that ran to its end: exit code, what it printed, lines that it said beside that."""

    code: int
    output: str
    said: tuple[str, ...]


class Calls:
    """Runs commands.

    Args:
        access: what they may do.
        timeout: seconds that each may take.
    """

    def __init__(self, access: Access, timeout: float) -> None:
        self._access = access
        self._timeout = timeout
        self._running: set[anyio.CancelScope] = set()
        self._idle = anyio.Event()
        # One that hangs must not keep a second one waiting.
        self._limiter = anyio.CapacityLimiter(max(2, os.cpu_count() or 1))

    async def run(self, command: Command, say: Say) -> Ended:
        """Run a command to its end.

        Raises:
            TileIRError: it takes too long, prints without end, or the server ends.
        """
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await self._run(command, say)
            finally:
                self._running.discard(scope)
                if not self._running:
                    self._idle.set()
        raise TileIRError("stopped: the server ends")

    async def close(self) -> None:
        """End everything that runs, and wait until it has cleared up."""
        self._idle = anyio.Event()
        for scope in self._running:
            scope.cancel()
        if self._running:
            await self._idle.wait()

    async def _run(self, command: Command, say: Say) -> Ended:
        async with self._limiter:
            # Removed here: a command that is killed leaves what it has put there.
            folder = tempfile.mkdtemp(prefix="tileir-mcp-")
            try:
                with anyio.fail_after(self._timeout):
                    return await self._ran(command, folder, say)
            except TimeoutError:
                message = f"stopped: it took longer than {self._timeout:g} s (--timeout)"
                raise TileIRError(message) from None
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    async def _ran(self, command: Command, temporary: str, say: Say) -> Ended:
        worker = [sys.executable, "-B", "-m", "tileir_tools.server.worker"]
        process = await anyio.open_process(
            [*worker, self._limits(command, temporary), *command.arguments],
            stdin=subprocess.DEVNULL,
            # Python takes modules from where it is started: nothing of a root may be one.
            cwd="/",
            env=_environment(command, temporary),
            # An interrupt at the terminal is for the server, which ends its commands itself.
            start_new_session=True,
        )
        heard = _Heard(process, say)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(heard.lines)
                group.start_soon(heard.output)
            code = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
        if heard.problem is not None:
            raise TileIRError(heard.problem)
        return Ended(code, b"".join(heard.chunks).decode("utf-8", "replace"), tuple(heard.said))

    def _limits(self, command: Command, temporary: str) -> str:
        writes = [*command.writes, os.path.realpath(temporary)]
        cache = store_folder()
        if command.programs != "none" and cache is not None:
            writes.append(os.path.realpath(cache))
        return json.dumps(
            {
                "reads": self._access.roots,
                "writes": writes,
                "programs": command.programs,
                "home": self._home(),
            }
        )

    def _home(self) -> str:
        """Where commands run: in the first root, where that has settings.

        They look for settings in all folders above, and these may not be read.
        """
        root = self._access.roots[0]
        return root if os.path.isfile(os.path.join(root, "tileir.toml")) else "/"


def _environment(command: Command, temporary: str) -> dict[str, str]:
    env = dict(os.environ)
    # What is meant is said in the call, not in variables that the client cannot see.
    for name in ("CUTILE_KERNEL_OUT_ROOT", "TILEGYM_PATH"):
        env.pop(name, None)
    if command.kernels is not None:
        env["CUTILE_KERNEL_OUT_ROOT"] = command.kernels
    return {**env, "TMPDIR": temporary}


class _Heard:
    """What a process prints (`chunks`) and says beside it (`said`), and why it was ended (`problem`)."""

    def __init__(self, process: Process, say: Say) -> None:
        self._process = process
        self._say = say
        self.chunks: list[bytes] = []
        self.said: list[str] = []
        self.problem: str | None = None

    async def output(self) -> None:
        size = 0
        assert self._process.stdout is not None
        async for chunk in self._process.stdout:
            size += len(chunk)
            if size > _MOST_OUTPUT:
                return self._stop(f"stopped: it printed more than {_MOST_OUTPUT >> 20} MiB")
            self.chunks.append(chunk)
        return None

    async def lines(self) -> None:
        """Hand on each line when it comes."""
        size = 0
        assert self._process.stderr is not None
        stream = BufferedByteReceiveStream(self._process.stderr)
        while True:
            try:
                line = await stream.receive_until(b"\n", _MOST_LINE)
            except (anyio.IncompleteRead, anyio.EndOfStream):
                if stream.buffer:
                    self.said.append(stream.buffer.decode("utf-8", "replace"))
                return None
            except anyio.DelimiterNotFound:
                return self._stop("stopped: it said a line without end")
            size += len(line)
            if size > _MOST_OUTPUT:
                return self._stop(f"stopped: it said more than {_MOST_OUTPUT >> 20} MiB")
            self.said.append(line.decode("utf-8", "replace"))
            await self._say(self.said[-1])

    def _stop(self, problem: str) -> None:
        self.problem = problem
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()


async def _end(process: Process) -> None:
    """End a process that may still run: it ends the tools that it has started, then itself."""
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(_GRACE):
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()
