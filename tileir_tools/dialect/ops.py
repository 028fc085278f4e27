"""The op table of cuda_tile, bytecode versions 13.1 to 13.5: one row per op.

Place in the flow: data that every stage consults; imports `spec` and `model.attributes`. Source of the
facts: the dialect's public definition (NVIDIA/cuda-tile, 13.3), the encoder inside cuda-tile 1.7.0 for
13.4 and 13.5, and what tileirdisasm 13.5.37 prints.

A row reads `_op(mnemonic, since, operands, attributes, results, form, traits, same, regions)`:

- operands: `name:constraint`, with `?` for optional, `*` for any number, `@13.3` for a later version.
- attributes: `name:kind`, `=default` where there is one, `?` where it may be absent without a default,
    `[a,b]` behind the kind where the op takes only some of its keywords.
- results: `name:constraint` (`tile` where none is given), `*` for any number, `@13.2` for a later version.
- same: groups of operands and results that have one type, separated by `|`; `shape:`, `element:`, `rank:`
    or `pointee:` in front of a group where they have only that in common (what the first one points to are
    the elements of the others).
- form: the pretty form after the mnemonic, character for character as it is printed, with
    `%x` an operand, `%x*` a list of operands, `@a` an attribute,
    `<x>` the type of an operand or result, `<x*>` the types of a list,
    `<x!>` the types of a list of indices: one type where all are equal,
    `(? ..)` a part that is there when its operand or attribute is (a flag: when it is set),
    `(~ ..)` a part that is printed always but that other printers leave out,
    `(! , <x>)` a type that is never printed but that other printers repeat,
    `{}` the place of the attributes that the form does not mention; `{+}` with `attributes` before.
"""

from __future__ import annotations

import re

from ..model.attributes import Attribute, EnumAttr, IntegerAttr
from ..model.types import I64
from .enums import KEYWORDS
from .spec import AttributeSpec, OperandSpec, OpSpec, ResultSpec

VERSIONS: tuple[str, ...] = ("13.1", "13.2", "13.3", "13.4", "13.5")

OPS: dict[str, OpSpec] = {}

# Names that texts of older tools use, and the op that each is.
ALIASES: dict[str, str] = {"pow": "fpowf"}

_OPERAND = re.compile(r"(\w+):(\w+)([?*]?)(?:@([\d.]+))?$")
_RESULT = re.compile(r"(\w+)(?::(\w+))?(\*?)(?:@([\d.]+))?$")
_ATTRIBUTE = re.compile(r"(\w+):(\w+)(?:\[([\w,]+)\])?(\??)(?:=(-?\w+))?(?:@([\d.]+))?$")


def _default(kind: str, text: str | None) -> Attribute | None:
    if text is None:
        return None
    if kind in KEYWORDS:
        return EnumAttr(kind, text)
    assert kind == "i64", kind
    return IntegerAttr(int(text), I64)


def _operand(text: str, since: str) -> OperandSpec:
    match = _OPERAND.match(text)
    assert match, text
    name, constraint, arity, later = match.groups()
    return OperandSpec(name, arity, constraint, later or since)


def _result(text: str, since: str) -> ResultSpec:
    match = _RESULT.match(text)
    assert match, text
    name, constraint, arity, later = match.groups()
    return ResultSpec(name, arity, constraint or "tile", later or since)


def _attribute(text: str, since: str) -> AttributeSpec:
    match = _ATTRIBUTE.match(text)
    assert match, text
    name, kind, allowed, optional, default, later = match.groups()
    keywords = tuple(allowed.split(",")) if allowed else ()
    assert set(keywords) <= set(KEYWORDS.get(kind, ())), text
    may_be_absent = bool(optional) or kind == "unit"
    return AttributeSpec(
        name, kind, _default(kind, default), may_be_absent, later or since, keywords
    )


