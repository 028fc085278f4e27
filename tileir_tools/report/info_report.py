"""The summary of a file as text or JSON.

Place in the flow: a summary -> **report**; imports `read.info` records and `plain`.
"""

from __future__ import annotations

from ..read.info import FileInfo
from .plain import document, plain

INFO_SCHEMA = "tileir-info/1"


def info_json(info: FileInfo) -> str:
    """A document of schema `tileir-info/1`."""
    content = plain(info)
    assert isinstance(content, dict)
    return document(INFO_SCHEMA, content)


def info_text(info: FileInfo) -> str:
    """For a terminal."""
    kind = f"Tile IR bytecode {info.version}" if info.version else "Tile IR text"
    lines = [f"{info.file}: {kind}, {info.size} bytes"]
    if info.producer:
        lines.append(f"  producer: {info.producer}")
    if info.sections:
        lines.append("  sections:")
        lines += [f"    {s.name:9} {s.size:8} bytes at {s.offset}" for s in info.sections]
    if info.globals:
        lines.append(f"  globals: {', '.join(f'@{name}' for name in info.globals)}")
    lines.append(f"  entries: {len(info.entries)}")
    for entry in info.entries:
        parts = []
        if entry.body_bytes is not None:
            parts.append(f"{entry.body_bytes} bytes")
        if entry.operations is not None:
            parts.append(f"{entry.operations} operations")
        lines.append(f"    @{entry.symbol}  {', '.join(parts)}")
    if info.operations:
        counts = ", ".join(f"{name} {count}" for name, count in info.operations.items())
        lines.append(f"  operations: {counts}")
    return "\n".join(lines)
