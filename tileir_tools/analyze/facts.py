"""What is known about an entry, as plain records.

Place in the flow: Module -> **facts** -> findings -> report; imports nothing of the package. Records hold
numbers, strings and tuples only, so that they print, compare, pickle and turn into JSON without help.
Values are named as the printed module names them (`%arg0`, `%pview`); sizes are in elements, memory in
bytes, lines and columns count from 1.
"""

from __future__ import annotations

from typing import NamedTuple

HintValue = int | bool | str


class Where(NamedTuple):
    """Where an operation stands in the text it was read from (0, 0 for bytecode), and in the
    producer's source where debug information tells it."""

    line: int
    column: int
    origin: tuple[str, int] | None


class MemoryFact(NamedTuple):
    """One load, store or atomic.

    Attributes:
        op: mnemonic.
        where: its place.
        access: "load", "store" or "atomic".
        family: "view" or "pointer".
        view: kind of view ("partition_view"..), None for pointers.
        base: what the address comes from: an argument (`%arg0`), a global, an allocation.
        tile: shape of what is moved.
        element: element type.
        bytes: bytes moved, without regard to masks.
        indices: what the view is indexed with, as short expressions.
        shape, strides: of the tensor view; None is dynamic.
        dim_map, traversal_strides, sparse_dim: of the view, where its kind has them.
        padding: what elements outside the tensor read as; None: undefined.
        masked: whether a mask operand is there.
        inbounds: dimensions that are promised to stay inside.
        latency, allow_tma: hints resolved for the target; latency None is absent, allow_tma is true
            where absent.
        ordering, scope: memory ordering semantics and scope.
        loop_depth: loops around it.
        token_from: operations whose tokens it waits for, each with its line; empty: none.
    """

    op: str
    where: Where
    access: str
    family: str
    view: str | None
    base: str | None
    tile: tuple[int, ...]
    element: str
    bytes: int
    indices: tuple[str, ...]
    shape: tuple[int | None, ...] | None
    strides: tuple[int | None, ...] | None
    dim_map: tuple[int, ...] | None
    traversal_strides: tuple[int, ...] | None
    sparse_dim: int | None
    padding: str | None
    masked: bool
    inbounds: tuple[int, ...]
    latency: HintValue | None
    allow_tma: HintValue | None
    ordering: str | None
    scope: str | None
    loop_depth: int
    token_from: tuple[str, ...]


class MmaFact(NamedTuple):
    """One matrix product.

    `lhs`, `rhs`, `accumulator` are types; the chains say what feeds each operand, nearest first, back to
    a load or another source; `result_chain` what happens to the result up to a store;
    `accumulator_carried` whether the loop carries the accumulator.
    """

    op: str
    where: Where
    lhs: str
    rhs: str
    accumulator: str
    fast_acc: bool
    accumulator_carried: bool
    lhs_chain: tuple[str, ...]
    rhs_chain: tuple[str, ...]
    result_chain: tuple[str, ...]
    loop_depth: int


class ConversionFact(NamedTuple):
    """One conversion between element types; `rounding` and `signedness` None where it has none."""

    op: str
    where: Where
    source: str
    result: str
    rounding: str | None
    signedness: str | None
    loop_depth: int


class ReductionFact(NamedTuple):
    """One reduce or scan: dimension, identities as text, the operations of its body in order."""

    op: str
    where: Where
    dim: int
    reverse: bool
    identities: tuple[str, ...]
    body: tuple[str, ...]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    loop_depth: int


class LoopFact(NamedTuple):
    """One loop: bounds and step as short expressions (None for `loop`), number of iterations where it
    is constant, types of the values it carries, loops around it."""

    op: str
    where: Where
    lower: str | None
    upper: str | None
    step: str | None
    trip_count: int | None
    carried: tuple[str, ...]
    depth: int


class AssumeFact(NamedTuple):
    """Promises about one value: its name, what it is, the predicates."""

    value: str
    about: str
    predicates: tuple[str, ...]


class BlockMapping(NamedTuple):
    """How one block id becomes indices.

    `axis` is "x", "y" or "z"; `indices` are expressions of the memory indices that depend on it;
    `swizzled` whether a division or remainder is on the way; `persistent` whether it starts a loop that
    steps by the grid size.
    """

    axis: str
    indices: tuple[str, ...]
    swizzled: bool
    persistent: bool


class HintFact(NamedTuple):
    """One hint as it is written: at which operation (`entry` for the entry itself), for which target
    (`default` for all), which key, which value."""

    op: str
    where: Where
    arch: str
    key: str
    value: HintValue


class TileFact(NamedTuple):
    """One tile type of the entry: type, bytes, number of values that have it."""

    type: str
    bytes: int
    values: int


class Fingerprints(NamedTuple):
    """One hash for each level at which two kernels can be equal, from the finest to the coarsest.

    Equal at one level means equal at all that follow; `levels` says what each level forgets.
    """

    exact: str
    names: str
    hints: str
    dtype: str
    sizes: str
    structure: str


class EntryFacts(NamedTuple):
    """Everything about one entry.

    `hints` are as written (arch -> key -> value), `resolved_hints` for the target that was asked for;
    `written_hints` are those of the operations too, in text order;
    `parameters` are (name, type); `constants` what the symbol says was compiled in. `modifiers` counts
    the floating-point operations that round in another way than their default or flush subnormal numbers
    (`exp2 flush_to_zero`). `fingerprints` is None where they were not asked for.
    """

    symbol: str
    function: str
    convention: str
    signature: str
    constants: tuple[object, ...]
    parameters: tuple[tuple[str, str], ...]
    where: Where
    hints: dict[str, dict[str, HintValue]]
    resolved_hints: dict[str, HintValue]
    written_hints: tuple[HintFact, ...]
    operations: dict[str, int]
    modifiers: dict[str, int]
    tiles: tuple[TileFact, ...]
    memory: tuple[MemoryFact, ...]
    mma: tuple[MmaFact, ...]
    conversions: tuple[ConversionFact, ...]
    reductions: tuple[ReductionFact, ...]
    loops: tuple[LoopFact, ...]
    assumes: tuple[AssumeFact, ...]
    block_mapping: tuple[BlockMapping, ...]
    fingerprints: Fingerprints | None


class GlobalFact(NamedTuple):
    """One global: symbol, type of its value, alignment in bytes (0: natural), whether constant."""

    symbol: str
    type: str
    alignment: int
    constant: bool


class ModuleFacts(NamedTuple):
    """Everything about one module; `arch` is the target for which hints are resolved."""

    name: str | None
    producer: str | None
    arch: str | None
    globals: tuple[GlobalFact, ...]
    entries: tuple[EntryFacts, ...]
