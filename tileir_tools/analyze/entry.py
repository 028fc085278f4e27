"""All facts about a module, put together.

Place in the flow: Module -> **facts**; imports the rest of `analyze`.
"""

from __future__ import annotations

from collections import Counter

from ..collector import without_collecting
from ..model import (
    ArrayAttr,
    BoolAttr,
    Entry,
    EnumAttr,
    Global,
    IntegerAttr,
    Module,
    Operation,
    TileType,
)
from ..write.literals import attribute_text
from .expressions import (
    Expressions,
    constant_value,
    feeding_chain,
    following_chain,
    through_assumes,
)
from .facts import (
    AssumeFact,
    ConversionFact,
    EntryFacts,
    GlobalFact,
    HintFact,
    LoopFact,
    MmaFact,
    ModuleFacts,
    ReductionFact,
    TileFact,
)
from .fingerprint import examine
from .hints import check_arch, raw_hints, resolved_hints
from .mapping import block_mapping
from .memory import is_memory_op, memory_fact, where
from .symbols import demangle

_CONVERSIONS = ("ftof", "ftoi", "itof", "exti", "trunci", "bitcast", "int_to_ptr", "ptr_to_int")


@without_collecting
def module_facts(module: Module, arch: str | None, with_fingerprints: bool) -> ModuleFacts:
    """Everything that is known about a module; `analyze` describes it. Raises UsageError."""
    check_arch(arch)
    return ModuleFacts(
        module.name,
        module.producer,
        arch,
        tuple(_global_fact(g) for g in module.globals),
        tuple(_entry_facts(e, module, arch, with_fingerprints) for e in module.entries),
    )


def _entry_facts(
    entry: Entry, module: Module, arch: str | None, with_fingerprints: bool
) -> EntryFacts:
    expressions = Expressions(entry)
    symbol = demangle(entry.symbol)
    everything = list(entry.walk())[1:]
    # Opaque operations may carry the name of a known one (printed incompletely): nothing is read off them.
    ops = [op for op in everything if op.spec is not None]
    return EntryFacts(
        symbol=entry.symbol,
        function=symbol.function,
        convention=symbol.convention,
        signature=str(symbol),
        constants=tuple(symbol.constants),
        parameters=tuple((expressions.name(v), str(v.type)) for v in entry.arguments),
        where=where(entry),
        hints=raw_hints(entry.hints),
        resolved_hints=resolved_hints(entry.hints, arch),
        written_hints=_written_hints([entry, *ops]),
        operations=dict(Counter(op.name for op in everything).most_common()),
        modifiers=dict(Counter(m for op in ops for m in _modifiers(op))),
        tiles=_tiles(ops),
        memory=tuple(memory_fact(op, expressions, arch) for op in ops if is_memory_op(op)),
        mma=tuple(_mma(op) for op in ops if op.name in ("mmaf", "mmai", "mmaf_scaled")),
        conversions=tuple(_conversion(op) for op in ops if op.name in _CONVERSIONS),
        reductions=tuple(_reduction(op) for op in ops if op.name in ("reduce", "scan")),
        loops=tuple(_loop(op, expressions) for op in ops if op.name in ("for", "loop")),
        assumes=_assumes(ops, expressions),
        block_mapping=block_mapping(entry, expressions),
        fingerprints=examine(entry, module, arch)[0] if with_fingerprints else None,
    )


def _written_hints(ops: list[Operation]) -> tuple[HintFact, ...]:
    return tuple(
        HintFact(op.name, where(op), arch, key, value)
        for op in ops
        for arch, values in raw_hints(op.hints).items()
        for key, value in values.items()
    )


def _global_fact(op: Global) -> GlobalFact:
    alignment = op.attribute("alignment")
    number = alignment.value if isinstance(alignment, IntegerAttr) else 0
    return GlobalFact(op.symbol, str(op.value.type), number, op.has("constant"))


