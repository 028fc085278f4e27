"""A module as bytecode.

Place in the flow: Module -> bytecode; imports `model`, `dialect`, `binary`, `tables`. Output depends on the
module and the version alone: tables are filled in the order in which the module is walked.
"""

from __future__ import annotations

from ..collector import without_collecting
from ..dialect import OPS, VERSIONS, enum_number
from ..dialect.availability import newer_parts
from ..dialect.bytecode import (
    ENTRY_ATTRIBUTES_SINCE,
    FUNCTION_ENTRY,
    FUNCTION_HINTS,
    GLOBAL_FLAGS_SINCE,
    MAGIC,
    OPCODES,
    PRODUCER_SINCE,
    SECTION_ALIGNMENT,
    SECTIONS,
    version_key,
)
from ..dialect.encoding import Plan, plans_for
from ..errors import ConversionError
from ..model import (
    ArrayAttr,
    Attribute,
    Block,
    BoolAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictAttr,
    Entry,
    EnumAttr,
    FunctionType,
    Global,
    IntegerAttr,
    Module,
    Operation,
    OptimizationHintsAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    Value,
)
from .binary import pad, put_numbers, put_varint
from .tables import Tables

# Order of the sections in a file.
_ORDER = ("Func", "Global", "Constant", "Debug", "Type", "String", "Producer")
_NUMBERS = {name: number for number, name in SECTIONS.items()}


@without_collecting
def bytecode(module: Module, version: str | None = None) -> bytes:
    """The bytecode of a module.

    Args:
        module: what to encode.
        version: "13.1" to "13.5"; None: the version the module was read from, for text the oldest one
            that can say everything in it.

    Raises:
        ConversionError: the version, or any, cannot say something in the module; all of it is named.

    Locations that carry no debug-info scope cannot be said in bytecode and are left out; so is the
    producer before 13.3.
    """
    if version is None:
        version = module.bytecode_version or _oldest(module)
    if version not in VERSIONS:
        raise ConversionError(f"unknown bytecode version '{version}'; known: {', '.join(VERSIONS)}")
    writer = _Writer(version)
    data = writer.module(module)
    if writer.refused:
        reasons = "\n".join(f"  {reason}" for reason in writer.refused)
        raise ConversionError(f"bytecode version {version} cannot say:\n{reasons}")
    return data


def _oldest(module: Module) -> str:
    for version in VERSIONS:
        writer = _Writer(version)
        writer.module(module)
        if not writer.refused:
            return version
    return VERSIONS[-1]


class _Writer:
    def __init__(self, version: str):
        self.version = version
        self.key = version_key(version)
        self.plans = {plan.spec.mnemonic: plan for plan in plans_for(self.key).values()}
        # What the version cannot say, in order of appearance.
        self.refused: dict[str, None] = {}
        self.tables = Tables(version, self.refused)

    def at_least(self, version: str) -> bool:
        return self.key >= version_key(version)

    # -- file ---------------------------------------------------------------------------------------

    def module(self, module: Module) -> bytes:
        for op in module.operations:
            if op.spec is None:
                self.refused[f"operation {op.name}, which is not known"] = None
        contents = {
            "Func": self._functions(module.entries),
            "Global": self._globals(module.globals),
        }
        if module.producer is not None and self.at_least(PRODUCER_SINCE):
            out = bytearray()
            put_varint(out, self.tables.string(module.producer))
            contents["Producer"] = bytes(out)
        contents.update(self.tables.sections())
        major, minor = self.key
        data = bytearray(MAGIC + bytes((major, minor, 0, 0)))
        for name in _ORDER:
            if contents.get(name):
                _put_section(data, name, contents[name])
        data.append(0)
        return bytes(data)

    def _globals(self, items: list[Global]) -> bytes:
        if not items:
            return b""
        out = bytearray()
        put_varint(out, len(items))
        for item in items:
            put_varint(out, self.tables.string(item.symbol))
            put_varint(out, self.tables.type(item.value.type))
            put_varint(out, self.tables.dense(item.value))
            alignment = item.attribute("alignment")
            put_varint(out, alignment.value if isinstance(alignment, IntegerAttr) else 0)
            private = item.keyword("symbol_visibility") == "private"
            if self.at_least(GLOBAL_FLAGS_SINCE):
                out += bytes((private, item.has("constant")))
            elif private or item.has("constant"):
                self.refuse(f"global @{item.symbol} being private or constant", GLOBAL_FLAGS_SINCE)
        return bytes(out)

    def _functions(self, entries: list[Entry]) -> bytes:
        out = bytearray()
        put_varint(out, len(entries))
        for entry in entries:
            self._function(out, entry)
        return bytes(out)

    def _function(self, out: bytearray, entry: Entry) -> None:
        signature = entry.attributes["function_type"]
        assert isinstance(signature, TypeAttr)
        assert isinstance(signature.value, FunctionType)
        always = self.at_least(ENTRY_ATTRIBUTES_SINCE)
        put_varint(out, self.tables.string(entry.symbol))
        put_varint(out, self.tables.type(signature.value))
        hinted = entry.hints is not None and not always
        out.append(FUNCTION_ENTRY | (FUNCTION_HINTS if hinted else 0))
        put_varint(out, self.tables.debug.start(op.location for op in entry.walk()))
        if always or entry.hints is not None:
            self.tables.put_tagged(out, entry.hints or OptimizationHintsAttr(DictAttr(())))
        arguments = entry.attributes.get("arg_attrs")
        if always:
            self.tables.put_tagged(out, arguments or ArrayAttr(()))
        elif arguments is not None:
            self.refuse(f"argument attributes of @{entry.symbol}", ENTRY_ATTRIBUTES_SINCE)
        body = _Body(self).encode(entry)
        put_varint(out, len(body))
        out += body

    def refuse(self, what: str, since: str) -> None:
        self.refused[f"{what} (needs {since})"] = None


