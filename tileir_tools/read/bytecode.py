"""Bytecode to a module.

Place in the flow: bytes -> Module for bytecode; imports `container`, `debug`, `tagged`, `model`, `dialect`.

How an op is encoded is said by its `Plan` (`dialect.encoding`): opcode, result types, flags, attributes,
operands, regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..dialect import KEYWORDS, OPS, OpSpec
from ..dialect.bytecode import OPCODES
from ..dialect.encoding import Plan, plans_for
from ..dialect.enums import enum_attribute_by_number
from ..errors import BytecodeError
from ..model import (
    I32,
    I64,
    TOKEN,
    UNIT,
    ArrayAttr,
    Attribute,
    Block,
    BoolAttr,
    DenseArrayAttr,
    DictAttr,
    Entry,
    EnumAttr,
    Global,
    IntegerAttr,
    Location,
    Module,
    Operation,
    Region,
    StringAttr,
    SymbolRefAttr,
    Type,
    TypeAttr,
    Value,
)
from .binary import Cursor
from .container import Container, Function, GlobalRow
from .debug import DebugInfo
from .tagged import read_array, read_hints, read_tagged

_MAX_REGION_DEPTH = 100

_ReadAttribute = Callable[[Cursor, Container, "list[Type]"], Attribute]


def read_bytecode(data: bytes, name: str) -> Module:
    """The module in a bytecode file. Raises BytecodeError."""
    file = Container(data, name)
    module = Module()
    module.bytecode_version = file.version
    module.producer = file.producer()
    symbols: set[str] = set()
    for row in file.globals():
        _add(module, _global(row), symbols, file)
    debug = DebugInfo(file)
    for function in file.functions():
        _add(module, read_function(function, file, debug), symbols, file)
    return module


def _add(module: Module, op: Entry | Global, symbols: set[str], file: Container) -> None:
    if op.symbol in symbols:
        raise BytecodeError(
            file.name, f"symbol @{op.symbol} is defined twice", 0, "Func", file.version
        )
    symbols.add(op.symbol)
    module.body.add(op)


def _global(row: GlobalRow) -> Global:
    attributes: dict[str, Attribute] = {"sym_name": StringAttr(row.name), "value": row.value}
    if row.alignment:
        attributes["alignment"] = IntegerAttr(row.alignment, I64)
    if row.constant:
        attributes["constant"] = UNIT
    if row.private:
        attributes["symbol_visibility"] = EnumAttr("symbol_visibility", "private")
    return Global("global", OPS["global"], (), (), attributes)


def read_function(function: Function, file: Container, debug: DebugInfo) -> Entry:
    """One entry with its body."""
    if not function.is_entry:
        raise function.body.error(f"'{function.name}' is no entry; other functions are not known")
    locations = debug.locations(function.debug_index)
    location = next(locations)
    attributes: dict[str, Attribute] = {
        "sym_name": StringAttr(function.name),
        "function_type": TypeAttr(function.type),
    }
    arguments = function.argument_attributes
    if arguments is not None and any(
        isinstance(item, DictAttr) and item.items for item in arguments.items
    ):
        attributes["arg_attrs"] = arguments
    if function.hints is not None and function.hints.value.items:
        attributes["optimization_hints"] = function.hints
    block = Block(function.type.inputs)
    _Body(function.body, file, locations).run(block)
    region = Region([block])
    return Entry("entry", OPS["entry"], (), (), attributes, [region], None, location)


# -- attributes -------------------------------------------------------------------------------------


def _enum_reader(kind: str) -> _ReadAttribute:
    attributes = [enum_attribute_by_number(kind, k) for k in range(len(KEYWORDS[kind]))]

    def read(c: Cursor, file: Container, types: list[Type]) -> Attribute:
        number = c.varint()
        found = attributes[number] if number < len(attributes) else None
        if found is None:
            raise c.error(f"{kind} {number}; known: 0 to {len(attributes) - 1}")
        return found

    return read


def _i64(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return IntegerAttr(c.varint(), I64)


def _i32(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return IntegerAttr(c.varint(), I32)


def _bool(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return BoolAttr(c.byte() != 0)


def _string(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return StringAttr(file.string(c.varint(), c))


def _symbol(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return SymbolRefAttr(file.string(c.varint(), c))


def _dense(c: Cursor, file: Container, types: list[Type]) -> Attribute:
    return file.dense(c.varint(), types[0], c)


def _array(width: int, element: str) -> _ReadAttribute:
    def read(c: Cursor, file: Container, types: list[Type]) -> Attribute:
        number = c.count("numbers", width)
        values = [int.from_bytes(c.take(width), "little", signed=True) for _ in range(number)]
        if element == "i1":
            values = [int(value != 0) for value in values]
        return DenseArrayAttr(element, tuple(values))

    return read


_READERS: dict[str, _ReadAttribute] = {
    **{kind: _enum_reader(kind) for kind in KEYWORDS},
    "i64": _i64,
    "i32": _i32,
    "bool": _bool,
    "string": _string,
    "symbol": _symbol,
    "dense": _dense,
    "i32_array": _array(4, "i32"),
    "bool_array": _array(1, "i1"),
    "identities": lambda c, file, types: read_array(c, file),
    "hints": lambda c, file, types: read_hints(c, file),
    "predicate": lambda c, file, types: read_tagged(c, file),
}


_NAMES = {opcode: name for name, opcode in OPCODES.items()}


# -- bodies -----------------------------------------------------------------------------------------


class _Body:
    """Reads the operations of one function."""

    def __init__(self, cursor: Cursor, file: Container, locations: Iterator[Location]):
        self.cursor = cursor
        self.file = file
        self.locations = locations
        self.plans = plans_for(file.key)
        self.values: list[Value] = []
        self.depth = 0

    def run(self, block: Block) -> None:
        self.values += block.arguments
        while self.cursor.left:
            self.operation(block)
        if block.terminator is None:
            raise self.cursor.error("the body does not end in a terminator")

    def operation(self, block: Block) -> None:
        cursor = self.cursor
        at = cursor.pos
        opcode = cursor.varint()
        plan = self.plans.get(opcode)
        if plan is None:
            raise cursor.error(_unknown_opcode(opcode), at)
        # An operation's location stands before those of the operations inside it.
        location = next(self.locations)
        types = self._result_types(plan)
        flags = cursor.varint() if plan.flags else 0
        attributes = self._attributes(plan, flags, types)
        operands, segments = self._operands(plan, flags)
        regions = self._regions(plan) if plan.regions else ()
        spec = plan.spec
        written = len(types)
        if plan.added:
            types = types + [TOKEN] * plan.added
        op = Operation(spec.mnemonic, spec, operands, types, attributes, regions, segments, location)
        op.parent = block
        block.operations.append(op)
        self.values += op.results[:written]

    def _result_types(self, plan: Plan) -> list[Type]:
        cursor, file = self.cursor, self.file
        number = plan.results
        if plan.counted_results:
            at = cursor.pos
            number = cursor.count("result types")
            fixed = not any(r.arity for r in plan.spec.results)
            if fixed and number != plan.results:
                raise cursor.error(
                    f"{plan.spec.mnemonic} gives {plan.results} results, found {number}", at
                )
        known = file._types
        types: list[Type] = []
        for _ in range(number):
            index = cursor.varint()
            found = known.get(index)
            types.append(file.type(index, cursor) if found is None else found)
        return types

    def _attributes(self, plan: Plan, flags: int, types: list[Type]) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name, row, bit in plan.attributes:
            if bit and not flags & bit:
                continue
            value = _READERS[row.kind](self.cursor, self.file, types)
            if value is row.default or (row.kind == "bool_array" and _all_false(value)):
                continue
            found[name] = value
        for name, bit in plan.units:
            if flags & bit:
                found[name] = UNIT
        return found

    def _operands(self, plan: Plan, flags: int) -> tuple[list[Value], tuple[int, ...] | None]:
        spec = plan.spec
        if plan.operands == "fixed":
            return self._values(len(spec.operands)), None
        if plan.operands == "counted":
            number = self.cursor.count("operands")
            return self._values(number), self._spread(spec, number)
        operands: list[Value] = []
        sizes = []
        for row, bit in zip(spec.operands, plan.operand_bits):
            if row.arity == "*":
                size = self.cursor.count("operands")
            else:
                size = 1 if not row.arity or flags & bit else 0
            operands += self._values(size)
            sizes.append(size)
        return operands, tuple(sizes)

    def _spread(self, spec: OpSpec, number: int) -> tuple[int, ...]:
        """Sizes of the operand groups where one number counts all operands."""
        single = sum(1 for row in spec.operands if not row.arity)
        rest = number - single
        many = any(row.arity == "*" for row in spec.operands)
        if rest < 0 or (rest > 1 and not many):
            raise self.cursor.error(f"{spec.mnemonic} cannot have {number} operands")
        return tuple(rest if row.arity else 1 for row in spec.operands)

    def _values(self, number: int) -> list[Value]:
        cursor, values = self.cursor, self.values
        found = []
        for _ in range(number):
            index = cursor.varint()
            if index >= len(values):
                raise cursor.error(f"value {index}, but only {len(values)} are defined here")
            found.append(values[index])
        return found

    def _regions(self, plan: Plan) -> list[Region]:
        cursor = self.cursor
        at = cursor.pos
        number = cursor.varint()
        if number != plan.regions:
            raise cursor.error(
                f"{plan.spec.mnemonic} has {plan.regions} regions, found {number}", at
            )
        if self.depth >= _MAX_REGION_DEPTH:
            raise cursor.error(f"regions are nested deeper than {_MAX_REGION_DEPTH} levels", at)
        self.depth += 1
        regions = [self._region() for _ in range(number)]
        self.depth -= 1
        return regions

    def _region(self) -> Region:
        blocks = []
        for _ in range(self.cursor.count("blocks")):
            mark = len(self.values)
            types = [
                self.file.type(self.cursor.varint(), self.cursor)
                for _ in range(self.cursor.count("block arguments"))
            ]
            block = Block(types)
            self.values += block.arguments
            for _ in range(self.cursor.count("operations")):
                self.operation(block)
            if block.terminator is None:
                raise self.cursor.error("a block does not end in a terminator")
            # Values defined inside are not visible outside.
            del self.values[mark:]
            blocks.append(block)
        return Region(blocks)


def _all_false(value: Attribute) -> bool:
    return isinstance(value, DenseArrayAttr) and not any(value.values)


def _unknown_opcode(opcode: int) -> str:
    name = _NAMES.get(opcode)
    if name is None:
        return f"unknown opcode {opcode}"
    if name in ("module", "entry", "global"):
        return f"{name} (opcode {opcode}) is no operation of a body"
    return f"{name} (opcode {opcode}) needs version {OPS[name].since}"


