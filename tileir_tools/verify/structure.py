"""The walk over a module: every operation by itself, where its values come from, its regions.

Place in the flow: beside Module; imports `dialect`, `model`, `breaches` and the files that hold rules by
subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from ..dialect import OpSpec
from ..model import Block, Entry, Global, Module, Operation, Region, Value
from . import control, reductions, symbols
from .breaches import Breaches
from .operation import check_operation, missing_parts
from .types import check_type

_type_of = attrgetter("type")

# What was asked before and is valid: row, sizes of groups, types, attributes. Kernels repeat few combinations
# often. It is emptied when a process has seen this many.
_valid: set[tuple[object, ...]] = set()
_MEMORY_LIMIT = 100_000


def check_structure(module: Module, breaches: Breaches) -> list[Operation]:
    """Note everything that is wrong with the operations of a module; all of them, in the order of the text."""
    if len(_valid) > _MEMORY_LIMIT:
        _valid.clear()
    walk = _Walk(module, breaches)
    walk.operations(module.operations)
    return walk.walked


class _Walk:
    def __init__(self, module: Module, breaches: Breaches):
        self.symbols = symbols.symbols_of(module)
        self.breaches = breaches
        self.walked: list[Operation] = []
        # The values in scope.
        self.visible: set[Value] = set()

    def operations(self, operations: Sequence[Operation]) -> None:
        visible, walked = self.visible, self.walked
        for op in operations:
            walked.append(op)
            for value in op.operands:
                if value not in visible:
                    name = value.name or "a value"
                    self.breaches.add(op, f"{op.name} reads {name}, which is not defined here")
            spec = op.spec
            if spec is not None:
                key = (
                    spec,
                    op.segments,
                    len(op.operands),
                    *map(_type_of, op.operands),
                    *map(_type_of, op.results),
                    *op.attributes.items(),
                )
                complete = key in _valid or self._by_itself(op, spec, key)
                if complete and (op.regions or spec.mnemonic in _IN_CONTEXT):
                    self._in_context(op, spec)
            else:
                self._types(op, op.results)
            for region in op.regions:
                self._region(op, region)
            visible.update(op.results)

    def _by_itself(self, op: Operation, spec: OpSpec, key: tuple[object, ...]) -> bool:
        """Note what is wrong with an op by itself; whether it has all its parts."""
        messages = check_operation(op, spec)
        if not messages:
            _valid.add(key)
            return True
        for message in messages:
            self.breaches.add(op, message)
        return next(missing_parts(op, spec), None) is None

    def _in_context(self, op: Operation, spec: OpSpec) -> None:
        """Note what is wrong with an op where it stands, and with its regions."""
        missing = list(control.check_regions(op, spec))
        if missing:
            self.breaches.add_all(missing)
            return
        if op.name in ("reduce", "scan"):
            found = reductions.check_body(op)
        elif isinstance(op, Entry):
            found = symbols.check_entry(op)
        elif isinstance(op, Global):
            found = symbols.check_global(op)
        elif op.name == "get_global":
            found = symbols.check_get_global(op, self.symbols)
        else:
            found = control.CHECKS[op.name](op)
        self.breaches.add_all(found)
        if isinstance(op, (Entry, Global)):
            self.breaches.add_all(symbols.check_symbol(op, self.symbols))

    def _region(self, op: Operation, region: Region) -> None:
        self.breaches.add_all(control.check_region(op, region))
        outside = self.visible
        if isinstance(op, Entry):
            self.visible = set()
        for block in region.blocks:
            self._block(op, block)
        self.visible = outside

    def _types(self, op: Operation, values: Sequence[Value]) -> None:
        for type in {value.type: None for value in values}:
            for message in check_type(type):
                self.breaches.add(op, f"{op.name}: {message}")

    def _block(self, op: Operation, block: Block) -> None:
        self._types(op, block.arguments)
        self.visible.update(block.arguments)
        self.operations(block.operations)
        # Values defined inside are visible only inside.
        self.visible.difference_update(block.arguments)
        for inner in block.operations:
            self.visible.difference_update(inner.results)


# Ops with rules about where they stand, or about their regions.
_IN_CONTEXT = frozenset(
    {"entry", "testing$func", "get_global", "global", "reduce", "scan", *control.CHECKS}
)
