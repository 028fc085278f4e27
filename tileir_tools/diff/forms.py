"""Other forms of an entry, in which what only is written differently is gone.

Place in the flow: facts -> **findings**; imports `transform`, `identities`, `carried`, `model`. Entries are
compared as they are written, where a difference is shown best. Where that finds something critical, it may
still lie in the writing alone: a branch by the inverse condition, carried values in another order, a tile that
the view transposes for one author and `permute` for the other. A form is a copy of the entry without that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..model import (
    Attribute,
    Block,
    DenseArrayAttr,
    Entry,
    Operation,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileType,
    Value,
)
from ..transform.build import empty_block, make
from ..transform.canonical_form import canonicalize_entry
from ..transform.dead_code import drop_unneeded
from ..transform.matching import negated
from .carried import order_carried
from .identities import inverse

_Mapped = (PartitionViewType, StridedViewType)
_ACCESSES = ("load_view_tko", "store_view_tko")


class Form(NamedTuple):
    """An entry in another form, and how the views of its accesses map dimensions as written."""

    entry: Entry
    maps: dict[Operation, str]


def forms(reference: Entry, generated: Entry) -> Iterator[tuple[Form, Form]]:
    """The forms in which two entries may turn out to be equal, one after the other."""
    both = (reference, generated)
    controlled = any(op.name in _CONTROLLED for entry in both for op in entry.walk())
    mapped = any(_is_mapped(op) for entry in both for op in entry.walk())
    if controlled:
        yield _form(reference, ()), _form(generated, ())
    if mapped:
        for turn in (_permute_tile, _turn_tensor):
            yield _form(reference, (turn,)), _form(generated, (turn,))


_CONTROLLED = ("if", "select", "for", "loop")
_Turn = Callable[[Operation, Operation], None]


def _form(entry: Entry, turns: tuple[_Turn, ...]) -> Form:
    copy = entry.clone({})
    assert isinstance(copy, Entry)
    maps = _maps(copy) if turns else {}
    for turn in turns:
        for op in list(copy.walk()):
            made = _made(op) if op.name in _ACCESSES else None
            if made is not None and _is_mapped(made):
                turn(op, made)
    _orient(copy)
    canonicalize_entry(copy)
    _orient(copy)
    drop_unneeded(copy)
    order_carried(copy)
    return Form(copy, maps)


# -- branches --------------------------------------------------------------------------------------


def _orient(entry: Entry) -> None:
    """Let every branch ask the condition of the two that is kept."""
    for op in list(entry.walk()):
        if op.name == "if" and op.spec is not None:
            positive = _positive(op)
            while positive is not None:
                op.set_operand(0, positive)
                _exchange_sides(op)
                positive = _positive(op)


def _positive(op: Operation) -> Value | None:
    """The condition that the condition of a branch is the negation of."""
    condition = op.operands[0]
    plain = negated(condition)
    made = condition.defining_op
    if plain is not None or made is None or made.spec is None:
        return plain
    found = inverse(made.name, made.attributes)
    if found is None:
        return None
    attributes, turned = found
    operands = made.operands[::-1] if turned else made.operands
    new = make(made.name, operands, (condition.type,), made.location, attributes)
    assert op.parent is not None
    return op.parent.insert_before(op, _standing_at(new, made)).result


def _exchange_sides(op: Operation) -> None:
    then, other = op.regions
    if other.empty:
        other = empty_block()
        other.block.add(make("yield", (), (), op.location))
    if _is_empty(then.block):
        then.blocks = []
    op.regions = (other, then)
    for region in op.regions:
        region.parent = op


def _is_empty(block: Block) -> bool:
    """Whether a side does nothing and gives nothing, as an `else` that is left out."""
    return [op.name for op in block.operations] in (["yield"], []) and not any(
        op.operands for op in block.operations
    )


# -- views -----------------------------------------------------------------------------------------


def _made(access: Operation) -> Operation | None:
    """What makes the view of an access."""
    view = access.operand("view")
    return view.defining_op if view is not None else None


def _is_mapped(op: Operation) -> bool:
    """Whether an operation makes a view whose dimensions are not those of the tensor in their order."""
    type = op.results[0].type if op.results else None
    return isinstance(type, _Mapped) and list(type.dim_map) != sorted(type.dim_map)


def _maps(entry: Entry) -> dict[Operation, str]:
    """Access -> how its view maps dimensions, in words."""
    found = {}
    for op in entry.walk():
        view = op.operand("view") if op.name in _ACCESSES else None
        if view is not None and isinstance(view.type, _Mapped):
            strides = ",".join("?" if s is None else str(s) for s in view.type.tensor_view.strides)
            found[op] = f"{list(view.type.dim_map)} over strides [{strides}]"
    return found


def _permute_tile(access: Operation, made: Operation) -> None:
    """Let a view map dimensions in the tensor's order; a `permute` beside the access does the rest."""
    type = made.result.type
    assert isinstance(type, _Mapped)
    order = tuple(sorted(range(len(type.dim_map)), key=lambda k: type.dim_map[k]))
    view = _turned_view(made, type, order)
    indices = access.operand_group("index")
    tile = access.operand("tile") if access.name == "store_view_tko" else None
    groups = {row.name: access.operand_group(row.name) for row in access.spec.operands}  # type: ignore[union-attr]
    groups |= {"view": [view], "index": [indices[k] for k in order]}
    if tile is not None:
        groups["tile"] = [_permuted(access, access, tile, order)]
    values = [v for group in groups.values() for v in group]
    access.set_operands(values, tuple(len(group) for group in groups.values()))
    _turn_inbounds(access, order)
    if tile is None:
        _permute_result(access, order)


