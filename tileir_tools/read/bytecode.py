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
from ..dialect.kinds import misfit
from ..errors import BytecodeError
from ..model import (
    I32,
    I64,
    TOKEN,
    UNIT,
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
from .depth import MAX_REGION_DEPTH, make_room
from .tagged import read_array, read_hints, read_tagged, refuse_extremes

# A location, or where it is found when it is asked for.
_Location = Location | tuple[DebugInfo, int]

_ReadAttribute = Callable[[Cursor, Container, "Type | None"], Attribute]


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
    locations = debug.of_function(function.debug_index)
    location = _next_location(locations, function.body)
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


def _next_location(locations: Iterator[_Location], cursor: Cursor) -> _Location:
    found = next(locations, None)
    if found is None:
        raise cursor.error("there are more operations than locations")
    return found


# -- attributes -------------------------------------------------------------------------------------


def _enum_reader(kind: str) -> _ReadAttribute:
    attributes = [enum_attribute_by_number(kind, k) for k in range(len(KEYWORDS[kind]))]

    def read(c: Cursor, file: Container, result: Type | None) -> Attribute:
        number = c.varint()
        found = attributes[number] if number < len(attributes) else None
        if found is None:
            raise c.error(f"{kind} {number}; known: 0 to {len(attributes) - 1}")
        return found

    return read


def _i64(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return IntegerAttr(c.varint(), I64)


def _i32(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return IntegerAttr(c.varint(), I32)


def _bool(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return BoolAttr(c.byte() != 0)


def _string(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return StringAttr(file.string(c.varint(), c))


def _symbol(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return SymbolRefAttr(file.string(c.varint(), c))


def _dense(c: Cursor, file: Container, result: Type | None) -> Attribute:
    return file.dense(c.varint(), result, c)


def _array(width: int, element: str) -> _ReadAttribute:
    def read(c: Cursor, file: Container, result: Type | None) -> Attribute:
        values = c.signed_list("numbers", width)
        if element == "i1":
            values = tuple(int(value != 0) for value in values)
        else:
            refuse_extremes(values, width, c)
        return DenseArrayAttr(element, values)

    return read


def _predicate(c: Cursor, file: Container, result: Type | None) -> Attribute:
    # A third of all operations are assumptions, and nearly all predicates the same few of three bytes:
    # div_by<16>, bounded<0, ?>.
    at = c.pos
    short = c.data[at : at + 3]
    found = file.short_predicates.get(short)
    if found is not None:
        c.pos = at + 3
        return found
    found = read_tagged(c, file)
    if c.pos == at + 3:
        file.short_predicates[short] = found
    return found


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
    "identities": lambda c, file, result: read_array(c, file),
    "hints": lambda c, file, result: read_hints(c, file),
    "predicate": _predicate,
}


_NAMES = {opcode: name for name, opcode in OPCODES.items()}


# -- bodies -----------------------------------------------------------------------------------------


class _Layout:
    """A plan with the functions that read its attributes.

    `simple`: one result, no flags, no regions, a fixed number of operands. Most operations are so, and take
    a shorter way.
    """

    __slots__ = (
        "attributes",
        "kinds_matter",
        "name",
        "operands",
        "plan",
        "simple",
        "spec",
        "units",
    )

    def __init__(self, plan: Plan):
        self.plan = plan
        self.spec = plan.spec
        self.name = plan.spec.mnemonic
        self.kinds_matter = not plan.spec.takes_anything
        self.units = plan.units
        self.attributes = tuple(
            (name, _READERS[row.kind], row.default, bit, row.kind == "bool_array")
            for name, row, bit in plan.attributes
        )
        self.operands = range(len(plan.spec.operands))
        self.simple = (
            plan.results == 1
            and plan.operands == "fixed"
            and not (plan.counted_results or plan.added or plan.flags or plan.regions)
        )


_layouts: dict[tuple[int, int], dict[int, _Layout]] = {}


def _layouts_for(version: tuple[int, int]) -> dict[int, _Layout]:
    found = _layouts.get(version)
    if found is None:
        plans = plans_for(version)
        found = _layouts[version] = {opcode: _Layout(plan) for opcode, plan in plans.items()}
    return found


class _Body:
    """Reads the operations of one function."""

    def __init__(self, cursor: Cursor, file: Container, locations: Iterator[_Location]):
        self.cursor = cursor
        self.file = file
        self.locations = locations
        self.layouts = _layouts_for(file.key)
        self.values: list[Value] = []
        self.depth = 0

    def run(self, block: Block) -> None:
        """Read operations into a block to the end of the body."""
        self.values += block.arguments
        self._operations(block, None)

    def _operations(self, block: Block, number: int | None) -> None:
        """Read so many operations into a block; None: all that are left."""
        # Bound once: this loop is most of the time that reading takes.
        cursor, file, values, layouts = self.cursor, self.file, self.values, self.layouts
        locations, operations, types = self.locations, block.operations, self.file.types
        data, size = cursor.data, len(cursor.data)
        while cursor.pos < size if number is None else len(operations) < number:
            at = cursor.pos
            layout = layouts.get(data[at]) if at < size else None
            if layout is None:
                layout = self._rare_layout()
            else:
                cursor.pos = at + 1
            # An operation's location stands before those of the operations inside it.
            location = next(locations, None) or _next_location(locations, cursor)
            if layout.simple:
                index = cursor.varint()
                result = types.get(index) or file.type(index, cursor)
                attributes = self._attributes(layout, 0, result) if layout.attributes else {}
                operands = self._values(layout.operands)
                op = Operation(
                    layout.name, layout.spec, operands, (result,), attributes, (), None, location
                )
                values.append(op.results[0])
            else:
                op = self._operation(layout, location)
            if layout.kinds_matter and (wrong := misfit(op)) is not None:
                raise cursor.error(wrong, at)
            op.parent = block
            operations.append(op)
        if block.terminator is None:
            raise cursor.error("the operations of a block do not end in a terminator")

    def _rare_layout(self) -> _Layout:
        """The layout of an op whose opcode is not one known byte. Raises BytecodeError."""
        at = self.cursor.pos
        opcode = self.cursor.varint()
        layout = self.layouts.get(opcode)
        if layout is None:
            raise self.cursor.error(_unknown_opcode(opcode), at)
        return layout

    def _operation(self, layout: _Layout, location: _Location) -> Operation:
        """An operation with anything: several results, flags, groups of operands, regions."""
        spec, plan = layout.spec, layout.plan
        types = self._result_types(plan)
        flags = self.cursor.varint() if plan.flags else 0
        attributes = self._attributes(layout, flags, types[0] if types else None)
        operands, segments = self._operands(layout, flags)
        regions = self._regions(plan) if plan.regions else ()
        op = Operation(
            spec.mnemonic,
            spec,
            operands,
            types + [TOKEN] * plan.added,
            attributes,
            regions,
            segments,
            location,
        )
        self.values += op.results[: len(types)]
        return op

    def _result_types(self, plan: Plan) -> list[Type]:
        cursor = self.cursor
        number = plan.results
        if plan.counted_results:
            at = cursor.pos
            number = cursor.count("result types")
            if plan.fixed_results and number != plan.results:
                raise cursor.error(
                    f"{plan.spec.mnemonic} gives {plan.results} results, found {number}", at
                )
        return self._types(number)

    def _types(self, number: int) -> list[Type]:
        cursor, file = self.cursor, self.file
        found = []
        for _ in range(number):
            index = cursor.varint()
            found.append(file.types.get(index) or file.type(index, cursor))
        return found

    def _attributes(self, layout: _Layout, flags: int, result: Type | None) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        cursor, file = self.cursor, self.file
        for name, read, default, bit, flag_array in layout.attributes:
            if bit and not flags & bit:
                continue
            value = read(cursor, file, result)
            if value is default or (flag_array and _all_false(value)):
                continue
            found[name] = value
        for name, bit in layout.units:
            if flags & bit:
                found[name] = UNIT
        return found

    def _operands(self, layout: _Layout, flags: int) -> tuple[list[Value], tuple[int, ...] | None]:
        plan, spec = layout.plan, layout.spec
        if plan.operands == "fixed":
            return self._values(layout.operands), None
        if plan.operands == "counted":
            number = self.cursor.count("operands")
            return self._values(range(number)), self._spread(spec, number)
        operands: list[Value] = []
        sizes = []
        for row, bit in zip(spec.operands, plan.operand_bits):
            if row.arity == "*":
                size = self.cursor.count("operands")
            else:
                size = 1 if not row.arity or flags & bit else 0
            operands += self._values(range(size))
            sizes.append(size)
        return operands, tuple(sizes)

    def _spread(self, spec: OpSpec, number: int) -> tuple[int, ...]:
        """Sizes of the operand groups where one number counts all operands."""
        groups = spec.operands
        if len(groups) == 1 and groups[0].arity == "*":
            return (number,)
        rest = number - sum(1 for row in groups if not row.arity)
        many = any(row.arity == "*" for row in groups)
        if rest < 0 or (rest > 1 and not many):
            raise self.cursor.error(f"{spec.mnemonic} cannot have {number} operands")
        return tuple(rest if row.arity else 1 for row in groups)

    def _values(self, slots: range) -> list[Value]:
        values, data, pos = self.values, self.cursor.data, self.cursor.pos
        found = []
        try:
            for _ in slots:
                index = data[pos]
                pos += 1
                if index > 0x7F:
                    second = data[pos]
                    pos += 1
                    if second < 0x80:
                        index = index & 0x7F | second << 7
                    else:
                        third = data[pos]
                        pos += 1
                        if third > 0x7F:
                            return self._checked_values(slots)
                        index = index & 0x7F | (second & 0x7F) << 7 | third << 14
                found.append(values[index])
        except IndexError:
            return self._checked_values(slots)
        self.cursor.pos = pos
        return found

    def _checked_values(self, slots: range) -> list[Value]:
        """What `_values` does, for indices of more than three bytes and with the error for wrong ones."""
        cursor, values = self.cursor, self.values
        found = []
        for _ in slots:
            at = cursor.pos
            index = cursor.varint()
            if index >= len(values):
                raise cursor.error(f"value {index}, but only {len(values)} are defined here", at)
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
        if self.depth >= MAX_REGION_DEPTH:
            raise cursor.error(f"regions are nested deeper than {MAX_REGION_DEPTH} levels", at)
        self.depth += 1
        make_room(self.depth)
        regions = [self._region() for _ in range(number)]
        self.depth -= 1
        return regions

    def _region(self) -> Region:
        blocks = []
        for _ in range(self.cursor.count("blocks")):
            mark = len(self.values)
            block = Block(self._types(self.cursor.count("block arguments")))
            self.values += block.arguments
            self._operations(block, self.cursor.count("operations"))
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
