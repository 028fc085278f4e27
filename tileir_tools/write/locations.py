"""Locations as aliases: `loc(#loc4)` at the operation, `#loc4 = loc(..)` at the end of the text.

Place in the flow: part of Module -> text; imports `model`. Order and numbers follow MLIR's printer:
aliases are sorted by how deep they refer to others, then by name, then by first use.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model import (
    CallSiteLoc,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DIScope,
    DISubprogram,
    FileLineColLoc,
    FusedLoc,
    Location,
    NameLoc,
    OpaqueLoc,
)
from .literals import string_text

_Node = Location | DIScope

_BASES: dict[type, str] = {
    DIFile: "di_file",
    DICompileUnit: "di_compile_unit",
    DISubprogram: "di_subprogram",
    DILexicalBlock: "di_lexical_block",
}


class LocationAliases:
    """The aliases for the locations of a module, given in the order in which they are printed."""

    def __init__(self, locations: Iterable[Location]):
        self._depths: dict[_Node, int] = {}
        for location in locations:
            self._visit(location)
        ordered = sorted(self._depths, key=lambda n: (self._depths[n], _base(n)))
        counts: dict[str, int] = {}
        self._names: dict[_Node, str] = {}
        for node in ordered:
            base = _base(node)
            number = counts.get(base, 0)
            counts[base] = number + 1
            self._names[node] = f"#{base}{number or ''}"

    def _visit(self, node: _Node) -> int:
        known = self._depths.get(node)
        if known is not None:
            return known
        # The place in the order is that of the first visit, before the parts are visited.
        self._depths[node] = 0
        depth = max((self._visit(part) + 1 for part in _parts(node)), default=0)
        self._depths[node] = depth
        return depth

    def use(self, location: Location) -> str:
        """`loc(#loc4)`."""
        return f"loc({self._names[location]})"

    def definitions(self) -> list[str]:
        """The lines that define the aliases."""
        return [f"{name} = {self._definition(node)}" for node, name in self._names.items()]

    def written_out(self, node: _Node) -> str:
        """A node with what it refers to in the place of the aliases."""
        for part in _parts(node):
            self._names[part] = self.written_out(part)
        return self._definition(node)

    def _definition(self, node: _Node) -> str:
        name = self._names
        if isinstance(node, DILoc):
            return f"#cuda_tile.di_loc<{name[node.source]} in {name[node.scope]}>"
        if isinstance(node, Location):
            return f"loc({self._inside(node)})"
        if isinstance(node, DIFile):
            where = string_text(node.directory)
            return f"#cuda_tile.di_file<{string_text(node.name)} in {where}>"
        return f"#cuda_tile.{_base(node)}<{', '.join(self._fields(node))}>"

    def _inside(self, node: Location) -> str:
        name = self._names
        if isinstance(node, FileLineColLoc):
            text = f"{string_text(node.file)}:{node.line}:{node.column}"
            if node.end is None:
                return text
            line, column = node.end
            return f"{text} to {'' if line == node.line else line}:{column}"
        if isinstance(node, NameLoc):
            child = f"({name[node.child]})" if node.child in name else ""
            return string_text(node.name) + child
        if isinstance(node, CallSiteLoc):
            return f"callsite({name[node.callee]} at {name[node.caller]})"
        if isinstance(node, FusedLoc):
            metadata = "" if node.metadata is None else f"<{node.metadata}>"
            return f"fused{metadata}[{', '.join(name[part] for part in node.locations)}]"
        return node.text if isinstance(node, OpaqueLoc) else "unknown"

    def _fields(self, node: DIScope) -> list[str]:
        name = self._names
        if isinstance(node, DICompileUnit):
            return [f"file = {name[node.file]}"]
        if isinstance(node, DILexicalBlock):
            fields = [f"scope = {name[node.scope]}", f"file = {name[node.file]}"]
            fields.append(f"line = {node.line}")
            return [*fields, f"column = {node.column}"] if node.column else fields
        assert isinstance(node, DISubprogram)
        fields = [
            f"file = {name[node.file]}",
            f"line = {node.line}",
            f"name = {string_text(node.name)}",
            f"linkageName = {string_text(node.linkage_name)}",
            f"compileUnit = {name[node.compile_unit]}",
        ]
        return [*fields, f"scopeLine = {node.scope_line}"] if node.scope_line else fields


def scope_text(scope: DIScope) -> str:
    """A debug-info scope as one text, without aliases."""
    return LocationAliases(()).written_out(scope)


def _base(node: _Node) -> str:
    return _BASES.get(type(node), "loc")


def _parts(node: _Node) -> tuple[_Node, ...]:
    """What a location refers to, in the order in which it is printed."""
    if isinstance(node, DILoc):
        return (node.source, node.scope)
    if isinstance(node, NameLoc):
        # A name without a child location prints none.
        return () if node.child.__class__.__name__ == "UnknownLoc" else (node.child,)
    if isinstance(node, CallSiteLoc):
        return (node.callee, node.caller)
    if isinstance(node, FusedLoc):
        return node.locations
    if isinstance(node, DICompileUnit):
        return (node.file,)
    if isinstance(node, DISubprogram):
        return (node.file, node.compile_unit)
    if isinstance(node, DILexicalBlock):
        return (node.scope, node.file)
    return ()