def _op(
    mnemonic: str,
    since: str,
    operands: str = "",
    attributes: str = "",
    results: str = "",
    form: str = "",
    traits: str = "",
    same: str = "",
    regions: str = "",
) -> None:
    attribute_specs = (_attribute(a, since) for a in attributes.split())
    groups = [group.rpartition(":") for group in same.split("|") if group.strip()]
    OPS[mnemonic] = OpSpec(
        mnemonic,
        since,
        tuple(_operand(o, since) for o in operands.split()),
        {a.name: a for a in attribute_specs},
        tuple(_result(r, since) for r in results.split()),
        tuple(regions.split()),
        frozenset(traits.split()),
        tuple(tuple(names.split()) for aspect, _, names in groups if not aspect),
        form,
        tuple((aspect.strip(), tuple(names.split())) for aspect, _, names in groups if aspect),
    )


# -- forms and groups that many rows share ----------------------------------------------------------

_UNARY = " %source{} : <result>"
_BINARY = " %lhs, %rhs{} : <result>"
_CAST = " %source{} : <source> -> <result>"
_SHIFT_LIKE = " %lhs, %rhs(? @overflow){} : <result>"
_SIGNED = " %lhs, %rhs @signedness{} : <result>"
_ROUNDED = " %lhs, %rhs @rounding_mode(? flush_to_zero){} : <result>"
_LHS_RHS_RESULT = "lhs rhs result"
_ORDERING = "memory_ordering_semantics:memory_ordering_semantics"
_LOAD = f"{_ORDERING}[weak,relaxed,acquire] memory_scope:memory_scope?"
_STORE = f"{_ORDERING}[weak,relaxed,release] memory_scope:memory_scope?"
_ATOMIC = f"{_ORDERING}[relaxed,acquire,release,acq_rel] memory_scope:memory_scope"
# Reductions into a view become bulk copies of the hardware, which know neither order nor other devices.
_REDUCE_INTO_VIEW = f"{_ORDERING}[relaxed] memory_scope:memory_scope[tl_blk,device]"
_MULTIMEM_REDUCE = f"{_ORDERING}[relaxed,release] memory_scope:memory_scope"
_VIEW_MODES = "mode:atomic_rmw_mode[and,or,xor,add,addf,max,min,umax,umin]"
# Rounding modes of IEEE 754.
_IEEE = "nearest_even,zero,negative_inf,positive_inf"
_HINTS = "optimization_hints:hints?"
_ORDER = " @memory_ordering_semantics(? @memory_scope)"
_TOKEN_SPACED = "(? token = %token)"
_TOKEN_TIGHT = "(? token=%token)"
_HINT_PART = "(? optimization_hints = @optimization_hints)"
_INBOUNDS = "(? inbounds = @inbounds)"

# -- modules, entries, globals ----------------------------------------------------------------------

_op("module", "13.1", attributes="sym_name:symbol_name producer:string?@13.3", regions="body")
_op(
    "entry",
    "13.1",
    attributes="sym_name:symbol_name function_type:type arg_attrs:dicts?@13.5 res_attrs:dicts? "
    "optimization_hints:hints?",
    regions="body",
)
_op(
    "global",
    "13.1",
    attributes="sym_name:symbol_name value:dense alignment:i64=0 constant:unit@13.3 "
    "symbol_visibility:symbol_visibility=public@13.3",
    form=" (?@symbol_visibility )(? constant) @sym_name(? alignment = @alignment){} @value",
)
_op("get_global", "13.1", "", "name:symbol", "result:scalar_ptr", " @name{} : <result>", "pure")
# A function-like container that only the dialect's own tests use.
_op(
    "testing$func",
    "13.1",
    attributes="sym_name:symbol_name function_type:type arg_attrs:dicts? res_attrs:dicts?",
    traits="testing",
    regions="body",
)

# -- control flow -----------------------------------------------------------------------------------

