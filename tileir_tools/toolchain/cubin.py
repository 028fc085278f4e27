"""What a cubin says of itself, in its ELF sections.

Place in the flow: toolchain -> facts; imports `errors`. Of each kernel the section `.nv.info.SYMBOL` holds a
list of attributes (a format byte, an attribute byte, then two bytes that are a value or, in format 4, the
size of what follows), as `cuobjdump -elf` names them.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

from ..errors import ToolError, UsageError

_INFO = ".nv.info."
_SIZED = 4
# EIATTR_REQNTID: the threads that a block has; EIATTR_MAX_THREADS: that it has at most; in three dimensions.
_THREADS = (0x10, 0x05)


def block_threads(cubin: bytes) -> dict[str, int]:
    """Threads of a block of each kernel, by symbol; kernels that do not say are left out.

    Raises:
        ToolError: it is no cubin (kind "garbage").
        UsageError: pyelftools is not installed.
    """
    try:
        from elftools.common.exceptions import ELFError  # type: ignore[import-not-found, unused-ignore]
        from elftools.elf.elffile import ELFFile  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise UsageError(
            "pyelftools is not installed: pip install 'tileir-tools[evidence]'"
        ) from None
    found: dict[str, int] = {}
    try:
        for section in ELFFile(io.BytesIO(cubin)).iter_sections():
            if section.name.startswith(_INFO):
                for attribute, payload in _attributes(section.data()):
                    if attribute in _THREADS and len(payload) >= 12:
                        x, y, z = struct.unpack_from("<3I", payload)
                        found.setdefault(section.name[len(_INFO) :], x * y * z)
    except (ELFError, struct.error, ValueError, OverflowError) as error:
        message = f"tileiras: what it wrote is no cubin: {error or type(error).__name__}"
        raise ToolError(message, "tileiras", "garbage") from None
    return found


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(attribute, what follows it) of those that have something following."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield attribute, data[at : at + size]
            at += size
