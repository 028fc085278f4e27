"""What the server may do: folders it reads, whether it writes, compiles and runs programs.

Place in the flow: below `guard`, `calls`, `tools`; imports `errors`, `agents.workspace`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ..agents.workspace import plain_name
from ..errors import UsageError

# Longer names no file system has.
_LONGEST = 4096


class Access(NamedTuple):
    """What a user allows.

    Attributes:
        roots: real paths of the folders below which files may be read.
        write: whether the agents may write a kernel's folder below a root.
        run: whether programs that are not NVIDIA's compiler may run: tests of a project, kernels on a GPU.
        compile: whether kernels may be compiled by NVIDIA's tools.
    """

    roots: tuple[str, ...]
    write: bool = False
    run: bool = False
    compile: bool = True

    def path(self, name: str) -> str:
        """The real path of a file, folder or pattern; relative ones are looked for below each root.

        Raises:
            UsageError: it leads out of the roots, by `..`, a link or as it is written.
        """
        if not name or "\0" in name or len(name) > _LONGEST:
            raise UsageError(f"{name[:80]!r} is no name of a file")
        named = [os.path.join(root, name) for root in self.roots]
        path = os.path.realpath(next(filter(os.path.lexists, named), named[0]))
        if not is_inside(path, self.roots):
            raise UsageError(f"{name}: outside of {' and '.join(self.roots)}")
        return path

    def folder(self, name: str | None) -> str:
        """The real path of a folder; the first root where none is named. Raises UsageError."""
        path = self.roots[0] if name is None else self.path(name)
        if not os.path.isdir(path):
            raise UsageError(f"{name}: no such folder")
        return path

    def kernel_folder(self, out: str | None, kernel: str) -> str:
        """The path of OUT/KERNEL, which an agent may write. Raises UsageError."""
        path = os.path.join(self.folder(out), plain_name(kernel))
        if os.path.islink(path):
            raise UsageError(f"{path}: a link")
        return path


def is_inside(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a real path is one of some real folders, or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
