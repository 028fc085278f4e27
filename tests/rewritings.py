"""Rewritings of operations that keep what a kernel means: what two honest authors write differently.

One small function each, which changes a module at one operation and says whether it did. `mutation_kinds`
has those that the mutation test needs too. Independent of the differ: nothing of `diff` is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from editing import (
    BODIES,
    Facts,
    before,
    binary,
    constant,
    next_in_block,
    replace_by,
    splat_of,
    swap_operands,
    target_of,
)
from mutation_kinds import INFO, NONE, WARN

from tileir_tools.dialect import OPS
from tileir_tools.model import (
    I1,
    I32,
    I64,
    TOKEN,
    Attribute,
    Block,
    BoundedAttr,
    DenseArrayAttr,
    DivByAttr,
    EnumAttr,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
)

Maker = Callable[[Operation, Facts], object]


class Rewriting(NamedTuple):
    """One way to say the same: the worst that may be said about it, the rules that may say it, and the
    operations that it applies to (none: all)."""

    name: str
    severity: str
    codes: frozenset[str]
    ops: frozenset[str]
    make: Maker


REWRITINGS: list[Rewriting] = []


def rewriting(name: str, severity: str, codes: str = "", ops: str = "") -> Callable[[Maker], Maker]:
    """Enter a function into the list."""

    def enter(make: Maker) -> Maker:
        row = Rewriting(name, severity, frozenset(codes.split()), frozenset(ops.split()), make)
        REWRITINGS.append(row)
        return make

    return enter


SIGNED: Attribute = EnumAttr("signedness", "signed")


def _in_body(op: Operation) -> bool:
    around = op.parent_op
    return around is not None and around.name in BODIES


def _is_integer(type: Type) -> bool:
    return isinstance(type, TileType) and getattr(type.element, "is_integer", False)


def _compare(anchor: Operation, predicate: str, a: Value, b: Value) -> Value:
    assert isinstance(a.type, TileType)
    flags = {
        "comparison_predicate": EnumAttr("comparison_predicate", predicate),
        "signedness": SIGNED,
    }
    return before(anchor, "cmpi", [a, b], [TileType(a.type.shape, I1)], flags).result


# -- integers --------------------------------------------------------------------------------------


@rewriting("division that rounds up: the divisor less one is a constant", INFO, "EQV001", "divi")
def ceiling_by_constant(op: Operation, facts: Facts) -> bool:
    a, b = op.operands
    divisor, size = splat_of(b), a.defining_op
    if op.keyword("rounding") != "positive_inf" or divisor is None or divisor[0] < 2:
        return False
    if size is None or size.name != "assume":
        return False
    total = binary(op, "addi", a, constant(op, b.type, divisor[0] - 1))
    replace_by(op, binary(op, "divi", total, b, signedness=SIGNED))
    return True


@rewriting("division that rounds up: (a + b) - 1 over b", INFO, "EQV001", "divi")
def ceiling_less_one(op: Operation, facts: Facts) -> bool:
    a, b = op.operands
    size = a.defining_op
    if op.keyword("rounding") != "positive_inf" or size is None or size.name != "assume":
        return False
    less = binary(op, "subi", binary(op, "addi", a, b), constant(op, b.type, 1))
    replace_by(op, binary(op, "divi", less, b, signedness=SIGNED))
    return True


_LESS = {
    "greater_than": "less_than",
    "less_than": "greater_than",
    "greater_than_or_equal": "less_than_or_equal",
    "less_than_or_equal": "greater_than_or_equal",
}
_NOT = {
    "less_than": "greater_than_or_equal",
    "greater_than_or_equal": "less_than",
    "greater_than": "less_than_or_equal",
    "less_than_or_equal": "greater_than",
    "equal": "not_equal",
    "not_equal": "equal",
}


@rewriting("comparison turned around", INFO, "EQV001", "cmpi cmpf")
def comparison_turned(op: Operation, facts: Facts) -> bool:
    predicate = _LESS.get(op.keyword("comparison_predicate") or "")
    if predicate is None or _in_body(op):
        return False
    swap_operands(op, 0, 1)
    op.attributes["comparison_predicate"] = EnumAttr("comparison_predicate", predicate)
    return True


def _inverted(op: Operation, condition: Operation) -> Value:
    """A new comparison in front of `op` that holds where `condition` does not."""
    predicate = _NOT[condition.keyword("comparison_predicate") or ""]
    flags = dict(condition.attributes)
    flags["comparison_predicate"] = EnumAttr("comparison_predicate", predicate)
    if condition.name == "cmpf":
        ordered = condition.keyword("comparison_ordering") == "ordered"
        flags["comparison_ordering"] = EnumAttr(
            "comparison_ordering", "unordered" if ordered else "ordered"
        )
    types = [condition.result.type]
    return before(op, condition.name, condition.operands, types, flags).result


@rewriting("select by the inverse comparison, arms exchanged", INFO, "EQV001", "select")
def select_inverted(op: Operation, facts: Facts) -> bool:
    condition = op.operands[0].defining_op
    if condition is None or condition.name not in ("cmpi", "cmpf") or _in_body(op):
        return False
    op.set_operand(0, _inverted(op, condition))
    swap_operands(op, 1, 2)
    return True


@rewriting("select by the negation, arms exchanged", INFO, "EQV001", "select")
def select_negated(op: Operation, facts: Facts) -> bool:
    condition = op.operands[0]
    op.set_operand(0, binary(op, "xori", condition, constant(op, condition.type, 1)))
    swap_operands(op, 1, 2)
    return True


@rewriting("constant computed from two others", INFO, "EQV001", "constant")
def constant_computed(op: Operation, facts: Facts) -> bool:
    raw = splat_of(op.result)
    if raw is None or not _is_integer(op.result.type) or not 1 < raw[0] < 1 << 15:
        return False
    if op.result.type.element is I1 or not op.result.users or _in_body(op):  # type: ignore[attr-defined]
        return False
    value = raw[0]
    if value % 2:
        parts, name = (value - 1, 1), "addi"
    else:
        parts, name = (value // 2, 2), "muli"
    follower = next_in_block(op)
    assert follower is not None
    left, right = (constant(follower, op.result.type, part) for part in parts)
    replace_by(op, binary(follower, name, left, right))
    return True


@rewriting("multiplication by a power of two as shift", INFO, "EQV001", "muli")
def product_as_shift(op: Operation, facts: Facts) -> bool:
    for factor, other in (op.operands, op.operands[::-1]):
        raw = splat_of(factor)
        if raw is None or raw[0] < 2 or raw[0] & (raw[0] - 1) or _in_body(op):
            continue
        if "overflow" not in op.attributes:
            count = constant(op, op.result.type, raw[0].bit_length() - 1)
            replace_by(op, binary(op, "shli", other, count))
            return True
    return False


@rewriting("integer plus 0, times 1", INFO, "EQV001", "addi muli subi")
def neutral_elements(op: Operation, facts: Facts) -> bool:
    if _in_body(op):
        return False
    sum = binary(op, "addi", op.operands[0], constant(op, op.result.type, 0))
    op.set_operand(0, binary(op, "muli", sum, constant(op, op.result.type, 1)))
    return True


@rewriting("remainder corrected for signs that cannot differ", INFO, "EQV001", "remi")
def remainder_corrected(op: Operation, facts: Facts) -> bool:
    """As Python's `%` is spelled out; of block ids, divided by a positive constant."""
    dividend, divisor = op.operands
    block = dividend.defining_op
    is_id = block is not None and block.name == "get_tile_block_id"
    if not is_id or splat_of(divisor) is None or op.keyword("signedness") != "signed":
        return False
    plain = binary(op, "remi", dividend, divisor, signedness=SIGNED)
    zero = constant(op, plain.type, 0)
    negative = _compare(op, "less_than", plain, zero)
    other = _compare(op, "less_than", divisor, zero)
    wrong = binary(op, "xori", negative, other)
    wrong = binary(op, "andi", wrong, _compare(op, "not_equal", plain, zero))
    corrected = binary(op, "addi", plain, divisor)
    replace_by(op, before(op, "select", [wrong, corrected, plain], [plain.type]).result)
    return True


