"""Files that are whole or not there: written under a temporary name, then renamed.

Place in the flow: below everything that writes; imports `errors`.
"""

from __future__ import annotations

import os
import tempfile

from .errors import InputError


def write_file(data: bytes, path: str) -> None:
    """Write a file whole or not at all. Raises InputError."""
    folder = os.path.dirname(path) or "."
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".tileir-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: error: cannot be written: {error.strerror or error}") from None


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
