"""`tileir mcp --root DIR`: a server of the Model Context Protocol, for agents.

Place in the flow: a thin consumer of `server`. The standard output belongs to the protocol.
"""

from __future__ import annotations

import os

import click

from tileir_tools.errors import UsageError

from .completing import folders
from .running import examples


@click.command(
    name="mcp",
    epilog=examples("""
        tileir mcp --root dumps
            Agents may read the files below dumps, and compile them.
        tileir mcp --root dumps --root TileGym --allow-write
            Agents may write a kernel's folder.
    """),
)
@click.option(
    "--root",
    "roots",
    metavar="DIR",
    shell_complete=folders,
    multiple=True,
    required=True,
    help="Read files below this folder only; may be repeated.",
)
@click.option("--allow-write", is_flag=True, help="Let the agents write a kernel's folder.")
@click.option(
    "--allow-run",
    is_flag=True,
    help="Let the agents run a project's tests, and what-ifs be timed on the GPU.",
)
@click.option("--no-compile", is_flag=True, help="Do not run NVIDIA's compiler.")
@click.option(
    "--timeout",
    type=click.IntRange(min=1),
    default=3600,
    show_default=True,
    help="Seconds that a call may take.",
)
@click.help_option("-h", "--help")
def command(
    roots: tuple[str, ...], allow_write: bool, allow_run: bool, no_compile: bool, timeout: int
) -> None:
    """Serve the commands to an agent by the Model Context Protocol.

    The standard streams are the protocol's. Started by the agent's program, not by hand. Needs the
    extra: pip install 'tileir-tools[mcp]'.

    Exit codes: 0 the client has hung up, 3 could not run.
    """
    try:
        from tileir_tools.server.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "anyio", "pydantic"):
            raise
        raise UsageError("tileir mcp needs mcp: pip install 'tileir-tools[mcp]'") from None
    from tileir_tools.server.access import Access

    for root in roots:
        if not os.path.isdir(root):
            raise UsageError(f"--root {root}: no such folder")
    folders = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
    access = Access(folders, write=allow_write, run=allow_run, compile=not no_compile)
    serve(access, float(timeout))
