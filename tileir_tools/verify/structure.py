"""Rules that hold for every op by its row in the table, and rules about regions and values.

Place in the flow: beside Module; imports `model`, `dialect`, `errors`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Diagnostic
from ..model import (
    Block,
    Entry,
    Module,
    Operation,
    Region,
    SymbolRefAttr,
    TileType,
    Type,
    Value,
)

# Terminator -> the operations in whose regions it may stand.
_PARENTS: dict[str, tuple[str, ...]] = {
    "return": ("entry", "testing$func", "if", "loop"),
    "break": ("if", "loop"),
    "continue": ("for", "if", "loop"),
    "yield": ("if", "reduce", "scan"),
}


def check_structure(module: Module) -> list[Diagnostic]:
    """Every breach in a module."""
    checker = _Checker(module)
    symbols: dict[str, Operation] = {}
    for op in module.operations:
        name = op.attributes.get("sym_name")
        text = getattr(name, "value", "")
        if text in symbols:
            checker.error(op, f"symbol @{text} is already defined")
        symbols[text] = op
        checker.operation(op, set())
    return checker.found


class _Checker:
    def __init__(self, module: Module):
        self.globals = {g.symbol for g in module.globals}
        self.found: list[Diagnostic] = []

    def error(self, op: Operation, message: str) -> None:
        self.found.append(Diagnostic("error", message, op.span))

    def operation(self, op: Operation, visible: set[Value]) -> None:
        for value in op.operands:
            if value not in visible:
                self.error(
                    op, f"{op.name} reads {value.name or 'a value'}, which is not defined here"
                )
        if op.spec is not None:
            self._counts(op)
            self._same_types(op)
            self._special(op)
        inner = set() if isinstance(op, Entry) else visible
        for region in op.regions:
            self._region(op, region, inner)

    # -- the op's row -------------------------------------------------------------------------------

    def _counts(self, op: Operation) -> None:
        spec = op.spec
        assert spec is not None
        sizes = op.segments if op.segments is not None else (1,) * len(spec.operands)
        if len(sizes) != len(spec.operands) or sum(sizes) != len(op.operands):
            self.error(
                op, f"{op.name} has {len(op.operands)} operands, its groups say {sum(sizes)}"
            )
            return
        for row, size in zip(spec.operands, sizes):
            if (row.arity == "" and size != 1) or (row.arity == "?" and size > 1):
                self.error(op, f"{op.name} has {size} values for operand '{row.name}'")
        variadic = any(r.arity for r in spec.results)
        if not variadic and len(op.results) != len(spec.results):
            self.error(op, f"{op.name} has {len(op.results)} results, it gives {len(spec.results)}")
        for name, attribute in spec.attributes.items():
            if attribute.default is None and not attribute.optional and name not in op.attributes:
                self.error(op, f"{op.name} needs an attribute '{name}'")

    def _same_types(self, op: Operation) -> None:
        spec = op.spec
        assert spec is not None
        miscounted = op.segments is None and len(op.operands) != len(spec.operands)
        if miscounted or len(op.results) < len(spec.results):
            return
        operands = {row.name for row in spec.operands}
        for group in spec.same:
            types: dict[Type, str] = {}
            for name in group:
                values = op.operand_group(name) if name in operands else [op.result_named(name)]
                for value in values:
                    types.setdefault(value.type, name)
            if len(types) > 1:
                shown = " and ".join(f"{name} is {type}" for type, name in types.items())
                self.error(op, f"{op.name}: {shown}; they must have one type")

    def _special(self, op: Operation) -> None:
        if op.name == "get_global":
            name = op.attributes.get("name")
            if isinstance(name, SymbolRefAttr) and name.value not in self.globals:
                self.error(op, f"@{name.value} is no global of this module")
        elif op.name in ("for", "loop"):
            self._loop(op)
        elif op.name == "if":
            self._branch(op)
        elif op.name in ("reduce", "scan"):
            self._reduction(op)

    # -- regions ------------------------------------------------------------------------------------

    def _region(self, op: Operation, region: Region, visible: set[Value]) -> None:
        if len(region.blocks) > 1 and op.spec is not None:
            self.error(op, f"a region of {op.name} has {len(region.blocks)} blocks, it takes one")
        for block in region.blocks:
            # Values defined inside are visible only inside.
            inside = set(visible)
            inside.update(block.arguments)
            for inner in block.operations:
                self.operation(inner, inside)
                inside.update(inner.results)
            self._terminated(op, block)

    def _terminated(self, op: Operation, block: Block) -> None:
        if op.spec is None:
            return
        if block.terminator is None:
            self.error(op, f"a region of {op.name} does not end in a terminator")
        for k, inner in enumerate(block.operations):
            if not inner.terminator:
                continue
            if k != len(block.operations) - 1:
                self.error(inner, f"{inner.name} must be the last operation of its block")
            if op.name not in _PARENTS[inner.name]:
                allowed = ", ".join(_PARENTS[inner.name])
                self.error(inner, f"{inner.name} stands in {op.name}, it belongs in {allowed}")

    def _gives(self, terminator: Operation, types: Sequence[Type], what: str) -> None:
        """A terminator's operands must have the types that are wanted."""
        given = [v.type for v in terminator.operands]
        if given == list(types):
            return
        if len(given) != len(types):
            message = f"{terminator.name} gives {len(given)} values, {what} wants {len(types)}"
        else:
            k = next(k for k, (a, b) in enumerate(zip(given, types)) if a is not b)
            message = f"{terminator.name} gives {given[k]} for value {k}, {what} wants {types[k]}"
        self.error(terminator, message)

    def _loop(self, op: Operation) -> None:
        initial = [v.type for v in op.operand_group("initValues")]
        results = [v.type for v in op.results]
        arguments = [v.type for v in op.regions[0].block.arguments]
        if op.name == "for":
            if arguments[:1] != [op.operands[0].type]:
                self.error(op, "the induction variable must have the type of the bounds")
            arguments = arguments[1:]
            if results != initial:
                self.error(op, "the results of a for must have the types of its initial values")
        if arguments != initial:
            self.error(op, f"the body of {op.name} must take the types of the initial values")
        for inner in _terminators_of(op):
            if inner.name == "continue":
                self._gives(inner, initial, op.name)
            elif inner.name == "break":
                self._gives(inner, results, op.name)

    def _branch(self, op: Operation) -> None:
        results = [v.type for v in op.results]
        for region in op.regions:
            last = region.block.terminator if region.blocks else None
            if last is not None and last.name == "yield":
                self._gives(last, results, "if")
        if results and op.regions[1].empty:
            self.error(op, "an if with results needs an else")

    def _reduction(self, op: Operation) -> None:
        scalars = [
            TileType((), v.type.element) if isinstance(v.type, TileType) else v.type
            for v in op.operands
        ]
        block = op.regions[0].block
        wanted = [t for t in scalars for _ in (0, 1)]
        if [v.type for v in block.arguments] != wanted:
            self.error(op, f"the body of {op.name} must take two scalars for each operand")
        if block.terminator is not None and block.terminator.name == "yield":
            self._gives(block.terminator, scalars, op.name)


def _terminators_of(loop: Operation) -> list[Operation]:
    """The `continue` and `break` operations that belong to a loop, not to one inside it."""
    found: list[Operation] = []
    pending = [op for region in loop.regions for b in region.blocks for op in b.operations]
    while pending:
        op = pending.pop()
        if op.name in ("continue", "break"):
            found.append(op)
        elif op.name == "if":
            pending += [o for region in op.regions for b in region.blocks for o in b.operations]
    return found
