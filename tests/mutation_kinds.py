"""The kinds of change that the mutation test makes, one small function each.

A function gets one operation of a freshly parsed module and what is known about the module. It
changes the module in one way and returns a `Site`, or returns None where the kind does not apply or
the change would mean nothing. `severity` is what the judging policy asks for: CRITICAL, WARN, INFO
for a change that is proven to change nothing, NONE for one that must not be mentioned at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from editing import (
    BODIES,
    LOOPS,
    Facts,
    another,
    before,
    binary,
    constant,
    copy_of,
    drop_operand,
    inside,
    replace_by,
    splat_of,
    swap_operands,
    target_of,
    unary,
    visible,
)

from tileir_tools.dialect import OPS
from tileir_tools.model import (
    I1,
    I32,
    TOKEN,
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictAttr,
    DivByAttr,
    ElementType,
    Entry,
    EnumAttr,
    FloatAttr,
    FunctionType,
    GatherScatterViewType,
    IntegerAttr,
    Operation,
    OptimizationHintsAttr,
    PartitionViewType,
    PointerType,
    StridedViewType,
    StringAttr,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    TypeAttr,
    Value,
    ViewType,
)
from tileir_tools.model.floats import FLOAT_FORMATS, encode_ratio

CRITICAL, WARN, INFO, NONE = "CRITICAL", "WARN", "INFO", "NONE"


class Site(NamedTuple):
    """The operations that a finding has to show; None: a side that has no one place."""

    reference: Operation | None
    generated: Operation | None


Maker = Callable[[Operation, Facts], "Site | None"]


class Kind(NamedTuple):
    """One kind of change.

    `codes` are the rules of which one has to report it; `ops` the mnemonics that it applies to
    (none: all).
    """

    name: str
    severity: str
    codes: frozenset[str]
    ops: frozenset[str]
    make: Maker


KINDS: list[Kind] = []


def kind(name: str, severity: str, codes: str = "", ops: str = "") -> Callable[[Maker], Maker]:
    """Enter a function into the list."""

    def enter(make: Maker) -> Maker:
        KINDS.append(Kind(name, severity, frozenset(codes.split()), frozenset(ops.split()), make))
        return make

    return enter


# What a changed value can be reported as: its use decides (an index, a mask, a bound..).
VALUE = (
    "DFL001 DFL002 DFL003 DFL004 DFL005 DFL006 DFL007 FLT001 CVT001 CVT002 CVT003 MMA001 MMA003 "
    "MEM004 MEM006 MEM007 MEM009 LOP002 LOP003 LOP004 LOP005 LOP006 LOP007 RED003 OPQ002"
)
# A matrix product or a reduction that is something else.
WHOLE = "MMA004 RED004"
MMA = "mmaf mmai mmaf_scaled"
MAKE_VIEW = "make_partition_view make_strided_view make_gather_scatter_view"
STORES = "store_view_tko store_ptr_tko"
LOADS = "load_view_tko load_ptr_tko"
ACCESSES = f"{LOADS} {STORES}"
_ATOMICS = "atomic_rmw_tko atomic_cas_tko atomic_red_view_tko"
_MEMORY = tuple(f"{ACCESSES} {_ATOMICS}".split())


def at(op: Operation) -> Site:
    """The operation itself, on both sides."""
    return Site(op, op)


def in_body(op: Operation) -> bool:
    return op.parent_op is not None and op.parent_op.name in BODIES


def _set(op: Operation, name: str, value: Attribute | None) -> Site:
    """Give an attribute another value, or take it away."""
    if value is None:
        op.attributes.pop(name, None)
    else:
        op.attributes[name] = value
    return at(op)


def _flip(op: Operation, name: str, one: str, other: str) -> Site | None:
    found = op.attribute(name)
    if not isinstance(found, EnumAttr) or found.value not in (one, other):
        return None
    return _set(op, name, EnumAttr(found.kind, other if found.value == one else one))


def _float_bits(type: Type, numerator: int, denominator: int = 1) -> int | None:
    form = FLOAT_FORMATS.get(str(type.element)) if isinstance(type, TileType) else None
    return encode_ratio(numerator, denominator, form) if form is not None else None


# -- matrix products -------------------------------------------------------------------------------


@kind("mma operands swapped", CRITICAL, "MMA001", MMA)
def mma_operands_swapped(op: Operation, facts: Facts) -> Site | None:
    if facts.same(op.operands[0], op.operands[1]) or not facts.matters(op):
        return None
    swap_operands(op, 0, 1)
    return at(op)


@kind("mma scales swapped", CRITICAL, "MMA001", "mmaf_scaled")
def mma_scales_swapped(op: Operation, facts: Facts) -> Site | None:
    if facts.same(op.operands[3], op.operands[4]):
        return None
    swap_operands(op, 3, 4)
    return at(op)


@kind("mma accumulates into the start value, not the carried one", CRITICAL, "MMA003", MMA)
def mma_accumulator_not_carried(op: Operation, facts: Facts) -> Site | None:
    acc = op.operands[2]
    loop = op.parent_op
    if loop is None or loop.name not in LOOPS or acc.owner is not op.parent:
        return None
    initial = loop.operand_group("initValues")[acc.index - (loop.name == "for")]
    op.set_operand(2, initial)
    return at(op)


@kind("mma dropped", CRITICAL, "MMA004", MMA)
def mma_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    replace_by(op, op.operands[2])
    return Site(op, None)


@kind("fast_acc of mmaf set or dropped", CRITICAL, "MMA005", "mmaf")
def mma_fast_acc(op: Operation, facts: Facts) -> Site | None:
    return _set(op, "fast_acc", None if op.has("fast_acc") else UNIT)


@kind("signedness of mmai changed", CRITICAL, "MMA005", "mmai")
def mma_signedness(op: Operation, facts: Facts) -> Site | None:
    return _flip(op, "signedness_rhs", "signed", "unsigned")


# -- conversions -----------------------------------------------------------------------------------


@kind("ftof dropped", CRITICAL, "CVT001 MMA002 OPQ002", "ftof")
def ftof_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    site = _dropped(op)
    replace_by(op, op.operands[0])
    return site


@kind("ftof added (through f16 and back)", CRITICAL, "CVT002 FLT001", STORES)
def ftof_added(op: Operation, facts: Facts) -> Site | None:
    index = 0 if op.name == "store_view_tko" else 1
    value = op.operands[index]
    assert isinstance(value.type, TileType)
    if str(value.type.element) != "f32":
        return None
    narrow = before(op, "ftof", [value], [TileType(value.type.shape, ElementType("f16"))])
    wide = before(op, "ftof", [narrow.result], [value.type])
    op.set_operand(index, wide.result)
    return Site(None, wide)


@kind("rounding of ftof changed", CRITICAL, "CVT003", "ftof itof")
def ftof_rounding(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    rounding = "nearest_even" if op.keyword("rounding_mode") == "zero" else "zero"
    if rounding == "nearest_even":
        return _set(op, "rounding_mode", None)
    return _set(op, "rounding_mode", EnumAttr("rounding", rounding))


@kind("ftof to another type", CRITICAL, "CVT003 CVT001 MMA002 DFL005", "ftof")
def ftof_type(op: Operation, facts: Facts) -> Site | None:
    type = op.result.type
    assert isinstance(type, TileType)
    others = {"f16": "bf16", "bf16": "f16", "tf32": "f16", "f8E4M3FN": "f8E5M2"}
    other = others.get(str(type.element))
    if other is None or not facts.matters(op):
        return None
    op.result.type = TileType(type.shape, ElementType(other))
    return at(op)


@kind("signedness of an int conversion changed", CRITICAL, "CVT003", "exti itof ftoi")
def conversion_signedness(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _flip(op, "signedness", "signed", "unsigned")


@kind("saturating of ftoi set or dropped", CRITICAL, "CVT003", "ftoi")
def ftoi_saturating(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _set(op, "saturating", None if op.has("saturating") else UNIT)


# -- floating point --------------------------------------------------------------------------------


@kind("rounding of arithmetic changed", CRITICAL, "FLT002", "addf subf mulf divf fma sqrt")
def arithmetic_rounding(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    if "rounding_mode" in op.attributes:
        return _set(op, "rounding_mode", None)
    return _set(op, "rounding_mode", EnumAttr("rounding", "negative_inf"))


@kind("rounding of exp or tanh changed", CRITICAL, "FLT002", "exp tanh")
def exp_rounding(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _flip(op, "rounding_mode", "full", "approx")


_FLUSHING = "addf subf mulf divf fma sqrt rsqrt exp2 maxf minf"


@kind("flush_to_zero dropped", CRITICAL, "FLT003", _FLUSHING)
def flush_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op) or not op.has("flush_to_zero"):
        return None
    return _set(op, "flush_to_zero", None)


@kind("flush_to_zero added", CRITICAL, "FLT004", _FLUSHING)
def flush_added(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op) or op.has("flush_to_zero"):
        return None
    return _set(op, "flush_to_zero", UNIT)


@kind("propagate_nan set or dropped", CRITICAL, "FLT005", "maxf minf")
def propagate_nan(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _set(op, "propagate_nan", None if op.has("propagate_nan") else UNIT)


def _renamed(op: Operation, name: str) -> Operation:
    """The same operation by another name; attributes that the other does not have are dropped."""
    spec = OPS[name]
    kept = {k: v for k, v in op.attributes.items() if k in spec.attributes}
    for row in spec.attributes.values():
        if row.default is None and not row.optional and row.name not in kept:
            kept[row.name] = EnumAttr("signedness", "signed")
    types = [v.type for v in op.results]
    new = before(op, name, op.operands, types, kept)
    replace_by(op, new.result)
    return new


_FLOAT_TWINS = {
    "addf": "subf",
    "subf": "addf",
    "mulf": "addf",
    "divf": "mulf",
    "sin": "cos",
    "exp": "exp2",
    "exp2": "exp",
    "log": "log2",
    "sqrt": "rsqrt",
    "rsqrt": "sqrt",
    "floor": "ceil",
    "ceil": "floor",
    "absf": "negf",
    "negf": "absf",
    "tanh": "sinh",
    "cosh": "sinh",
}


@kind("float operation replaced by one of the same signature", CRITICAL,
      f"FLT001 {VALUE}", " ".join(_FLOAT_TWINS))  # fmt: skip
def float_replaced(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    return Site(op, _renamed(op, _FLOAT_TWINS[op.name]))


@kind("maxf for minf and back", CRITICAL, f"FLT001 {VALUE}", "maxf minf")
def maxf_minf(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    return Site(op, _renamed(op, "minf" if op.name == "maxf" else "maxf"))


_DROPPABLE_FLOAT = (
    "absf ceil cos cosh exp exp2 floor log log2 negf rsqrt sin sinh sqrt tan tanh addf subf mulf "
    "divf maxf minf fma fpowf"
)


@kind("float operation dropped", CRITICAL, f"FLT001 {VALUE}", _DROPPABLE_FLOAT)
def float_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    site = _dropped(op)
    replace_by(op, op.operands[0])
    return site


def _dropped(op: Operation) -> Site:
    """Where a dropped operation is missing.

    Reshapes around it may become one, or none; of two alike in a row either one may be missed.
    """
    around = {user.name for user in op.result.users}
    if op.operands[0].defining_op is not None:
        around.add(op.operands[0].defining_op.name)
    return Site(None if around & {"reshape", "broadcast", op.name} else op, None)


@kind("operands of a float operation swapped", CRITICAL, VALUE, "subf divf fpowf atan2 remf")
def float_swapped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or facts.same(op.operands[0], op.operands[1]):
        return None
    swap_operands(op, 0, 1)
    return at(op)


@kind("multiplicand and addend of fma swapped", CRITICAL, VALUE, "fma")
def fma_swapped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or facts.same(op.operands[1], op.operands[2]):
        return None
    swap_operands(op, 1, 2)
    return at(op)


# -- comparing and selecting -----------------------------------------------------------------------

_PREDICATES = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less_than": "less_than_or_equal",
    "less_than_or_equal": "less_than",
    "greater_than": "greater_than_or_equal",
    "greater_than_or_equal": "less_than",
}


@kind("predicate of cmpi or cmpf changed", CRITICAL, VALUE, "cmpi cmpf")
def predicate_changed(op: Operation, facts: Facts) -> Site | None:
    old = op.keyword("comparison_predicate")
    if not facts.matters(op) or old is None:
        return None
    return _set(op, "comparison_predicate", EnumAttr("comparison_predicate", _PREDICATES[old]))


@kind("operands of a comparison swapped", CRITICAL, VALUE, "cmpi cmpf")
def comparison_swapped(op: Operation, facts: Facts) -> Site | None:
    symmetric = op.keyword("comparison_predicate") in ("equal", "not_equal")
    if symmetric or not facts.matters(op) or facts.same(op.operands[0], op.operands[1]):
        return None
    swap_operands(op, 0, 1)
    return at(op)


@kind("signedness of cmpi changed", CRITICAL, VALUE, "cmpi")
def comparison_signedness(op: Operation, facts: Facts) -> Site | None:
    if op.keyword("comparison_predicate") in ("equal", "not_equal") or not facts.matters(op):
        return None
    return _flip(op, "signedness", "signed", "unsigned")


@kind("ordering of cmpf changed", CRITICAL, VALUE, "cmpf")
def comparison_ordering(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _flip(op, "comparison_ordering", "ordered", "unordered")


@kind("select arms swapped", CRITICAL, VALUE, "select")
def select_swapped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or facts.same(op.operands[1], op.operands[2]):
        return None
    swap_operands(op, 1, 2)
    return at(op)


# -- integers --------------------------------------------------------------------------------------


@kind("signedness of integer arithmetic changed", CRITICAL, VALUE, "divi remi shri maxi mini")
def integer_signedness(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    return _flip(op, "signedness", "signed", "unsigned")


@kind("divi rounds down, not up (or the other way)", CRITICAL, VALUE, "divi")
def division_rounding(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    old = op.keyword("rounding")
    if old == "positive_inf":
        return _set(op, "rounding", EnumAttr("rounding", "negative_inf"))
    return _set(op, "rounding", EnumAttr("rounding", "positive_inf"))


_INT_TWINS = {
    "addi": "subi",
    "subi": "addi",
    "muli": "addi",
    "andi": "ori",
    "ori": "xori",
    "xori": "andi",
    "divi": "remi",
    "remi": "divi",
    "maxi": "mini",
    "mini": "maxi",
    "shli": "shri",
    "shri": "shli",
    "absi": "negi",
    "negi": "absi",
}


@kind("integer operation replaced by one of the same signature", CRITICAL, VALUE,
      " ".join(_INT_TWINS))  # fmt: skip
def integer_replaced(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    return Site(op, _renamed(op, _INT_TWINS[op.name]))


def _neutral(op: Operation) -> tuple[int, ...] | None:
    """The second operand with which an operation gives its first one."""
    neutral = {
        "muli": 1,
        "divi": 1,
        "addi": 0,
        "subi": 0,
        "ori": 0,
        "xori": 0,
        "shli": 0,
        "shri": 0,
    }
    return (neutral[op.name],) if op.name in neutral else ()


@kind("integer operation dropped", CRITICAL, VALUE, " ".join(_INT_TWINS))
def integer_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op) or splat_of(op.operands[-1]) == _neutral(op):
        return None
    site = _dropped(op)
    replace_by(op, op.operands[0])
    return site


@kind("operands of an integer operation swapped", CRITICAL, VALUE, "subi divi remi shli shri")
def integer_swapped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or facts.same(op.operands[0], op.operands[1]):
        return None
    swap_operands(op, 0, 1)
    return at(op)


_OVERFLOWING = "addi subi muli shli negi trunci"


@kind("overflow flag added", CRITICAL, "OVF001", _OVERFLOWING)
def overflow_added(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op) or "overflow" in op.attributes:
        return None
    raws = [splat_of(v) for v in op.operands]
    if None not in raws or raws[-1] == _neutral(op) or (op.name == "muli" and raws[0] == (1,)):
        # The promise says nothing: the result is known, or one of the operands.
        return None
    return _set(op, "overflow", EnumAttr("overflow", "no_signed_wrap"))


@kind("overflow flag dropped", WARN, "OVF002", _OVERFLOWING)
def overflow_dropped(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or "overflow" not in op.attributes:
        return None
    return _set(op, "overflow", None)


# -- constants -------------------------------------------------------------------------------------


def _is_float(type: Type) -> bool:
    return isinstance(type, TileType) and str(type.element) in FLOAT_FORMATS


def _multiplies_zero(op: Operation) -> bool:
    """Whether an operation is 0 whatever its other operand is."""
    return op.name == "muli" and any(splat_of(v) == (0,) for v in op.operands)


@kind("integer constant changed", CRITICAL, VALUE, "constant")
def integer_constant(op: Operation, facts: Facts) -> Site | None:
    value = op.attributes["value"]
    assert isinstance(value, DenseElementsAttr)
    if _is_float(value.type) or not facts.matters(op):
        return None
    if all(_multiplies_zero(user) for user in op.result.users):
        return None
    if value.type.element is I1:
        changed = (1 - value.raw[0], *value.raw[1:])
    else:
        changed = (value.raw[0] - 1 if value.raw[0] > 1 else value.raw[0] + 1, *value.raw[1:])
    _set(op, "value", DenseElementsAttr(value.type, changed))
    return Site(None, None)


@kind("float constant changed in its last bit", CRITICAL, VALUE, "constant")
def float_constant(op: Operation, facts: Facts) -> Site | None:
    value = op.attributes["value"]
    assert isinstance(value, DenseElementsAttr)
    if not _is_float(value.type) or not facts.matters(op):
        return None
    _set(op, "value", DenseElementsAttr(value.type, (value.raw[0] ^ 1, *value.raw[1:])))
    return Site(None, None)


@kind("sign of a float constant changed", CRITICAL, VALUE, "constant")
def float_constant_sign(op: Operation, facts: Facts) -> Site | None:
    value = op.attributes["value"]
    assert isinstance(value, DenseElementsAttr)
    form = FLOAT_FORMATS.get(str(value.type.element))
    if form is None or not form.signed or not facts.matters(op):
        return None
    flipped = tuple(raw ^ (1 << (form.exponent + form.mantissa)) for raw in value.raw)
    _set(op, "value", DenseElementsAttr(value.type, flipped))
    return Site(None, None)


# -- shapes ----------------------------------------------------------------------------------------


@kind("permutation changed", CRITICAL, VALUE, "permute")
def permutation_changed(op: Operation, facts: Facts) -> Site | None:
    old = op.attributes["permutation"]
    source = op.operands[0].type
    assert isinstance(old, DenseArrayAttr)
    assert isinstance(source, TileType)
    new = (old.values[1], old.values[0], *old.values[2:])
    if not facts.matters(op):
        return None
    shape = tuple(source.shape[d] for d in new)
    op.result.type = TileType(shape, source.element)
    return _set(op, "permutation", DenseArrayAttr(old.element, new))


@kind("reshape to the transposed shape", CRITICAL, VALUE, "reshape")
def reshape_transposed(op: Operation, facts: Facts) -> Site | None:
    type = op.result.type
    assert isinstance(type, TileType)
    shape = type.shape[::-1]
    new = TileType(shape, type.element)
    if shape == type.shape or new is op.operands[0].type or not facts.matters(op):
        return None
    op.result.type = TileType(shape, type.element)
    return Site(None, None) if splat_of(op.operands[0]) else at(op)


@kind("cat operands swapped", CRITICAL, VALUE, "cat")
def cat_swapped(op: Operation, facts: Facts) -> Site | None:
    if facts.same(op.operands[0], op.operands[1]):
        return None
    swap_operands(op, 0, 1)
    return at(op)


def _next_result(op: Operation, facts: Facts) -> Site | None:
    """Let everything that reads one result read the next one."""
    used = [v for v in op.results if v in facts.live]
    if not used or len(op.results) < 2:
        return None
    value = used[0]
    value.replace_all_uses_with(op.results[(value.index + 1) % len(op.results)])
    return Site(None, None)


@kind("block id or grid size of another axis", CRITICAL, VALUE,
      "get_tile_block_id get_num_tile_blocks")  # fmt: skip
def block_axis(op: Operation, facts: Facts) -> Site | None:
    return _next_result(op, facts)


@kind("another dimension of the index space or tensor shape", CRITICAL, VALUE,
      "get_index_space_shape get_tensor_shape")  # fmt: skip
def shape_dimension(op: Operation, facts: Facts) -> Site | None:
    return _next_result(op, facts)


# -- views -----------------------------------------------------------------------------------------


def _accesses(view: Operation) -> list[Operation]:
    return [op for op in view.result.users if op.name in _MEMORY]


def _loads(view: Operation) -> list[Operation]:
    return [op for op in _accesses(view) if op.name == "load_view_tko"]


def _with(view: ViewType, **fields: object) -> ViewType:
    """The same view type with some fields changed."""
    old = {name: getattr(view, name) for name in type(view).__slots__}
    return type(view)(**{**old, **fields})


@kind("tile shape of a view changed", CRITICAL, "MEM005 DFL005 MMA002", MAKE_VIEW)
def view_tile(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, ViewType)
    if not _accesses(op) or not view.tile_shape:
        return None
    wider = (*view.tile_shape[:-1], view.tile_shape[-1] * 2)
    new = op.result.type = _with(view, tile_shape=wider)
    assert isinstance(new, ViewType)
    for load in _loads(op):
        load.results[0].type = new.tile
    return at(op)


@kind("padding_value dropped", CRITICAL, "MEM007", MAKE_VIEW)
def padding_dropped(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, ViewType)
    if view.padding is None or not _loads(op):
        return None
    op.result.type = _with(view, padding=None)
    return at(op)


@kind("padding_value changed", CRITICAL, "MEM007", MAKE_VIEW)
def padding_changed(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, ViewType)
    if not _loads(op):
        return None
    op.result.type = _with(view, padding="neg_inf" if view.padding != "neg_inf" else "zero")
    return at(op)


@kind("dim_map changed", CRITICAL, "MEM008", "make_partition_view make_strided_view")
def dim_map_changed(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, (PartitionViewType, StridedViewType))
    if view.rank < 2 or not _accesses(op):
        return None
    first, second, *rest = view.dim_map
    op.result.type = _with(view, dim_map=(second, first, *rest))
    return at(op)


@kind("traversal strides changed", CRITICAL, "MEM008", "make_strided_view")
def traversal_strides(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, StridedViewType)
    if not _accesses(op):
        return None
    first, *rest = view.traversal_strides
    op.result.type = _with(view, traversal_strides=(first * 2, *rest))
    return at(op)


@kind("sparse dimension changed", CRITICAL, "MEM008", "make_gather_scatter_view")
def sparse_dimension(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, GatherScatterViewType)
    if view.rank < 2 or not _accesses(op):
        return None
    op.result.type = _with(view, sparse_dim=(view.sparse_dim + 1) % view.rank)
    return at(op)


@kind("a partition view became a strided one", CRITICAL, "MEM008", "make_partition_view")
def strided_for_partition(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, PartitionViewType)
    indices = [v for access in _accesses(op) for v in access.operand_group("index")]
    first = [v for v in indices if v.type is TileType((), I32) and splat_of(v) != (0,)]
    if view.tile_shape[0] < 2 or not first or first[0] is not indices[0]:
        return None
    strides = (view.tile_shape[0] // 2, *view.tile_shape[1:])
    type = StridedViewType(view.tile_shape, strides, view.tensor_view, view.dim_map, view.padding)
    new = before(op, "make_strided_view", op.operands, [type])
    replace_by(op, new.result)
    return Site(op, new)


def _swap_group(op: Operation, group: str, facts: Facts) -> Site | None:
    values = op.operand_group(group)
    if len(values) < 2 or facts.same(values[0], values[1]) or not facts.matters(op):
        return None
    first = op.operands.index(values[0], 1)
    swap_operands(op, first, first + 1)
    return Site(None, None)


@kind("sizes of a tensor view swapped", CRITICAL, "MEM009", "make_tensor_view")
def tensor_sizes(op: Operation, facts: Facts) -> Site | None:
    return _swap_group(op, "dynamicShape", facts)


@kind("strides of a tensor view swapped", CRITICAL, "MEM009", "make_tensor_view")
def tensor_strides(op: Operation, facts: Facts) -> Site | None:
    return _swap_group(op, "dynamicStrides", facts)


def _retype_tensor(op: Operation, new: TensorViewType) -> None:
    """Give a tensor view another type, and the views made of it."""
    op.result.type = new
    for user in op.result.users:
        view = user.results[0].type if user.results else None
        if isinstance(view, ViewType):
            user.results[0].type = _with(view, tensor_view=new)


@kind("static stride of a tensor view changed", CRITICAL, "MEM009", "make_tensor_view")
def static_stride(op: Operation, facts: Facts) -> Site | None:
    old = op.result.type
    assert isinstance(old, TensorViewType)
    if not facts.matters(op) or old.strides[-1:] != (1,):
        return None
    _retype_tensor(
        op, TensorViewType(old.shape, (*old.strides[:-1], 2), old.element, old.attribute)
    )
    return at(op)


@kind("static stride 1 given at run time", WARN, "PRF004", "make_tensor_view")
def stride_at_run_time(op: Operation, facts: Facts) -> Site | None:
    old = op.result.type
    assert isinstance(old, TensorViewType)
    dynamic = [*op.operand_group("dynamicShape"), *op.operand_group("dynamicStrides")]
    if not facts.matters(op) or old.strides[-1:] != (1,) or not dynamic or op.segments is None:
        return None
    one = constant(op, dynamic[0].type, 1)
    base, shape, strides = op.segments
    op.set_operands([*op.operands, one], (base, shape, strides + 1))
    strides_now = (*old.strides[:-1], None)
    _retype_tensor(op, TensorViewType(old.shape, strides_now, old.element, old.attribute))
    return at(op)


# -- memory ----------------------------------------------------------------------------------------


@kind("indices of an access transposed", CRITICAL, "MEM004", "load_view_tko store_view_tko")
def indices_transposed(op: Operation, facts: Facts) -> Site | None:
    return _swap_index(op, facts)


def _swap_index(op: Operation, facts: Facts) -> Site | None:
    values = op.operand_group("index")
    if len(values) < 2 or facts.same(values[0], values[1]):
        return None
    assert op.segments is not None
    assert op.spec is not None
    first = sum(op.segments[: op.spec.operand_index("index")])
    swap_operands(op, first, first + 1)
    return Site(None, None)


def _replace_in(op: Operation, group: str, facts: Facts) -> Site | None:
    """Let an operand of a group be another value of its type."""
    assert op.spec is not None
    start = sum(op.segments[: op.spec.operand_index(group)]) if op.segments else 0
    for offset in range(len(op.operand_group(group))):
        value = another(op, start + offset, facts)
        if value is not None:
            op.set_operand(start + offset, value)
            return Site(None, None)
    return None


@kind("index of an access replaced", CRITICAL, "MEM004", "load_view_tko store_view_tko")
def index_replaced(op: Operation, facts: Facts) -> Site | None:
    return _replace_in(op, "index", facts)


@kind("base of a tensor view or pointer is another parameter", CRITICAL, f"MEM004 {VALUE}",
      "make_tensor_view reshape offset")  # fmt: skip
def other_parameter(op: Operation, facts: Facts) -> Site | None:
    base = op.operands[0]
    is_pointer = isinstance(base.type, TileType) and isinstance(base.type.element, PointerType)
    if not is_pointer or not facts.matters(op):
        return None
    for value in visible(op):
        if value.type is base.type and not facts.same(value, base):
            op.set_operand(0, value)
            return Site(None, None)
    return None


@kind("store or atomic dropped", CRITICAL, "MEM001", f"{STORES} {_ATOMICS}")
def write_dropped(op: Operation, facts: Facts) -> Site | None:
    values = [v for v in op.results if not isinstance(v.type, TokenType)]
    if any(v.users for v in values):
        return None
    token = op.operand("token")
    for result in op.results:
        if isinstance(result.type, TokenType) and result.users:
            source = token if token is not None else before(op, "make_token", [], [TOKEN]).result
            result.replace_all_uses_with(source)
    op.erase()
    return Site(op, None)


@kind("store or atomic repeated", CRITICAL, "MEM002", f"{STORES} {_ATOMICS}")
def write_repeated(op: Operation, facts: Facts) -> Site | None:
    copy_of(op, op)
    return Site(None, None)


@kind("load repeated", CRITICAL, "MEM002", LOADS)
def load_repeated(op: Operation, facts: Facts) -> Site | None:
    copy_of(op, op)
    return Site(None, None)


@kind("load dropped, a constant in its place", CRITICAL, "MEM001", LOADS)
def load_dropped(op: Operation, facts: Facts) -> Site | None:
    type = op.results[0].type
    assert isinstance(type, TileType)
    if isinstance(type.element, PointerType):
        return None
    op.results[0].replace_all_uses_with(constant(op, type, 0))
    if op.results[1].users:
        token = op.operand("token")
        source = token if token is not None else before(op, "make_token", [], [TOKEN]).result
        op.results[1].replace_all_uses_with(source)
    op.erase()
    return Site(op, None)


@kind("stored value replaced", CRITICAL, f"{VALUE} {WHOLE}", STORES)
def stored_value(op: Operation, facts: Facts) -> Site | None:
    group = "tile" if op.name == "store_view_tko" else "value"
    return _replace_in(op, group, facts)


@kind("mask dropped", CRITICAL, "MEM006", f"{ACCESSES} {_ATOMICS}")
def mask_dropped(op: Operation, facts: Facts) -> Site | None:
    if not _has_group(op, "mask"):
        return None
    drop_operand(op, "mask")
    # A load with padding alone reads its second operand as a mask in some tools.
    return at(op)


def _has_group(op: Operation, name: str) -> bool:
    assert op.spec is not None
    return any(row.name == name for row in op.spec.operands) and bool(op.operand_group(name))


@kind("mask inverted", CRITICAL, "MEM006", f"{ACCESSES} {_ATOMICS}")
def mask_inverted(op: Operation, facts: Facts) -> Site | None:
    mask = op.operand("mask") if _has_group(op, "mask") else None
    if mask is None:
        return None
    inverted = binary(op, "xori", mask, constant(op, mask.type, 1))
    op.set_operand(op.operands.index(mask), inverted)
    return Site(None, None)


@kind("padding operand dropped", CRITICAL, "MEM007", "load_ptr_tko")
def padding_operand_dropped(op: Operation, facts: Facts) -> Site | None:
    if not op.operand_group("paddingValue"):
        return None
    drop_operand(op, "paddingValue")
    return at(op)


@kind("padding operand changed", CRITICAL, "MEM007", "load_ptr_tko")
def padding_operand_changed(op: Operation, facts: Facts) -> Site | None:
    padding = op.operand("paddingValue")
    if padding is None:
        return None
    splat = splat_of(padding)
    raw = 0 if splat is None or splat != (0,) else 1
    op.set_operand(op.operands.index(padding), constant(op, padding.type, raw))
    return Site(None, None)


@kind("memory ordering changed", CRITICAL, "MEM012", f"{ACCESSES} {_ATOMICS}")
def memory_ordering(op: Operation, facts: Facts) -> Site | None:
    changes = {"weak": "relaxed", "relaxed": "acquire", "acquire": "relaxed", "release": "relaxed"}
    old = op.keyword("memory_ordering_semantics")
    if old not in changes:
        return None
    if old == "weak":
        op.attributes["memory_scope"] = EnumAttr("memory_scope", "device")
    kind = "memory_ordering_semantics"
    return _set(op, kind, EnumAttr(kind, changes[old]))


@kind("memory scope changed", CRITICAL, "MEM012", f"{ACCESSES} {_ATOMICS}")
def memory_scope(op: Operation, facts: Facts) -> Site | None:
    return _flip(op, "memory_scope", "device", "tl_blk")


@kind("mode of an atomic changed", CRITICAL, "MEM014", "atomic_rmw_tko atomic_red_view_tko")
def atomic_mode(op: Operation, facts: Facts) -> Site | None:
    changes = {"add": "max", "addf": "max", "max": "min", "min": "max", "xchg": "add"}
    changes |= {"and": "or", "or": "xor", "xor": "and", "umax": "max", "umin": "min"}
    old = op.keyword("mode")
    return _set(op, "mode", EnumAttr("atomic_rmw_mode", changes[old])) if old in changes else None


@kind("compared and new value of atomic_cas swapped", CRITICAL, VALUE, "atomic_cas_tko")
def cas_swapped(op: Operation, facts: Facts) -> Site | None:
    if facts.same(op.operands[1], op.operands[2]):
        return None
    swap_operands(op, 1, 2)
    return Site(None, None)


@kind("inbounds added", CRITICAL, "MEM010", "load_view_tko store_view_tko")
def inbounds_added(op: Operation, facts: Facts) -> Site | None:
    rank = len(op.operand_group("index"))
    old = op.attributes.get("inbounds")
    values = old.values if isinstance(old, DenseArrayAttr) else (0,) * rank
    if all(values) or not rank:
        return None
    return _set(op, "inbounds", DenseArrayAttr("i1", (1,) * rank))


@kind("inbounds dropped", WARN, "MEM011", "load_view_tko store_view_tko")
def inbounds_dropped(op: Operation, facts: Facts) -> Site | None:
    if "inbounds" not in op.attributes:
        return None
    return _set(op, "inbounds", None)


# -- tokens ----------------------------------------------------------------------------------------


def _orders(op: Operation, facts: Facts) -> bool:
    """Whether the token operand of `op` orders it behind an access that it could conflict with."""
    token = op.operand("token") if _has_group(op, "token") else None
    if token is None:
        return False
    producers = _producers(token)
    if op.name not in ("load_view_tko", "load_ptr_tko") or not _is_weak(op):
        return bool(producers)
    return any(p.name not in ("load_view_tko", "load_ptr_tko") for p in producers)


def _is_weak(op: Operation) -> bool:
    return op.keyword("memory_ordering_semantics") in ("weak", "relaxed")


def _producers(token: Value) -> list[Operation]:
    """The accesses that a token comes from inside the same block, joins looked through."""
    op = token.defining_op
    if op is None:
        return []
    if op.name in ("join_tokens", "print_tko"):
        return [p for v in op.operands if isinstance(v.type, TokenType) for p in _producers(v)]
    return [op] if op.name in _MEMORY else []


@kind("token dropped", CRITICAL, "MEM013", f"{ACCESSES} {_ATOMICS}")
def token_dropped(op: Operation, facts: Facts) -> Site | None:
    if not _orders(op, facts):
        return None
    drop_operand(op, "token")
    return at(op)


@kind("order lost through a fresh make_token", CRITICAL, "MEM013", f"{ACCESSES} {_ATOMICS}")
def token_fresh(op: Operation, facts: Facts) -> Site | None:
    if not _orders(op, facts):
        return None
    op.set_operand(len(op.operands) - 1, before(op, "make_token", [], [TOKEN]).result)
    return at(op)


@kind("token left out of a join", CRITICAL, "MEM013", "join_tokens")
def token_left_out(op: Operation, facts: Facts) -> Site | None:
    writes = [user for user in op.result.users if user.name in STORES.split()]
    lost = [v for v in op.operands if _producers(v)]
    if not writes or not lost:
        return None
    rest = {p for v in op.operands if v is not lost[-1] for p in _ancestors(v)}
    if set(_producers(lost[-1])) & rest:
        return None
    op.set_operands([v for v in op.operands if v is not lost[-1]], None)
    return Site(writes[0], writes[0])


def _ancestors(token: Value) -> set[Operation]:
    """Every access before a token, over any number of steps inside the block."""
    found: set[Operation] = set()
    pending = [token]
    while pending:
        for op in _producers(pending.pop()):
            if op not in found:
                found.add(op)
                pending += [v for v in op.operands if isinstance(v.type, TokenType)]
    return found


@kind("token of an iteration not carried to the next", CRITICAL, "MEM013", "continue")
def token_not_carried(op: Operation, facts: Facts) -> Site | None:
    loop = target_of(op)
    if loop is None:
        return None
    first = loop.name == "for"
    for index, value in enumerate(op.operands):
        argument = loop.regions[0].block.arguments[index + first]
        reads = [u for u in argument.users if u.name in _MEMORY]
        conflict = [p for p in _producers(value) if p.name in STORES.split()]
        if isinstance(value.type, TokenType) and reads and conflict:
            op.set_operand(index, argument)
            return Site(reads[0], reads[0])
    return None


# -- loops and branches ----------------------------------------------------------------------------


@kind("loop step changed", CRITICAL, "LOP003", "for")
def loop_step(op: Operation, facts: Facts) -> Site | None:
    step = op.operands[2]
    splat = splat_of(step)
    op.set_operand(2, constant(op, step.type, splat[0] + 1 if splat else 2))
    return Site(None, None)


@kind("upper bound of a loop changed", CRITICAL, "LOP002", "for")
def loop_upper_bound(op: Operation, facts: Facts) -> Site | None:
    one = constant(op, op.operands[1].type, 1)
    op.set_operand(1, binary(op, "addi", op.operands[1], one))
    return Site(None, None)


@kind("lower bound of a loop changed", CRITICAL, "LOP002", "for")
def loop_lower_bound(op: Operation, facts: Facts) -> Site | None:
    splat = splat_of(op.operands[0])
    op.set_operand(0, constant(op, op.operands[0].type, splat[0] + 1 if splat else 0))
    return Site(None, None)


@kind("bound of a loop replaced by another value", CRITICAL, "LOP002", "for")
def loop_bound_replaced(op: Operation, facts: Facts) -> Site | None:
    value = another(op, 1, facts)
    if value is None:
        return None
    op.set_operand(1, value)
    return Site(None, None)


@kind("unsigned comparison of a loop changed", CRITICAL, "LOP002", "for")
def loop_unsigned(op: Operation, facts: Facts) -> Site | None:
    return _set(op, "unsignedCmp", None if op.has("unsignedCmp") else UNIT)


@kind("start of a carried value changed", CRITICAL, "LOP004", "for loop")
def carried_start(op: Operation, facts: Facts) -> Site | None:
    first = 3 if op.name == "for" else 0
    for index in range(first, len(op.operands)):
        value = op.operands[index]
        argument = op.regions[0].block.arguments[index - first + (op.name == "for")]
        if isinstance(value.type, TileType) and argument in facts.live and _is_number(value.type):
            splat = splat_of(value)
            raw = 1 if splat is None or splat == (0,) else 0
            op.set_operand(index, constant(op, value.type, raw))
            return Site(None, None)
    return None


def _is_number(type: Type) -> bool:
    return isinstance(type, TileType) and isinstance(type.element, ElementType)


def _carried_live(op: Operation, facts: Facts) -> list[int]:
    """The operands of a terminator that reach something, tokens left out."""
    loop = target_of(op)
    if loop is None or loop.name not in LOOPS:
        return []
    arguments = loop.regions[0].block.arguments[loop.name == "for" :]
    places = []
    for index, value in enumerate(op.operands):
        read = arguments[index] in facts.live or loop.results[index] in facts.live
        if not isinstance(value.type, TokenType) and read:
            places.append(index)
    return places


@kind("updates of two carried values swapped", CRITICAL, f"{VALUE} {WHOLE}", "continue")
def carried_swapped(op: Operation, facts: Facts) -> Site | None:
    places = _carried_live(op, facts)
    for i in places:
        for j in places:
            one, other = op.operands[i], op.operands[j]
            if i < j and one.type is other.type and not facts.same(one, other):
                swap_operands(op, i, j)
                return Site(None, None)
    return None


@kind("update of a carried value dropped", CRITICAL, f"{VALUE} {WHOLE}", "continue")
def carried_update(op: Operation, facts: Facts) -> Site | None:
    loop = target_of(op)
    for index in _carried_live(op, facts):
        assert loop is not None
        argument = loop.regions[0].block.arguments[index + (loop.name == "for")]
        if not facts.same(op.operands[index], argument):
            op.set_operand(index, argument)
            return Site(None, None)
    return None


@kind("condition of a branch inverted", CRITICAL, "LOP005", "if")
def branch_inverted(op: Operation, facts: Facts) -> Site | None:
    condition = op.operands[0]
    op.set_operand(0, binary(op, "xori", condition, constant(op, condition.type, 1)))
    return Site(None, None)


@kind("branches swapped", CRITICAL, f"{VALUE} {WHOLE} MEM001 MEM002 MEM016", "if")
def branches_swapped(op: Operation, facts: Facts) -> Site | None:
    one, other = op.regions
    if one.empty or other.empty:
        return None
    bodies = [[o.name for o in r.block.operations] for r in op.regions]
    if bodies[0] == bodies[1]:
        return None
    op.regions = (other, one)
    return Site(None, None)


@kind("exit from a branch dropped", CRITICAL, "LOP006", "break continue return")
def exit_dropped(op: Operation, facts: Facts) -> Site | None:
    around = op.parent_op
    if around is None or around.name != "if" or around.results:
        return None
    assert op.parent is not None
    op.parent.add(Operation("yield", OPS["yield"]))
    op.erase()
    return Site(op, None)


# -- where things stand ----------------------------------------------------------------------------


def _loop_behind(op: Operation) -> Operation | None:
    """The next loop in the block where everything that reads `op` is inside it."""
    if op.parent is None or op.regions:
        return None
    operations = op.parent.operations
    for other in operations[operations.index(op) + 1 :]:
        if other.name in LOOPS:
            held = set(other.walk()) - {other}
            users = [u for v in op.results for u in v.users]
            return other if users and all(u in held for u in users) else None
    return None


def _move_into(op: Operation, loop: Operation) -> Site:
    first = loop.regions[0].block.operations[0]
    op.detach()
    loop.regions[0].block.insert_before(first, op)
    return at(op)


_CHEAP = ("constant", "iota", "get_tile_block_id", "get_num_tile_blocks", "make_token")


@kind("operation moved into the loop", WARN, "PRF002")
def moved_into_loop(op: Operation, facts: Facts) -> Site | None:
    pure = op.spec is not None and op.spec.is_pure and not op.spec.is_terminator
    views = (*MAKE_VIEW.split(), "make_tensor_view", "join_tokens")
    loop = _loop_behind(op)
    if not pure or op.name in (*_CHEAP, *views) or loop is None or not facts.matters(op):
        return None
    if splat_of(op.result) or facts.computed_twice(op):
        return None
    return _move_into(op, loop)


@kind("view made inside the loop", WARN, "PRF003", MAKE_VIEW)
def view_into_loop(op: Operation, facts: Facts) -> Site | None:
    loop = _loop_behind(op)
    if loop is None or facts.computed_twice(op):
        return None
    return _move_into(op, loop)


@kind("load moved into the loop", WARN, "MEM015", LOADS)
def load_into_loop(op: Operation, facts: Facts) -> Site | None:
    loop = _loop_behind(op)
    return _move_into(op, loop) if loop is not None else None


@kind("store moved into the loop", CRITICAL, "MEM016", STORES)
def store_into_loop(op: Operation, facts: Facts) -> Site | None:
    """The store goes to the end of the loop's body and stores what the loop carries there."""
    assert op.parent is not None
    before_it = op.parent.operations[: op.parent.operations.index(op)]
    loop = next((o for o in reversed(before_it) if o.name == "for"), None)
    index = 0 if op.name == "store_view_tko" else 1
    stored = op.operands[index]
    if loop is None or stored.owner is not loop or op.results[0].users:
        return None
    token = op.operand("token")
    late = [v for v in op.operands if v.owner in before_it[before_it.index(loop) :]]
    if [v for v in late if v is not stored and v is not token]:
        return None
    body = loop.regions[0].block
    end = body.operations[-1]
    op.detach()
    body.insert_before(end, op)
    op.set_operand(index, end.operands[stored.index])
    if token in late:
        drop_operand(op, "token")
    return at(op)


