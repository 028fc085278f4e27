"""What the tools share: running a command for a client, and telling it what went wrong.

Place in the flow: tools -> **door** -> `calls`, `answers`; imports `access`, mcp.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from ..errors import TileIRError, UsageError
from .access import Access
from .answers import (
    COULD_NOT_RUN,
    MOST_LINE,
    Page,
    Reply,
    answer_of,
    failed,
    printed,
    sendable_text,
)
from .calls import Calls, Command, Ended

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class Door:
    """Runs commands for tools, within what the user allows."""

    def __init__(self, access: Access, timeout: float) -> None:
        self.access = access
        self._calls = Calls(access, timeout)

    async def close(self) -> None:
        """End what runs."""
        await self._calls.close()

    async def ask(
        self, ctx: Context[Any, Any], command: Command, page: Page, meanings: Mapping[int, str]
    ) -> Reply:
        """The document that a command prints. Raises TileIRError, ToolError."""
        ended = await self.run(ctx, command)

        def answered() -> Reply:
            return answer_of(ended, printed(ended), page, meanings)

        # Reading and cutting a large document takes a while.
        return await anyio.to_thread.run_sync(answered)

    async def run(self, ctx: Context[Any, Any], command: Command) -> Ended:
        """Run a command, each line that it says as progress. Raises TileIRError."""
        count = 0

        async def say(line: str) -> None:
            nonlocal count
            count += 1
            await ctx.report_progress(count, message=line[:MOST_LINE])

        return await self._calls.run(command, say)

    async def read(self, ctx: Context[Any, Any], path: str) -> Any:
        """The JSON in a file below a root. Raises TileIRError, ToolError: there is none."""
        ended = await self.run(ctx, Command(("read", path)))
        if ended.code == COULD_NOT_RUN:
            raise failed(ended)
        try:
            return await anyio.to_thread.run_sync(printed, ended)
        except ToolError:
            raise ToolError(f"{path}: error: no JSON") from None

    def programs(self, wants_compiler: bool) -> str:
        """What a command may start that compiles, or does not. Raises UsageError: it may not compile."""
        if not wants_compiler:
            return "none"
        if not self.access.compile:
            raise UsageError("this server was started with --no-compile: nothing is compiled")
        return "compiler"

    def need(self, what: str, *, write: bool = False) -> None:
        """Raises UsageError: the user allows no programs, or no writing, which `what` needs."""
        allowed = {"--allow-run": self.access.run, "--allow-write": self.access.write or not write}
        missing = [option for option, given in allowed.items() if not given]
        if missing:
            message = f"{what} needs {' and '.join(missing)}, which this server was started without"
            raise UsageError(message)


def told(
    tool: Callable[_Parameters, Awaitable[_Result]],
) -> Callable[_Parameters, Awaitable[_Result]]:
    """A tool whose errors are those of the protocol."""

    @functools.wraps(tool)
    async def asked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return await tool(*args, **kwargs)
        except TileIRError as error:
            raise ToolError(sendable_text(str(error))) from None

    return asked


def options(**given: object) -> list[str]:
    """Options of a command as words; what is None or False is left out."""
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            # One word: a value may begin with a dash.
            words.append(f"{option}={value}")
    return words
