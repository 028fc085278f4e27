"""The kernels that a Python program launches, captured: with a GPU or without one.

Place in the flow: cuda-tile -> bytes; imports `errors`, `devices`, `dump_folder`, `run`. The program runs in a
process of its own (`watched_run`), whose every launch and search is written down.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, ToolError, UsageError
from .devices import DEVICES, device_of
from .dump_folder import Dump
from .run import run_tool
from .watched_run import CALLS, JIT

# Seconds that a program may take.
TIMEOUT = 600.0


class Capture(NamedTuple):
    """What one run of a program launched.

    Attributes:
        dumps: the kernels, each once, with the launches that need it.
        failures: calls whose kernel cuda-tile refuses: kernel, caller, configuration, error.
        measured: what searches measured on a GPU: number of the search -> [{config, us}], the best first.
        launched: whether there was a GPU that they were launched on.
        unseen: files that cuda-tile dumped for a launch that was not seen (from C++, or another process).
        output: what the program printed, and what it wrote to its standard error.
    """

    dumps: tuple[Dump, ...]
    failures: tuple[dict[str, Any], ...]
    measured: dict[str, list[dict[str, Any]]]
    launched: bool
    unseen: tuple[Dump, ...]
    output: tuple[str, str]


def capture_calls(
    script: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    keep_going: bool = False,
    arch: str | None = None,
    version: str | None = None,
    launch: bool | None = None,
    tensors: str = "meta",
    names: Mapping[str, str] | None = None,
    folder: str | None = None,
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Capture:
    """Run a Python program and capture the kernels that it launches through cuda-tile.

    Args:
        script: the program's file.
        arguments: that it gets.
        module: `script` is a module's name, as for `python -m`.
        keep_going: take what was launched before the program failed.
        arch: target, such as `sm_100`; None: the GPU that is there.
        version: of the bytecode; None: the newest one that cuda-tile writes.
        launch: whether kernels really run; None: where there is a GPU of that target.
        tensors: where tensors are without a GPU: "meta" (no data) or "cpu" (for programs that look into
            their tensors).
        names: function -> what the entry's symbol calls it, for aliases.
        folder: where the program runs; None: here.
        variables: of the environment that it gets beside ours.
        timeout: seconds that the program may take.

    Raises:
        InputError: no such program.
        UsageError: no GPU and no target; a target that is not known.
        ToolError: cuda-tile or PyTorch is missing; the program fails, crashes or takes too long.
    """
    if not module and not os.path.isfile(script):
        raise InputError(f"{script}: error: no such file")
    if arch is not None and device_of(arch) is None:
        known = ", ".join(device.arch for device in DEVICES)
        raise UsageError(f"no device is known for {arch}; known: {known}")
    with tempfile.TemporaryDirectory(prefix="tileir-") as written:
        request = {
            "script": script,
            "module": module,
            "arguments": list(arguments),
            "folder": written,
            "arch": arch,
            "version": version,
            "launch": launch,
            "tensors": tensors,
            "names": dict(names or {}),
        }
        os.mkdir(os.path.join(written, JIT))
        command = [sys.executable, "-m", f"{__package__}.watched_run", json.dumps(request)]
        # A test that runs in the program is the program's own, not one that we run in.
        environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        environment.update(variables or {})
        name = os.path.basename(script)
        done = run_tool(command, timeout=timeout, env=environment, cwd=folder, name=name)
        printed = (done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        if done.code != 0 and not keep_going:
            raise _failure(script, done.code, printed[1], tensors)
        if not os.path.isfile(os.path.join(written, CALLS)):
            raise _failure(script, done.code, printed[1], tensors)
        return _capture(Path(written), printed)


def _failure(script: str, code: int, said: str, tensors: str) -> ToolError:
    """What went wrong in the other process, which has said it in its last lines."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    message = f"{script}: exit status {code}: {lines[-1] if lines else 'it says nothing'}"
    if "No module named 'cuda" in said:
        message += f". To get cuda-tile: {sys.executable} -m pip install cuda-tile"
    elif "No module named 'torch'" in said:
        message += ". Programs that make tensors need PyTorch; a CPU build is enough"
    elif "meta tensor" in said and tensors == "meta":
        message += ". The program looks into its tensors: try --tensors cpu"
    places = [line.strip() for line in lines if line.lstrip().startswith('File "')]
    if places:
        message += f" ({places[-1]})"
    return ToolError(message, os.path.basename(script), "failed")


def _capture(folder: Path, printed: tuple[str, str]) -> Capture:
    rows = [json.loads(line) for line in (folder / CALLS).read_text("utf-8").splitlines()]
    head = rows.pop(0)
    calls = [row for row in rows if "kernel" in row]
    dumps = tuple(_dumps(folder, head["arch"], [row for row in calls if row["error"] is None]))
    failures = tuple(
        {
            "arch": head["arch"],
            **{k: row[k] for k in ("kernel", "caller", "tuning", "test", "error")},
        }
        for row in calls
        if row["error"] is not None
    )
    measured = {str(row["search"]): row["measured"] for row in rows if "search" in row}
    known = {dump.bytecode for dump in dumps}
    unseen = tuple(_unseen(folder / JIT, head["arch"], known))
    return Capture(dumps, failures, measured, head["launch"], unseen, printed)


def _dumps(folder: Path, arch: str, rows: list[dict[str, Any]]) -> Iterator[Dump]:
    """The kernels of calls, equal ones once."""
    of_kernel: dict[bytes, list[tuple[int, dict[str, Any]]]] = {}
    for order, row in enumerate(rows, 1):
        data = (folder / row["bytecode"]).read_bytes()
        of_kernel.setdefault(data, []).append((order, row))
    for data, found in of_kernel.items():
        first = found[0][1]
        yield Dump(
            first["symbol"],
            first["kernel"],
            (first["source"]["file"], first["source"]["line"]),
            first["parameters"],
            first["constants"],
            arch,
            data,
            first["options"],
            tuple(
                {
                    "order": order,
                    **{k: row[k] for k in ("grid", "arguments", "caller", "tuning", "test")},
                }
                for order, row in found
            ),
        )


def _unseen(folder: Path, arch: str, known: set[bytes]) -> Iterator[Dump]:
    """What cuda-tile dumped as it compiled, and no call that was seen needs."""
    from .dump_folder import collect

    if any(folder.iterdir()):
        for dump in collect(str(folder))[0]:
            if dump.bytecode not in known:
                yield dump._replace(arch=arch)