_VALUES = "{}(? %operands* : <operands*>)"
_op("return", "13.1", "operands:any*", form=_VALUES, traits="terminator control")
_op("break", "13.1", "operands:any*", form=_VALUES, traits="terminator control")
_op("continue", "13.1", "operands:any*", form=_VALUES, traits="terminator control")
_op("yield", "13.1", "operands:any*", form=_VALUES, traits="terminator pure")
_op(
    "for",
    "13.1",
    "lowerBound:scalar_int upperBound:scalar_int step:scalar_int initValues:any*",
    "unsignedCmp:unit@13.2",
    "resultValues:any*",
    traits="control",
    same="lowerBound upperBound step",
    regions="region",
)
_op("loop", "13.1", "initValues:any*", "", "resultValues:any*", traits="control", regions="region")
_op(
    "if",
    "13.1",
    "condition:scalar_bool",
    "",
    "results:any*",
    traits="control",
    regions="thenRegion elseRegion",
)
_op(
    "assert",
    "13.1",
    "condition:bool",
    "message:string",
    "",
    " %condition, @message{} : <condition>",
)

# -- tokens -----------------------------------------------------------------------------------------

_op("make_token", "13.1", "", "", "result:token", "{} : <result>", "pure")
_op("join_tokens", "13.1", "tokens:token*", "", "result:token", " %tokens*{} : <result>", "pure")
_op(
    "memory_fence_alias_tko",
    "13.4",
    "token:token",
    "",
    "result_token:token",
    " %token{}",
    "orders",
    "token result_token",
)
_GDC = _TOKEN_SPACED + "{} -> <result_token>"
_op("gdc_launch_dependents_tko", "13.4", "token:token?", "", "result_token:token", _GDC, "orders")
_op("gdc_wait_tko", "13.4", "token:token?", "", "result_token:token", _GDC, "orders")

# -- values -----------------------------------------------------------------------------------------

_op("constant", "13.1", "", "value:dense", "result:number", " @value{}", "pure")
_op("iota", "13.1", "", "", "result:int", "{} : <result>", "pure")
_op(
    "get_tile_block_id",
    "13.1",
    "",
    "",
    "blockId_x:scalar_int32 blockId_y:scalar_int32 blockId_z:scalar_int32",
    "{} : <blockId_x>",
    "pure",
    "blockId_x blockId_y blockId_z",
)
_op(
    "get_num_tile_blocks",
    "13.1",
    "",
    "",
    "gridSize_x:scalar_int32 gridSize_y:scalar_int32 gridSize_z:scalar_int32",
    "{} : <gridSize_x>",
    "pure",
    "gridSize_x gridSize_y gridSize_z",
)
_op(
    "assume",
    "13.1",
    "value:any",
    "predicate:predicate",
    "result:any",
    " @predicate, %value{} : <value>",
    same="value result",
)
_op(
    "select",
    "13.1",
    "cond:bool val_if_true:tile val_if_false:tile",
    "",
    "result",
    " %cond, %val_if_true, %val_if_false{} : <cond>, <val_if_true>",
    "pure",
    "val_if_true val_if_false result|shape: cond val_if_true",
)

# -- shapes -----------------------------------------------------------------------------------------

_op(
    "broadcast",
    "13.1",
    "source:tile",
    "",
    "result",
    _CAST,
    "pure",
    "element: source result|rank: source result",
)
_op("reshape", "13.1", "source:tile", "", "result", _CAST, "pure", "element: source result")
_op(
    "permute",
    "13.1",
    "source:tile",
    "permutation:i32_array",
    "result",
    " %source @permutation{} : <source> -> <result>",
    "pure",
    "element: source result|rank: source result",
)
_op(
    "cat",
    "13.1",
    "lhs:tile rhs:tile",
    "dim:i64",
    "result",
    " %lhs, %rhs dim = @dim{} : <lhs>, <rhs> -> <result>",
    "pure",
    "element: lhs rhs result|rank: lhs rhs result",
)
_op(
    "extract",
    "13.1",
    "source:tile indices:scalar_int32*",
    "",
    "result",
    " %source[%indices*]{} : <source> -> <result>",
    "pure",
    "element: source result|rank: source result",
)
_op(
    "insert",
    "13.4",
    "source:tile destination:tile indices:scalar_int32*",
    "",
    "result",
    " %source, %destination[%indices*]{} : <source>, <destination>",
    "pure",
    "destination result|element: source destination|rank: source destination",
)
_RANKS = "rank: source result"
_op("pack", "13.3", "source:number_or_i4", "", "result:int8", _CAST, "pure", _RANKS)
_op("unpack", "13.3", "source:int8", "", "result:number_or_i4", _CAST, "pure", _RANKS)

