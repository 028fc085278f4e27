"""Differences that can be taken over from the reference, as edits of the generated module.

Place in the flow: findings -> **edits** -> what-if; imports `correspond`, `model`, `transform.build`. An edit
names operations by their number in `module.walk()`, so that it can be made in any copy of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..model import (
    Attribute,
    Entry,
    GatherScatterViewType,
    Module,
    Operation,
    PartitionViewType,
    StridedViewType,
    Type,
    Value,
    ViewType,
)
from .correspond import Correspondence

_Change = Callable[[Sequence[Operation]], None]


class Edit(NamedTuple):
    """One difference that can be taken over.

    Attributes:
        name: what is taken over, and of which operation.
        kind: "hints", "padding", "rounding", "flush_to_zero", "nan", "overflow", "ordering", "constant"
            or "assume".
        change: makes it in a copy, given the operations of the copy in the order of `walk()`.
    """

    name: str
    kind: str
    change: _Change


# Kind -> the attributes that are taken over together.
_ATTRIBUTES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("hints", ("optimization_hints",)),
    ("rounding", ("rounding_mode", "rounding")),
    ("flush_to_zero", ("flush_to_zero",)),
    ("nan", ("propagate_nan",)),
    ("overflow", ("overflow",)),
    ("ordering", ("memory_ordering_semantics", "memory_scope")),
    ("constant", ("value",)),
)


def edits(found: Correspondence, generated: Module) -> list[Edit]:
    """The differences of two corresponding entries that can be taken over from the reference.

    Args:
        found: what corresponds, both entries there.
        generated: the module of the generated entry.

    Returns:
        Those of the entry first, then in the order of the generated text.
    """
    assert found.generated is not None
    numbers = {op: number for number, op in enumerate(generated.walk())}
    pairs = sorted(found.operations.items(), key=lambda pair: numbers[pair[1]])
    edits = [edit for one, other in pairs for edit in _of_operation(one, other, numbers)]
    return [*edits, *_missing_promises(found, numbers), *_other_promises(found, numbers)]


def _where(op: Operation, numbers: dict[Operation, int]) -> str:
    """An operation in words: by its line, or in bytecode by its number as `module.walk()` goes."""
    if isinstance(op, Entry):
        return "the entry"
    place = f"line {op.span.line}" if op.span else f"operation {numbers[op]}"
    return f"{op.name} ({place})"


# -- attributes -------------------------------------------------------------------------------------


def _of_operation(
    one: Operation, other: Operation, numbers: dict[Operation, int]
) -> Iterator[Edit]:
    if one.name != other.name:
        return
    for kind, names in _ATTRIBUTES:
        if not _differs(one, other, names) or (kind == "constant" and not _same_type(one, other)):
            continue
        chosen = {name: one.attributes.get(name) for name in names}
        yield Edit(f"{kind} of {_where(other, numbers)}", kind, _with(numbers[other], chosen))
    padding, ours = _padding(one), _padding(other)
    if padding is not None and ours is not None and padding != ours:
        view = other.operand("view")
        owner = view.defining_op if view is not None else None
        if owner is not None:
            change = _pad(numbers[owner], padding[0])
            yield Edit(f"padding of {_where(other, numbers)}", "padding", change)


def _differs(one: Operation, other: Operation, names: tuple[str, ...]) -> bool:
    return any(one.attributes.get(name) is not other.attributes.get(name) for name in names)


def _same_type(one: Operation, other: Operation) -> bool:
    types: list[list[Type]] = [[value.type for value in op.results] for op in (one, other)]
    return one.name == "constant" and types[0] == types[1]


def _with(number: int, attributes: dict[str, Attribute | None]) -> _Change:
    def change(operations: Sequence[Operation]) -> None:
        for name, attribute in attributes.items():
            if attribute is None:
                operations[number].attributes.pop(name, None)
            else:
                operations[number].attributes[name] = attribute

    return change


def _padding(op: Operation) -> tuple[str | None] | None:
    """The padding of the view that an operation goes through, in a tuple; None: through no view."""
    if op.spec is None or "view" not in {row.name for row in op.spec.operands}:
        return None
    view = op.operand("view")
    return (view.type.padding,) if view is not None and isinstance(view.type, ViewType) else None


def _pad(number: int, padding: str | None) -> _Change:
    def change(operations: Sequence[Operation]) -> None:
        result = operations[number].result
        type = result.type
        if isinstance(type, PartitionViewType):
            result.type = PartitionViewType(
                type.tile_shape, type.tensor_view, type.dim_map, padding
            )
        elif isinstance(type, StridedViewType):
            result.type = StridedViewType(
                type.tile_shape, type.traversal_strides, type.tensor_view, type.dim_map, padding
            )
        elif isinstance(type, GatherScatterViewType):
            result.type = GatherScatterViewType(
                type.tile_shape, type.tensor_view, type.sparse_dim, padding
            )

    return change


# -- promises ---------------------------------------------------------------------------------------


def _missing_promises(found: Correspondence, numbers: dict[Operation, int]) -> Iterator[Edit]:
    """What only the reference assumes, about a value that the generated kernel has too."""
    assert found.reference is not None
    assert found.generated is not None
    places = _first_values(found.generated, found.numbers)
    for op in found.reference.walk():
        if op.name != "assume" or op in found.operations:
            continue
        number = found.numbers.get(op.operands[0])
        value = None if number is None else places.get(found.stand_ins.get(number, number))
        if value is None or value.type is not op.operands[0].type:
            continue
        predicate = op.attributes["predicate"]
        owner = value.defining_op
        about = _where(owner, numbers) if owner is not None else f"parameter {value.index}"
        at = numbers[owner if owner is not None else found.generated]
        name = f"assume {predicate} about {about}"
        yield Edit(name, "assume", _assume(at, owner is None, value.index, predicate))


def _first_values(entry: Entry, numbers: dict[Value, int]) -> dict[int, Value]:
    """Number -> the first value of the entry that has it: a parameter, or an operation's result."""
    found: dict[int, Value] = {}
    values = [*entry.arguments, *(value for op in entry.walk() for value in op.results)]
    for value in values:
        if value in numbers:
            found.setdefault(numbers[value], value)
    return found


def _assume(number: int, of_entry: bool, index: int, predicate: Attribute) -> _Change:
    """Assume something about a parameter of the entry, or a result of an operation."""
    from ..transform.build import make

    def change(operations: Sequence[Operation]) -> None:
        owner = operations[number]
        if of_entry:
            assert isinstance(owner, Entry)
            block, at, value = owner.body, 0, owner.arguments[index]
        else:
            assert owner.parent is not None
            block, value = owner.parent, owner.results[index]
            at = block.operations.index(owner) + 1
        promise = make("assume", (value,), (value.type,), owner.location, {"predicate": predicate})
        value.replace_all_uses_with(promise.result)
        promise.set_operand(0, value)
        block.insert_before(block.operations[at], promise)

    return change


def _other_promises(found: Correspondence, numbers: dict[Operation, int]) -> Iterator[Edit]:
    """What only the generated kernel assumes, taken out."""
    assert found.generated is not None
    known = set(found.operations.values())
    for op in found.generated.walk():
        if op.name == "assume" and op not in known:
            name = f"no {_where(op, numbers)} {op.attributes['predicate']}"
            yield Edit(name, "assume", _drop(numbers[op]))


def _drop(number: int) -> _Change:
    def change(operations: Sequence[Operation]) -> None:
        op = operations[number]
        op.result.replace_all_uses_with(op.operands[0])
        op.erase()

    return change
