"""Operations, values, blocks, regions, entries, globals and modules.

Place in the flow: the Module in the middle of bytes -> Module -> facts -> findings -> report. Imports
`types`, `attributes`, `locations`, `source`, `errors` and the op table of `dialect` (an operation knows its
row). Values know where they are defined and who uses them; operations are cheap objects with slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ..errors import Diagnostic
from ..source import Source, Span
from .attributes import Attribute, DenseElementsAttr, EnumAttr, OptimizationHintsAttr
from .locations import UNKNOWN, Location
from .types import Type

if TYPE_CHECKING:
    import networkx

    from ..dialect.spec import OpSpec


class _Spans(Protocol):
    """What knows where tokens stand."""

    def span(self, first: int, last: int | None = None) -> Span: ...


class _Locations(Protocol):
    """What has locations by number."""

    def location(self, index: int) -> Location: ...


# The opaque operation that holds what stands outside of an entry, in a module that was read with fragments.
FRAGMENT = "fragment"


class Value:
    """The result of an operation or an argument of a block.

    `name` is the name that the text used (`%0`), None for bytecode; printing does not use it.
    """

    __slots__ = ("index", "name", "owner", "type", "users")

    def __init__(self, type: Type, owner: Operation | Block, index: int, name: str | None = None):
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        # One entry for each operand slot that holds this value, in order of attachment.
        self.users: list[Operation] = []

    @property
    def defining_op(self) -> Operation | None:
        """The operation whose result this is; None for a block argument."""
        return self.owner if isinstance(self.owner, Operation) else None

    @property
    def uses(self) -> list[tuple[Operation, int]]:
        """Every (operation, operand index) that reads this value."""
        seen = dict.fromkeys(self.users)
        return [(op, i) for op in seen for i, v in enumerate(op.operands) if v is self]

    def replace_all_uses_with(self, other: Value) -> None:
        """Make every reader of this value read `other`."""
        if other is self:
            return
        for op in dict.fromkeys(self.users):
            op.operands = [other if value is self else value for value in op.operands]
        other.users += self.users
        self.users = []

    def __repr__(self) -> str:
        return f"<Value {self.name or '%?'}: {self.type}>"


class Operation:
    """One operation.

    `name` is the mnemonic without the dialect's prefix (`mmaf`); `spec` its row in the dialect table,
    None for an opaque operation, whose text is in `opaque_text`. Attributes at their default are not
    stored: `attribute()` gives the default back.
    """

    __slots__ = (
        "_first",
        "_last",
        "_location",
        "_tokens",
        "attributes",
        "name",
        "opaque_text",
        "operands",
        "parent",
        "regions",
        "results",
        "segments",
        "spec",
    )

    def __init__(
        self,
        name: str,
        spec: OpSpec | None,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        segments: tuple[int, ...] | None = None,
        location: Location | tuple[_Locations, int] = UNKNOWN,
    ):
        self.name = name
        self.spec = spec
        self.operands = list(operands)
        for value in operands:
            value.users.append(self)
        # A loop, where a comprehension would cost a call: most operations have one result.
        results: list[Value] = []
        for result_type in result_types:
            results.append(Value(result_type, self, len(results)))
        self.results = results
        self.attributes = attributes if attributes is not None else {}
        self.regions: tuple[Region, ...] = ()
        if regions:
            self.regions = tuple(regions)
            for region in regions:
                region.parent = self
        # How many operands each operand group of the spec has; None where every group has one.
        self.segments = segments
        self.parent: Block | None = None
        # (what has it, number) until it is asked for: decoding debug information costs more than the rest
        # of an operation, and little of it is ever looked at.
        self._location = location
        self.opaque_text: str | None = None
        # The text reader's tokens, the first and the last of them: they find the span when it is asked for.
        self._tokens: _Spans | None = None
        self._first = 0
        self._last = 0

    # -- reading ------------------------------------------------------------------------------------

    @property
    def location(self) -> Location:
        """Where the producer says the operation comes from.

        Raises:
            BytecodeError: the debug information that the operation points to is not valid.
        """
        found = self._location
        if isinstance(found, tuple):
            found = self._location = found[0].location(found[1])
        return found

    @location.setter
    def location(self, location: Location) -> None:
        self._location = location

    @property
    def span(self) -> Span | None:
        """Where the operation stands in the text it was read from; None for bytecode."""
        return None if self._tokens is None else self._tokens.span(self._first, self._last)

    @property
    def result(self) -> Value:
        """The first result.

        Raises:
            IndexError: the operation has no results.
        """
        return self.results[0]

    def operand(self, name: str) -> Value | None:
        """The operand in the single or optional group `name`; None where it is absent.

        Raises:
            KeyError: the operation has no such group.
        """
        group = self.operand_group(name)
        return group[0] if group else None

    def operand_group(self, name: str) -> list[Value]:
        """The operands in group `name` (several for a variadic group).

        Raises:
            KeyError: the operation has no such group.
        """
        if self.spec is None:
            raise KeyError(f"{self.name}: operands of an opaque operation have no names")
        index = self.spec.operand_index(name)
        if self.segments is None:
            return self.operands[index : index + 1]
        start = sum(self.segments[:index])
        return self.operands[start : start + self.segments[index]]

    def result_named(self, name: str) -> Value:
        """The result called `name` in the dialect table.

        Raises:
            KeyError: the operation has no such result.
        """
        if self.spec is None:
            raise KeyError(f"{self.name}: results of an opaque operation have no names")
        return self.results[self.spec.result_index(name)]

    def attribute(self, name: str) -> Attribute | None:
        """The attribute `name`: what the operation says, else the dialect's default, else None."""
        found = self.attributes.get(name)
        if found is None and self.spec is not None:
            return self.spec.default(name)
        return found

    def keyword(self, name: str) -> str | None:
        """The keyword of an enum attribute (`rounding_mode` -> "approx"), default included."""
        found = self.attribute(name)
        return found.value if isinstance(found, EnumAttr) else None

    def has(self, flag: str) -> bool:
        """Whether the unit attribute `flag` is set."""
        return flag in self.attributes

    @property
    def hints(self) -> OptimizationHintsAttr | None:
        """The optimization hints as written, unresolved."""
        found = self.attributes.get("optimization_hints")
        return found if isinstance(found, OptimizationHintsAttr) else None

    @property
    def parent_op(self) -> Operation | None:
        """The operation around this one."""
        region = self.parent.parent if self.parent else None
        return region.parent if region else None

    @property
    def loop_depth(self) -> int:
        """How many `for` and `loop` operations are around this one."""
        depth, op = 0, self.parent_op
        while op is not None:
            depth += op.name in ("for", "loop")
            op = op.parent_op
        return depth

    @property
    def terminator(self) -> bool:
        """Whether it ends a block."""
        return self.spec is not None and self.spec.is_terminator

    def walk(self) -> Iterator[Operation]:
        """This operation and everything inside it, each before its regions, in text order."""
        yield self
        # Not by recursion, which would hand each operation up through every region around it.
        around = [_inside(self)]
        while around:
            for op in around[-1]:
                yield op
                if op.regions:
                    around.append(_inside(op))
                    break
            else:
                around.pop()

    def __repr__(self) -> str:
        return f"<Operation {self.name} at {self.span.where() if self.span else '?'}>"

    # -- editing ------------------------------------------------------------------------------------

    def set_operand(self, index: int, value: Value) -> None:
        """Make operand slot `index` read `value`."""
        _drop_user(self.operands[index], self)
        self.operands[index] = value
        value.users.append(self)

    def set_operands(self, operands: Sequence[Value], segments: tuple[int, ...] | None) -> None:
        """Replace all operands, with the sizes of the operand groups."""
        for value in reversed(self.operands):
            _drop_user(value, self)
        self.operands = list(operands)
        self.segments = segments
        for value in operands:
            value.users.append(self)

    def clone(self, values: dict[Value, Value]) -> Operation:
        """A copy, with everything inside it, that stands nowhere yet.

        Args:
            values: value -> what the copy reads in its place (a value that is not in it, itself); what
                the copy defines is added.
        """
        operands = [values.get(value, value) for value in self.operands]
        regions = [region.clone(values) for region in self.regions]
        types = [result.type for result in self.results]
        copy = type(self)(
            self.name,
            self.spec,
            operands,
            types,
            dict(self.attributes),
            regions,
            self.segments,
            self._location,
        )
        copy.opaque_text = self.opaque_text
        copy.place_like(self)
        values.update(zip(self.results, copy.results))
        return copy

    def place(self, tokens: _Spans, first: int, last: int) -> None:
        """Say where the operation stands in a text: from one token to another."""
        self._tokens, self._first, self._last = tokens, first, last

    def place_like(self, other: Operation) -> None:
        """Say that the operation stands where another does."""
        self._tokens, self._first, self._last = other._tokens, other._first, other._last

    def detach(self) -> None:
        """Take the operation out of its block; it keeps its operands."""
        if self.parent is not None:
            self.parent.operations.remove(self)
            self.parent = None

    def erase(self) -> None:
        """Take the operation out of its block and drop its operands.

        Raises:
            ValueError: a result is still used.
        """
        if any(result.users for result in self.results):
            raise ValueError(f"cannot erase {self.name}: a result is still used")
        self.detach()
        for op in self.walk():
            op.set_operands((), None)


