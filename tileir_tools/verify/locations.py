"""Rules about debug information: scopes of entries, operations and globals.

Place in the flow: beside Module; imports `model`, `errors`. Source of the facts: the debug-info checks of the
dialect (NVIDIA/cuda-tile, 13.3). Each function yields operations and what is wrong with them.
"""

from __future__ import annotations

from ..errors import BytecodeError
from ..model import (
    CallSiteLoc,
    DILexicalBlock,
    DILoc,
    DIScope,
    DISubprogram,
    Entry,
    FusedLoc,
    Location,
    Module,
    NameLoc,
    Operation,
)
from .rules import Found


class _Unreadable(Exception):
    """The location of an operation cannot be decoded."""

    def __init__(self, op: Operation, error: BytecodeError):
        super().__init__(error.message)
        self.op = op
        self.error = error


def check_locations(module: Module) -> Found:
    """Every breach in a module.

    Debug information of bytecode is decoded here, most of it for the first time. Where that fails nothing more
    is said: the rest of it is of no more use.
    """
    try:
        for op in module.operations:
            if isinstance(op, Entry):
                yield from _entry(op)
            elif _scoped(_location(op)) is not None:
                yield op, f"{op.name} has a debug-info scope; only entries and what is in them do"
    except _Unreadable as broken:
        message = f"{broken.error.message} (byte {broken.error.offset})"
        yield broken.op, f"the debug information of {broken.op.name} is not valid: {message}"


def _location(op: Operation) -> Location:
    """Raises _Unreadable."""
    try:
        return op.location
    except BytecodeError as error:
        raise _Unreadable(op, error) from None


def _entry(entry: Entry) -> Found:
    location = _location(entry)
    if isinstance(location, CallSiteLoc):
        yield entry, "the location of an entry cannot be a call site"
    scoped = _scoped(location)
    subprogram = None
    if scoped is not None:
        subprogram = _subprogram(scoped.scope)
        if not isinstance(scoped.scope, DISubprogram):
            yield entry, "the debug-info scope of an entry must be a di_subprogram"
        elif scoped.scope.linkage_name != entry.symbol:
            name = scoped.scope.linkage_name
            yield entry, f'the debug-info scope of @{entry.symbol} has the linkage name "{name}"'
    yield from _body(entry, subprogram)


def _body(entry: Entry, subprogram: DISubprogram | None) -> Found:
    """Operations are in the subprogram of their entry. Each other one is named once, where it is first."""
    # Location -> whether it is right: a kernel has far fewer locations than operations.
    known: dict[Location, bool] = {}
    named: set[DISubprogram] = set()
    for op in entry.walk():
        location = _location(op)
        if op is entry or known.get(location, False):
            continue
        scoped = _scoped(location)
        found = _subprogram(scoped.scope) if scoped is not None else None
        known[location] = found is None or found is subprogram
        if found is None or known[location] or found in named:
            continue
        named.add(found)
        if subprogram is None:
            yield op, f'{op.name} has a debug-info scope, "{found.name}"; its entry has none'
        else:
            theirs, own = found.name, subprogram.name
            yield op, f'{op.name} has the debug-info scope "{theirs}", its entry has "{own}"'


def _scoped(location: Location) -> DILoc | None:
    """The location with a scope that a location stands for."""
    if isinstance(location, DILoc):
        return location
    if isinstance(location, CallSiteLoc):
        return _scoped(location.caller)
    if isinstance(location, NameLoc):
        return _scoped(location.child)
    if isinstance(location, FusedLoc):
        return next((found for part in location.locations if (found := _scoped(part))), None)
    return None


def _subprogram(scope: DIScope) -> DISubprogram | None:
    while isinstance(scope, DILexicalBlock):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogram) else None
