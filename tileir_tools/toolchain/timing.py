"""Machine code launched and timed, in the way in which a program launched its kernel.

Place in the flow: toolchain -> facts; imports `errors`, `run`. Needs a GPU, cuda-tile and PyTorch. A launch is
what `tileir dump --call` wrote down of one: grid and arguments. It is made again, with other numbers in the
arrays, in a process of its own (`timed_run`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ToolError, UsageError
from .run import run_tool

# Launches of each kernel that are timed, after some that are not.
LAUNCHES = 30
TIMEOUT = 600.0

REQUEST, ANSWER = "request.json", "answer.json"


class Compiled(NamedTuple):
    """Machine code that can be launched: the symbol of its entry, and the cubin."""

    symbol: str
    cubin: bytes


class Timing(NamedTuple):
    """How long launches of one kernel took.

    Attributes:
        median: of the launches, in microseconds.
        spread: from the first to the third quartile, in microseconds.
        launches: that were timed.
        same: whether it wrote what the first kernel wrote, within the rounding of the arrays' format.
    """

    median: float
    spread: float
    launches: int
    same: bool


class Launch(NamedTuple):
    """A launch that was written down.

    Attributes:
        kernel: name of the Python function.
        grid: blocks in each dimension.
        arguments: as the manifest describes them.
    """

    kernel: str
    grid: Sequence[int]
    arguments: Sequence[Mapping[str, Any]]


def launch_of(manifest: Mapping[str, Any], kernel: str | None = None) -> Launch:
    """The first launch of a kernel that a manifest holds.

    Args:
        manifest: of `tileir dump --call`.
        kernel: function or symbol; None: of the first kernel.

    Raises:
        UsageError: no kernel of that name, or none with a launch.
    """
    rows = [row for row in manifest.get("kernels", ()) if row.get("calls")]
    chosen = [row for row in rows if kernel is None or kernel in (row["kernel"], row["symbol"])]
    if not chosen:
        known = ", ".join(dict.fromkeys(row["kernel"] for row in rows)) or "none"
        raise UsageError(
            f"the manifest holds no launch of {kernel or 'a kernel'}; it holds those of {known}"
        )
    call = chosen[0]["calls"][0]
    return Launch(chosen[0]["kernel"], call["grid"], call["arguments"])


def time_kernels(
    launch: Launch,
    kernels: Sequence[Compiled],
    *,
    launches: int = LAUNCHES,
    timeout: float = TIMEOUT,
) -> tuple[list[Timing], dict[str, str]]:
    """Launch kernels in turns, and time them by CUDA events with an empty cache.

    Args:
        launch: grid and arguments, which all of them take.
        kernels: machine code for the GPU that is there.
        launches: of each, that are timed.
        timeout: seconds that all of it may take.

    Returns:
        A Timing for each, and what ran them ("device", "driver", "torch", "cuda_tile", "method").

    Raises:
        ToolError: there is no GPU, no PyTorch or no cuda-tile; a kernel fails or hangs.
    """
    with tempfile.TemporaryDirectory(prefix="tileir-") as name:
        folder = Path(name)
        for number, kernel in enumerate(kernels):
            (folder / f"{number}.cubin").write_bytes(kernel.cubin)
        request = {
            **launch._asdict(),
            "symbols": [kernel.symbol for kernel in kernels],
            "launches": launches,
        }
        (folder / REQUEST).write_text(json.dumps(request))
        command = [sys.executable, "-m", f"{__package__}.timed_run", name]
        done = run_tool(command, timeout=timeout, name=f"launching {launch.kernel}")
        if done.code != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else f"exit status {done.code}"
            raise ToolError(f"launching {launch.kernel}: {said}", "launch", "failed")
        answer = json.loads((folder / ANSWER).read_text())
    return [Timing(**row) for row in answer["timings"]], answer["machine"]
