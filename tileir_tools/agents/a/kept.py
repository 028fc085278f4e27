"""What an earlier run of agent A has left, and whether it can be taken for this one.

Place in the flow: below `captures` and `benchmarks`; imports `workspace`, `sources`, `toolchain.dump_folder`. A
kernel's folder is read as anything is that somebody may have changed: what is not sound is made anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...sources import Project
from ...toolchain.dump_folder import read_manifest
from ..workspace import Workspace

# What a row of a manifest has to say, and of which type it is.
_ROW: Mapping[str, type | tuple[type, ...]] = {
    "bytecode": str,
    "text": str,
    "canonical": str,
    "kernel": str,
    "symbol": str,
    "constants": dict,
    "parameters": dict,
    "source": dict,
    "calls": list,
}


def project_digest(project: Project) -> str:
    """A hash of all Python of a project: whatever a kernel or a test may take from it."""
    digest = hashlib.sha256()
    for file in _python(Path(project.root)):
        digest.update(f"{file.relative_to(project.root).as_posix()}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _python(root: Path) -> Iterator[Path]:
    for folder in ("src", "tests"):
        for path, names, files in os.walk(root / folder):
            names[:] = sorted(n for n in names if n != "__pycache__")
            yield from (Path(path, name) for name in sorted(files) if name.endswith(".py"))


def sound_manifest(workspace: Workspace, folder: str) -> dict[str, Any] | None:
    """The manifest of dumps that are all there, as they were written; None where anything is amiss."""
    try:
        manifest = read_manifest(str(workspace.path(folder)))
    except InputError:
        return None
    rows, digests = manifest.get("kernels"), manifest.get("digests")
    if not isinstance(rows, list) or not rows or not isinstance(digests, dict):
        return None
    if not all(_is_row(row) for row in rows) or not isinstance(manifest.get("script"), dict):
        return None
    if digests != digests_of(workspace, folder, rows):
        return None
    return dict(manifest)


def _is_row(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    typed = all(isinstance(row.get(name), kind) for name, kind in _ROW.items())
    plain = typed and all(_is_plain(row[form]) for form in ("bytecode", "text", "canonical"))
    return plain and isinstance(row["source"].get("file"), str) and all(map(_is_call, row["calls"]))


def _is_call(call: object) -> bool:
    return (
        isinstance(call, dict)
        and isinstance(call.get("order"), int)
        and isinstance(call.get("test"), (str, type(None)))
        and isinstance(call.get("tuning", 0), (dict, type(None)))
    )


def _is_plain(name: str) -> bool:
    return os.path.basename(name) == name and name not in ("", ".", "..")


def digests_of(
    workspace: Workspace, folder: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, str | None]:
    """File of bytecode -> its hash; None for one that cannot be read."""
    found: dict[str, str | None] = {}
    for row in rows:
        path = workspace.path(f"{folder}/{row['bytecode']}")
        try:
            found[row["bytecode"]] = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            found[row["bytecode"]] = None
    return found
