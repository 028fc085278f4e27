"""The SSA names that a module is printed with.

Place in the flow: part of Module -> text; imports `model`. The names follow MLIR's printer and the
dialect's name hints: `%assume_assume_13` is the assume of an assume, made unique by a counter that the
whole entry shares.
"""

from __future__ import annotations

from ..model import DenseElementsAttr, ElementType, Operation, Region, Value
from ..model.floats import FLOAT_FORMATS, decode

# Ops whose first result has a name of its own.
_RESULT_NAMES = {
    "broadcast": "bcast",
    "reshape": "reshape",
    "make_tensor_view": "tview",
    "make_partition_view": "pview",
    "make_strided_view": "sview",
    "make_gather_scatter_view": "gsview",
    "for": "for",
    "reduce": "reduce",
}

# Ops that take part in naming without naming every result: an assume of such a result is `assume_`.
_NAMELESS_HINTS = frozenset({"loop", "if"})


def result_names(op: Operation) -> dict[int, str]:
    """Result number -> name hint, for the results that have one."""
    spec = op.spec
    if spec is None or not op.results:
        return {}
    if op.name == "constant":
        value = op.attributes["value"]
        assert isinstance(value, DenseElementsAttr)
        return {0: constant_name(value)}
    if op.name == "assume":
        return {0: _assume_name(op.operands[0])}
    if op.name in _RESULT_NAMES:
        return {0: _RESULT_NAMES[op.name]}
    if len(spec.results) > 1:
        return {i: row.name for i, row in enumerate(spec.results)}
    return {}


def _assume_name(value: Value) -> str:
    """`assume_` and the hint of the value; just `assume` where its producer gives no hints."""
    # A chain of assumes is followed in a loop: it may be long.
    prefix = ""
    while True:
        producer = value.defining_op
        if producer is None or producer.spec is None:
            return prefix + "assume"
        prefix += "assume_"
        if producer.name != "assume":
            break
        value = producer.operands[0]
    hints = result_names(producer)
    if not hints and producer.name not in _NAMELESS_HINTS:
        return prefix[:-1]
    return prefix + hints.get(value.index, "")


def constant_name(value: DenseElementsAttr) -> str:
    """`cst_1_i32`, `cst_f32`, `true`.."""
    element = str(value.type.element)
    if element == "i1":
        if value.is_splat:
            return "true" if value.raw[0] else "false"
        return "cst_i1"
    shown = _shown_number(value) if value.is_splat else None
    return f"cst_{element}" if shown is None else f"cst_{shown}_{element}"


def _shown_number(value: DenseElementsAttr) -> str | None:
    """An integer, a whole non-negative float below 2**64, or NaN."""
    element = value.type.element
    raw = value.raw[0]
    assert isinstance(element, ElementType)
    if element.is_integer:
        return str(raw)
    number = decode(raw, FLOAT_FORMATS[element.name])
    if number.kind == "nan":
        return "NaN"
    if number.kind == "inf" or number.negative:
        return None
    if number.exponent < 0:
        whole, rest = divmod(number.significand, 1 << -number.exponent)
        return None if rest else str(whole)
    if number.significand.bit_length() + number.exponent > 64:
        return None
    return str(number.significand << number.exponent)


def _argument_names(region: Region) -> list[str]:
    """Name hints of the arguments of a region's first block; empty where there are none."""
    op = region.parent
    count = len(region.blocks[0].arguments) if region.blocks else 0
    if op is None or not count:
        return []
    if op.name == "for":
        return ["loopIdx", *(f"iterArg{k}" for k in range(count - 1))]
    if op.name == "reduce":
        sides = ["reduce_rhs" if k % 2 else "reduce_lhs" for k in range(count)]
        return sides if count == 2 else [f"{side}{k // 2}" for k, side in enumerate(sides)]
    return []


class Names:
    """Numbers the values of one entry.

    A block's operations are numbered before the regions inside them; sibling regions start from the
    same counters. `hints` False gives plain numbers, as the generic form has them.
    """

    def __init__(self, op: Operation, hints: bool = True):
        self.hints = hints
        # Value -> its name as a use spells it (`%for#1`).
        self.uses: dict[Value, str] = {}
        # Operation -> the left side of its `=` (`%for:2`, `%tile, %result_token`).
        self.definitions: dict[Operation, str] = {}
        # The same in pieces, each with the values that it defines.
        self.groups: dict[Operation, list[tuple[str, list[Value]]]] = {}
        self._value = self._argument = self._conflict = 0
        self._used: set[str] = set()
        self._number_regions(op)

    def _number_regions(self, op: Operation) -> None:
        """Depth first, the last region first, as MLIR's work list does."""
        scopes: list[list[str]] = [[]]
        pending = [(region, 0, 0, 0, 1) for region in op.regions]
        while pending:
            region, self._value, self._argument, self._conflict, depth = pending.pop()
            while len(scopes) > depth:
                self._used.difference_update(scopes.pop())
            scope: list[str] = []
            scopes.append(scope)
            self._scope = scope
            self._number_region(region)
            inner = [r for block in region.blocks for o in block.operations for r in o.regions]
            state = (self._value, self._argument, self._conflict, len(scopes))
            pending += [(r, *state) for r in inner]

    def _number_region(self, region: Region) -> None:
        hints = _argument_names(region) if self.hints else []
        for number, block in enumerate(region.blocks):
            for k, value in enumerate(block.arguments):
                if number == 0 and hints:
                    self.uses[value] = self._unique(hints[k])
                elif number == 0:
                    self.uses[value] = self._unique(f"arg{self._argument}")
                    self._argument += 1
                else:
                    self.uses[value] = self._next()
            for op in block.operations:
                if op.results:
                    self._number_results(op)

    def _number_results(self, op: Operation) -> None:
        hints = result_names(op) if self.hints else {}
        # A group is a result with a name and the results behind it without one.
        starts = sorted({0, *hints})
        ends = [*starts[1:], len(op.results)]
        groups = self.groups[op] = []
        for start, end in zip(starts, ends):
            name = self._unique(hints[start]) if start in hints else self._next()
            count = end - start
            groups.append((name if count == 1 else f"{name}:{count}", op.results[start:end]))
            for k in range(start, end):
                self.uses[op.results[k]] = name if count == 1 else f"{name}#{k - start}"
        self.definitions[op] = ", ".join(text for text, _ in groups)

    def _next(self) -> str:
        self._value += 1
        return f"%{self._value - 1}"

    def _unique(self, hint: str) -> str:
        name = hint
        while name in self._used:
            name = f"{hint}_{self._conflict}"
            self._conflict += 1
        self._used.add(name)
        self._scope.append(name)
        return f"%{name}"
