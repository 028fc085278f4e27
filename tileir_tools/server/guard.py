"""Keeps a process inside of what it may read, write and start.

Place in the flow: **first thing in the process of a call**; imports `access`. Python tells an audit hook
of every file before it is opened, so that a path inside a document is held to the same as one that a client
names, whatever code opens it. It keeps our own code from following data out of the roots; it is no sandbox
for foreign code.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any, NamedTuple

from .access import is_inside

# Devices that Python and its library open.
_DEVICES = ("/dev/null", "/dev/urandom")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_COMPILER = ("tileiras", "ptxas", "cuobjdump", "nvdisasm")
# Event -> which of its arguments are paths that change, and where the descriptor of a folder stands.
_CHANGES = {
    "os.chmod": ((0,), 2),
    "os.chown": ((0,), 3),
    "os.link": ((0, 1), 2),
    "os.mkdir": ((0,), 2),
    "os.remove": ((0,), 1),
    "os.rename": ((0, 1), 2),
    "os.rmdir": ((0,), 1),
    "os.symlink": ((1,), 2),
    "os.truncate": ((0,), None),
    "os.utime": ((0,), 3),
}
_STARTS = ("os.exec", "os.spawn", "os.system", "pty.spawn")


class Refused(PermissionError):
    """Something was tried that the user did not allow."""


class Limits(NamedTuple):
    """What one call may do.

    Attributes:
        reads: real folders below which files may be opened.
        writes: real folders below which files may be changed; they may be read, too.
        programs: "none", "compiler" (NVIDIA's, by name), "any".
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    programs: str


def guard(limits: Limits) -> None:
    """Hold this process to `limits` from now on; it cannot be undone."""
    readable = (*limits.reads, *limits.writes, *_own_folders())

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            changes = isinstance(flags, int) and flags & _WRITES
            _check(path, limits.writes if changes else readable, bool(changes))
        elif event in ("os.listdir", "os.scandir"):
            _check(arguments[0] or ".", readable, False)
        elif event in _CHANGES:
            places, folder = _CHANGES[event]
            # Relative to an open folder: the library clears its own temporary folders so.
            if folder is None or arguments[folder] == -1:
                for place in places:
                    _check(arguments[place], limits.writes, True)
        elif event in ("subprocess.Popen", "os.posix_spawn"):
            # The one starts programs by the other, where it can.
            _check_program(arguments[0], limits.programs)
        elif event in _STARTS and limits.programs != "any":
            raise Refused(1, "the server may not start programs")

    sys.addaudithook(hook)


def _check(path: Any, folders: tuple[str, ...], changes: bool) -> None:
    """Raises Refused: a path is outside of folders."""
    if isinstance(path, int):
        return
    name = os.fsdecode(path)
    real = os.path.realpath(name)
    if is_inside(real, folders) or real in _DEVICES:
        return
    if not changes and not os.path.isabs(name) and not os.path.lexists(name):
        # Nothing is there, or it is relative to an open folder.
        return
    what = "may not be written" if changes else "outside of what may be read"
    raise Refused(1, what, name)


def _check_program(program: Any, allowed: str) -> None:
    name = os.fsdecode(program)
    named = os.path.isabs(name) and os.path.basename(name) in _COMPILER
    if allowed == "any" or (allowed == "compiler" and named):
        return
    raise Refused(1, "the server may not start programs", name)


def _own_folders() -> tuple[str, ...]:
    """Where Python's modules and ours are."""
    import tileir_tools
    from tileir_tools import cli, grammars, validators

    ours = [
        entry for module in (tileir_tools, cli, grammars, validators) for entry in module.__path__
    ]
    installed = [
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    found = (os.path.realpath(entry) for entry in (*sys.path, *installed, *ours) if entry)
    return tuple(dict.fromkeys(found))
