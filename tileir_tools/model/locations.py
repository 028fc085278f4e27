"""Source locations and debug-info scopes.

Place in the flow: part of the model; imports `interned`. Lines and columns are as the producer wrote
them (cuTile counts lines from 1 and columns from 0).
"""

from __future__ import annotations

from .interned import Interned


class Location(Interned):
    """Base of all locations."""

    __slots__ = ()

    @property
    def file_line(self) -> tuple[str, int] | None:
        """File and line of the innermost source position, where there is one."""
        return None


class UnknownLoc(Location):
    """`loc(unknown)`."""

    __slots__ = ()

    def __new__(cls) -> UnknownLoc:
        return cls._of()


class FileLineColLoc(Location):
    """A position in a file; `end` is (line, column) where a range was given."""

    __slots__ = ("file", "line", "column", "end")
    file: str
    line: int
    column: int
    end: tuple[int, int] | None

    def __new__(
        cls, file: str, line: int, column: int, end: tuple[int, int] | None = None
    ) -> FileLineColLoc:
        return cls._of(file, line, column, end)

    @property
    def file_line(self) -> tuple[str, int] | None:
        return self.file, self.line


class NameLoc(Location):
    """`loc("name")` or `loc("name"(child))`."""

    __slots__ = ("name", "child")
    name: str
    child: Location

    def __new__(cls, name: str, child: Location | None = None) -> NameLoc:
        return cls._of(name, UNKNOWN if child is None else child)

    @property
    def file_line(self) -> tuple[str, int] | None:
        return self.child.file_line


class CallSiteLoc(Location):
    """`loc(callsite(CALLEE at CALLER))`."""

    __slots__ = ("callee", "caller")
    callee: Location
    caller: Location

    def __new__(cls, callee: Location, caller: Location) -> CallSiteLoc:
        return cls._of(callee, caller)

    @property
    def file_line(self) -> tuple[str, int] | None:
        return self.callee.file_line


class FusedLoc(Location):
    """`loc(fused<metadata>[a, b])`; the metadata is kept as text."""

    __slots__ = ("locations", "metadata")
    locations: tuple[Location, ...]
    metadata: str | None

    def __new__(cls, locations: tuple[Location, ...], metadata: str | None = None) -> FusedLoc:
        return cls._of(locations, metadata)

    @property
    def file_line(self) -> tuple[str, int] | None:
        return next((loc.file_line for loc in self.locations if loc.file_line), None)


class DIScope(Interned):
    """Base of the debug-info nodes."""

    __slots__ = ()


class DIFile(DIScope):
    """A source file."""

    __slots__ = ("name", "directory")
    name: str
    directory: str

    def __new__(cls, name: str, directory: str) -> DIFile:
        return cls._of(name, directory)


class DICompileUnit(DIScope):
    """What was compiled at a time."""

    __slots__ = ("file",)
    file: DIFile

    def __new__(cls, file: DIFile) -> DICompileUnit:
        return cls._of(file)


class DISubprogram(DIScope):
    """A function of the source."""

    __slots__ = ("file", "line", "name", "linkage_name", "compile_unit", "scope_line")
    file: DIFile
    line: int
    name: str
    linkage_name: str
    compile_unit: DICompileUnit
    scope_line: int

    def __new__(
        cls,
        file: DIFile,
        line: int,
        name: str,
        linkage_name: str,
        compile_unit: DICompileUnit,
        scope_line: int = 0,
    ) -> DISubprogram:
        return cls._of(file, line, name, linkage_name, compile_unit, scope_line)


class DILexicalBlock(DIScope):
    """A block in a function of the source."""

    __slots__ = ("scope", "file", "line", "column")
    scope: DIScope
    file: DIFile
    line: int
    column: int

    def __new__(cls, scope: DIScope, file: DIFile, line: int, column: int = 0) -> DILexicalBlock:
        return cls._of(scope, file, line, column)


class DILoc(Location):
    """A source position inside a debug-info scope."""

    __slots__ = ("source", "scope")
    source: Location
    scope: DIScope

    def __new__(cls, source: Location, scope: DIScope) -> DILoc:
        return cls._of(source, scope)

    @property
    def file_line(self) -> tuple[str, int] | None:
        return self.source.file_line


class OpaqueLoc(Location):
    """A location this version does not know, kept as its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> OpaqueLoc:
        return cls._of(text)


UNKNOWN = UnknownLoc()