# Matrices of one element type; the accumulator has the type of the result.
_MATRICES = "acc result|element: lhs rhs|rank: lhs rhs acc"

# -- integers ---------------------------------------------------------------------------------------

_INTS = "lhs:int rhs:int"
_op("absi", "13.1", "source:int", "", "result", _UNARY, "pure", "source result")
_op(
    "negi",
    "13.1",
    "source:int",
    "overflow:overflow[none,no_signed_wrap,no_wrap]=none@13.2",
    "result",
    " %source(? @overflow){} : <result>",
    "pure",
    "source result",
)
for _name, _traits in (
    ("addi", "pure commutative"),
    ("subi", "pure"),
    ("muli", "pure commutative"),
    ("shli", "pure"),
):
    _op(
        _name,
        "13.1",
        _INTS,
        "overflow:overflow=none",
        "result",
        _SHIFT_LIKE,
        _traits,
        _LHS_RHS_RESULT,
    )
for _name in ("andi", "ori", "xori"):
    _op(_name, "13.1", _INTS, "", "result", _BINARY, "pure commutative", _LHS_RHS_RESULT)
for _name, _traits in (
    ("maxi", "pure commutative"),
    ("mini", "pure commutative"),
    ("remi", "pure"),
    ("shri", "pure"),
):
    _op(_name, "13.1", _INTS, "signedness:signedness", "result", _SIGNED, _traits, _LHS_RHS_RESULT)
_op(
    "divi",
    "13.1",
    _INTS,
    "signedness:signedness rounding:rounding[zero,negative_inf,positive_inf]=zero",
    "result",
    " %lhs, %rhs @signedness(? @rounding){} : <result>",
    "pure",
    _LHS_RHS_RESULT,
)
_op(
    "mulhii",
    "13.1",
    "x:int y:int",
    "",
    "result",
    " %x, %y{} : <result>",
    "pure commutative",
    "x y result",
)
_op(
    "cmpi",
    "13.1",
    _INTS,
    "comparison_predicate:comparison_predicate signedness:signedness",
    "result:bool",
    " @comparison_predicate %lhs, %rhs, @signedness{} : <lhs> -> <result>",
    "pure",
    "lhs rhs|shape: lhs result",
)
_op(
    "mmai",
    "13.1",
    "lhs:int8 rhs:int8 acc:int32",
    "signedness_lhs:signedness signedness_rhs:signedness",
    "result",
    " %lhs, %rhs, %acc @signedness_lhs @signedness_rhs{} : <lhs>, <rhs>, <acc>",
    "pure",
    _MATRICES,
)

# -- floating point ---------------------------------------------------------------------------------

for _name in ("absf", "ceil", "cos", "cosh", "floor", "log", "log2", "negf", "sin", "sinh", "tan"):
    _op(_name, "13.1", "source:float", "", "result", _UNARY, "pure", "source result")
_FLOATS = "lhs:float rhs:float"
for _name, _traits, _modes in (
    ("addf", "pure commutative", _IEEE),
    ("subf", "pure", _IEEE),
    ("mulf", "pure commutative", _IEEE),
    ("divf", "pure", f"{_IEEE},approx,full"),
):
    _op(
        _name,
        "13.1",
        _FLOATS,
        f"rounding_mode:rounding[{_modes}]=nearest_even flush_to_zero:unit",
        "result",
        _ROUNDED,
        _traits,
        _LHS_RHS_RESULT,
    )
_op("remf", "13.1", _FLOATS, "", "result", _BINARY, "pure", _LHS_RHS_RESULT)
for _name in ("maxf", "minf"):
    _op(
        _name,
        "13.1",
        _FLOATS,
        "propagate_nan:unit flush_to_zero:unit",
        "result",
        " %lhs, %rhs(? flush_to_zero)(? propagate_nan){} : <result>",
        "pure commutative",
        _LHS_RHS_RESULT,
    )
