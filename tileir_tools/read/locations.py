"""Locations and scopes of debug information from their text.

Place in the flow: part of bytes -> Module for text; imports `literals`, `model`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import (
    UNKNOWN,
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
from .literals import Aliases, LiteralCursor, LiteralError


def parse_location(text: str, aliases: Aliases) -> Location:
    """A location from its text `loc(..)`. Raises LiteralError."""
    cursor = LiteralCursor(text, aliases)
    found = _location_in_loc(cursor)
    cursor.finish()
    return found


def parse_scope(text: str) -> DIScope:
    """A debug-info scope from its text `#cuda_tile.di_subprogram<..>`. Raises LiteralError."""
    cursor = LiteralCursor(text)
    found = _di_node(cursor)
    cursor.finish()
    return found


def check_unused_aliases(aliases: Aliases) -> Iterator[LiteralError]:
    """What is wrong with the location and debug-info aliases that nothing asked for."""
    used = aliases.resolved()
    for name, text in aliases.texts.items():
        if name in used or not text.startswith(("loc", "#cuda_tile.di_")):
            continue
        is_location = text.startswith(("loc", "#cuda_tile.di_loc"))
        try:
            aliases.resolve(LiteralCursor(name, aliases), _location if is_location else _di_node)
        except LiteralError as error:
            yield error


def _location_in_loc(c: LiteralCursor) -> Location:
    c.expect("loc")
    c.expect("(")
    found = _location(c)
    c.expect(")")
    return found


def _location(c: LiteralCursor) -> Location:
    c.nest()
    try:
        if c.token == "loc":
            return _location_in_loc(c)
        if c.accept("unknown") or c.accept("?"):
            return UNKNOWN
        if c.kind == "string":
            return _file_or_name(c)
        if c.accept("callsite"):
            return _call_site(c)
        if c.accept("fused"):
            return _fused(c)
        if c.token.startswith("#"):
            return _aliased_location(c)
    finally:
        c.depth -= 1
    raise c.error("expected a location")


def _file_or_name(c: LiteralCursor) -> Location:
    name = c.string()
    if c.accept(":"):
        line = c.integer()
        c.expect(":")
        column = c.integer()
        if not c.accept("to"):
            return FileLineColLoc(name, line, column)
        end_line = line if c.token == ":" else c.integer()
        c.expect(":")
        return FileLineColLoc(name, line, column, (end_line, c.integer()))
    if c.accept("("):
        child = _location(c)
        c.expect(")")
        return NameLoc(name, child)
    return NameLoc(name)


def _call_site(c: LiteralCursor) -> Location:
    c.expect("(")
    callee = _location(c)
    c.expect("at")
    caller = _location(c)
    c.expect(")")
    return CallSiteLoc(callee, caller)


def _fused(c: LiteralCursor) -> Location:
    metadata = None
    if c.token == "<":
        start, level = c.start, 0
        while True:
            level += (c.token == "<") - (c.token == ">")
            if c.kind == "end":
                raise c.error("expected '>'")
            end = c.next
            c.take()
            if level == 0:
                break
        metadata = c.text[start + 1 : end - 1]
    c.expect("[")
    parts: list[Location] = []
    while not c.accept("]"):
        if parts:
            c.comma("]")
        parts.append(_location(c))
    return FusedLoc(tuple(parts), metadata)


def _aliased_location(c: LiteralCursor) -> Location:
    if c.token == "#cuda_tile.di_loc":
        return _di_loc(c)
    if c.aliases is not None and c.token in c.aliases.texts:
        found = c.aliases.resolve(c, _location)
        assert isinstance(found, Location)
        return found
    if "." in c.token and not c.token.startswith("#cuda_tile."):
        return OpaqueLoc(c.balanced())
    raise c.error("expected a location, or an alias that the text defines")


def _di_loc(c: LiteralCursor) -> Location:
    c.take()
    c.expect("<")
    source = _location(c)
    c.expect("in")
    scope = _di_node(c)
    c.expect(">")
    return DILoc(source, scope)


def _di_node(c: LiteralCursor) -> DIScope:
    c.nest()
    try:
        if c.aliases is not None and c.token in c.aliases.texts:
            found = c.aliases.resolve(c, _di_node)
            if not isinstance(found, DIScope):
                raise c.error("expected a debug-info scope")
            return found
        name = c.token.removeprefix("#").removeprefix("cuda_tile.")
        if name != "di_file" and name not in _DI_FIELDS:
            raise c.error("expected a debug-info scope")
        start = c.start
        c.take()
        c.expect("<")
        if name == "di_file":
            return _di_file(c)
        return _di_scope(name, _di_fields(c, name, start))
    finally:
        c.depth -= 1


def _di_file(c: LiteralCursor) -> DIFile:
    name = c.string()
    c.expect("in")
    directory = c.string()
    c.expect(">")
    return DIFile(name, directory)


# What each debug-info node holds: a field, what it is, how an error names that.
_DI_FIELDS: dict[str, dict[str, tuple[type, str]]] = {
    "di_compile_unit": {"file": (DIFile, "a di_file")},
    "di_lexical_block": {
        "scope": (DIScope, "a debug-info scope"),
        "file": (DIFile, "a di_file"),
        "line": (int, "a number"),
        "column": (int, "a number"),
    },
    "di_subprogram": {
        "file": (DIFile, "a di_file"),
        "line": (int, "a number"),
        "name": (str, "a string"),
        "linkageName": (str, "a string"),
        "compileUnit": (DICompileUnit, "a di_compile_unit"),
        "scopeLine": (int, "a number"),
    },
}
_DI_DEFAULTS: dict[str, object] = {"column": 0, "scopeLine": 0}


def _di_fields(c: LiteralCursor, name: str, start: int) -> dict[str, Any]:
    """`file = #di_file, line = 29, name = "f">`."""
    known = _DI_FIELDS[name]
    fields: dict[str, Any] = {key: _DI_DEFAULTS[key] for key in known if key in _DI_DEFAULTS}
    given: set[str] = set()
    while not c.accept(">"):
        if given:
            c.comma(">")
        key = c.token
        if key not in known or key in given:
            raise c.error(f"expected one of {', '.join(k for k in known if k not in given)}")
        given.add(c.take())
        c.expect("=")
        kind, in_words = known[key]
        at = c.start
        found: object = c.string() if c.kind == "string" else None
        if found is None:
            found = c.integer() if c.kind == "number" else _di_node(c)
        if not isinstance(found, kind):
            raise LiteralError(f"{key} of {name} must be {in_words}", at)
        fields[key] = found
    missing = next((key for key in known if key not in fields), None)
    if missing is not None:
        raise LiteralError(f"{name} needs '{missing}', {known[missing][1]}", start)
    return fields


def _di_scope(name: str, fields: dict[str, Any]) -> DIScope:
    if name == "di_compile_unit":
        return DICompileUnit(fields["file"])
    if name == "di_lexical_block":
        return DILexicalBlock(fields["scope"], fields["file"], fields["line"], fields["column"])
    return DISubprogram(
        fields["file"],
        fields["line"],
        fields["name"],
        fields["linkageName"],
        fields["compileUnit"],
        fields["scopeLine"],
    )
