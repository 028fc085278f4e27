"""Bytes to modules.

Place in the flow: **bytes -> Module** -> facts -> findings -> report. Imports `model`, `dialect`,
`errors`, `source`. The kind of input is detected by its content, never by its name.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ..collector import without_collecting
from ..errors import InputError, UsageError
from ..model import Module
from ..source import Source
from .detect import check_text_kind, decode_text, is_bytecode, unpack

if TYPE_CHECKING:
    from .info import FileInfo


def parse_all(
    data: str | bytes, name: str = "<string>", *, fragments: bool = False
) -> list[Module]:
    """Every module in some text or bytecode, in order.

    Args:
        data: the text, or the bytes of a file: text, bytecode, or either of them in gzip.
        name: what errors call the input.
        fragments: read operations outside of an entry too, as the tests of a pass have them, into an
            opaque operation `fragment` of the module, with a warning. They must be prefixed, `cuda_tile.addi`;
            without a prefix, or without this option, they are errors.

    Raises:
        ParseError: the text is not valid; every independent error is in `diagnostics`.
        BytecodeError: the bytecode is not valid.
        ForeignFormatError: the input is something else, which `kind` names.
        InputError: the input cannot be read at all.
    """
    if isinstance(data, bytes):
        unpacked = unpack(data, name)
        if is_bytecode(unpacked):
            return [_read_bytecode(unpacked, name)]
        data = decode_text(unpacked, name)
    data = data.removeprefix("\ufeff")
    check_text_kind(data, name)
    source = Source(data, name)
    return _read_text(source, fragments)


@without_collecting
def _read_text(source: Source, fragments: bool) -> list[Module]:
    from .text import read_text

    return read_text(source, fragments)


@without_collecting
def _read_bytecode(data: bytes, name: str) -> Module:
    from .bytecode import read_bytecode

    return read_bytecode(data, name)


def parse(data: str | bytes, name: str = "<string>") -> Module:
    """The one module in some text or bytes; see `parse_all` for arguments and errors.

    Raises:
        UsageError: there are several modules.
    """
    return _only(parse_all(data, name), name)


def load_all(path: str | os.PathLike[str], *, fragments: bool = False) -> list[Module]:
    """Every module in a file; `-` is the standard input. See `parse_all` for `fragments` and errors."""
    name = os.fspath(path)
    shown = "<stdin>" if name == "-" else name
    return parse_all(read_bytes(name), shown, fragments=fragments)


def load(path: str | os.PathLike[str]) -> Module:
    """The one module in a file; `-` is the standard input. See `parse_all` for errors.

    Raises:
        UsageError: there are several modules.
    """
    return _only(load_all(path), os.fspath(path))


def file_info(path: str | os.PathLike[str], *, bodies: bool = True) -> FileInfo:
    """Kind, version, producer, sections, entries and operation counts of a file.

    Args:
        path: the file; `-` is the standard input.
        bodies: decode the bodies of bytecode to count operations; without, only the tables are read.

    Raises:
        See `parse_all`.
    """
    from .info import bytecode_info, text_info

    name = os.fspath(path)
    shown = "<stdin>" if name == "-" else name
    raw = read_bytes(name)
    data = unpack(raw, shown)
    if is_bytecode(data):
        return bytecode_info(data, shown, bodies)
    return text_info(parse_all(data, shown), shown, len(data))


def read_bytes(path: str) -> bytes:
    """The bytes of a file, or of the standard input for `-`. Raises InputError."""
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: error: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: error: this is a directory") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: error: cannot be read: {reason}") from None


def _only(modules: list[Module], name: str) -> Module:
    if len(modules) != 1:
        raise UsageError(
            f"{name}: error: {len(modules)} modules in one input; use load_all or parse_all"
        )
    return modules[0]


__all__ = ["file_info", "load", "load_all", "parse", "parse_all", "read_bytes"]