@kind("write moved in front of an early exit", CRITICAL, "MEM016", STORES)
def write_before_exit(op: Operation, facts: Facts) -> Site | None:
    assert op.parent is not None
    operations = op.parent.operations
    place = operations.index(op)
    for index in range(place):
        branch = operations[index]
        leaves = any(o.name in ("return", "break", "continue") for o in branch.walk())
        behind = {v for o in operations[index:place] for v in o.results}
        if branch.name == "if" and leaves and not behind & set(op.operands):
            op.detach()
            op_block = branch.parent
            assert op_block is not None
            op_block.insert_before(branch, op)
            return at(op)
    return None


# -- reductions ------------------------------------------------------------------------------------


@kind("reduction along another dimension", CRITICAL, "RED001", "reduce scan")
def reduction_dimension(op: Operation, facts: Facts) -> Site | None:
    type = op.operands[0].type
    dim = op.attributes["dim"]
    assert isinstance(type, TileType)
    assert isinstance(dim, IntegerAttr)
    if type.rank < 2 or not facts.matters(op):
        return None
    new = (dim.value + 1) % type.rank
    if op.name == "reduce":
        for value, operand in zip(op.results, op.operands, strict=True):
            assert isinstance(operand.type, TileType)
            shape = tuple(s for d, s in enumerate(operand.type.shape) if d != new)
            value.type = TileType(shape, operand.type.element)
    return _set(op, "dim", IntegerAttr(new, dim.type))