# -- shapes ----------------------------------------------------------------------------------------


@rewriting("permuted and permuted back", INFO, "EQV001", "load_view_tko")
def permuted_twice(op: Operation, facts: Facts) -> bool:
    tile, follower = op.results[0], next_in_block(op)
    assert isinstance(tile.type, TileType)
    if tile.type.rank < 2 or not tile.users or follower is None:
        return False
    order = tuple(range(tile.type.rank))[::-1]
    uses = list(tile.uses)
    there = _permute(follower, tile, order)
    back = _permute(follower, there, order)
    for user, index in uses:
        user.set_operand(index, back)
    return True


def _permute(anchor: Operation, value: Value, order: tuple[int, ...]) -> Value:
    assert isinstance(value.type, TileType)
    type = TileType(tuple(value.type.shape[k] for k in order), value.type.element)
    flags = {"permutation": DenseArrayAttr("i32", order)}
    return before(anchor, "permute", [value], [type], flags).result


@rewriting("reshaped by way of another shape", NONE, "", "reshape")
def reshaped_twice(op: Operation, facts: Facts) -> bool:
    source = op.operands[0]
    assert isinstance(source.type, TileType)
    if source.type.elements < 1 or _in_body(op):
        return False
    flat = TileType((source.type.elements, 1), source.type.element)
    op.set_operand(0, before(op, "reshape", [source], [flat]).result)
    return True


