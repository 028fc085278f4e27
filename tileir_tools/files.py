"""Files that are whole or not there: written under a temporary name, then renamed.

What is no regular file (a device, a pipe) is written to, not replaced; of a link, what it points to is
replaced.

Place in the flow: below everything that writes; imports `errors`.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile

from .errors import InputError


def write_file(data: bytes, path: str) -> None:
    """Write a file whole or not at all; one that was there keeps its permissions. Raises InputError."""
    try:
        target = os.path.realpath(path)
        mode = _mode_of(target)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is None or stat.S_ISREG(mode):
            allowed = 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode)
            _replace(target, data, allowed)
        else:
            with open(target, "wb") as file:
                file.write(data)
    except OSError as error:
        raise InputError(f"{path}: error: cannot be written: {error.strerror or error}") from None


def _mode_of(path: str) -> int | None:
    """Kind and permissions of a file; None where there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(path: str, data: bytes, permissions: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".tileir-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, permissions)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def make_folder(path: str) -> None:
    """Make a folder, and those above it, where it is not there. Raises InputError."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: error: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
