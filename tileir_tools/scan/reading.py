"""A file on disk to the contents in it: itself, what is in its gzip, members of a tarball, kernels of a cache.

Place in the flow: before bytes -> Module; imports `errors`, `read`, `toolchain.compile_cache`. Nothing is
unpacked to disk, and nothing is read that is larger than the limits here: tarballs may come from anywhere.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from ..errors import InputError
from ..read import read_bytes
from ..read.detect import unpack
from ..read.search import is_dump
from ..toolchain.compile_cache import CACHE_FILE, read_cache

ARCHIVES = (
    ".tar",
    ".tar.bz2",
    ".tar.gz",
    ".tar.xz",
    ".tar.zst",
    ".tbz2",
    ".tgz",
    ".txz",
)

# A file or member of more bytes is not read, packed or unpacked.
_MOST_BYTES = 256 << 20
# Of a tarball that unpacks to more bytes, or has more members, only what stands before is read.
_MOST_IN_ARCHIVE = 16 << 30
_MOST_MEMBERS = 1 << 17


class Cached(NamedTuple):
    """What a compile cache says of a kernel: symbols, and the version of the compiler."""

    symbols: tuple[str, ...]
    compiler: str | None


class Piece(NamedTuple):
    """One thing in a file.

    Attributes:
        member: its name in the tarball, its key in the cache; None for the file itself.
        data: its bytes, unpacked; None where they cannot be had.
        error: why not.
        cached: for a kernel out of a cache, whose bytes are machine code.
    """

    member: str | None
    data: bytes | None
    error: str | None = None
    cached: Cached | None = None


def is_container(path: str) -> bool:
    """Whether a file is one of many contents, by its name."""
    return path.endswith(ARCHIVES) or os.path.basename(path) == CACHE_FILE


def read_pieces(path: str) -> Iterator[Piece]:
    """What is in a file, in order. What is wrong is in the pieces: nothing is raised."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise InputError("this is no regular file")
        if path.endswith(ARCHIVES):
            yield from _members(path)
        elif os.path.basename(path) == CACHE_FILE:
            for kernel in read_cache(os.path.dirname(path) or os.curdir):
                yield Piece(kernel.key, kernel.cubin, None, Cached(kernel.symbols, kernel.compiler))
        else:
            _check_size(about.st_size)
            yield Piece(None, _unpacked(read_bytes(path)))
    except (InputError, OSError) as error:
        yield Piece(None, None, said(error, path))


def said(error: Exception, name: str) -> str:
    """What an error says, without the name of its input before it."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    for start in (f"{name}: error: ", f"{name}:"):
        text = text.removeprefix(start)
    return text or type(error).__name__


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        raise InputError(f"larger than {_MOST_BYTES} bytes")


def _unpacked(data: bytes) -> bytes:
    """The data, out of gzip. Raises InputError."""
    try:
        return unpack(data, "gzip", _MOST_BYTES)
    except InputError as error:
        raise InputError(said(error, "gzip")) from None


# -- tarballs ---------------------------------------------------------------------------------------


def _members(path: str) -> Iterator[Piece]:
    """The dumps in a tarball. Links, devices and folders are passed over; names are only names."""
    with open(path, "rb") as packed:
        try:
            stream = cast(BinaryIO, _Bounded(_decompressed(packed)))
            with tarfile.open(fileobj=stream, mode="r:", errorlevel=0) as archive:
                for count, member in enumerate(archive):
                    if count >= _MOST_MEMBERS:
                        raise InputError(f"more than {_MOST_MEMBERS} members")
                    if member.isreg() and is_dump(member.name):
                        yield _member(archive, member)
        except Exception as error:
            # Of a hostile tarball, tarfile and the decompressors raise whatever comes: one more bad file.
            yield Piece(None, None, f"broken archive: {said(error, path)}")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Piece:
    try:
        _check_size(member.size)
        file = archive.extractfile(member)
        assert file is not None
        return Piece(member.name, _unpacked(file.read()))
    except InputError as error:
        return Piece(member.name, None, str(error))


def _decompressed(packed: BinaryIO) -> BinaryIO:
    """A tarball's own bytes. Raises InputError: compressed in a way that this Python cannot read."""
    magic = packed.read(6)
    packed.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=packed))
    if magic.startswith(b"\xfd7zXZ"):
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(packed))
    if magic.startswith(b"BZh"):
        import bz2

        return cast(BinaryIO, bz2.BZ2File(packed))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise InputError("zstd-compressed, which Python reads from 3.14 on") from None
        return cast(BinaryIO, zstd.ZstdFile(packed))
    return packed


class _Bounded:
    """A file of which nobody can read much at once, nor very far.

    tarfile reads headers of any size that they state; a few bytes of gzip can state very much.
    """

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MOST_BYTES:
            raise InputError(f"a member of more than {_MOST_BYTES} bytes")
        self._check_place(self._file.tell() + size)
        return self._file.read(size)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self._check_place(place)
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def _check_place(self, place: int) -> None:
        if place > _MOST_IN_ARCHIVE:
            raise InputError(f"more than {_MOST_IN_ARCHIVE} bytes unpacked")