_op("atan2", "13.2", "x:float y:float", "", "result", " %x, %y{} : <result>", "pure", "x y result")
for _name in ("exp2", "rsqrt"):
    _op(
        _name,
        "13.1",
        "source:float",
        "flush_to_zero:unit",
        "result",
        " %source(? flush_to_zero){} : <result>",
        "pure",
        "source result",
    )
# `exp` prints a lone space where the rounding mode stands when it is the default one.
for _name, _since, _modes in (("exp", "13.3", "[approx,full]"), ("tanh", "13.2", "")):
    _op(
        _name,
        "13.1",
        "source:float",
        f"rounding_mode:rounding{_modes}=full@{_since}",
        "result",
        " %source @rounding_mode{} : <result>",
        "pure",
        "source result",
    )
_op(
    "sqrt",
    "13.1",
    "source:float",
    f"rounding_mode:rounding[{_IEEE},approx]=nearest_even flush_to_zero:unit",
    "result",
    " %source @rounding_mode(? flush_to_zero){} : <result>",
    "pure",
    "source result",
)
_op(
    "fma",
    "13.1",
    "lhs:float rhs:float acc:float",
    f"rounding_mode:rounding[{_IEEE}]=nearest_even flush_to_zero:unit",
    "result",
    " %lhs, %rhs, %acc @rounding_mode(? flush_to_zero){} : <result>",
    "pure",
    "lhs rhs acc result",
)
_op(
    "fpowf",
    "13.1",
    "source:float exponent:float",
    "",
    "result",
    " %source, %exponent{} : <result>",
    "pure",
    "source exponent result",
)
_op(
    "fpowi",
    "13.4",
    "source:float exponent:int_to_32",
    "",
    "result",
    " %source, %exponent{} : <source>, <exponent>",
    "pure",
    "source result|shape: source exponent",
)
_op(
    "cmpf",
    "13.1",
    _FLOATS,
    "comparison_predicate:comparison_predicate comparison_ordering:comparison_ordering",
    "result:bool",
    " @comparison_predicate @comparison_ordering %lhs, %rhs{} : <lhs> -> <result>",
    "pure",
    "lhs rhs|shape: lhs result",
)
_op(
    "mmaf",
    "13.1",
    "lhs:mma_float rhs:mma_float acc:mma_accumulator",
    "fast_acc:unit@13.3",
    "result",
    " %lhs, %rhs, %acc(? fast_acc){} : <lhs>, <rhs>, <acc>",
    "pure",
    _MATRICES,
)
_op(
    "mmaf_scaled",
    "13.3",
    "lhs:scaled_float rhs:scaled_float acc:float32 lhs_scale:scale rhs_scale:scale",
    "",
    "result",
    " %lhs, %rhs, %acc, %lhs_scale, %rhs_scale{} : <lhs>, <rhs>, <acc>, <lhs_scale>, <rhs_scale>",
    "pure",
    "acc result|element: lhs rhs|element: lhs_scale rhs_scale|"
    "rank: lhs rhs acc lhs_scale rhs_scale",
)

# -- conversions ------------------------------------------------------------------------------------