@kind("identity of a reduction changed", CRITICAL, "RED002", "reduce scan")
def reduction_identity(op: Operation, facts: Facts) -> Site | None:
    found = op.attributes["identities"]
    assert isinstance(found, ArrayAttr)
    first, *rest = found.items
    if not facts.matters(op):
        return None
    if isinstance(first, FloatAttr):
        new: Attribute = FloatAttr(first.bits ^ 1, first.type)
    else:
        assert isinstance(first, IntegerAttr)
        new = IntegerAttr(1 - first.value if first.value in (0, 1) else 0, first.type)
    return _set(op, "identities", ArrayAttr((new, *rest)))


_BODY_TWINS = {**_FLOAT_TWINS, **_INT_TWINS, "maxf": "minf", "minf": "maxf"}


@kind("operation in the body of a reduction replaced", CRITICAL, "RED003", " ".join(_BODY_TWINS))
def reduction_body(op: Operation, facts: Facts) -> Site | None:
    if not in_body(op) or not facts.matters(op):
        return None
    return Site(op, _renamed(op, _BODY_TWINS[op.name]))


@kind("values that a reduction's body yields swapped", CRITICAL, "RED003 DFL003", "yield")
def reduction_yield(op: Operation, facts: Facts) -> Site | None:
    if not in_body(op) or len(op.operands) < 2 or facts.same(*op.operands[:2]):
        return None
    swap_operands(op, 0, 1)
    return Site(None, None)


