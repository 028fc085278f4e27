"""Tile IR to a cubin by tileiras, and what can be said about a kernel then without running it.

Place in the flow: Module -> toolchain -> facts; imports what stands beside it, and `model`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ToolError
from ..model import (
    DICompileUnit,
    DIFile,
    DILoc,
    DISubprogram,
    Entry,
    FileLineColLoc,
    Global,
    Module,
)
from .cubin import block_threads
from .evidence_store import fetch, keep, key_of
from .find import find_tool, need_tool, tool_environment, tool_version
from .machine_code import Function, parse_functions
from .remarks import Remark, parse_remarks
from .run import Completed, run_tool

# Seconds that compiling, and looking at a cubin, may take.
TIMEOUT = 300.0

# What tileiras says where ptxas is missing or older than itself.
_NO_PTXAS = "failed to compile Tile IR program"


class Evidence(NamedTuple):
    """What the compiler made of a kernel for one target.

    Attributes:
        arch: the target.
        functions: resources and machine instructions.
        remarks: what tileiras says, each once, in the order of the operations; a remark's place is the
            number of its operation (from 1, as `module.walk()` goes), 0 where it is about none.
        seconds: that compiling took.
        cubin: the machine code.
        versions: of tileiras and of ptxas; None where a tool does not say.
    """

    arch: str
    functions: tuple[Function, ...]
    remarks: tuple[Remark, ...]
    seconds: float
    cubin: bytes
    versions: dict[str, str | None]


def compile_module(
    module: Module, arch: str, *, timeout: float = TIMEOUT, cached: bool = True
) -> Evidence:
    """Compile a module for a target.

    Args:
        module: all of its entries.
        arch: such as `sm_90`.
        timeout: seconds that each tool may take.
        cached: take what the same tools made of the same kernel before (see `evidence_store`).

    Raises:
        ToolError: a tool is missing, crashes, hangs, says no or writes nonsense.
        ConversionError: the module cannot be written as bytecode.
        UsageError: PyYAML is not installed.
    """
    data = numbered(module).to_bytecode()
    assembler, dumper = need_tool("tileiras"), need_tool("cuobjdump")
    key = key_of(data, arch, [assembler, dumper, find_tool("ptxas").path or ""])
    fields = fetch(key) if cached else None
    if fields is None:
        try:
            with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
                fields = _compiled(data, arch, Path(folder), assembler, dumper, timeout)
        except OSError as error:
            message = f"tileiras: its files cannot be written: {error.strerror or error}"
            raise ToolError(message, "tileiras", "failed") from None
        keep(key, fields)
    return Evidence(arch, **fields)


def numbered(module: Module) -> Module:
    """A copy in which each operation's source line is its number, so that remarks name operations.

    The producer's own positions would not do: many bytecode files have none, and in others several
    operations share one. Positions do not change what is compiled.
    """
    copy = module.clone()
    file = DIFile("operations", "/")
    unit = DICompileUnit(file)
    number = 0
    for top in copy.operations:
        symbol = top.symbol if isinstance(top, (Entry, Global)) else ""
        scope = DISubprogram(file, 1, symbol, symbol, unit, 1)
        for op in top.walk():
            number += 1
            op.location = DILoc(FileLineColLoc("/operations", number, 1), scope)
    return copy


def _compiled(
    data: bytes, arch: str, folder: Path, assembler: str, dumper: str, timeout: float
) -> dict[str, Any]:
    """The fields of an Evidence."""
    source, cubin, remarks = (folder / name for name in ("k.tileirbc", "k.cubin", "remarks.yaml"))
    source.write_bytes(data)
    command = [assembler, "--gpu-name", arch, "--remarks=all", "--remark-format=yaml"]
    command += [f"--remarks-output-file={remarks}", "-o", str(cubin), str(source)]
    done = run_tool(command, timeout=timeout, env=tool_environment(assembler), cwd=folder)
    if done.code != 0 or not cubin.is_file():
        raise ToolError(_refusal(done, arch), "tileiras", "failed")
    found = parse_remarks(remarks.read_text("utf-8", "replace") if remarks.is_file() else "")
    data = cubin.read_bytes()
    threads = block_threads(data)
    printed = [_dumped(dumper, option, cubin, timeout) for option in ("-res-usage", "-sass")]
    return {
        "functions": parse_functions(*printed, threads),
        "remarks": found,
        "seconds": done.seconds,
        "cubin": data,
        "versions": {name: tool_version(name) for name in ("tileiras", "ptxas")},
    }


def _dumped(dumper: str, option: str, cubin: Path, timeout: float) -> str:
    env = tool_environment(dumper)
    done = run_tool([dumper, option, cubin], timeout=timeout, env=env)
    if done.code != 0:
        said = _first_lines(done)
        raise ToolError(
            f"cuobjdump {option}: exit status {done.code}: {said}", "cuobjdump", "failed"
        )
    return done.stdout.decode("utf-8", "replace")


def _refusal(done: Completed, arch: str) -> str:
    said = _first_lines(done)
    message = f"tileiras: cannot compile for {arch} (exit status {done.code}): {said}"
    if _NO_PTXAS in said:
        message += (
            ". It says so too where ptxas is missing or older than itself: see `tileir doctor`"
        )
    return message


def _first_lines(done: Completed) -> str:
    text = (done.stderr or done.stdout).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[:3]) or "it says nothing"


def listed_versions(*, timeout: float = 30.0) -> tuple[str, ...]:
    """The bytecode versions that the tileiras found here takes, such as "13.3". Raises ToolError."""
    assembler = need_tool("tileiras")
    done = run_tool(
        [assembler, "--list-versions"], timeout=timeout, env=tool_environment(assembler)
    )
    words = done.stdout.decode("utf-8", "replace").replace(",", " ").split()
    found = [w for w in words if w.count(".") >= 1 and w.replace(".", "").isdigit()]
    if done.code != 0 or not found:
        message = f"tileiras --list-versions: {os.fsdecode(done.stderr)[:200] or 'no versions'}"
        raise ToolError(message, "tileiras", "garbage")
    return tuple(".".join(w.split(".")[:2]) for w in found)