_CAST_SHAPES = "shape: source result"
_op("bitcast", "13.1", "source:number", "", "result:number", _CAST, "pure", _CAST_SHAPES)
_op(
    "exti",
    "13.1",
    "from:int_or_i4",
    "signedness:signedness",
    "to:int_or_i4",
    " %from @signedness{} : <from> -> <to>",
    "pure",
    "shape: from to",
)
_op(
    "trunci",
    "13.1",
    "from:int_or_i4",
    "overflow:overflow=none",
    "to:int_or_i4",
    " %from(? @overflow){} : <from> -> <to>",
    "pure",
    "shape: from to",
)
_op(
    "ftof",
    "13.1",
    "from:any_float",
    "rounding_mode:rounding=nearest_even",
    "to:any_float",
    " %from @rounding_mode{} : <from> -> <to>",
    "pure",
    "shape: from to",
)
_op(
    "ftoi",
    "13.1",
    "from:any_float",
    "signedness:signedness rounding_mode:rounding[nearest_int_to_zero]=nearest_int_to_zero "
    "saturating:unit@13.4",
    "to:int",
    " %from @signedness @rounding_mode(? saturating){} : <from> -> <to>",
    "pure",
    "shape: from to",
)
_op(
    "itof",
    "13.1",
    "from:int",
    "signedness:signedness rounding_mode:rounding[nearest_even]=nearest_even",
    "to:any_float",
    " %from @signedness @rounding_mode{} : <from> -> <to>",
    "pure",
    "shape: from to",
)
_op("int_to_ptr", "13.1", "source:int64", "", "result:ptr", _CAST, "pure", _CAST_SHAPES)
_op("ptr_to_int", "13.1", "source:ptr", "", "result:int64", _CAST, "pure", _CAST_SHAPES)
_op("ptr_to_ptr", "13.1", "source:ptr", "", "result:ptr", _CAST, "pure", _CAST_SHAPES)

# -- reductions -------------------------------------------------------------------------------------

_op(
    "reduce",
    "13.1",
    "operands:tile*",
    "dim:i32 identities:identities",
    "results*",
    traits="pure",
    same="shape: operands",
    regions="body",
)
_op(
    "scan",
    "13.1",
    "operands:tile*",
    "dim:i32 reverse:bool identities:identities",
    "results*",
    traits="pure",
    same="shape: operands",
    regions="body",
)

# -- memory by pointer ------------------------------------------------------------------------------

_op(
    "offset",
    "13.1",
    "ptr:ptr offset:int",
    "",
    "result",
    " %ptr, %offset{} : <ptr>, <offset> -> <result>",
    "pure",
    "ptr result|shape: ptr offset",
)
_op(
    "alloca",
    "13.3",
    "",
    "num_elem:i64 alignment:i64 global:unit",
    "result:scalar_ptr",
    " num_elem = @num_elem, alignment = @alignment(? global){} : <result>",
    "allocates",
)
_op(
    "load_ptr_tko",
    "13.1",
    "source:ptr mask:bool? paddingValue:number? token:token?",
    f"{_LOAD} {_HINTS}",
    "result result_token:token",
    f"{_ORDER} %source(?, %mask)(?, %paddingValue){_TOKEN_TIGHT}{_HINT_PART}{{}} : "
    "<source>(?, <mask>)(?, <paddingValue>) -> <result>, <result_token>",
    "loads segments",
    "paddingValue result|shape: source mask result|pointee: source result",
)
_op(
    "store_ptr_tko",
    "13.1",
    "destination:ptr value:tile mask:bool? token:token?",
    f"{_STORE} {_HINTS}",
    "result_token:token",
    f"{_ORDER} %destination, %value(?, %mask){_TOKEN_TIGHT}{_HINT_PART}{{}} : "
    "<destination>, <value>(?, <mask>) -> <result_token>",
    "stores segments",
    "shape: destination value mask|pointee: destination value",
)
_op(
    "atomic_rmw_tko",
    "13.1",
    "pointers:ptr arg:tile mask:bool? token:token?",
    f"{_ATOMIC} mode:atomic_rmw_mode",
    "result result_token:token",
    " @memory_ordering_semantics @memory_scope %pointers(~, @mode), %arg(?, %mask)"
    f"{_TOKEN_TIGHT}{{}} : <pointers>, <arg>(?, <mask>) -> <result>, <result_token>",
    "atomic segments",
    "arg result|shape: pointers arg mask|pointee: pointers arg",
)
_op(
    "atomic_cas_tko",
    "13.1",
    "pointers:ptr cmp:tile val:tile mask:bool? token:token?",
    _ATOMIC,
    "result result_token:token",
    f" @memory_ordering_semantics @memory_scope %pointers, %cmp, %val(?, %mask){_TOKEN_TIGHT}{{}} : "
    "<pointers>(!, <cmp>), <val>(?, <mask>) -> <result>, <result_token>",
    "atomic segments",
    "cmp val result|shape: pointers cmp mask|pointee: pointers val",
)

