"""Kernels that Triton compiles to Tile IR, where its Tile IR backend is installed.

Place in the flow: Triton -> bytes; imports `errors`, `dump_folder`, `find`, `run`. The backend is a separate
build of Triton that takes over with `ENABLE_TILE=1`; what it compiled stands in Triton's cache folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

from ..errors import InputError, ToolError
from .dump_folder import Dump, collect
from .find import find_tool
from .run import run_tool

# Seconds that a program may take.
TIMEOUT = 600.0


def capture_triton(
    script: str, arguments: Sequence[str] = (), *, timeout: float = TIMEOUT
) -> tuple[Dump, ...]:
    """Run a Python program by Triton-TileIR and collect the Tile IR that it compiled.

    Args:
        script: the program's file.
        arguments: that it gets.
        timeout: seconds that it may take.

    Raises:
        InputError: no such program, or it compiled nothing to Tile IR.
        ToolError: the backend is not installed; the program fails, crashes or takes too long.
    """
    if not os.path.isfile(script):
        raise InputError(f"{script}: error: no such file")
    if find_tool("triton-tileir").path is None:
        message = (
            "triton-tileir: not installed: this Python's Triton has no backend 'tileir'. It is a separate "
            "build of Triton; without it cuTile is the only source of Tile IR here"
        )
        raise ToolError(message, "triton-tileir", "missing")
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        environment = {**os.environ, "ENABLE_TILE": "1", "TRITON_CACHE_DIR": folder}
        command = [sys.executable, script, *arguments]
        done = run_tool(command, timeout=timeout, env=environment, name=os.path.basename(script))
        if done.code != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else "it says nothing"
            message = f"{script}: exit status {done.code}: {said}"
            raise ToolError(message, os.path.basename(script), "failed")
        return tuple(collect(folder)[0])
