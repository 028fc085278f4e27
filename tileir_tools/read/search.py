"""Which files of a folder may hold Tile IR, by their names.

Place in the flow: before bytes -> Module; imports nothing of the package. What a file is, its content says
when it is read.
"""

from __future__ import annotations

import os

# What a file of Tile IR is called; inside folders and tarballs, nothing else is read.
SUFFIXES = (
    ".bc",
    ".bytecode",
    ".cutile",
    ".mlir",
    ".tile",
    ".tilebc",
    ".tileir",
    ".tileirbc",
)


def is_dump(name: str) -> bool:
    """Whether a name is that of a file of Tile IR, gzip'd or not."""
    return name.removesuffix(".gz").endswith(SUFFIXES)


def find_files(path: str, more: tuple[str, ...] = ()) -> list[str]:
    """A file itself; of a folder the files of Tile IR in it and below, in order.

    Args:
        path: the file or the folder.
        more: ends of other names that count as well, such as `.tar`.
    """
    if not os.path.isdir(path):
        return [path]
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if is_dump(name) or (more and name.endswith(more))
    )