@kind("direction of a scan changed", CRITICAL, "RED001", "scan")
def scan_reverse(op: Operation, facts: Facts) -> Site | None:
    found = op.attributes["reverse"]
    assert isinstance(found, BoolAttr)
    return _set(op, "reverse", BoolAttr(not found.value))


# -- prints and asserts ----------------------------------------------------------------------------


@kind("text of a print or assert changed", CRITICAL, "DFL007", "print_tko assert")
def message_changed(op: Operation, facts: Facts) -> Site | None:
    return _set(op, "str" if op.name == "print_tko" else "message", StringAttr("something else"))


@kind("print or assert dropped", CRITICAL, "DFL007", "print_tko assert")
def print_dropped(op: Operation, facts: Facts) -> Site | None:
    for result in op.results:
        token = op.operand("token")
        source = token if token is not None else before(op, "make_token", [], [TOKEN]).result
        result.replace_all_uses_with(source)
    op.erase()
    return Site(op, None)


@kind("condition of an assert changed", CRITICAL, "DFL007", "assert")
def assert_condition(op: Operation, facts: Facts) -> Site | None:
    old = op.operands[0]
    op.set_operand(0, constant(op, old.type, 1))
    return Site(None, None)


@kind("assert added", WARN, "DFL008", "for")
def assert_added(op: Operation, facts: Facts) -> Site | None:
    index = op.regions[0].block.arguments[0]
    first = op.regions[0].block.operations[0]
    bound = op.operands[1]
    signed: Attribute = EnumAttr("signedness", "signed")
    less: Attribute = EnumAttr("comparison_predicate", "less_than")
    flags = {"comparison_predicate": less, "signedness": signed}
    condition = before(first, "cmpi", [index, bound], [TileType((), I1)], flags).result
    new = before(first, "assert", [condition], [], {"message": StringAttr("in range")})
    return Site(None, new)


