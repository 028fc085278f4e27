"""Rules of control flow: what loops carry, what branches yield, where terminators stand.

Place in the flow: beside Module; imports `dialect`, `model`. Source of the facts: the op verifiers of the
dialect (NVIDIA/cuda-tile, 13.3) and, for `return` in a `loop`, tileirdisasm 13.5.37.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..dialect import OpSpec
from ..model import (
    FRAGMENT,
    Block,
    Entry,
    FunctionType,
    Operation,
    Region,
    TensorViewType,
    Type,
    TypeAttr,
    Value,
    ViewType,
)
from .rules import Found

# Terminator -> the operations that it leaves.
_LEAVES: dict[str, tuple[str, ...]] = {
    "return": ("entry", "testing$func"),
    "break": ("loop",),
    "continue": ("for", "loop"),
}
# Terminator -> the operations that may be in between. Compilers up to 13.3 do not take a `return` in a `loop`.
_THROUGH: dict[str, tuple[str, ...]] = {
    "return": ("if", "loop"),
    "break": ("if",),
    "continue": ("if",),
}
# Terminator -> the operations in whose regions it may stand.
_PARENTS: dict[str, tuple[str, ...]] = {
    "return": ("entry", "testing$func", "if", "loop"),
    "break": ("if", "loop"),
    "continue": ("for", "if", "loop"),
    "yield": ("if", "reduce", "scan"),
}


# -- blocks -----------------------------------------------------------------------------------------


def check_regions(op: Operation, spec: OpSpec) -> Found:
    """An operation has the regions of its row, and something in them."""
    if len(op.regions) != len(spec.regions):
        yield op, f"{op.name} has {len(op.regions)} regions, it takes {len(spec.regions)}"
    for name, region in zip(spec.regions, op.regions):
        # An `if` without else.
        if region.empty and name != "elseRegion":
            yield op, f"{op.name} has nothing in its region '{name}'"


def check_region(op: Operation, region: Region) -> Found:
    """A region has one block, which ends in its only terminator."""
    if op.name == FRAGMENT:
        for inner in region.block.operations:
            if inner.terminator:
                yield inner, f"{inner.name} has nothing around it to leave"
    if op.spec is None:
        return
    if len(region.blocks) > 1:
        yield op, f"a region of {op.name} has {len(region.blocks)} blocks, it takes one"
    for block in region.blocks:
        yield from _terminated(op, block)


def _terminated(op: Operation, block: Block) -> Found:
    # What an operation that is not known ends a block in is not known either.
    last = block.operations[-1] if block.operations else None
    if last is None or (last.spec is not None and not last.terminator):
        yield op, f"a region of {op.name} does not end in a terminator"
    for inner in block.operations:
        if not inner.terminator:
            continue
        if inner is not last:
            yield inner, f"{inner.name} must be the last operation of its block"
        if op.name not in _PARENTS[inner.name]:
            allowed = ", ".join(_PARENTS[inner.name])
            yield inner, f"{inner.name} stands in {op.name}, it belongs in {allowed}"


# -- terminators ------------------------------------------------------------------------------------


def check_terminator(op: Operation) -> Found:
    """A `return`, `break` or `continue` has something to leave, and gives it the values it wants."""
    if op.parent_op is None or op.parent_op.name not in _PARENTS[op.name]:
        return
    target = _left(op)
    if target is None:
        return
    if target.name not in _LEAVES[op.name]:
        wanted, through = " or ".join(_LEAVES[op.name]), " and ".join(_THROUGH[op.name])
        yield op, f"{op.name} leaves {wanted} through {through} only, {target.name} is in between"
        return
    if op.name == "return":
        yield from _gives(op, _returned(target), f"@{_symbol(target)}")
    elif op.name == "continue" and target.name == "loop":
        yield from _gives(op, [v.type for v in target.operands], target.name)
    else:
        yield from _gives(op, [v.type for v in target.results], target.name)


def _left(op: Operation) -> Operation | None:
    """The innermost operation around a terminator that it cannot pass; None where that is not known."""
    around = op.parent_op
    while around is not None and around.name in _THROUGH[op.name]:
        around = around.parent_op
    return around if around is None or around.spec is not None else None


def leaves_through_loop(op: Operation) -> bool:
    """Whether a `loop` is around a `return`."""
    around = op.parent_op
    while around is not None and around.name != "loop":
        around = around.parent_op
    return around is not None


def _returned(function: Operation) -> Sequence[Type]:
    type = function.attributes.get("function_type")
    if isinstance(type, TypeAttr) and isinstance(type.value, FunctionType):
        return type.value.results
    return ()


def _symbol(function: Operation) -> str:
    return function.symbol if isinstance(function, Entry) else function.name


def _gives(terminator: Operation, types: Sequence[Type], what: str) -> Found:
    """A terminator's operands must have the types that are wanted."""
    wrong = _difference([v.type for v in terminator.operands], types)
    if wrong is not None:
        given, wanted = wrong
        yield terminator, f"{terminator.name} gives {given}, {what} wants {wanted}"


def _difference(given: Sequence[Type], wanted: Sequence[Type]) -> tuple[str, str] | None:
    """How two lists of types differ: `1 values`, `0`, or `tile<f64> for value 0`, `tile<f32>`."""
    if len(given) != len(wanted):
        return f"{len(given)} values", str(len(wanted))
    for k, (one, other) in enumerate(zip(given, wanted)):
        if one is not other:
            return f"{one} for value {k}", str(other)
    return None


# -- loops and branches -----------------------------------------------------------------------------


def check_for(op: Operation) -> Found:
    initial = [v.type for v in op.operand_group("initValues")]
    results = [v.type for v in op.results]
    arguments = [v.type for v in op.regions[0].block.arguments]
    if arguments[:1] != [op.operands[0].type]:
        yield op, "the induction variable must have the type of the bounds"
    if results != initial:
        yield op, "the results of a for must have the types of its initial values"
    yield from _carried(op, initial, arguments[1:])


def check_loop(op: Operation) -> Found:
    initial = [v.type for v in op.operands]
    yield from _carried(op, initial, [v.type for v in op.regions[0].block.arguments])
    yield from _no_views(op, "result", op.results)


def _carried(op: Operation, initial: list[Type], arguments: list[Type]) -> Found:
    if arguments != initial:
        yield op, f"the body of {op.name} must take the types of the initial values"
    yield from _no_views(op, "carried value", op.operand_group("initValues"))


def _no_views(op: Operation, what: str, values: Sequence[Value]) -> Found:
    for k, value in enumerate(values):
        if isinstance(value.type, (TensorViewType, ViewType)):
            yield (
                op,
                f"{what} {k} of {op.name} is {value.type}: views cannot be carried or returned",
            )


def check_if(op: Operation) -> Found:
    results = [v.type for v in op.results]
    yield from _no_views(op, "result", op.results)
    for name, region in zip(("then", "else"), op.regions):
        last = region.block.terminator if region.blocks else None
        if last is not None and last.name == "yield":
            wrong = _difference([v.type for v in last.operands], results)
            if wrong is not None:
                given, wanted = wrong
                yield op, f"yield gives {given}, if wants {wanted} ({name} branch)"
    for region in op.regions:
        if region.blocks and region.block.arguments:
            yield op, "a branch of if takes no arguments"
    if results and op.regions[1].empty:
        yield op, "an if with results needs an else"


CHECKS: dict[str, Callable[[Operation], Found]] = {
    "return": check_terminator,
    "break": check_terminator,
    "continue": check_terminator,
    "for": check_for,
    "loop": check_loop,
    "if": check_if,
}
