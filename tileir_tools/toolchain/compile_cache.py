"""cuda-tile's compile cache, read: machine code of kernels that were launched, and what tileiras said of them.

Place in the flow: bytes -> toolchain facts; imports `errors`. The cache (`CUDA_TILE_CACHE_DIR`, else
`~/.cache/cutile-python`) is an SQLite database `cache.db`, as the `cutile_cache` package beside cuda-tile
writes it. It holds cubins and remarks, not the Tile IR that they were made from.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote

from ..errors import InputError

CACHE_FILE = "cache.db"


class CachedKernel(NamedTuple):
    """One entry of the cache.

    Attributes:
        key: what the compiler made it from, as a hash.
        symbols: of the entries; empty where the cache does not say.
        compiler: version of tileiras; None where the cache does not say.
        seconds: that compiling took; None likewise.
        remarks: of tileiras, YAML; "" likewise.
        cubin: the machine code.
    """

    key: str
    symbols: tuple[str, ...]
    compiler: str | None
    seconds: float | None
    remarks: str
    cubin: bytes


def default_cache() -> str:
    """The folder in which cuda-tile keeps its cache, by its own rules."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("CUDA_TILE_CACHE_DIR") or os.path.join(base, "cutile-python")


def read_cache(folder: str) -> list[CachedKernel]:
    """The kernels of a cache, in the order of their keys; the cache is not changed.

    Raises:
        InputError: there is no cache in the folder, or it is none of cuda-tile's.
    """
    path = os.path.join(folder, CACHE_FILE)
    if not os.path.isfile(path):
        raise InputError(f"{path}: error: no such file: no compile cache of cuda-tile")
    try:
        # Opened for reading: a database that is not there or broken is not made anew.
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            return list(_rows(connection))
    except sqlite3.Error as error:
        raise InputError(f"{path}: error: no compile cache of cuda-tile: {error}") from None


def _rows(connection: sqlite3.Connection) -> Iterator[CachedKernel]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(cache)")}
    metadata = "metadata" if "metadata" in columns else "NULL"
    for key, blob, about in connection.execute(
        f"SELECT key, blob, {metadata} FROM cache ORDER BY key"
    ):
        yield _kernel(str(key), bytes(blob), _about(about))


def _about(text: Any) -> dict[str, Any]:
    """What stands beside a kernel; nothing where older releases, or nobody, wrote something."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _kernel(key: str, cubin: bytes, about: dict[str, Any]) -> CachedKernel:
    names, compiler = about.get("kernel_names"), about.get("compiler_version")
    seconds, remarks = about.get("compilation_time_seconds"), about.get("remarks")
    return CachedKernel(
        key,
        tuple(map(str, names)) if isinstance(names, list) else (),
        compiler if isinstance(compiler, str) else None,
        float(seconds) if isinstance(seconds, (int, float)) else None,
        remarks if isinstance(remarks, str) else "",
        cubin,
    )
