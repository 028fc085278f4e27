"""The folder of a kernel that a pipeline agent works in.

Place in the flow: below the agents; imports `errors`, `files`. Everything that an agent writes goes through
here: whole or not at all, and nowhere outside of the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, UsageError
from ..files import make_folder, write_file

_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
# Bytes of a file that an agent reads back.
_MOST = 64 << 20


class Workspace(NamedTuple):
    """The folder of one kernel.

    Attributes:
        kernel: name of the operation, and of the folder.
        folder: absolute path of it.
    """

    kernel: str
    folder: Path

    def path(self, name: str) -> Path:
        """The path of a file in the folder, `name` relative to it.

        Raises:
            UsageError: it would be outside, by `..` or a link.
        """
        path = self.folder / name
        if not path.parent.resolve().is_relative_to(self.folder) or path.name in ("", ".."):
            raise UsageError(f"{name}: outside of {self.folder}")
        return path

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file whole or not at all, in place of one that is there; gives its path.

        Raises:
            UsageError: outside of the folder.
            InputError: it cannot be written.
        """
        path = self.path(name)
        make_folder(str(path.parent))
        # Once more: the folder may have come to be as a link.
        path = self.path(name)
        write_file(content.encode() if isinstance(content, str) else content, str(path))
        return path

    def remove(self, name: str) -> None:
        """Remove one file, where it is there. Raises UsageError, InputError."""
        path = self.path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{path}: error: {error.strerror or error}") from None

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none. Raises UsageError, InputError."""
        path = self.path(name)
        if not path.exists():
            return None
        if not path.is_file():
            # A pipe, for one, would never end.
            raise InputError(f"{path}: error: no file")
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST + 1)
        except OSError as error:
            raise InputError(f"{path}: error: {error.strerror or error}") from None
        if len(data) > _MOST:
            raise InputError(f"{path}: error: more than {_MOST >> 20} MiB")
        return data.decode("utf-8", "replace")

    def listed(self, name: str) -> set[str]:
        """The texts in a list that a file of JSON holds; none where it holds anything else."""
        text = self.read(name)
        try:
            found = json.loads(text) if text else []
        except (ValueError, RecursionError):
            return set()
        return (
            {item for item in found if isinstance(item, str)} if isinstance(found, list) else set()
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out of the folder. Raises UsageError: one is in it."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.folder}: another run is at work here") from None
            yield
        finally:
            # Which ends the lock.
            os.close(handle)

    def names(self, pattern: str) -> list[str]:
        """Files that a pattern such as `reference/reference*.mlir` finds, relative to the folder, sorted."""
        found = (path for path in self.folder.glob(pattern) if path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in found)


def plain_name(kernel: str) -> str:
    """The name itself. Raises UsageError: it is no plain name, so it could name another folder."""
    if _NAME.fullmatch(kernel) is None:
        raise UsageError(f"'{kernel}' is no name of a kernel: letters, digits and _ only")
    return kernel


def open_workspace(root: str, kernel: str) -> Workspace:
    """The folder ROOT/KERNEL, made where it is not there.

    Raises:
        UsageError: KERNEL is no plain name, or a link out of ROOT.
        InputError: the folder cannot be made.
    """
    workspace = _named(root, kernel)
    make_folder(str(workspace.folder))
    return workspace


def existing_workspace(root: str, kernel: str) -> Workspace:
    """The folder ROOT/KERNEL, which has to be there.

    Raises:
        UsageError: KERNEL is no plain name, or a link out of ROOT.
        InputError: there is no such folder.
    """
    workspace = _named(root, kernel)
    if not workspace.folder.is_dir():
        raise InputError(f"{workspace.folder}: error: no such folder")
    return workspace


def _named(root: str, kernel: str) -> Workspace:
    folder = Path(root).resolve() / plain_name(kernel)
    if folder.is_symlink():
        raise UsageError(f"{folder}: a link")
    return Workspace(kernel, folder)