def _put_section(data: bytearray, name: str, content: bytes) -> None:
    alignment = SECTION_ALIGNMENT.get(name, 1)
    data.append(_NUMBERS[name] | (0x80 if alignment > 1 else 0))
    put_varint(data, len(content))
    if alignment > 1:
        put_varint(data, alignment)
        pad(data, alignment)
    data += content


class _Body:
    """Encodes the operations of one entry."""

    def __init__(self, writer: _Writer):
        self.writer = writer
        self.tables = writer.tables
        self.numbers: dict[Value, int] = {}
        self.next = 0

    def encode(self, entry: Entry) -> bytes:
        out = bytearray()
        self._define(entry.arguments)
        for op in entry.body.operations:
            self._operation(out, op)
        return bytes(out)

    def _define(self, values: list[Value]) -> None:
        for value in values:
            self.numbers[value] = self.next
            self.next += 1

    def _operation(self, out: bytearray, op: Operation) -> None:
        plan = self._plan(op)
        if plan is None:
            # The version does not have the op: only what else it refuses is of interest now.
            self._define(op.results)
            return
        put_varint(out, OPCODES[op.name])
        self._results(out, op, plan)
        if plan.flags:
            put_varint(out, self._flags(op, plan))
        self._attributes(out, op, plan)
        self._operands(out, op, plan)
        if plan.regions:
            put_varint(out, len(op.regions))
            for region in op.regions:
                put_varint(out, len(region.blocks))
                for block in region.blocks:
                    self._block(out, block)
        written = op.results[: plan.results] if plan.added else op.results
        self._define(written)
        # Where somebody reads a result that the version lacks, the module is refused, and looked through.
        self.numbers |= dict.fromkeys(op.results[len(written) :], 0)

    def _plan(self, op: Operation) -> Plan | None:
        if op.spec is None:
            self.writer.refused[f"operation {op.name}, which is not known"] = None
            return None
        plan = self.writer.plans.get(op.name)
        if plan is None:
            self.writer.refuse(f"operation {op.name}", OPS[op.name].since)
            return None
        for name in op.attributes:
            if name not in op.spec.attributes:
                self.writer.refused[f"attribute {name} of {op.name}, which it does not have"] = None
        for what, since in newer_parts(op, self.writer.version):
            self.writer.refuse(what, since)
        return plan

    def _results(self, out: bytearray, op: Operation, plan: Plan) -> None:
        results = op.results[: plan.results] if plan.added else op.results
        if plan.counted_results:
            put_varint(out, len(results))
        for value in results:
            put_varint(out, self.tables.type(value.type))

    def _flags(self, op: Operation, plan: Plan) -> int:
        flags = 0
        for name, _, bit in plan.attributes:
            flags |= bit if name in op.attributes else 0
        for name, bit in plan.units:
            flags |= bit if name in op.attributes else 0
        for size, bit in zip(op.segments or (), plan.operand_bits):
            flags |= bit if size else 0
        return flags

    def _attributes(self, out: bytearray, op: Operation, plan: Plan) -> None:
        for name, row, bit in plan.attributes:
            value = op.attribute(name)
            if bit and name not in op.attributes:
                continue
            if value is None and row.kind == "bool_array":
                value = DenseArrayAttr("i1", (0,) * len(op.operand_group("index")))
            assert value is not None, (op.name, name)
            self._put(out, value)

    def _put(self, out: bytearray, value: Attribute) -> None:
        """An attribute of a kind that the op's row gives, hence without a tag."""
        tables = self.tables
        if isinstance(value, EnumAttr):
            put_varint(out, enum_number(value))
        elif isinstance(value, IntegerAttr):
            put_varint(out, value.value & ((1 << 64) - 1))
        elif isinstance(value, BoolAttr):
            out.append(value.value)
        elif isinstance(value, (StringAttr, SymbolRefAttr)):
            put_varint(out, tables.string(value.value))
        elif isinstance(value, DenseElementsAttr):
            put_varint(out, tables.dense(value))
        elif isinstance(value, DenseArrayAttr):
            put_numbers(out, value.values, 4 if value.element == "i32" else 1)
        elif isinstance(value, OptimizationHintsAttr):
            tables.put_hints(out, value)
        elif isinstance(value, ArrayAttr):
            tables.put_array(out, value)
        else:
            tables.put_tagged(out, value)

    def _operands(self, out: bytearray, op: Operation, plan: Plan) -> None:
        numbers = [self.numbers[v] for v in op.operands]
        if plan.operands == "counted":
            put_varint(out, len(numbers))
        if plan.operands != "grouped":
            for number in numbers:
                put_varint(out, number)
            return
        assert op.segments is not None
        place = 0
        for row, size in zip(plan.spec.operands, op.segments):
            if row.arity == "*":
                put_varint(out, size)
            for number in numbers[place : place + size]:
                put_varint(out, number)
            place += size

    def _block(self, out: bytearray, block: Block) -> None:
        put_varint(out, len(block.arguments))
        for value in block.arguments:
            put_varint(out, self.tables.type(value.type))
        first = self.next
        self._define(block.arguments)
        put_varint(out, len(block.operations))
        for op in block.operations:
            self._operation(out, op)
        # Numbers are given anew behind the block: its values are not visible there.
        self.next = first