# -- parameters ------------------------------------------------------------------------------------


def _set_signature(op: Entry) -> None:
    types = tuple(v.type for v in op.arguments)
    op.attributes["function_type"] = TypeAttr(FunctionType(types, ()))


def _new_parameter(op: Entry, type: Type) -> Value:
    value = Value(type, op.body, len(op.arguments))
    op.body.arguments.append(value)
    _set_signature(op)
    return value


@kind("parameter added", CRITICAL, "ABI001", "entry")
def parameter_added(op: Operation, facts: Facts) -> Site | None:
    assert isinstance(op, Entry)
    _new_parameter(op, TileType((), I32))
    return at(op)


@kind("constant passed as a parameter", CRITICAL, "ABI002", "constant")
def constant_as_parameter(op: Operation, facts: Facts) -> Site | None:
    type = op.result.type
    entry = op.parent_op
    if not isinstance(entry, Entry) or not facts.matters(op):
        return None
    if not isinstance(type, TileType) or type.rank or type.element is not I32:
        return None
    replace_by(op, _new_parameter(entry, type))
    return Site(None, None)


@kind("two parameters of one type exchanged", CRITICAL, VALUE, "entry")
def parameters_exchanged(op: Operation, facts: Facts) -> Site | None:
    assert isinstance(op, Entry)
    live = [v for v in op.arguments if v in facts.live]
    for i, one in enumerate(live):
        for other in live[i + 1 :]:
            if one.type is other.type:
                place = one.index
                one.index, other.index = other.index, place
                op.arguments[one.index], op.arguments[other.index] = one, other
                return Site(None, None)
    return None