_ELEMENTWISE = "addi subi muli addf subf mulf divf maxf minf mini maxi"


@rewriting("arithmetic in front of the broadcast, not behind it", INFO, "EQV001", _ELEMENTWISE)
def computed_before_broadcast(op: Operation, facts: Facts) -> bool:
    """Both operands are spread from one smaller shape, or one of them is the same everywhere."""
    makers = [v.defining_op for v in op.operands]
    spread = [m is not None and m.name == "broadcast" for m in makers]
    if not any(spread) or _in_body(op):
        return False
    inner = makers[spread.index(True)]
    assert inner is not None
    small = inner.operands[0].type
    assert isinstance(small, TileType)
    values = []
    for value, maker in zip(op.operands, makers, strict=True):
        raw = splat_of(value)
        if maker is not None and maker.name == "broadcast" and maker.operands[0].type is small:
            values.append(maker.operands[0])
        elif raw is not None:
            values.append(constant(op, small, raw[0]))
        else:
            return False
    result = before(op, op.name, values, [small], dict(op.attributes)).result
    replace_by(op, before(op, "broadcast", [result], [op.result.type]).result)
    return True


# -- views -----------------------------------------------------------------------------------------


def _partition(op: Operation) -> tuple[Operation, PartitionViewType] | None:
    """What makes the partition view that an access goes through."""
    view = op.operand("view")
    made = view.defining_op if view is not None else None
    if made is None or made.name != "make_partition_view":
        return None
    assert isinstance(made.result.type, PartitionViewType)
    return made, made.result.type


def _through(op: Operation, view: Value, indices: list[Value]) -> None:
    """Let an access go through another view, at other indices."""
    assert op.spec is not None
    groups = {row.name: op.operand_group(row.name) for row in op.spec.operands}
    groups |= {"view": [view], "index": indices}
    segments = tuple(len(group) for group in groups.values())
    op.set_operands([v for group in groups.values() for v in group], segments)


def _strided(op: Operation, steps: tuple[int, ...]) -> Value | None:
    found = _partition(op)
    if found is None:
        return None
    made, old = found
    type = StridedViewType(
        old.tile_shape, steps, old.tensor_view, dim_map=old.dim_map, padding=old.padding
    )
    return before(op, "make_strided_view", made.operands, [type]).result


@rewriting("partition view as a strided view", INFO, "EQV001", "load_view_tko store_view_tko")
def strided_by_tiles(op: Operation, facts: Facts) -> bool:
    found = _partition(op)
    view = _strided(op, found[1].tile_shape) if found is not None else None
    if view is None:
        return False
    _through(op, view, op.operand_group("index"))
    return True


@rewriting("tile indices as element offsets", INFO, "EQV001", "load_view_tko store_view_tko")
def strided_by_elements(op: Operation, facts: Facts) -> bool:
    """Through a strided view with a tile at each element; indices multiplied by the tile's sizes."""
    found = _partition(op)
    if found is None or not op.operand_group("index"):
        return False
    view = _strided(op, (1,) * len(found[1].tile_shape))
    assert view is not None
    offsets = [
        binary(op, "muli", index, constant(op, index.type, size))
        for index, size in zip(op.operand_group("index"), found[1].tile_shape, strict=True)
    ]
    _through(op, view, offsets)
    return True