# -- memory by view ---------------------------------------------------------------------------------

_op(
    "make_tensor_view",
    "13.1",
    "base:scalar_ptr dynamicShape:scalar_int* dynamicStrides:scalar_int*",
    "",
    "result:tensor_view",
    traits="pure segments",
)
for _name, _since in (
    ("partition_view", "13.1"),
    ("strided_view", "13.3"),
    ("gather_scatter_view", "13.3"),
):
    _op(
        f"make_{_name}",
        _since,
        "tensor_view:tensor_view",
        "",
        f"result:{_name}",
        " %tensor_view{} : <result>",
        "pure",
    )
_op("get_index_space_shape", "13.1", "src:view", "", "result:scalar_int*", traits="pure")
_op("get_tensor_shape", "13.1", "src:tensor_view", "", "result:scalar_int*", traits="pure")
_op(
    "load_view_tko",
    "13.1",
    "view:view index:int* token:token?",
    f"{_LOAD} {_HINTS} inbounds:bool_array?@13.4",
    "tile result_token:token",
    f"{_ORDER} %view[%index*]{_TOKEN_SPACED}{_HINT_PART}{_INBOUNDS}{{+}} : "
    "<view>(?, <index!>) -> <tile>, <result_token>",
    "loads segments",
)
_op(
    "store_view_tko",
    "13.1",
    "tile:tile view:view index:int* token:token?",
    f"{_STORE} {_HINTS} inbounds:bool_array?@13.4",
    "result_token:token",
    f"{_ORDER} %tile, %view[%index*]{_TOKEN_SPACED}{_HINT_PART}{_INBOUNDS}{{+}} : "
    "<tile>, <view>(?, <index!>) -> <result_token>",
    "stores segments",
)
_op(
    "atomic_red_view_tko",
    "13.3",
    "view:view index:int* value:tile token:token?",
    f"{_REDUCE_INTO_VIEW} {_VIEW_MODES} inbounds:bool_array?@13.5",
    "result_token:token",
    f"{_ORDER} %view[%index*], @mode, %value{_TOKEN_SPACED}{_INBOUNDS}{{+}} : "
    "<value>, <view>(?, <index!>) -> <result_token>",
    "atomic segments",
)
_op(
    "multimem_load_reduce_view_tko",
    "13.5",
    "view:partition_view index:int* token:token?",
    f"{_LOAD} reduction:multimem_reduction_kind=add inbounds:bool_array?",
    "reduced_values result_token:token",
    f"{_ORDER} %view[%index*]{_TOKEN_SPACED} (?inbounds = @inbounds){{+}} : "
    "<view>(?, <index!>)(?, <token>) -> <reduced_values>, <result_token>",
    "loads segments",
)
_op(
    "multimem_reduce_view_tko",
    "13.5",
    "view:partition_view tile:tile index:int* token:token?",
    f"{_MULTIMEM_REDUCE} reduction:multimem_reduction_kind=add inbounds:bool_array?",
    "result_token:token",
    f"{_ORDER} %view, %tile[%index*]{_TOKEN_SPACED} (?inbounds = @inbounds){{+}} : "
    "<view>, <tile>(?, <index!>)(?, <token>) -> <result_token>",
    "atomic segments",
)
_op(
    "multimem_store_view_tko",
    "13.5",
    "view:partition_view tile:tile index:int* token:token?",
    f"{_STORE} inbounds:bool_array?",
    "result_token:token",
    f"{_ORDER} %view, %tile[%index*]{_TOKEN_SPACED} (?inbounds = @inbounds){{+}} : "
    "<view>, <tile>(?, <index!>)(?, <token>) -> <result_token>",
    "stores segments",
)

# -- printing ---------------------------------------------------------------------------------------

_op(
    "print_tko",
    "13.1",
    "args:tile* token:token?@13.2",
    "str:string",
    "result_token:token@13.2",
    f" @str(?, %args*){_TOKEN_TIGHT}{{}}(? : <args*>)(~ -> <result_token>)",
    "orders segments",
)