# -- promises --------------------------------------------------------------------------------------


def _assume(anchor: Operation, value: Value, predicate: Attribute) -> Operation:
    """Assume something about a value; everything behind reads the assumed value."""
    users = list(value.uses)
    new = before(anchor, "assume", [value], [value.type], {"predicate": predicate})
    for user, index in users:
        user.set_operand(index, new.result)
    return new


@kind("assume added about a parameter", CRITICAL, "ASM001", "entry")
def assume_added(op: Operation, facts: Facts) -> Site | None:
    assert isinstance(op, Entry)
    for value in op.arguments:
        if value in facts.live and isinstance(value.type, TileType):
            promised = [u for u in value.users if u.name == "assume"]
            if not promised and not value.type.rank and value.type.element is I32:
                return Site(None, _assume(op.body.operations[0], value, DivByAttr(4)))
    return None


@kind("assume added about a loaded value", CRITICAL, "ASM001", "load_view_tko load_ptr_tko")
def assume_about_load(op: Operation, facts: Facts) -> Site | None:
    value = op.results[0]
    assert isinstance(value.type, TileType)
    follower = op.parent.operations[op.parent.operations.index(op) + 1] if op.parent else op
    if value not in facts.live or _is_float(value.type) or value.type.element is I1:
        return None
    if not isinstance(value.type.element, ElementType):
        return None
    return Site(None, _assume(follower, value, BoundedAttr(0, None)))


@kind("div_by strengthened", CRITICAL, "ASM001", "assume")
def assume_strengthened(op: Operation, facts: Facts) -> Site | None:
    predicate = op.attributes["predicate"]
    if not isinstance(predicate, DivByAttr) or not facts.matters(op):
        return None
    changed = DivByAttr(predicate.divisor * 2, predicate.every, predicate.along)
    _set(op, "predicate", changed)
    return Site(None, op)


