"""The server: its tools and resources, on the standard streams.

Place in the flow: command `tileir mcp` -> **server**; imports the tools, mcp.
"""

from __future__ import annotations

import inspect
import os
import signal
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.types import ToolAnnotations

from .access import Access
from .door import Door, told
from .kernels import KernelTools
from .porting import PortingTools

_INSTRUCTIONS = """\
Tools that read, check and compare NVIDIA CUDA Tile IR (cuda_tile MLIR, text or bytecode).
Files are named relative to a root, or absolutely below one. Roots: {roots}.
To compare a port with its reference: diff, then rules for each code; explain and what_if say why it is slower.
Every answer holds a JSON document. Where `truncated` is true, `left_out` names the lists that were cut: call
the same tool with part = that name and offset = offset + shown, or with a larger max_chars."""

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# What the agents run is the user's project, which may do anything.
_WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)


def serve(access: Access, timeout: float) -> None:
    """Serve on the standard streams until the client hangs up, or a signal ends the process.

    Args:
        access: what the server may do.
        timeout: seconds that a call may take.
    """
    anyio.run(_serve, Door(access, timeout))


async def _serve(door: Door) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, door)
        await make_server(door).run_stdio_async()
        group.cancel_scope.cancel()


async def _end_on_signal(door: Door) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await door.close()
            # Not by an exception: a thread of the protocol waits for the next message, and nothing wakes it.
            os._exit(128 + number)


def make_server(door: Door) -> MCPServer[Any]:
    """The server with everything that it offers."""
    from tileir_tools import __version__

    server: MCPServer[Any] = MCPServer(
        "tileir-tools",
        title="CUDA Tile IR tools",
        instructions=_INSTRUCTIONS.format(roots=", ".join(door.access.roots)),
        version=__version__,
        log_level="WARNING",
    )
    kernels, porting = KernelTools(door), PortingTools(door)
    readers: list[Callable[..., Any]] = [kernels.show, kernels.diff, kernels.equal, kernels.verify]
    readers += [kernels.variants, kernels.explain, kernels.what_if, kernels.rules]
    readers += [porting.source, porting.wrapper, porting.perf, porting.validate, porting.document]
    for tool in readers:
        _add(server, tool, _READS)
    for tool in (porting.agent_a, porting.agent_f):
        _add(server, tool, _WRITES)
    _add_rules(server)
    return server


def _add(server: MCPServer[Any], tool: Callable[..., Any], annotations: ToolAnnotations) -> None:
    server.add_tool(told(tool), description=inspect.getdoc(tool), annotations=annotations)


def _add_rules(server: MCPServer[Any]) -> None:
    from ..diff.rules import RULES
    from ..report.diff_report import rule_lines

    @server.resource("tileir://rules", title="Rules of diff", mime_type="text/plain")
    def rules() -> str:
        """The code, severity and title of every rule."""
        return "\n".join(f"{r.code}  {r.severity:8}  {r.title}" for r in RULES.values())

    @server.resource("tileir://rules/{code}", title="A rule of diff", mime_type="text/plain")
    def rule(code: str) -> str:
        """What a rule means, and what to do."""
        if code.upper() not in RULES:
            raise ResourceNotFoundError(f"no rule '{code}'; tileir://rules lists them")
        return "\n".join(rule_lines(RULES[code.upper()]))
