"""Rules about debug information: scopes of entries, operations and globals.

Place in the flow: beside Module; imports `model`, `errors`. Source of the facts: the debug-info checks of the
dialect (NVIDIA/cuda-tile, 13.3). Each function yields operations and what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterable

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


def check_locations(operations: Iterable[Operation]) -> Found:
    """Every breach in the operations of a module, which come in the order of the text.

    Debug information of bytecode is decoded here, most of it for the first time. Where that fails nothing more
    is said: the rest of it is of no more use.
    """
    checker = _Checker()
    try:
        for op in operations:
            yield from checker.operation(op)
    except _Unreadable as broken:
        message = f"{broken.error.message} (byte {broken.error.offset})"
        yield broken.op, f"the debug information of {broken.op.name} is not valid: {message}"


def _location(op: Operation) -> Location:
    """Raises _Unreadable."""
    try:
        return op.location
    except BytecodeError as error:
        raise _Unreadable(op, error) from None


class _Checker:
    def __init__(self) -> None:
        # Whether the operations that come are in an entry, and its subprogram.
        self.in_entry = False
        self.subprogram: DISubprogram | None = None
        # Locations that are right in this entry: it has far fewer locations than operations.
        self.known: set[Location] = set()
        # Wrong subprograms, which are named once for each entry, where they are first.
        self.named: set[DISubprogram] = set()

    def operation(self, op: Operation) -> Iterable[tuple[Operation, str]]:
        location = _location(op)
        if op.parent is None or op.parent.parent is None:
            self.in_entry = isinstance(op, Entry)
            self.known, self.named = set(), set()
            return self._entry(op, location) if isinstance(op, Entry) else _global(op, location)
        if location in self.known or not self.in_entry:
            return ()
        return self._inner(op, location)

    def _entry(self, entry: Entry, location: Location) -> Found:
        if isinstance(location, CallSiteLoc):
            yield entry, "the location of an entry cannot be a call site"
        scoped = _scoped(location)
        self.subprogram = _subprogram(scoped.scope) if scoped is not None else None
        if scoped is None:
            return
        if not isinstance(scoped.scope, DISubprogram):
            yield entry, "the debug-info scope of an entry must be a di_subprogram"
        elif scoped.scope.linkage_name != entry.symbol:
            name = scoped.scope.linkage_name
            yield entry, f'the debug-info scope of @{entry.symbol} has the linkage name "{name}"'

    def _inner(self, op: Operation, location: Location) -> Found:
        scoped = _scoped(location)
        found = _subprogram(scoped.scope) if scoped is not None else None
        if found is None or found is self.subprogram:
            self.known.add(location)
        elif found not in self.named:
            self.named.add(found)
            if self.subprogram is None:
                yield op, f'{op.name} has a debug-info scope, "{found.name}"; its entry has none'
            else:
                theirs, own = found.name, self.subprogram.name
                yield op, f'{op.name} has the debug-info scope "{theirs}", its entry has "{own}"'


def _global(op: Operation, location: Location) -> Found:
    if _scoped(location) is not None:
        yield op, f"{op.name} has a debug-info scope; only entries and what is in them do"


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