@kind("bounded strengthened", CRITICAL, "ASM001", "assume")
def bound_strengthened(op: Operation, facts: Facts) -> Site | None:
    predicate = op.attributes["predicate"]
    if not isinstance(predicate, BoundedAttr) or not facts.matters(op):
        return None
    _set(op, "predicate", BoundedAttr(predicate.lower, 1000))
    return Site(None, op)


def _drop_assume(op: Operation, facts: Facts) -> Site | None:
    """Drop one assume, where no other one promises as much about the same value."""
    value = op.operands[0]
    for other in facts.module.find("assume"):
        if other is not op and facts.same(other.result, value) and _covers(other, op):
            return None
    replace_by(op, value)
    return Site(op, None)


def _covers(other: Operation, op: Operation) -> bool:
    promised, asked = other.attributes["predicate"], op.attributes["predicate"]
    if isinstance(promised, DivByAttr) and isinstance(asked, DivByAttr):
        return promised.divisor % asked.divisor == 0
    return promised is asked


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)


def _reads_raw(op: Operation) -> bool:
    """Whether a pointer is used for accesses that go through no view."""
    seen: set[Value] = set()
    pending = [op.operands[0]]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.users:
            if user.name in ("load_ptr_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko"):
                return True
            if user.name in ("assume", "offset", "reshape", "broadcast"):
                pending.append(user.result)
    return False


@kind("alignment of a raw pointer dropped", CRITICAL, "ASM002", "assume")
def pointer_alignment(op: Operation, facts: Facts) -> Site | None:
    is_div = isinstance(op.attributes["predicate"], DivByAttr)
    if not is_div or not _is_pointer(op.result) or not facts.matters(op) or not _reads_raw(op):
        return None
    return _drop_assume(op, facts)


@kind("alignment of a pointer under a view dropped", WARN, "ASM003", "assume")
def view_alignment(op: Operation, facts: Facts) -> Site | None:
    is_div = isinstance(op.attributes["predicate"], DivByAttr)
    if not is_div or not _is_pointer(op.result) or not facts.matters(op) or _reads_raw(op):
        return None
    return _drop_assume(op, facts)


@kind("assume about a scalar dropped", WARN, "ASM003", "assume")
def scalar_assume(op: Operation, facts: Facts) -> Site | None:
    if _is_pointer(op.result) or not facts.matters(op):
        return None
    return _drop_assume(op, facts)


@kind("assume about a block id added", INFO, "ASM004", "get_tile_block_id")
def block_id_assume(op: Operation, facts: Facts) -> Site | None:
    used = [v for v in op.results if v in facts.live]
    follower = op.parent.operations[op.parent.operations.index(op) + 1] if op.parent else op
    if not used:
        return None
    return Site(None, _assume(follower, used[0], BoundedAttr(0, None)))


# -- hints -----------------------------------------------------------------------------------------


def _hint(op: Operation, arch: str, key: str) -> int | bool | None:
    for name, entries in op.hints.value.items if op.hints else ():
        found = entries.get(key) if name == arch and isinstance(entries, DictAttr) else None
        if isinstance(found, (IntegerAttr, BoolAttr)):
            return found.value
    return None


def _set_hint(op: Operation, arch: str, key: str, value: int | bool | None) -> Site:
    """Set or drop one hint of one target."""
    hints = dict(op.hints.value.items) if op.hints else {}
    old = hints.get(arch)
    entries = dict(old.items) if isinstance(old, DictAttr) else {}
    entries.pop(key, None)
    if isinstance(value, bool):
        entries[key] = BoolAttr(value)
    elif value is not None:
        entries[key] = IntegerAttr(value, I32)
    hints[arch] = DictAttr(tuple(entries.items()))
    op.attributes["optimization_hints"] = OptimizationHintsAttr(DictAttr(tuple(hints.items())))
    return at(op)


def _named(op: Operation, key: str) -> list[str]:
    """The targets for which `op` sets a hint; `default` only where the kernel names no target."""
    arches = [name for name, _ in op.hints.value.items] if op.hints else []
    found = [a for a in arches if a != "default" and _hint(op, a, key) is not None]
    return found or [a for a in arches if a == "default" and _hint(op, a, key) is not None]


def _names_targets(facts: Facts) -> bool:
    hints = [op.hints for op in facts.module.walk() if op.hints]
    return any(name != "default" for h in hints for name, _ in h.value.items)


def _effective_arches(op: Operation, key: str, facts: Facts) -> list[str]:
    """The keys under which a change counts: a target's own; `default` where no target is named."""
    arches = _named(op, key)
    return [a for a in arches if a != "default" or not _names_targets(facts)]


@kind("occupancy or num_cta_in_cga of a target changed", CRITICAL, "HNT001", "entry")
def entry_hint_changed(op: Operation, facts: Facts) -> Site | None:
    for key in ("occupancy", "num_cta_in_cga"):
        for arch in _effective_arches(op, key, facts):
            return _set_hint(op, arch, key, int(_hint(op, arch, key) or 0) * 2)
    return None


@kind("entry hint dropped", WARN, "HNT002", "entry")
def entry_hint_dropped(op: Operation, facts: Facts) -> Site | None:
    for key in ("occupancy", "num_cta_in_cga"):
        for arch in _effective_arches(op, key, facts):
            if _hint(op, "default", key) is None or arch == "default":
                return _set_hint(op, arch, key, None)
    return None


@kind("entry hint added", WARN, "HNT003", "entry")
def entry_hint_added(op: Operation, facts: Facts) -> Site | None:
    if _named(op, "num_worker_warps_per_cta"):
        return None
    return _set_hint(op, "sm_100", "num_worker_warps_per_cta", 4)


@kind("latency inside a loop changed", CRITICAL, "HNT004", ACCESSES)
def latency_changed(op: Operation, facts: Facts) -> Site | None:
    for arch in _effective_arches(op, "latency", facts):
        if inside(op, LOOPS):
            return _set_hint(op, arch, "latency", int(_hint(op, arch, "latency") or 0) + 1)
    return None


@kind("latency inside a loop added", CRITICAL, "HNT004", ACCESSES)
def latency_added(op: Operation, facts: Facts) -> Site | None:
    if not inside(op, LOOPS) or _named(op, "latency"):
        return None
    return _set_hint(op, "sm_100", "latency", 1)


@kind("latency inside a loop dropped", CRITICAL, "HNT004", ACCESSES)
def latency_dropped(op: Operation, facts: Facts) -> Site | None:
    arches = _effective_arches(op, "latency", facts)
    if not inside(op, LOOPS) or not arches:
        return None
    return _set_hint(op, arches[0], "latency", None)


@kind("latency outside loops changed", WARN, "HNT005", ACCESSES)
def latency_outside(op: Operation, facts: Facts) -> Site | None:
    if inside(op, LOOPS):
        return None
    return _set_hint(op, "sm_100", "latency", 7)


@kind("allow_tma = false added", CRITICAL, "HNT006", "load_view_tko store_view_tko")
def tma_forbidden(op: Operation, facts: Facts) -> Site | None:
    if _named(op, "allow_tma"):
        return None
    return _set_hint(op, "sm_100", "allow_tma", False)


@kind("allow_tma = false dropped", WARN, "HNT007", "load_view_tko store_view_tko")
def tma_allowed(op: Operation, facts: Facts) -> Site | None:
    for arch in _effective_arches(op, "allow_tma", facts):
        if _hint(op, arch, "allow_tma") is False:
            return _set_hint(op, arch, "allow_tma", None)
    return None


# -- any operand -----------------------------------------------------------------------------------


@kind("any operand of a pure operation replaced", CRITICAL, f"{VALUE} {WHOLE} MEM005 MEM008")
def operand_replaced(op: Operation, facts: Facts) -> Site | None:
    pure = op.spec is not None and op.spec.is_pure and not op.spec.is_terminator
    if not pure or not facts.matters(op):
        return None
    for index in reversed(range(len(op.operands))):
        value = another(op, index, facts)
        if value is not None:
            op.set_operand(index, value)
            return Site(None, None)
    return None


@kind("text of an unknown operation changed", CRITICAL, "OPQ002")
def opaque_changed(op: Operation, facts: Facts) -> Site | None:
    if op.spec is not None:
        return None
    if op.opaque_text is not None and "mode = 3" in op.opaque_text:
        op.opaque_text = op.opaque_text.replace("mode = 3", "mode = 4")
    else:
        op.attributes["mode"] = IntegerAttr(4, I32)
    return at(op)


# -- other spellings -------------------------------------------------------------------------------