def _turned_view(op: Operation, order: tuple[int, ...]) -> Value | None:
    """A view whose dimension k is dimension order[k] of the one that an access goes through."""
    found = _partition(op)
    if found is None:
        return None
    made, old = found
    type = PartitionViewType(
        tuple(old.tile_shape[k] for k in order),
        old.tensor_view,
        tuple(old.dim_map[k] for k in order),
        old.padding,
    )
    return before(made, "make_partition_view", made.operands, [type]).result


def _turn_flags(op: Operation, order: tuple[int, ...]) -> None:
    inbounds = op.attributes.get("inbounds")
    if isinstance(inbounds, DenseArrayAttr):
        turned = tuple(inbounds.values[k] for k in order)
        op.attributes["inbounds"] = DenseArrayAttr(inbounds.element, turned)


@rewriting("tile loaded transposed and permuted", WARN, "PRF005", "load_view_tko")
def loaded_transposed(op: Operation, facts: Facts) -> bool:
    """The view maps the dimensions in another order, `permute` puts them right."""
    tile, follower = op.results[0], next_in_block(op)
    assert isinstance(tile.type, TileType)
    if tile.type.rank < 2 or tile not in facts.live or follower is None:
        return False
    order = tuple(range(tile.type.rank))[::-1]
    view = _turned_view(op, order)
    if view is None:
        return False
    indices = op.operand_group("index")
    _through(op, view, [indices[k] for k in order])
    _turn_flags(op, order)
    uses = list(tile.uses)
    tile.type = TileType(tile.type.shape[::-1], tile.type.element)
    turned = _permute(follower, tile, order)
    for user, index in uses:
        user.set_operand(index, turned)
    return True


@rewriting("tile permuted and stored transposed", WARN, "PRF005", "store_view_tko")
def stored_transposed(op: Operation, facts: Facts) -> bool:
    tile = op.operand("tile")
    assert tile is not None
    assert isinstance(tile.type, TileType)
    order = tuple(range(tile.type.rank))[::-1]
    view = _turned_view(op, order) if tile.type.rank > 1 else None
    if view is None:
        return False
    indices = op.operand_group("index")
    _through(op, view, [indices[k] for k in order])
    _turn_flags(op, order)
    op.set_operand(0, _permute(op, tile, order))
    return True


@rewriting("dim_map by a tensor view of turned dimensions", WARN, "PRF005", "make_partition_view")
def tensor_turned(op: Operation, facts: Facts) -> bool:
    """Sizes and strides of the tensor in another order, and `dim_map` accordingly."""
    view, tensor = op.result.type, op.operands[0].defining_op
    assert isinstance(view, PartitionViewType)
    if tensor is None or tensor.name != "make_tensor_view" or view.tensor_view.rank < 2:
        return False
    if {u.name for u in op.result.users} - {"load_view_tko", "store_view_tko"}:
        return False
    type, rank = view.tensor_view, view.tensor_view.rank
    order = tuple(range(rank))[::-1]
    turned = TensorViewType(
        element=type.element,
        shape=tuple(type.shape[k] for k in order),
        strides=tuple(type.strides[k] for k in order),
        attribute=type.attribute,
    )
    sizes = tensor.operand_group("dynamicShape")[::-1]
    strides = tensor.operand_group("dynamicStrides")[::-1]
    operands = [tensor.operands[0], *sizes, *strides]
    segments = (1, len(sizes), len(strides))
    base = before(tensor, "make_tensor_view", operands, [turned], dict(tensor.attributes), segments)
    map = tuple(rank - 1 - d for d in view.dim_map)
    new = PartitionViewType(view.tile_shape, turned, map, view.padding)
    replace_by(op, before(op, "make_partition_view", [base.result], [new]).result)
    return True


@rewriting("index of another width", INFO, "EQV001", "load_view_tko store_view_tko")
def wider_index(op: Operation, facts: Facts) -> bool:
    indices = op.operand_group("index")
    narrow = TileType((), I32)
    if not indices or any(v.type is not narrow for v in indices) or _partition(op) is None:
        return False
    wide = [
        before(op, "exti", [v], [TileType((), I64)], {"signedness": SIGNED}).result for v in indices
    ]
    view = op.operand("view")
    assert view is not None
    _through(op, view, wide)
    return True


# -- control ---------------------------------------------------------------------------------------