def _turned_view(
    made: Operation, type: PartitionViewType | StridedViewType, order: tuple[int, ...]
) -> Value:
    """A view whose dimension k is dimension order[k] of another one, made beside that one."""
    tile, map = (tuple(row[k] for k in order) for row in (type.tile_shape, type.dim_map))
    turned: PartitionViewType | StridedViewType
    if isinstance(type, StridedViewType):
        steps = tuple(type.traversal_strides[k] for k in order)
        turned = StridedViewType(tile, steps, type.tensor_view, dim_map=map, padding=type.padding)
    else:
        turned = PartitionViewType(tile, type.tensor_view, map, type.padding)
    return _made_beside(made, made.operands, turned)


def _made_beside(
    made: Operation, operands: list[Value], type: PartitionViewType | StridedViewType
) -> Value:
    assert made.parent is not None
    new = make(made.name, operands, (type,), made.location, dict(made.attributes))
    return made.parent.insert_before(made, _standing_at(new, made)).result


def _permuted(anchor: Operation, like: Operation, value: Value, order: tuple[int, ...]) -> Value:
    assert isinstance(value.type, TileType)
    assert anchor.parent is not None
    type = TileType(tuple(value.type.shape[k] for k in order), value.type.element)
    flags: dict[str, Attribute] = {"permutation": DenseArrayAttr("i32", order)}
    new = make("permute", (value,), (type,), like.location, flags)
    return anchor.parent.insert_before(anchor, _standing_at(new, like)).result


def _permute_result(access: Operation, order: tuple[int, ...]) -> None:
    """Give a load the tile of its turned view, and its readers the tile that they know."""
    tile = access.results[0]
    assert isinstance(tile.type, TileType)
    assert access.parent is not None
    uses = tile.uses
    tile.type = TileType(tuple(tile.type.shape[k] for k in order), tile.type.element)
    operations = access.parent.operations
    follower = operations[operations.index(access) + 1]
    back = tuple(order.index(k) for k in range(len(order)))
    turned = _permuted(follower, access, tile, back)
    for user, place in uses:
        user.set_operand(place, turned)


def _turn_inbounds(access: Operation, order: tuple[int, ...]) -> None:
    found = access.attributes.get("inbounds")
    if isinstance(found, DenseArrayAttr):
        turned = tuple(found.values[k] for k in order)
        access.attributes["inbounds"] = DenseArrayAttr(found.element, turned)


def _turn_tensor(access: Operation, made: Operation) -> None:
    """Let the tensor have the dimensions of the view in the view's order."""
    type, tensor = made.result.type, made.operands[0].defining_op
    assert isinstance(type, _Mapped)
    if tensor is None or tensor.name != "make_tensor_view":
        return
    old, map = type.tensor_view, type.dim_map
    if sorted(map) != list(range(old.rank)):
        return
    shape, strides = (tuple(row[k] for k in map) for row in (old.shape, old.strides))
    turned = TensorViewType(shape, strides, old.element, old.attribute)
    base = tensor.clone({})
    sizes = _dynamic(tensor.operand_group("dynamicShape"), old.shape, map)
    steps = _dynamic(tensor.operand_group("dynamicStrides"), old.strides, map)
    base.set_operands([tensor.operands[0], *sizes, *steps], (1, len(sizes), len(steps)))
    base.result.type = turned
    assert tensor.parent is not None
    tensor.parent.insert_before(tensor, base)
    view: PartitionViewType | StridedViewType
    if isinstance(type, StridedViewType):
        view = StridedViewType(
            type.tile_shape, type.traversal_strides, turned, padding=type.padding
        )
    else:
        view = PartitionViewType(type.tile_shape, turned, padding=type.padding)
    new = _made_beside(made, [base.result], view)
    access.set_operand(access.operands.index(made.result), new)


def _dynamic(
    values: list[Value], sizes: tuple[int | None, ...], order: tuple[int, ...]
) -> list[Value]:
    """The run-time values of sizes in another order."""
    rest = iter(values)
    by_place = [next(rest) if size is None else None for size in sizes]
    return [value for value in (by_place[k] for k in order) if value is not None]


def _standing_at(new: Operation, old: Operation) -> Operation:
    """A new operation that stands where an old one does in the text."""
    new.place_like(old)
    return new
