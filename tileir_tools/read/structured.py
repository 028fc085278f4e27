"""Reading ops with regions or with a form that a row cannot say.

Place in the flow: part of bytes -> Module for text; imports `state`, `forms`, `regions`, `model`. One
function for each op; the grammar it reads is in its docstring.
"""

from __future__ import annotations

from typing import NamedTuple

from ..dialect import OPS, OpSpec
from ..model import (
    UNIT,
    UNKNOWN,
    ArrayAttr,
    Attribute,
    DictAttr,
    Entry,
    FunctionType,
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
from .attributes import read_attribute, read_dict, read_pair, symbol
from .forms import OpReader
from .regions import argument_name, ensure_terminator, read_arguments, read_region
from .state import Failure, State


def read_for(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`for [unsigned] %i in (%lo to %hi, step %s) : type [iter_values(%a = %b) -> (types)] {..}`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    if tokens[index] == "unsigned":
        attributes["unsignedCmp"] = UNIT
        index += 1
    induction = argument_name(state, index)
    index = state.expect(state.expect(index + 1, "in"), "(")
    lower = state.operand(index)
    index = state.expect(index + 1, "to")
    upper = state.operand(index)
    index = state.expect(state.expect(index + 1, ","), "step")
    step = state.operand(index)
    index = state.expect(state.expect(index + 1, ")"), ":")
    type, behind = state.type(index)
    for value in (lower, upper, step):
        if value.type is not type:
            raise state.clash(index, value, type)
    index = behind
    names: list[int] = []
    initial: list[Value] = []
    types: list[Type] = []
    if tokens[index] == "iter_values":
        names, initial, index = _assignments(state, index + 1)
        index = state.expect(state.expect(index, "->"), "(")
        types, index = state.types_of(index, initial)
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
    names: list[int] = []
    initial: list[Value] = []
    iter_types: list[Type] = []
    results: list[Type] = []
    if tokens[index] == "iter_values":
        names, initial, index = _assignments(state, index + 1)
        index = state.expect(index, ":")
        iter_types, index = state.types_of(index, initial)
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
    then, index = read_region(state, index)
    ensure_terminator(then, "yield", UNKNOWN)
    otherwise = Region()
    if tokens[index] == "else":
        otherwise, index = read_region(state, index + 1)
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
        index = state.expect(state.expect(index, "dim"), "=")
        attributes["dim"], index = read_attribute(state, index, "i32")
    if spec.mnemonic == "scan" and "reverse" not in attributes:
        index = state.expect(state.expect(index, "reverse"), "=")
        attributes["reverse"], index = read_attribute(state, index, "bool")
    if "identities" not in attributes:
        index = state.expect(state.expect(index, "identities"), "=")
        attributes["identities"], index = _identities(state, index, operands)
    index = state.expect(index, ":")
    _, index = state.types_of(index, operands)
    index = state.expect(index, "->")
    results, index = state.types(index)
    names: list[int] = []
    types: list[Type] = []
    if tokens[index] == "(":
        names, types, index = read_arguments(state, index)
    region, index = read_region(state, index, names, types)
    index = _trailing_dict(state, index, spec, attributes)
    segments = (len(operands),)
    op = Operation(spec.mnemonic, spec, operands, results, attributes, [region], segments)
    return op, index


def _identities(state: State, index: int, operands: list[Value]) -> tuple[Attribute, int]:
    """`[0.0 : f32, -1 : i32]`, or `[0, -inf]` as the cutile-rs printer writes them."""
    if state.tokens[index] == "[":
        behind = state.bracketed(index)
        elements = [v.type.element for v in operands if isinstance(v.type, TileType)]
        if ":" not in state.tokens[index:behind] and len(elements) == len(operands):
            return state.identities(index, behind, elements), behind
    return read_attribute(state, index, "identities")


def read_make_tensor_view(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
    """`make_tensor_view %p, shape = [%n, 4], strides = [%s, 1] : [types ->] tensor_view<..>`."""
    tokens = state.tokens
    attributes: dict[str, Attribute] = {}
    base, base_at = state.operand(index), index
    index = state.expect(state.expect(state.expect(index + 1, ","), "shape"), "=")
    shape, index = _mixed_list(state, index)
    index = state.expect(state.expect(state.expect(index, ","), "strides"), "=")
    strides, index = _mixed_list(state, index)
    if tokens[index] == "{":
        index = read_dict(state, index, spec, attributes)
    index = state.expect(index, ":")
    first = index
    types, index = state.types(index)
    view_at = state.behind_types(first, len(types) - 1)
    if tokens[index] == "->":
        view_at = index + 1
        view, index = state.type(view_at)
    else:
        view = types.pop()
    if not _is_pointer_tile(base.type):
        raise Failure(base_at, f"{base.name} is {base.type}, expected a tile of one pointer")
    if not isinstance(view, TensorViewType):
        raise Failure(view_at, f"expected a tensor_view type, found {view}")
    shape.check("shape", view.shape)
    strides.check("strides", view.strides)
    sizes = [*shape.values, *strides.values]
    _check_types_before_view(state, first, view_at, base, sizes, types)
    segments = (1, len(shape.values), len(strides.values))
    operands = [base, *sizes]
    return Operation("make_tensor_view", spec, operands, [view], attributes, (), segments), index


class _Mixed(NamedTuple):
    """A list of numbers and values: where it stands, where each item does, what each is."""

    at: int
    places: list[int]
    items: list[Value | int]

    @property
    def values(self) -> list[Value]:
        return [item for item in self.items if isinstance(item, Value)]

    def check(self, what: str, wanted: tuple[int | None, ...]) -> None:
        """Raises Failure where the list is not what the type of the view says."""
        if len(self.items) != len(wanted):
            message = f"expected {len(wanted)} {what} entries as in the type"
            raise Failure(self.at, f"{message}, found {len(self.items)}")
        for at, item, size in zip(self.places, self.items, wanted, strict=True):
            given = None if isinstance(item, Value) else item
            if given != size:
                in_type, here = ["dynamic" if s is None else str(s) for s in (size, given)]
                raise Failure(at, f"this {what} entry is {in_type} in the type, {here} here")


def _mixed_list(state: State, index: int) -> tuple[_Mixed, int]:
    """`[%n, 4]`."""
    found = _Mixed(index, [], [])
    index = state.expect(index, "[")
    while state.tokens[index] != "]":
        if found.items:
            index = state.comma(index, "]")
        found.places.append(index)
        if state.tokens[index][:1] == "%":
            found.items.append(state.operand(index))
            index += 1
        else:
            if not state.tokens[index].removeprefix("-")[:1].isdigit():
                raise state.expected(index, "a number or a value such as %0")
            number, index = state.integer(index)
            found.items.append(number)
    return found, index + 1


def _check_types_before_view(
    state: State, at: int, view_at: int, base: Value, sizes: list[Value], types: list[Type]
) -> None:
    """The types before the `->`: that of the sizes, and that of the base where it is special."""
    if types and _is_pointer_tile(types[0]):
        if types[0] is not base.type:
            raise state.clash(at, base, types[0])
        at = state.behind_types(at, 1)
        types = types[1:]
    if sizes and not types:
        raise Failure(
            view_at, "expected the type of the sizes and '->' before the tensor_view type"
        )
    for value in sizes:
        if value.type is not types[0]:
            raise state.clash(at, value, types[0])


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
    if any(given.items for given in argument_attributes):
        attributes["arg_attrs"] = ArrayAttr(tuple(argument_attributes))
    while tokens[index + 1] == "=":
        # Hints, and what the cutile-rs printer writes in the same way.
        index = read_pair(state, index, spec, attributes)
    if tokens[index] == "attributes":
        index = read_dict(state, index + 1, spec, attributes)
    region, index = read_region(state, index, names, types)
    ensure_terminator(region, "return", UNKNOWN)
    index = _trailing_dict(state, index, spec, attributes)
    return Entry(mnemonic, spec, (), (), attributes, [region]), index


def _signature(
    state: State, index: int, spec: OpSpec
) -> tuple[list[int], list[Type], list[DictAttr], int]:
    """`(%a: type {attributes}, ..)`: the tokens that name the arguments, and what is said of them."""
    tokens = state.tokens
    index = state.expect(index, "(")
    names: list[int] = []
    types: list[Type] = []
    attributes: list[DictAttr] = []
    while tokens[index] != ")":
        if names:
            index = state.comma(index, ")")
        name = argument_name(state, index)
        index = state.expect(index + 1, ":")
        type, index = state.type(index)
        found: Attribute = DictAttr(())
        if tokens[index] == "{" and tokens[index + 2] in ("=", ",", "}", ",", ")"):
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


def _assignments(state: State, index: int) -> tuple[list[int], list[Value], int]:
    """`(%a = %b, ..)`: the tokens that name the arguments, and what they start as."""
    index = state.expect(index, "(")
    names: list[int] = []
    values: list[Value] = []
    while state.tokens[index] != ")":
        if names:
            index = state.comma(index, ")")
        names.append(argument_name(state, index))
        index = state.expect(index + 1, "=")
        values.append(state.operand(index))
        index += 1
    return names, values, index + 1


def _trailing_dict(state: State, index: int, spec: OpSpec, attributes: dict[str, Attribute]) -> int:
    """The attributes that MLIR prints behind the last region."""
    if state.tokens[index] == "{":
        return read_dict(state, index, spec, attributes)
    return index
