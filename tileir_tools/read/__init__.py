"""Bytes to modules.

Place in the flow: **bytes -> Module** -> facts -> findings -> report. Imports `model`, `dialect`,
`errors`, `source`. The kind of input is detected by its content, never by its name.
"""

from __future__ import annotations

import gc
import os
import sys

from ..errors import ForeignFormatError, InputError, UsageError
from ..model import Module
from ..source import Source
from .detect import check_text_kind, decode_text, is_bytecode, unpack


def parse_all(data: str | bytes, name: str = "<string>") -> list[Module]:
    """Every module in some text (or bytes of text, gzip allowed), in order.

    Args:
        data: the text, or the bytes of a file.
        name: what errors call the input.

    Raises:
        ParseError: the text is not valid; every independent error is in `diagnostics`.
        ForeignFormatError: the input is something else, which `kind` names.
        InputError: the input cannot be read at all.
    """
    if isinstance(data, bytes):
        data = unpack(data, name)
        if is_bytecode(data):
            raise ForeignFormatError(
                f"{name}: error: this is Tile IR bytecode; this version reads text: "
                "disassemble it with tileirdisasm first",
                "tileir-bytecode",
            )
        data = decode_text(data, name)
    elif not data.strip():
        raise ForeignFormatError(f"{name}: error: the text is empty", "empty")
    check_text_kind(data, name)
    from .text import read_text

    # Reading makes many objects and frees none: the cycle collector would only walk them again and
    # again (a third of the time on a large file).
    collecting = gc.isenabled()
    gc.disable()
    try:
        return read_text(Source(data, name))
    finally:
        if collecting:
            gc.enable()


def parse(data: str | bytes, name: str = "<string>") -> Module:
    """The one module in some text or bytes; see `parse_all` for arguments and errors.

    Raises:
        UsageError: there are several modules.
    """
    return _only(parse_all(data, name), name)


def load_all(path: str | os.PathLike[str]) -> list[Module]:
    """Every module in a file; `-` is the standard input. See `parse_all` for errors."""
    name = os.fspath(path)
    return parse_all(read_bytes(name), "<stdin>" if name == "-" else name)


def load(path: str | os.PathLike[str]) -> Module:
    """The one module in a file; `-` is the standard input. See `parse_all` for errors.

    Raises:
        UsageError: there are several modules.
    """
    return _only(load_all(path), os.fspath(path))


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


__all__ = ["load", "load_all", "parse", "parse_all", "read_bytes"]
