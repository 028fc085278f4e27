"""Our own form for comparing: `--normalize`.

Place in the flow: part of transform; imports the other passes, `build`, `model`. After it, two kernels that
differ only in names, locations, the order of independent operations without effects, equal or dead
operations, constants on the left of a commutative operation, or the way assumptions are spread over a value,
print as the same text. Operations with effects keep their order, and nothing moves in or out of a region.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..collector import without_collecting
from ..model import (
    UNKNOWN,
    Attribute,
    Block,
    BoundedAttr,
    DenseElementsAttr,
    DivByAttr,
    Module,
    Operation,
    Value,
)
from .build import make
from .canonical_form import canonicalize
from .common_subexpressions import cse
from .dead_code import dce
from .effects import has_no_effect
from .matching import constant_value, producer


@without_collecting
def normalize(module: Module) -> None:
    """Bring every entry into the form; see `transform.normalize`."""
    strip_debug(module)
    # Each can make work for the others, until there is none left.
    while True:
        changed = [step(module) for step in _STEPS]
        if not any(changed):
            break
    for op in module.operations:
        _order(op)


def strip_debug(module: Module) -> bool:
    """Forget every location; see `transform.strip_debug`."""
    changed = module.location is not UNKNOWN
    module.location = UNKNOWN
    for op in module.walk():
        changed = changed or op.location is not UNKNOWN
        op.location = UNKNOWN
    return changed


def _constants_right(module: Module) -> bool:
    changed = False
    for op in module.walk():
        if op.spec is None or "commutative" not in op.spec.traits:
            continue
        left, right = op.operands[:2]
        if producer(left, "constant") is not None and producer(right, "constant") is None:
            op.set_operands([right, left, *op.operands[2:]], op.segments)
            changed = True
    return changed


# -- assumptions ------------------------------------------------------------------------------------


def _merge_all(module: Module) -> bool:
    merged: set[Operation] = set()
    for op in module.operations:
        for region in op.regions:
            for block in region.blocks:
                _merge_assumes(block, merged)
    return bool(merged)


def _merge_assumes(block: Block, merged: set[Operation]) -> None:
    """One chain of assumptions behind each value, read by everything that reads the value.

    Only assumptions in the block that defines the value: one inside a branch holds only there. What
    is replaced is added to `merged`.
    """
    ops: list[Operation] = []
    for value in block.arguments:
        ops += _chain(value, block, merged)
    for op in block.operations:
        if op in merged:
            continue
        ops.append(op)
        for value in op.results:
            ops += _chain(value, block, merged)
        for region in op.regions:
            for inner in region.blocks:
                _merge_assumes(inner, merged)
    block.operations = ops
    for op in ops:
        op.parent = block


def _chain(value: Value, block: Block, merged: set[Operation]) -> list[Operation]:
    """The new assumptions about a value in the place of the old ones."""
    old = list(_assumes_of(value, block))
    predicates = _merged([op.attributes["predicate"] for op in old], constant_value(value))
    if predicates == [op.attributes["predicate"] for op in old] and _is_chain(value, old):
        return []
    merged.update(old)
    for op in old:
        op.result.replace_all_uses_with(value)
    for op in old:
        op.set_operands((), None)
        op.parent = None
    readers, value.users = value.users, []
    chain: list[Operation] = []
    last = value
    for predicate in predicates:
        chain.append(make("assume", (last,), (value.type,), UNKNOWN, {"predicate": predicate}))
        last = chain[-1].result
    for reader in dict.fromkeys(readers):
        reader.operands = [last if v is value else v for v in reader.operands]
    last.users += readers
    return chain


def _is_chain(value: Value, assumes: list[Operation]) -> bool:
    """Whether nothing reads a value but the first assumption, nothing that but the second.."""
    for op in assumes:
        if value.users != [op]:
            return False
        value = op.result
    return True


def _assumes_of(value: Value, block: Block) -> Iterator[Operation]:
    """The assumptions about a value in a block, one on the other or side by side."""
    for user in dict.fromkeys(value.users):
        if user.name == "assume" and user.parent is block:
            yield user
            yield from _assumes_of(user.result, block)


def _merged(predicates: list[Attribute], constant: DenseElementsAttr | None) -> list[Attribute]:
    """What several assumptions about one value say together, in an order of their own.

    What they say truly of a constant says nothing.
    """
    divisor, lower, upper = 1, None, None
    others: dict[Attribute, None] = {}
    for predicate in predicates:
        if constant is not None and _is_true(predicate, constant):
            continue
        if isinstance(predicate, DivByAttr) and predicate.every is None:
            divisor = math.lcm(divisor, predicate.divisor)
        elif isinstance(predicate, BoundedAttr):
            lowers = [b for b in (lower, predicate.lower) if b is not None]
            uppers = [b for b in (upper, predicate.upper) if b is not None]
            lower, upper = max(lowers, default=None), min(uppers, default=None)
        else:
            others[predicate] = None
    found: list[Attribute] = []
    if lower is not None or upper is not None:
        found.append(BoundedAttr(lower, upper))
    if divisor > 1:
        found.append(DivByAttr(divisor))
    return found + sorted(others, key=repr)


def _is_true(predicate: Attribute, constant: DenseElementsAttr) -> bool:
    if isinstance(predicate, DivByAttr):
        return predicate.every is None and all(v % predicate.divisor == 0 for v in constant.raw)
    if isinstance(predicate, BoundedAttr):
        low = -math.inf if predicate.lower is None else predicate.lower
        high = math.inf if predicate.upper is None else predicate.upper
        return all(low <= v <= high for v in constant.raw)
    return constant.is_splat


_STEPS = (dce, canonicalize, cse, _constants_right, _merge_all)


# -- order ------------------------------------------------------------------------------------------


def _order(op: Operation) -> None:
    """Every operation that can move stands right before the first one that needs it."""
    for region in op.regions:
        for block in region.blocks:
            # The order inside says in which order what is outside is needed.
            for inner in block.operations:
                _order(inner)
            ordered: dict[Operation, None] = {}
            for anchor in block.operations:
                if not _movable(anchor):
                    _place(anchor, block, ordered)
            assert len(ordered) == len(block.operations)
            block.operations = list(ordered)


def _movable(op: Operation) -> bool:
    return op.name == "assume" or (not op.terminator and has_no_effect(op))


def _place(op: Operation, block: Block, ordered: dict[Operation, None]) -> None:
    """Put an operation behind what it needs of its block, in the order in which it reads that."""
    # A stack of (operation, what it still waits for): chains of operations can be long.
    stack = [(op, _needs(op, block))]
    while stack:
        current, needs = stack[-1]
        waiting = next((need for need in needs if need not in ordered), None)
        if waiting is None:
            ordered[current] = None
            stack.pop()
        else:
            stack.append((waiting, _needs(waiting, block)))


def _needs(op: Operation, block: Block) -> Iterator[Operation]:
    """What gives an operation, and those inside it, their operands, as far as it is in a block."""
    for inner in op.walk():
        for value in inner.operands:
            producer_op = value.defining_op
            if producer_op is not None and producer_op.parent is block:
                yield producer_op
