"""What kind of file some bytes are and what is in it, without making more of it than asked for.

Place in the flow: bytes -> a summary; imports `container`, `bytecode`, `text`.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..model import Module


class SectionInfo(NamedTuple):
    """A section of a bytecode file: offset and size in bytes."""

    name: str
    offset: int
    size: int


class EntryInfo(NamedTuple):
    """An entry: symbol, bytes of its body (None for text), operations (None where not decoded)."""

    symbol: str
    body_bytes: int | None
    operations: int | None


class FileInfo(NamedTuple):
    """A file: kind "text" or "bytecode"; version and sections of bytecode; op counts by mnemonic, most
    frequent first (empty where bodies were not decoded)."""

    file: str
    kind: str
    size: int
    version: str | None
    producer: str | None
    sections: tuple[SectionInfo, ...]
    globals: tuple[str, ...]
    entries: tuple[EntryInfo, ...]
    operations: dict[str, int]


def bytecode_info(data: bytes, name: str, bodies: bool) -> FileInfo:
    """The summary of a bytecode file. Raises BytecodeError."""
    from .bytecode import read_function
    from .container import Container
    from .debug import DebugInfo

    file = Container(data, name)
    debug = DebugInfo(file)
    entries = []
    counts: Counter[str] = Counter()
    for function in file.functions():
        number = None
        if bodies:
            ops = [op.name for op in read_function(function, file, debug).walk()][1:]
            counts.update(ops)
            number = len(ops)
        entries.append(EntryInfo(function.name, len(function.body.data), number))
    return FileInfo(
        name,
        "bytecode",
        len(data),
        file.version,
        file.producer(),
        tuple(SectionInfo(s.name, s.offset, s.size) for s in file.sections),
        tuple(row.name for row in file.globals()),
        tuple(entries),
        dict(counts.most_common()),
    )


def text_info(modules: list[Module], name: str, size: int) -> FileInfo:
    """The summary of a text."""
    counts: Counter[str] = Counter()
    entries = []
    for module in modules:
        for entry in module.entries:
            ops = [op.name for op in entry.walk()][1:]
            counts.update(ops)
            entries.append(EntryInfo(entry.symbol, None, len(ops)))
    return FileInfo(
        name,
        "text",
        size,
        None,
        next((m.producer for m in modules if m.producer), None),
        (),
        tuple(g.symbol for m in modules for g in m.globals),
        tuple(entries),
        dict(counts.most_common()),
    )
