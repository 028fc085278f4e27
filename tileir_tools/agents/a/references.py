"""Steps 4 and 5 of agent A: reference IR and supplements in their places, under names that say the operation.

Place in the flow: variants -> **reference IR**; imports `captures`, `structure`, `diff.alias`, `toolchain`. An
entry whose symbol does not hold the operation's name is dumped again as `{op}__{function}` and put in place
only where the proof says that it is the same kernel.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...diff.alias import AliasProof, prove_alias
from ...errors import ToolError, UsageError
from ...model import Module
from ...read import load
from ...toolchain.find import need_tool
from ...toolchain.run import run_tool
from ..workspace import Workspace
from .captures import Dumps, dump_tests
from .request import Request
from .structure import Found, Row, Structure

ALIAS_DUMPS = "reference/alias_dumps"
# What an earlier run has put in place: a file of the next run that is not in it is somebody else's.
INSTALLED = "reference/dumps/installed.json"
_OPT_TIMEOUT = 60.0
_OURS = re.compile(
    r"reference/(?:(?:supplements/)?reference\w*\.mlir|orig_reference\w*\.mlir\.bak)"
)


class Installed(NamedTuple):
    """The IR of a variant, or of a supplement of one.

    Attributes:
        variant: its name.
        dtype: of a supplement; "" for the structural reference.
        file: below the workspace.
        symbol: of the entry, as it stands in the file.
        row: of the manifest, the kernel that it is a dump of.
        proof: where it is a dump under an alias.
        original: the file that keeps the kernel under its own name, for an alias.
    """

    variant: str
    dtype: str
    file: str
    symbol: str
    row: Row
    proof: AliasProof | None
    original: str | None


def install_references(
    request: Request, dumps: Dumps, structure: Structure
) -> tuple[Installed, ...]:
    """Write `reference/reference*.mlir` and `reference/supplements/`.

    Raises:
        ToolError: no alias is proven; `cuda-tile-opt` is asked for and missing or fails.
        InputError: a file cannot be read or written.
    """
    planned = [
        (variant, dtype, row)
        for variant in structure.variants
        for dtype, row in (("", variant.row), *((s.dtype, s.row) for s in variant.supplements))
    ]
    aliases = _aliases(request, dumps, [row for _, _, row in planned])
    before = _installed_before(request.workspace)
    files = {_file(v, dtype): (v, dtype, row) for v, dtype, row in planned}
    # Written first, so that a run that is cut here leaves no file that nobody knows of.
    request.workspace.write(INSTALLED, json.dumps(sorted({*before, *files})))
    found = tuple(
        _install(request, dumps, file, variant, dtype, row, aliases)
        for file, (variant, dtype, row) in files.items()
    )
    kept = {name for item in found for name in (item.file, item.original) if name is not None}
    for name in sorted(before - kept):
        request.workspace.remove(name)
    request.workspace.write(INSTALLED, json.dumps(sorted(kept)))
    renamed = sum(item.proof is not None for item in found)
    request.say("reference", f"{len(found)} files, {renamed} under an alias that is proven")
    return found


def _file(variant: Found, dtype: str) -> str:
    stem = "reference" if variant.name == "default" else f"reference_{variant.name}"
    return f"reference/supplements/{stem}_{dtype}.mlir" if dtype else f"reference/{stem}.mlir"


def _installed_before(workspace: Workspace) -> set[str]:
    """Files that an earlier run has put in place, by names that are ours alone."""
    return {name for name in workspace.listed(INSTALLED) if _OURS.fullmatch(name)}


def _install(
    request: Request,
    dumps: Dumps,
    file: str,
    variant: Found,
    dtype: str,
    row: Row,
    aliases: Mapping[str, tuple[Path, AliasProof]],
) -> Installed:
    workspace = request.workspace
    own = workspace.path(f"{dumps.folder}/{row['bytecode']}")
    found = aliases.get(row["bytecode"])
    if found is None:
        workspace.write(file, _canonical(request, own))
        return Installed(variant.name, dtype, file, row["symbol"], row, None, None)
    path, proof = found
    original = f"reference/orig_{Path(file).stem}.mlir.bak"
    workspace.write(original, _canonical(request, own))
    workspace.write(file, _canonical(request, path))
    return Installed(variant.name, dtype, file, proof.alias, row, proof, original)


def _canonical(request: Request, path: Path) -> str:
    """The canonical text of bytecode, in a module, by us or by NVIDIA's tool."""
    from ...transform import canonicalize, cse

    module = load(path)
    if request.canonicalizer == "cuda-tile-opt":
        return _by_cuda_tile_opt(module)
    canonicalize(module)
    cse(module)
    return module.to_text(wrap=True)


def _by_cuda_tile_opt(module: Module) -> str:
    tool = need_tool("cuda-tile-opt")
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        path = Path(folder) / "kernel.mlir"
        path.write_text(module.to_text(wrap=True), "utf-8")
        done = run_tool([tool, "--canonicalize", "--cse", path], timeout=_OPT_TIMEOUT)
    if done.code != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ToolError(
            f"cuda-tile-opt: exit status {done.code}: {said[0] if said else 'it says nothing'}",
            "cuda-tile-opt",
            "failed",
        )
    return done.stdout.decode("utf-8", "replace")


# -- aliases ----------------------------------------------------------------------------------------


def _aliases(
    request: Request, dumps: Dumps, rows: Sequence[Row]
) -> dict[str, tuple[Path, AliasProof]]:
    """Bytecode of a kernel whose symbol lacks the operation's name -> its dump under an alias, proven."""
    kernel = request.workspace.kernel
    needed = [row for row in rows if kernel not in row["symbol"]]
    if not needed:
        return {}
    names = {row["kernel"]: f"{kernel}__{row['kernel']}" for row in needed}
    tests = list(dict.fromkeys(row["calls"][0]["test"] for row in needed))
    request.say("alias", f"dumping {', '.join(names)} again as {', '.join(names.values())}")
    again = dump_tests(request, tests, folder=ALIAS_DUMPS, names=names)
    return {row["bytecode"]: _proven(request, dumps, again, row) for row in needed}


def _proven(request: Request, dumps: Dumps, again: Dumps, row: Row) -> tuple[Path, AliasProof]:
    """The dump under an alias that is the same kernel. Raises ToolError: there is none."""
    workspace = request.workspace
    original = load(workspace.path(f"{dumps.folder}/{row['bytecode']}"))
    reasons: list[str] = []
    for other in again.rows:
        if other["kernel"] != row["kernel"] or other["parameters"] != row["parameters"]:
            continue
        path = workspace.path(f"{again.folder}/{other['bytecode']}")
        try:
            proof = prove_alias(original, load(path), row["kernel"], workspace.kernel)
        except UsageError as error:
            reasons.append(str(error))
            continue
        if proof.proven:
            return path, proof
        reasons += proof.reasons
    why = reasons[0] if reasons else "it was not launched again"
    raise ToolError(f"{row['kernel']}: no proof for its alias: {why}", "cuda-tile", "failed")