def _modifiers(op: Operation) -> list[str]:
    found = [f"{op.name} flush_to_zero"] if op.has("flush_to_zero") else []
    # Attributes at their default are not stored.
    rounding = op.attributes.get("rounding_mode")
    if isinstance(rounding, EnumAttr):
        found.append(f"{op.name} rounding<{rounding.value}>")
    return found


def _tiles(ops: list[Operation]) -> tuple[TileFact, ...]:
    """The tile types that are no scalars, largest first."""
    counts = Counter(
        v.type for op in ops for v in op.results if isinstance(v.type, TileType) and v.type.shape
    )
    facts = [
        TileFact(str(t), t.bytes, count) for t, count in counts.items() if isinstance(t, TileType)
    ]
    return tuple(sorted(facts, key=lambda f: (-f.bytes, f.type)))


def _mma(op: Operation) -> MmaFact:
    lhs, rhs, accumulator = op.operands[:3]
    source = through_assumes(accumulator)
    loop = op.parent_op
    carried = (
        not isinstance(source.owner, Operation)
        and loop is not None
        and loop.name in ("for", "loop")
        and source in loop.regions[0].block.arguments
    )
    return MmaFact(
        op.name,
        where(op),
        str(lhs.type),
        str(rhs.type),
        str(accumulator.type),
        op.has("fast_acc"),
        carried,
        feeding_chain(lhs),
        feeding_chain(rhs),
        following_chain(op.results[0]),
        op.loop_depth,
    )


def _conversion(op: Operation) -> ConversionFact:
    return ConversionFact(
        op.name,
        where(op),
        str(op.operands[0].type),
        str(op.results[0].type),
        op.keyword("rounding_mode"),
        op.keyword("signedness"),
        op.loop_depth,
    )


def _reduction(op: Operation) -> ReductionFact:
    dim, identities = op.attributes["dim"], op.attributes["identities"]
    reverse = op.attribute("reverse")
    items = identities.items if isinstance(identities, ArrayAttr) else ()
    body = op.regions[0].block.operations if op.regions and op.regions[0].blocks else []
    return ReductionFact(
        op.name,
        where(op),
        dim.value if isinstance(dim, IntegerAttr) else 0,
        isinstance(reverse, BoolAttr) and reverse.value,
        tuple(attribute_text(item) for item in items),
        tuple(inner.name for inner in body if not inner.terminator),
        tuple(str(v.type) for v in op.operands),
        tuple(str(v.type) for v in op.results),
        op.loop_depth,
    )


def _loop(op: Operation, expressions: Expressions) -> LoopFact:
    carried = tuple(str(v.type) for v in op.operand_group("initValues"))
    if op.name == "loop":
        return LoopFact(op.name, where(op), None, None, None, None, carried, op.loop_depth)
    bounds = op.operands[:3]
    lower, upper, step = (expressions.expression(v) for v in bounds)
    return LoopFact(op.name, where(op), lower, upper, step, _trip_count(op), carried, op.loop_depth)


def _trip_count(op: Operation) -> int | None:
    """The number of iterations where bounds and step are constants and the step is positive."""
    lower, upper, step = (constant_value(v) for v in op.operands[:3])
    if lower is None or upper is None or step is None or step <= 0:
        return None
    if op.has("unsignedCmp") and (lower < 0 or upper < 0):
        return None
    return max(0, -(-(upper - lower) // step))


def _assumes(ops: list[Operation], expressions: Expressions) -> tuple[AssumeFact, ...]:
    """The promises about each value, chains of assumes put together."""
    found: dict[str, tuple[str, list[str]]] = {}
    for op in ops:
        if op.name != "assume":
            continue
        value = through_assumes(op.operands[0])
        name = expressions.name(value)
        about = expressions.expression(value)
        predicates = found.setdefault(name, (about, []))[1]
        text = str(op.attributes["predicate"])
        if text not in predicates:
            predicates.append(text)
    return tuple(AssumeFact(n, about, tuple(p)) for n, (about, p) in found.items())