def _inside(op: Operation) -> Iterator[Operation]:
    """The operations in the regions of another, without those inside of them."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.operations


class Block:
    """A list of operations with arguments; `label` is the text's label (`^bb0`) where it had one."""

    __slots__ = ("arguments", "label", "operations", "parent")

    def __init__(self, argument_types: Sequence[Type] = ()):
        self.arguments = [Value(t, self, i) for i, t in enumerate(argument_types)]
        self.operations: list[Operation] = []
        self.parent: Region | None = None
        self.label: str | None = None

    def add(self, op: Operation) -> Operation:
        """Append an operation."""
        op.parent = self
        self.operations.append(op)
        return op

    def insert_before(self, anchor: Operation, op: Operation) -> Operation:
        """Insert an operation before `anchor`, which must be in this block."""
        self.operations.insert(self.operations.index(anchor), op)
        op.parent = self
        return op

    @property
    def terminator(self) -> Operation | None:
        """The last operation where it is a terminator."""
        last = self.operations[-1] if self.operations else None
        return last if last is not None and last.terminator else None


class Region:
    """The blocks inside an operation; in cuda_tile there is at most one."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Sequence[Block] = ()):
        self.blocks = list(blocks)
        for block in blocks:
            block.parent = self
        self.parent: Operation | None = None

    def clone(self, values: dict[Value, Value]) -> Region:
        """A copy of the blocks; see `Operation.clone`."""
        blocks = []
        for block in self.blocks:
            copy = Block([argument.type for argument in block.arguments])
            values.update(zip(block.arguments, copy.arguments))
            for op in block.operations:
                copy.add(op.clone(values))
            blocks.append(copy)
        return Region(blocks)

    @property
    def block(self) -> Block:
        """The only block.

        Raises:
            IndexError: the region is empty.
        """
        return self.blocks[0]

    @property
    def empty(self) -> bool:
        """Whether the region has no blocks (an `if` without `else`)."""
        return not self.blocks


class Entry(Operation):
    """A kernel: symbol, arguments, body, hints."""

    __slots__ = ()

    @property
    def symbol(self) -> str:
        """Its name, mangled as its producer did."""
        return _symbol(self)

    @property
    def arguments(self) -> list[Value]:
        """The kernel's parameters."""
        return self.regions[0].block.arguments

    @property
    def body(self) -> Block:
        """Its operations."""
        return self.regions[0].block


