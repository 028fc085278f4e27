"""What can go wrong, as one exception family.

Place in the flow: below everything (bytes -> Module -> facts -> findings -> report); imports only
`source`. Every message names a position where one exists, what was expected and what was found.
"""

from __future__ import annotations

from typing import NamedTuple

from .source import Span


class Diagnostic(NamedTuple):
    """One message about one place: severity ("error", "warning" or "note"), text, where it is."""

    severity: str
    message: str
    span: Span | None = None

    def render(self) -> str:
        """`file:line:col: severity: message`, then the source line and a caret where they exist."""
        if self.span is None:
            return f"{self.severity}: {self.message}"
        head = f"{self.span.where()}: {self.severity}: {self.message}"
        excerpt = self.span.excerpt()
        return f"{head}\n{excerpt}" if excerpt else head


class TileIRError(Exception):
    """Base of every error this library raises on purpose."""


class InputError(TileIRError):
    """The input could not be read at all: missing file, directory, no permission, wrong encoding."""


class ForeignFormatError(TileIRError):
    """The input is something other than Tile IR; `kind` names what it is."""

    def __init__(self, message: str, kind: str):
        super().__init__(message)
        self.kind = kind


class ParseError(TileIRError):
    """Text that is not valid; `diagnostics` holds every independent error, in file order."""

    def __init__(self, diagnostics: list[Diagnostic]):
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = diagnostics


class BytecodeError(TileIRError):
    """Bytecode that is not valid; `offset` counts bytes from the start of the file, `section` names the
    part of the file, `version` is the file's own version ("13.3")."""

    def __init__(self, name: str, message: str, offset: int, section: str, version: str | None):
        parts = [f"byte {offset}", f"section {section}"]
        if version is not None:
            parts.append(f"version {version}")
        super().__init__(f"{name}: error: {message} ({', '.join(parts)})")
        self.message = message
        self.offset = offset
        self.section = section
        self.version = version


class ConversionError(TileIRError):
    """A module that cannot be written as bytecode of the wanted version; the message names why."""


class UsageError(TileIRError):
    """The request makes no sense: an unknown arch, an entry that the module does not have."""


class ToolError(TileIRError):
    """A tool, of NVIDIA's or Graphviz, that could not do its work: `tool` is its name, `kind` one of "missing",
    "timeout", "crashed", "failed" (it said no) and "garbage" (what it wrote makes no sense)."""

    def __init__(self, message: str, tool: str, kind: str):
        super().__init__(message)
        self.tool = tool
        self.kind = kind
