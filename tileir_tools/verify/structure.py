"""The walk over a module: every operation by itself, where its values come from, its regions.

Place in the flow: beside Module; imports `model`, `breaches` and the files that hold rules by subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from ..model import Block, Entry, Global, Module, Operation, Region, Value
from . import control, reductions, symbols
from .breaches import Breaches
from .operation import check_operation
from .types import check_type

_type_of = attrgetter("type")

# What was asked before and is valid: row, sizes of groups, types, attributes. Kernels repeat few combinations
# often. It is emptied when a process has seen this many.
_valid: set[tuple[object, ...]] = set()
_MEMORY_LIMIT = 100_000


def check_structure(module: Module, breaches: Breaches) -> None:
    """Note everything that is wrong with the operations of a module."""
    if len(_valid) > _MEMORY_LIMIT:
        _valid.clear()
    walk = _Walk(module, breaches)
    breaches.add_all(symbols.check_symbols(module))
    walk.operations(module.operations)


class _Walk:
    def __init__(self, module: Module, breaches: Breaches):
        self.globals: dict[str, Global] = {g.symbol: g for g in module.globals}
        self.breaches = breaches
        # The values in scope.
        self.visible: set[Value] = set()

    def operations(self, operations: Sequence[Operation]) -> None:
        visible = self.visible
        for op in operations:
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
                complete = key in _valid or self._by_itself(op, key)
                if complete and (op.regions or spec.mnemonic in _IN_CONTEXT):
                    self._in_context(op)
            for region in op.regions:
                self._region(op, region)
            visible.update(op.results)

    def _by_itself(self, op: Operation, key: tuple[object, ...]) -> bool:
        """Note what is wrong with an op by itself; whether it has all its parts."""
        assert op.spec is not None
        messages = check_operation(op, op.spec)
        if not messages:
            _valid.add(key)
            return True
        for message in messages:
            self.breaches.add(op, message)
        return _has_all_parts(op)

    def _in_context(self, op: Operation) -> None:
        if op.name in ("reduce", "scan"):
            found = reductions.check_body(op)
        elif isinstance(op, Entry):
            found = symbols.check_entry(op)
        elif isinstance(op, Global):
            found = symbols.check_global(op)
        elif op.name == "get_global":
            found = symbols.check_get_global(op, self.globals)
        else:
            found = control.CHECKS[op.name](op)
        self.breaches.add_all(found)

    def _region(self, op: Operation, region: Region) -> None:
        self.breaches.add_all(control.check_region(op, region))
        outside = self.visible
        if isinstance(op, Entry):
            self.visible = set()
        for block in region.blocks:
            self._block(op, block)
        self.visible = outside

    def _block(self, op: Operation, block: Block) -> None:
        for type in {argument.type for argument in block.arguments}:
            for message in check_type(type):
                self.breaches.add(op, f"{op.name}: {message}")
        self.visible.update(block.arguments)
        self.operations(block.operations)
        # Values defined inside are visible only inside.
        self.visible.difference_update(block.arguments)
        for inner in block.operations:
            self.visible.difference_update(inner.results)


_IN_CONTEXT = frozenset({"get_global", "global", *control.CHECKS})


def _has_all_parts(op: Operation) -> bool:
    """Whether the counts are right and every region has the block that rules look into."""
    from .attributes import check_present
    from .operands import check_counts

    assert op.spec is not None
    missing = next(check_counts(op, op.spec), None) or next(check_present(op, op.spec), None)
    return missing is None
