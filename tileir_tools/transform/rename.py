"""Renaming entries, function name and mangling apart.

Place in the flow: Module -> **transform** -> Module; imports `model`, `analyze.symbols`, `errors`. A symbol
such as `matmul_Kt1_A2f16_..` is a function name and what it was specialised for: renaming the
function keeps the mangling, stripping the mangling keeps the function.
"""

from __future__ import annotations

import re
from collections import Counter

from ..analyze.symbols import demangle
from ..errors import UsageError
from ..model import (
    ArrayAttr,
    Attribute,
    CallSiteLoc,
    DictAttr,
    DILexicalBlock,
    DILoc,
    DIScope,
    DISubprogram,
    Entry,
    FusedLoc,
    Global,
    Location,
    Module,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
)


def rename_entry(module: Module, old: str, new: str) -> str:
    """Give an entry another name, in everything that refers to it.

    Args:
        module: is changed.
        old: a symbol; or a function name, of which exactly one entry is a specialisation.
        new: the new symbol where `old` is a whole symbol; where `old` is a function name, the new
            one, in front of the mangling that the entry has.

    Returns:
        The entry's new symbol.

    Raises:
        UsageError: no entry, or several, are called `old`; something else is called like the result;
            an empty name; an operation that this version does not know mentions the entry.
    """
    entry = _entry(module, old)
    symbol = new if entry.symbol == old else new + demangle(entry.symbol).suffix
    if not new:
        raise UsageError("the new name of an entry cannot be empty")
    _rename(module, {entry.symbol: symbol})
    return symbol


def strip_mangling(module: Module) -> dict[str, str]:
    """Call every entry by its function name alone; an alias (`op__real`) keeps both halves.

    Returns:
        Old symbol -> new symbol, for the entries that were mangled.

    Raises:
        UsageError: two entries would have one name, or one the name of a global; an operation that this
            version does not know mentions one of them.
    """
    names = {entry.symbol: demangle(entry.symbol).function for entry in module.entries}
    changed = {old: new for old, new in names.items() if old != new}
    _rename(module, changed)
    return changed


def _entry(module: Module, name: str) -> Entry:
    """The entry with a symbol, else the only one with a function name."""
    exact = module.entry(name)
    if exact is not None:
        return exact
    found = [entry for entry in module.entries if demangle(entry.symbol).function == name]
    if len(found) == 1:
        return found[0]
    if not found:
        known = ", ".join(f"@{entry.symbol}" for entry in module.entries) or "none"
        raise UsageError(f"no entry is called '{name}'; there is {known}")
    symbols = ", ".join(f"@{entry.symbol}" for entry in found)
    raise UsageError(f"'{name}' is ambiguous, give a whole symbol: {symbols}")


def _rename(module: Module, names: dict[str, str]) -> None:
    """Rename several entries at once, or none where that cannot be done."""
    _check_collisions(module, names)
    _check_unknown(module, names)
    places = _Places(names)
    for op in module.walk():
        if isinstance(op, Entry) and op.symbol in names:
            op.attributes["sym_name"] = StringAttr(names[op.symbol])
        for key, value in op.attributes.items():
            op.attributes[key] = _renamed(value, names)
        op.location = places.location(op.location)


def _check_collisions(module: Module, names: dict[str, str]) -> None:
    symbols = [op.symbol for op in module.operations if isinstance(op, (Entry, Global))]
    after = Counter(names.get(symbol, symbol) for symbol in symbols)
    for symbol in symbols:
        new = names.get(symbol)
        if new is not None and after[new] > 1:
            others = [s for s in symbols if s != symbol and names.get(s, s) == new]
            raise UsageError(f"@{symbol} cannot become @{new}: so would @{', @'.join(others)}")


def _check_unknown(module: Module, names: dict[str, str]) -> None:
    """What an operation of unknown text says about an entry cannot be changed safely."""
    for op in module.walk():
        for symbol in names if op.opaque_text else ():
            mention = rf'@(?:{re.escape(symbol)}(?![\w$.-])|"{re.escape(symbol)}")'
            if re.search(mention, op.opaque_text or ""):
                where = f" at {op.span.where()}" if op.span else ""
                raise UsageError(
                    f"@{symbol} cannot be renamed: operation '{op.name}'{where}, which this version "
                    "does not know, mentions it"
                )


def _renamed(value: Attribute, names: dict[str, str]) -> Attribute:
    """An attribute with the symbols in it renamed."""
    if isinstance(value, SymbolRefAttr):
        return SymbolRefAttr(names.get(value.value, value.value))
    if isinstance(value, ArrayAttr):
        return ArrayAttr(tuple([_renamed(item, names) for item in value.items]))
    if isinstance(value, DictAttr):
        return DictAttr(tuple([(key, _renamed(item, names)) for key, item in value.items]))
    return value


class _Places:
    """Locations in which the linkage names of debug information are renamed.

    The name of a subprogram stays: it is that of the function in the source.
    """

    def __init__(self, names: dict[str, str]):
        self.names = names
        self._locations: dict[Location, Location] = {}
        self._scopes: dict[DIScope, DIScope] = {}

    def location(self, old: Location) -> Location:
        found = self._locations.get(old)
        if found is None:
            found = self._locations[old] = self._changed(old)
        return found

    def _changed(self, old: Location) -> Location:
        if isinstance(old, DILoc):
            return DILoc(self.location(old.source), self._scope(old.scope))
        if isinstance(old, CallSiteLoc):
            return CallSiteLoc(self.location(old.callee), self.location(old.caller))
        if isinstance(old, NameLoc):
            return NameLoc(old.name, self.location(old.child))
        if isinstance(old, FusedLoc):
            parts = tuple([self.location(part) for part in old.locations])
            return FusedLoc(parts, old.metadata)
        return old

    def _scope(self, old: DIScope) -> DIScope:
        found = self._scopes.get(old)
        if found is None:
            found = self._scopes[old] = self._changed_scope(old)
        return found

    def _changed_scope(self, old: DIScope) -> DIScope:
        if isinstance(old, DILexicalBlock):
            return DILexicalBlock(self._scope(old.scope), old.file, old.line, old.column)
        if isinstance(old, DISubprogram):
            linkage = self.names.get(old.linkage_name, old.linkage_name)
            return DISubprogram(
                old.file, old.line, old.name, linkage, old.compile_unit, old.scope_line
            )
        return old