@rewriting("branch by the negation, its sides exchanged", INFO, "EQV001", "if")
def branch_negated(op: Operation, facts: Facts) -> bool:
    condition = op.operands[0]
    op.set_operand(0, binary(op, "xori", condition, constant(op, condition.type, 1)))
    _exchange_sides(op)
    return True


@rewriting("branch by the inverse comparison, its sides exchanged", INFO, "EQV001", "if")
def branch_inverted(op: Operation, facts: Facts) -> bool:
    condition = op.operands[0].defining_op
    if condition is None or condition.name not in ("cmpi", "cmpf"):
        return False
    op.set_operand(0, _inverted(op, condition))
    _exchange_sides(op)
    return True


def _exchange_sides(op: Operation) -> None:
    then, other = op.regions
    if other.empty:
        block = Block()
        block.add(Operation("yield", OPS["yield"], segments=(0,)))
        block.parent = other
        other.blocks = [block]
    op.regions = (other, then)


@rewriting("selection as a branch", INFO, "EQV001", "select")
def select_as_branch(op: Operation, facts: Facts) -> bool:
    condition, *arms = op.operands
    if condition.type is not TileType((), I1) or _in_body(op):
        return False
    sides = []
    for arm in arms:
        block = Block()
        block.add(Operation("yield", OPS["yield"], [arm], segments=(1,)))
        sides.append(Region([block]))
    branch = Operation("if", OPS["if"], [condition], [op.result.type], {}, sides)
    assert op.parent is not None
    op.parent.insert_before(op, branch)
    replace_by(op, branch.result)
    return True


def _ends(loop: Operation, name: str) -> list[Operation]:
    return [op for op in loop.walk() if op.name == name and target_of(op) is loop]


def _carried(loop: Operation) -> int:
    """How many values a loop carries, tokens left out; 0 where they cannot be given another order."""
    values = loop.operand_group("initValues")
    plain = [v for v in values if not isinstance(v.type, TokenType)]
    return len(plain) if loop.name == "for" else 0


@rewriting("carried values of a loop in the opposite order", INFO, "EQV001", "for")
def carried_reversed(op: Operation, facts: Facts) -> bool:
    if _carried(op) < 2:
        return False
    initial = op.operand_group("initValues")
    op.set_operands([*op.operands[:3], *initial[::-1]], (1, 1, 1, len(initial)))
    block = op.regions[0].block
    block.arguments = [block.arguments[0], *block.arguments[:0:-1]]
    for place, value in enumerate(block.arguments):
        value.index = place
    op.results = op.results[::-1]
    for place, value in enumerate(op.results):
        value.index = place
    for end in _ends(op, "continue"):
        end.set_operands(end.operands[::-1], (len(initial),))
    return True


@rewriting("value carried round a loop for nothing", INFO, "EQV001", "for")
def carried_for_nothing(op: Operation, facts: Facts) -> bool:
    initial = op.operand_group("initValues")
    more = op.operands[0]
    op.set_operands([*op.operands, more], (1, 1, 1, len(initial) + 1))
    block = op.regions[0].block
    block.arguments.append(Value(more.type, block, len(block.arguments)))
    op.results.append(Value(more.type, op, len(op.results)))
    for end in _ends(op, "continue"):
        end.set_operands([*end.operands, block.arguments[-1]], (len(initial) + 1,))
    return True


# -- promises --------------------------------------------------------------------------------------


def _assumed(anchor: Operation, value: Value, predicate: Attribute) -> None:
    """Promise something about a value; everything that reads it reads the promised one."""
    uses = list(value.uses)
    new = before(anchor, "assume", [value], [value.type], {"predicate": predicate}).result
    for user, index in uses:
        user.set_operand(index, new)


@rewriting("promise about the size of the grid", INFO, "ASM004", "get_num_tile_blocks")
def grid_assume(op: Operation, facts: Facts) -> bool:
    follower = next_in_block(op)
    assert follower is not None
    used = [v for v in op.results if v.users]
    for value in used:
        _assumed(follower, value, BoundedAttr(1, None))
    return bool(used)


@rewriting("promise about the index of a loop from 0 upwards", INFO, "ASM004", "for")
def index_assume(op: Operation, facts: Facts) -> bool:
    block = op.regions[0].block
    start, step = (splat_of(op.operands[k]) for k in (0, 2))
    if start is None or step is None or start[0] < 0 or step[0] < 1:
        return False
    _assumed(block.operations[0], block.arguments[0], BoundedAttr(0, None))
    return True