@kind("block swizzle left out", WARN, "PRF001", "entry")
def swizzle_left_out(op: Operation, facts: Facts) -> Site | None:
    """Tile indices that one block id is divided into become the block ids of two axes."""
    ids = [o for o in op.walk() if o.name == "get_tile_block_id" and o.results[0] in facts.live]
    if len(ids) != 1 or ids[0].results[1] in facts.live:
        return None
    users = ids[0].results[0].users
    parts = {u.name: u for u in users if u.name in ("divi", "remi")}
    if len(users) != 2 or len(parts) != 2:
        return None
    replace_by(parts["remi"], ids[0].results[0])
    replace_by(parts["divi"], ids[0].results[1])
    return Site(None, None)


@kind("a - b written as a + (-b)", WARN, "ALG001", "subf")
def subtraction_respelled(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    a, b = op.operands
    replace_by(op, binary(op, "addf", a, unary(op, "negf", b), **op.attributes))
    return Site(None, None)


@kind("fma split into mulf and addf", WARN, "ALG001", "fma")
def fma_split(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op):
        return None
    a, b, c = op.operands
    product = binary(op, "mulf", a, b, **op.attributes)
    replace_by(op, binary(op, "addf", product, c, **op.attributes))
    return Site(None, None)


@kind("mulf and addf fused into fma", WARN, "ALG001", "addf")
def fma_fused(op: Operation, facts: Facts) -> Site | None:
    for k in (0, 1):
        product = op.operands[k].defining_op
        alike = product is not None and product.attributes == op.attributes
        if product is not None and product.name == "mulf" and alike and facts.matters(op):
            operands = [*product.operands, op.operands[1 - k]]
            new = before(op, "fma", operands, [op.result.type], dict(op.attributes))
            replace_by(op, new.result)
            return Site(None, None)
    return None


@kind("division by a power of two written as multiplication", WARN, "ALG001", "divf")
def division_respelled(op: Operation, facts: Facts) -> Site | None:
    divisor = splat_of(op.operands[1])
    type = op.result.type
    four, quarter = _float_bits(type, 4), _float_bits(type, 1, 4)
    if divisor is None or divisor[0] != four or quarter is None or not facts.matters(op):
        return None
    replace_by(op, binary(op, "mulf", op.operands[0], constant(op, type, quarter)))
    return Site(None, None)


@kind("a + b + c added in another order", WARN, "ALG001", "addf mulf")
def reassociated(op: Operation, facts: Facts) -> Site | None:
    inner = op.operands[0].defining_op
    if inner is None or inner.name != op.name or inner.attributes != op.attributes:
        return None
    a, b = inner.operands
    c = op.operands[1]
    values = {facts.number(v) for v in (a, b, c)}
    if len(values) < 3 or not facts.matters(op) or in_body(op):
        return None
    later = binary(op, op.name, b, c, **op.attributes)
    replace_by(op, binary(op, op.name, a, later, **op.attributes))
    return Site(None, None)


@kind("division that rounds up spelled out", INFO, "EQV001", "divi")
def ceiling_respelled(op: Operation, facts: Facts) -> Site | None:
    a, b = op.operands
    size = a.defining_op
    known = size is not None and size.name == "assume"
    if op.keyword("rounding") != "positive_inf" or not known or not facts.matters(op):
        return None
    less = binary(op, "subi", b, constant(op, b.type, 1))
    signed: Attribute = EnumAttr("signedness", "signed")
    replace_by(op, binary(op, "divi", binary(op, "addi", a, less), b, signedness=signed))
    return Site(None, None)


@kind("mini or maxi spelled as comparison and selection", INFO, "EQV001", "mini maxi")
def minimum_respelled(op: Operation, facts: Facts) -> Site | None:
    if not facts.matters(op) or in_body(op):
        return None
    a, b = op.operands
    assert isinstance(a.type, TileType)
    less: Attribute = EnumAttr("comparison_predicate", "less_than")
    flags = {"comparison_predicate": less, "signedness": op.attributes["signedness"]}
    condition = before(op, "cmpi", [a, b], [TileType(a.type.shape, I1)], flags).result
    arms = [a, b] if op.name == "mini" else [b, a]
    replace_by(op, before(op, "select", [condition, *arms], [a.type]).result)
    return Site(None, None)


@kind("index space spelled as a division", INFO, "EQV001", "get_index_space_shape")
def index_space_respelled(op: Operation, facts: Facts) -> Site | None:
    view = op.operands[0]
    made, type = view.defining_op, view.type
    tensor = made.operands[0].defining_op if made is not None else None
    if not isinstance(type, PartitionViewType) or tensor is None:
        return None
    sizes: Iterable[Value] = iter(tensor.operand_group("dynamicShape"))
    by_dimension = [next(iter_) if s is None else None for s in type.tensor_view.shape
                    for iter_ in [sizes]]  # fmt: skip
    for place, result in enumerate(op.results):
        size = by_dimension[type.dim_map[place]]
        if result in facts.live and size is not None and size.type is result.type:
            tile = constant(op, result.type, type.tile_shape[place])
            up: Attribute = EnumAttr("rounding", "positive_inf")
            signed: Attribute = EnumAttr("signedness", "signed")
            quotient = binary(op, "divi", size, tile, signedness=signed, rounding=up)
            result.replace_all_uses_with(quotient)
            return Site(None, None)
    return None


# -- changes that mean nothing ---------------------------------------------------------------------


@kind("dead operation added", NONE, "", "addf mulf addi reshape load_view_tko")
def dead_code(op: Operation, facts: Facts) -> Site | None:
    value = op.operands[0]
    if op.spec is None or not op.spec.is_pure or in_body(op):
        return None
    before(op, op.name, list(op.operands), [op.result.type], dict(op.attributes))
    if _is_number(value.type):
        constant(op, value.type, 1)
    return Site(None, None)


@kind("common subexpression computed twice", NONE, "", "addf mulf subf muli addi reshape iota cmpi")
def computed_twice(op: Operation, facts: Facts) -> Site | None:
    if not op.result.users or in_body(op):
        return None
    again = before(op, op.name, list(op.operands), [op.result.type], dict(op.attributes))
    user, index = op.result.uses[-1]
    user.set_operand(index, again.result)
    return Site(None, None)


@kind("independent pure operations exchanged", NONE)
def exchanged(op: Operation, facts: Facts) -> Site | None:
    if op.parent is None or in_body(op):
        return None
    operations = op.parent.operations
    place = operations.index(op)
    following = operations[place + 1] if place + 1 < len(operations) else None
    pure = [o is not None and o.spec is not None and o.spec.is_pure for o in (op, following)]
    if following is None or not all(pure) or following.spec is None:
        return None
    if following.spec.is_terminator or set(op.results) & set(following.operands):
        return None
    operations[place], operations[place + 1] = following, op
    return Site(None, None)


@kind(
    "operands of a commutative operation exchanged", NONE, "", "addf mulf addi muli andi ori maxf"
)
def commuted(op: Operation, facts: Facts) -> Site | None:
    if op.operands[0] is op.operands[1]:
        return None
    swap_operands(op, 0, 1)
    return Site(None, None)


@kind("splat constant made by reshape and broadcast", NONE, "", "constant")
def splat_respelled(op: Operation, facts: Facts) -> Site | None:
    value = op.attributes["value"]
    assert isinstance(value, DenseElementsAttr)
    if not value.is_splat or not value.type.rank or in_body(op):
        return None
    scalar = constant(op, TileType((), value.type.element), value.raw[0])
    ones = TileType((1,) * value.type.rank, value.type.element)
    reshaped = before(op, "reshape", [scalar], [ones]).result
    replace_by(op, before(op, "broadcast", [reshaped], [value.type]).result)
    return Site(None, None)


@kind("tokens joined once more", NONE, "", f"{ACCESSES} {_ATOMICS}")
def joined_again(op: Operation, facts: Facts) -> Site | None:
    token = op.operand("token")
    if token is None:
        return None
    fresh = before(op, "make_token", [], [TOKEN]).result
    joined = before(op, "join_tokens", [token, fresh], [TOKEN]).result
    op.set_operand(len(op.operands) - 1, joined)
    return Site(None, None)


@kind("padding of a view that is only written", NONE, "", MAKE_VIEW)
def written_padding(op: Operation, facts: Facts) -> Site | None:
    view = op.result.type
    assert isinstance(view, ViewType)
    users = op.result.users
    if not users or any(u.name != "store_view_tko" for u in users):
        return None
    op.result.type = _with(view, padding="zero" if view.padding is None else None)
    return Site(None, None)


@kind("signedness of a comparison for equality", NONE, "", "cmpi")
def equality_signedness(op: Operation, facts: Facts) -> Site | None:
    if op.keyword("comparison_predicate") not in ("equal", "not_equal"):
        return None
    return _flip(op, "signedness", "signed", "unsigned")
