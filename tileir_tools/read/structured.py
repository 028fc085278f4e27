"""Reading ops with regions or with a form that a row cannot say.

Place in the flow: part of bytes -> Module for text; imports `state`, `forms`, `regions`, `model`. One
function for each op; the grammar it reads is in its docstring.
"""

from __future__ import annotations

from ..dialect import OPS, OpSpec
from ..model import (
    I32,
    UNIT,
    UNKNOWN,
    ArrayAttr,
    Attribute,
    BoolAttr,
    DictAttr,
    Entry,
    FunctionType,
    IntegerAttr,
    Module,
    Operation,
    PointerType,
    Region,
    StringAttr,
    TensorViewType,
    TileType,
    Type,
    TypeAttr,
    Value,
    ViewType,
)
from .forms import OpReader, read_dict, symbol
from .regions import ensure_terminator, read_arguments, read_region
from .state import Failure, State


def read_for(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`for [unsigned] %i in (%lo to %hi, step %s) : type [iter_values(%a = %b) -> (types)] {..}`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    if tokens[index] == "unsigned":
        attributes["unsignedCmp"] = UNIT
        index += 1
    induction = _argument_name(state, index)
    index = state.expect(state.word(index + 1, "in"), "(")
    lower = state.operand(index)
    index = state.word(index + 1, "to")
    upper = state.operand(index)
    index = state.word(state.expect(index + 1, ","), "step")
    step = state.operand(index)
    index = state.expect(state.expect(index + 1, ")"), ":")
    type, behind = state.type(index)
    for value in (lower, upper, step):
        if value.type is not type:
            raise Failure(index, f"{value.name} is {value.type}, the loop says {type}")
    index = behind
    names: list[str] = []
    initial: list[Value] = []
    types: list[Type] = []
    if tokens[index] == "iter_values":
        names, initial, index = _assignments(state, index + 1)
        index = state.expect(state.expect(index, "->"), "(")
        types, index = _checked_types(state, index, initial)
        index = state.expect(index, ")")
    region, index = read_region(state, index, [induction, *names], [type, *types])
    index = _trailing_dict(state, index, spec, attributes)
    ensure_terminator(region, "continue", UNKNOWN)
    operands = [lower, upper, step, *initial]
    segments = (1, 1, 1, len(initial))
    return Operation("for", spec, operands, types, attributes, [region], segments), index


def read_loop(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`loop [iter_values(%a = %b) : types [-> types]] {..}` or `loop [: result types] {..}`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    names: list[str] = []
    initial: list[Value] = []
    iter_types: list[Type] = []
    results: list[Type] = []
    if tokens[index] == "iter_values":
        names, initial, index = _assignments(state, index + 1)
        index = state.expect(index, ":")
        iter_types, index = _checked_types(state, index, initial)
        if tokens[index] == "->":
            results, index = state.types(index + 1)
    elif tokens[index] == ":":
        results, index = state.types(index + 1)
    region, index = read_region(state, index, names, iter_types)
    index = _trailing_dict(state, index, spec, attributes)
    ensure_terminator(region, "continue", UNKNOWN)
    op = Operation("loop", spec, initial, results, attributes, [region], (len(initial),))
    return op, index


def read_if(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`if %cond [-> (types)] {..} [else {..}]`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    condition = state.operand(index)
    index += 1
    results: list[Type] = []
    if tokens[index] == "->":
        results, index = state.type_list(index + 1)
    then, index = read_region(state, index, [], [])
    ensure_terminator(then, "yield", UNKNOWN)
    otherwise = Region()
    if tokens[index] == "else":
        otherwise, index = read_region(state, index + 1, [], [])
        ensure_terminator(otherwise, "yield", UNKNOWN)
    index = _trailing_dict(state, index, spec, attributes)
    return Operation("if", spec, [condition], results, attributes, [then, otherwise]), index


def read_reduce_or_scan(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`reduce %a, %b dim=0 [reverse=true] identities=[..] : types -> types (%x: t, ..) {..}`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    operands, index = state.operands(index)
    if tokens[index] == "{":
        index = read_dict(state, index, spec, attributes)
    if "dim" not in attributes:
        dim, index = state.integer(state.expect(state.word(index, "dim"), "="))
        attributes["dim"] = IntegerAttr(dim, I32)
    if spec.mnemonic == "scan" and "reverse" not in attributes:
        index = state.expect(state.word(index, "reverse"), "=")
        if tokens[index] not in ("true", "false"):
            raise state.expected(index, "'true' or 'false'")
        attributes["reverse"] = BoolAttr(tokens[index] == "true")
        index += 1
    if "identities" not in attributes:
        index = state.expect(state.word(index, "identities"), "=")
        found, behind = state.attribute(index)
        if not isinstance(found, ArrayAttr):
            raise state.expected(index, "identities such as [0.0 : f32]")
        attributes["identities"] = found
        index = behind
    index = state.expect(index, ":")
    _, index = _checked_types(state, index, operands)
    index = state.expect(index, "->")
    results, index = state.types(index)
    names: list[str] = []
    types: list[Type] = []
    if tokens[index] == "(":
        names, types, index = read_arguments(state, index)
    region, index = read_region(state, index, names, types)
    op = Operation(
        spec.mnemonic, spec, operands, results, attributes, [region], (len(operands),)
    )
    return op, index


def read_make_tensor_view(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`make_tensor_view %p, shape = [%n, 4], strides = [%s, 1] : [types ->] tensor_view<..>`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    base = state.operand(index)
    index = state.expect(state.word(state.expect(index + 1, ","), "shape"), "=")
    shape_at = index
    shape, index = _mixed_list(state, index)
    index = state.expect(state.word(state.expect(index, ","), "strides"), "=")
    strides_at = index
    strides, index = _mixed_list(state, index)
    if tokens[index] == "{":
        index = read_dict(state, index, spec, attributes)
    index = state.expect(index, ":")
    first = index
    types, index = state.types(index)
    if tokens[index] == "->":
        first = index + 1
        view, index = state.type(first)
    else:
        view = types.pop()
    if not isinstance(view, TensorViewType):
        raise Failure(first, f"expected a tensor_view type, found {view}")
    _check_mixed(shape_at, "shape", shape, view.shape)
    _check_mixed(strides_at, "strides", strides, view.strides)
    _check_dynamic_types(first, base, [*shape, *strides], types)
    dynamic_shape = [v for v in shape if isinstance(v, Value)]
    dynamic_strides = [v for v in strides if isinstance(v, Value)]
    segments = (1, len(dynamic_shape), len(dynamic_strides))
    operands = [base, *dynamic_shape, *dynamic_strides]
    return Operation("make_tensor_view", spec, operands, [view], attributes, (), segments), index


def _mixed_list(state: State, index: int) -> tuple[list[Value | int], int]:
    """`[%n, 4]`."""
    index = state.expect(index, "[")
    items: list[Value | int] = []
    while state.tokens[index] != "]":
        if items:
            index = state.expect(index, ",")
        if state.tokens[index][:1] == "%":
            items.append(state.operand(index))
            index += 1
        else:
            number, index = state.integer(index)
            items.append(number)
    return items, index + 1


def _check_mixed(
    at: int, what: str, items: list[Value | int], wanted: tuple[int | None, ...]
) -> None:
    if len(items) != len(wanted):
        raise Failure(at, f"expected {len(wanted)} {what} entries as in the type, found {len(items)}")
    for k, (item, size) in enumerate(zip(items, wanted)):
        given = None if isinstance(item, Value) else item
        if given != size:
            names = ["dynamic" if s is None else str(s) for s in (size, given)]
            raise Failure(at, f"{what} entry {k} is {names[0]} in the type, {names[1]} here")


def _check_dynamic_types(
    at: int, base: Value, items: list[Value | int], types: list[Type]
) -> None:
    """The types before the `->`: that of the sizes, and that of the base where it is special."""
    values = [v for v in items if isinstance(v, Value)]
    sizes = [t for t in types if not _is_pointer_tile(t)]
    if values and not sizes:
        raise Failure(at, "expected the type of the sizes and '->' before the tensor_view type")
    for value in values:
        if value.type is not sizes[0]:
            raise Failure(at, f"{value.name} is {value.type}, the operation says {sizes[0]}")
    if not _is_pointer_tile(base.type):
        raise Failure(at, f"{base.name} is {base.type}, expected a tile of one pointer")


def _is_pointer_tile(type: Type) -> bool:
    return isinstance(type, TileType) and isinstance(type.element, PointerType)


def read_shape_query(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`get_tensor_shape %v : tensor_view<..> -> tile<i32>`: one result for each dimension."""
    attributes: dict[str, Attribute] = {}
    source = state.operand(index)
    index += 1
    if state.tokens[index] == "{":
        index = read_dict(state, index, spec, attributes)
    index = state.expect(index, ":")
    type, behind = state.type(index)
    if type is not source.type:
        raise Failure(index, f"{source.name} is {source.type}, the operation says {type}")
    if not isinstance(type, (ViewType, TensorViewType)):
        raise Failure(index, f"expected a view, found {type}")
    result, index = state.type(state.expect(behind, "->"))
    return Operation(spec.mnemonic, spec, [source], [result] * type.rank, attributes), index


STRUCTURED: dict[str, OpReader] = {
    "for": read_for,
    "loop": read_loop,
    "if": read_if,
    "reduce": read_reduce_or_scan,
    "scan": read_reduce_or_scan,
    "make_tensor_view": read_make_tensor_view,
    "get_index_space_shape": read_shape_query,
    "get_tensor_shape": read_shape_query,
}


# -- entries ----------------------------------------------------------------------------------------


def read_entry(state: State, index: int) -> tuple[Entry, int]:
    """`entry @name(%a: type, ..) [optimization_hints = <..>] {..}`; `index` is behind `entry`."""
    tokens = state.tokens
    mnemonic = tokens[index - 1].removeprefix("cuda_tile.")
    spec = OPS[mnemonic]
    attributes: dict[str, Attribute] = {"sym_name": StringAttr(symbol(state, index))}
    names, types, argument_attributes, index = _signature(state, index + 1, spec)
    results: list[Type] = []
    if tokens[index] == "->":
        results, index = state.type_list(index + 1)
    attributes["function_type"] = TypeAttr(FunctionType(tuple(types), tuple(results)))
    if any(a.items for a in argument_attributes):
        attributes["arg_attrs"] = ArrayAttr(tuple(argument_attributes))
    if tokens[index] == "optimization_hints":
        index = state.expect(index + 1, "=")
        hints, index = state.hints(index)
        if hints.value.items:
            attributes["optimization_hints"] = hints
    if tokens[index] == "attributes":
        index = read_dict(state, index + 1, spec, attributes)
    region, index = read_region(state, index, names, types)
    ensure_terminator(region, "return", UNKNOWN)
    index = _trailing_dict(state, index, spec, attributes)
    return Entry(mnemonic, spec, (), (), attributes, [region]), index


def _signature(
    state: State, index: int, spec: OpSpec
) -> tuple[list[str], list[Type], list[DictAttr], int]:
    """`(%a: type {attributes}, ..)`."""
    tokens = state.tokens
    index = state.expect(index, "(")
    names: list[str] = []
    types: list[Type] = []
    attributes: list[DictAttr] = []
    while tokens[index] != ")":
        if names:
            index = state.expect(index, ",")
        name = _argument_name(state, index)
        if name in names:
            raise Failure(index, f"{name} is already defined")
        index = state.expect(index + 1, ":")
        type, index = state.type(index)
        found: Attribute = DictAttr(())
        if tokens[index] == "{":
            found, index = state.attribute(index)
        index = state.skip_location(index)
        names.append(name)
        types.append(type)
        assert isinstance(found, DictAttr)
        attributes.append(found)
    return names, types, attributes, index + 1


def read_module_attributes(state: State, index: int, module: Module) -> int:
    """`attributes {producer = ".."}` of a module."""
    if state.tokens[index] != "attributes":
        return index
    found: dict[str, Attribute] = {}
    index = read_dict(state, index + 1, OPS["module"], found)
    set_module_attributes(module, found)
    return index


def set_module_attributes(module: Module, found: dict[str, Attribute]) -> None:
    """Keep the attributes of a `cuda_tile.module`, the producer apart."""
    producer = found.pop("producer", None)
    if isinstance(producer, StringAttr):
        module.producer = producer.value
    module.attributes = found


# -- pieces -----------------------------------------------------------------------------------------


def _argument_name(state: State, index: int) -> str:
    token = state.tokens[index]
    if token[:1] != "%" or "#" in token:
        raise state.expected(index, "a name such as %arg0")
    return token


def _assignments(state: State, index: int) -> tuple[list[str], list[Value], int]:
    """`(%a = %b, ..)`."""
    index = state.expect(index, "(")
    names: list[str] = []
    values: list[Value] = []
    while state.tokens[index] != ")":
        if names:
            index = state.expect(index, ",")
        names.append(_argument_name(state, index))
        index = state.expect(index + 1, "=")
        values.append(state.operand(index))
        index += 1
    return names, values, index + 1


def _checked_types(state: State, index: int, values: list[Value]) -> tuple[list[Type], int]:
    """A list of types that must be those of `values`."""
    first = index
    types, index = state.types(index)
    if len(types) != len(values):
        raise Failure(first, f"expected {len(values)} types, one for each value, found {len(types)}")
    for value, type in zip(values, types):
        if value.type is not type:
            raise Failure(first, f"{value.name} is {value.type}, the operation says {type}")
    return types, index


def _trailing_dict(
    state: State, index: int, spec: OpSpec, attributes: dict[str, Attribute]
) -> int:
    """The attributes that MLIR prints behind the last region."""
    if state.tokens[index] == "{":
        return read_dict(state, index, spec, attributes)
    return index