@rewriting("promise that a multiple is divisible", INFO, "ASM004", "muli")
def multiple_assume(op: Operation, facts: Facts) -> bool:
    raws = [splat_of(v) for v in op.operands]
    powers = [r[0] for r in raws if r is not None and r[0] in (2, 4, 8, 16, 32, 64, 128)]
    follower = next_in_block(op)
    if not powers or follower is None or _in_body(op):
        return False
    _assumed(follower, op.result, DivByAttr(powers[0]))
    return True


@rewriting("promise made twice, the weaker one first", INFO, "ASM004", "assume")
def assumed_twice(op: Operation, facts: Facts) -> bool:
    predicate = op.attributes["predicate"]
    if not isinstance(predicate, DivByAttr) or predicate.every or predicate.divisor % 2:
        return False
    weaker = {"predicate": DivByAttr(predicate.divisor // 2)}
    source = op.operands[0]
    op.set_operand(0, before(op, "assume", [source], [source.type], weaker).result)
    return True


@rewriting("promises about one value in another order", NONE, "", "assume")
def assumes_exchanged(op: Operation, facts: Facts) -> bool:
    inner = op.operands[0].defining_op
    if inner is None or inner.name != "assume" or len(inner.result.users) != 1:
        return False
    first, second = inner.attributes, op.attributes
    inner.attributes, op.attributes = second, first
    return first != second


# -- tokens ----------------------------------------------------------------------------------------

_ACCESSES = "load_view_tko store_view_tko load_ptr_tko store_ptr_tko"


@rewriting("token joined with one that it comes after", NONE, "", _ACCESSES)
def joined_with_earlier(op: Operation, facts: Facts) -> bool:
    """An access waits for what its token waits for, which is so already."""
    token = op.operand("token")
    maker = token.defining_op if token is not None else None
    if maker is None or maker.name not in _ACCESSES.split() or maker.operand("token") is None:
        return False
    earlier = maker.operand("token")
    assert token is not None
    assert earlier is not None
    joined = before(op, "join_tokens", [earlier, token], [TOKEN]).result
    op.set_operand(op.operands.index(token), joined)
    return True


@rewriting("tokens joined two by two", NONE, "", "join_tokens")
def joined_in_pairs(op: Operation, facts: Facts) -> bool:
    first, *rest = op.operands[::-1]
    if len(rest) < 2:
        return False
    for token in rest:
        first = before(op, "join_tokens", [first, token], [TOKEN]).result
    replace_by(op, first)
    return True


@rewriting("a token of its own where nothing was ordered", NONE, "", "load_view_tko load_ptr_tko")
def fresh_token(op: Operation, facts: Facts) -> bool:
    """An access behind a fresh token, made anew for it; both say that nothing comes before it."""
    token = op.operand("token")
    maker = token.defining_op if token is not None else None
    if maker is None or maker.name != "make_token" or len(maker.result.users) < 2:
        return False
    assert token is not None
    op.set_operand(op.operands.index(token), before(op, "make_token", [], [TOKEN]).result)
    return True


# -- the rest --------------------------------------------------------------------------------------


@rewriting("block id asked for twice", NONE, "", "get_tile_block_id get_num_tile_blocks")
def block_id_twice(op: Operation, facts: Facts) -> bool:
    uses = [use for value in op.results for use in value.uses]
    if not uses:
        return False
    again = before(op, op.name, [], [v.type for v in op.results])
    user, index = uses[-1]
    user.set_operand(index, again.results[user.operands[index].index])
    return True


@rewriting("index space asked of a view of its own", NONE, "", "get_index_space_shape")
def view_of_its_own(op: Operation, facts: Facts) -> bool:
    made = op.operands[0].defining_op
    if made is None or made.name != "make_partition_view":
        return False
    op.set_operand(0, before(op, made.name, made.operands, [made.result.type]).result)
    return True


@rewriting("pointer moved by two steps", INFO, "EQV001", "offset")
def offset_by_zero(op: Operation, facts: Facts) -> bool:
    """One more step, of nothing, in front of the one that is there."""
    source, step = op.operands
    assert isinstance(source.type, TileType)
    assert isinstance(source.type.element, PointerType)
    nothing = constant(op, step.type, 0)
    op.set_operand(0, before(op, "offset", [source, nothing], [source.type]).result)
    return True