class Global(Operation):
    """A module-level buffer: symbol and initial value."""

    __slots__ = ()

    @property
    def symbol(self) -> str:
        """Its name."""
        return _symbol(self)

    @property
    def value(self) -> DenseElementsAttr:
        """What it holds at the start."""
        found = self.attributes["value"]
        assert isinstance(found, DenseElementsAttr)
        return found


class Module:
    """Globals and entries in file order.

    `name` is the symbol of the `cuda_tile.module` around them, None where the text had no wrapper.
    """

    __slots__ = (
        "attributes",
        "body",
        "bytecode_version",
        "location",
        "name",
        "producer",
        "source",
        "warnings",
    )

    def __init__(self, name: str | None = None, source: Source | None = None):
        self.name = name
        # The version of the bytecode that the module was read from ("13.3"); None for text.
        self.bytecode_version: str | None = None
        self.producer: str | None = None
        self.attributes: dict[str, Attribute] = {}
        self.body = Block()
        self.location: Location = UNKNOWN
        self.source = source
        # What the reader wants known: opaque operations, text passed over.
        self.warnings: list[Diagnostic] = []

    @property
    def operations(self) -> list[Operation]:
        """What is at the top: entries, globals, and operations that are not known."""
        return self.body.operations

    @property
    def entries(self) -> list[Entry]:
        """The kernels, in order."""
        return [op for op in self.body.operations if isinstance(op, Entry)]

    @property
    def globals(self) -> list[Global]:
        """The globals, in order."""
        return [op for op in self.body.operations if isinstance(op, Global)]

    def entry(self, symbol: str) -> Entry | None:
        """The entry with exactly this symbol."""
        return next((e for e in self.entries if e.symbol == symbol), None)

    def walk(self) -> Iterator[Operation]:
        """Every operation, each before its regions, in text order."""
        for op in self.body.operations:
            yield from op.walk()

    def find(self, *names: str) -> Iterator[Operation]:
        """Every operation with one of these mnemonics, in text order."""
        return (op for op in self.walk() if op.name in names)

    def clone(self) -> Module:
        """A copy that shares types, attributes and locations, and nothing that can change."""
        copy = Module(self.name, self.source)
        copy.bytecode_version, copy.producer = self.bytecode_version, self.producer
        copy.attributes, copy.location = dict(self.attributes), self.location
        copy.warnings = list(self.warnings)
        for op in self.body.operations:
            copy.body.add(op.clone({}))
        return copy

    def to_text(
        self, *, debug_info: bool = False, wrap: bool | None = None, generic: bool = False
    ) -> str:
        """The module as text.

        Args:
            debug_info: print locations (`-g` of the official disassembler).
            wrap: print `cuda_tile.module @name {..}` around it; None: as it was read.
            generic: MLIR's generic form (always wrapped).
        """
        # The printer needs the model: it is imported when it is needed.
        from ..write import module_text

        return module_text(self, debug_info=debug_info, wrap=wrap, generic=generic)

    def to_bytecode(self, version: str | None = None) -> bytes:
        """The module as bytecode.

        Args:
            version: "13.1" to "13.5"; None: the version the module was read from, for text the oldest
                one that can say everything in it.

        Raises:
            ConversionError: the version cannot say something in the module; all of it is named.
        """
        from ..write.bytecode import bytecode

        return bytecode(self, version)

    def verify(
        self,
        *,
        strict_hints: bool = False,
        bytecode_version: str | None = None,
        arch: str | None = None,
    ) -> list[Diagnostic]:
        """Everything in the module that breaks a rule of the dialect; no errors for a valid one.

        Args:
            strict_hints: make hints that nobody knows errors; they are warnings otherwise.
            bytecode_version: "13.1" to "13.5": also what this version does not take.
            arch: a target such as "sm_90": also what it does not have.

        Raises:
            UsageError: there is no such version, or no such target.
        """
        # The rules need the model: they are imported when they are needed.
        from ..verify import verify

        return verify(self, strict_hints=strict_hints, bytecode_version=bytecode_version, arch=arch)

    def to_networkx(
        self, entry: str | None = None, tokens: bool = True
    ) -> networkx.MultiDiGraph[str]:
        """The operations as a graph of networkx; `bridges.to_networkx` describes it.

        Args:
            entry: take only globals, and entries whose symbol contains this.
            tokens: also the edges along which tokens run.

        Raises:
            UsageError: networkx is not installed, or no entry has such a symbol.
        """
        from ..bridges.graph import to_networkx

        return to_networkx(self, entry, tokens)

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        from ..bridges.notebook import module_html

        return module_html(self)

    def __repr__(self) -> str:
        return (
            f"<Module @{self.name or '-'}: {', '.join(e.symbol for e in self.entries) or 'empty'}>"
        )


def _drop_user(value: Value, op: Operation) -> None:
    # Erasing goes forwards or backwards: the user is the first or the last one as a rule.
    if value.users[-1] is op:
        value.users.pop()
    else:
        value.users.remove(op)


def _symbol(op: Operation) -> str:
    return op.attributes["sym_name"].value  # type: ignore[attr-defined, no-any-return]
