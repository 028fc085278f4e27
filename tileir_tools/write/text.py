"""The pretty form, byte for byte as tileirdisasm 13.5 prints it.

Place in the flow: part of Module -> text; imports `model`, `dialect`, `names`, `literals`, `locations`.
Ops with a form in the op table are printed by it; the others have a function here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..dialect.forms import Part, parse_form
from ..model import (
    ArrayAttr,
    BoolAttr,
    DictAttr,
    Entry,
    IntegerAttr,
    Location,
    Module,
    Operation,
    PointerType,
    Region,
    StringAttr,
    TensorViewType,
    TileType,
    Type,
    Value,
)
from .literals import (
    attribute_text,
    dict_text,
    hints_text,
    pretty_attribute_text,
    symbol_text,
)
from .locations import LocationAliases
from .names import Names

# What is left out at the end of a region when it has no operands.
_IMPLICIT = {"if": "yield", "for": "continue", "loop": "continue"}

_forms: dict[str, tuple[Part, ...]] = {}


def pretty_text(module: Module, debug_info: bool, wrap: bool) -> str:
    """The text of a module."""
    locations = LocationAliases(_printed_locations(module, wrap)) if debug_info else None
    printer = Printer(locations)
    depth = 1 if wrap else 0
    if wrap:
        printer.lines.append(
            f"cuda_tile.module {symbol_text(module.name or 'kernels')}"
            f"{_module_attributes(module)} {{"
        )
    for op in module.operations:
        printer.top_level(op, depth)
    if wrap:
        printer.lines.append("}")
        if locations is not None:
            printer.lines[-1] += f" {locations.use(module.location)}"
    if locations is not None:
        printer.lines += locations.definitions()
    # cuda-tile-opt, which prints the wrapped form, ends it with an empty line.
    return "\n".join(printer.lines) + ("\n\n" if wrap else "\n")


def _module_attributes(module: Module) -> str:
    attributes = list(module.attributes.items())
    if module.producer is not None:
        attributes.append(("producer", StringAttr(module.producer)))
    return f" attributes {dict_text(sorted(attributes))}" if attributes else ""


def _printed_locations(module: Module, wrap: bool) -> Iterator[Location]:
    """The locations that the text shows, in the order in which MLIR's printer meets them."""
    if wrap:
        yield module.location
    for op in module.operations:
        for inner in op.walk():
            if not _is_implicit(inner):
                yield inner.location


def _is_implicit(op: Operation) -> bool:
    """Whether an operation is the terminator that the text leaves out."""
    parent = op.parent_op
    return (
        parent is not None
        and not op.operands
        and _IMPLICIT.get(parent.name) == op.name
        and op.parent is not None
        and op.parent.operations[-1] is op
        and not op.attributes
    )


class Printer:
    """Collects lines; one instance prints one module.

    What prints otherwise with the same words (`marked`) changes the names in `top_level`.
    """

    def __init__(self, locations: LocationAliases | None):
        self.locations = locations
        self.lines: list[str] = []
        self.uses: dict[Value, str] = {}
        self.definitions: dict[Operation, str] = {}

    def top_level(self, op: Operation, depth: int) -> None:
        names = Names(op)
        self.uses, self.definitions = names.uses, names.definitions
        self.operation(op, depth)

    def operation(self, op: Operation, depth: int) -> None:
        pad = "  " * depth
        left = self.definitions.get(op)
        self.lines.append(f"{pad}{left} = {op.name}" if left else pad + op.name)
        custom = _CUSTOM.get(op.name) if op.spec is not None else _opaque
        if custom is not None:
            custom(self, op, depth)
        else:
            self.lines[-1] += self.form(op)
        if self.locations is not None:
            self.lines[-1] += f" {self.locations.use(op.location)}"

    # -- ops with a form ----------------------------------------------------------------------------

    def form(self, op: Operation) -> str:
        parts = _forms.get(op.name)
        if parts is None:
            assert op.spec is not None
            parts = _forms[op.name] = parse_form(op.spec)
        return "".join(self.part(op, part) for part in parts)

    def part(self, op: Operation, part: Part) -> str:
        kind = part.kind
        if kind == "literal":
            return part.name
        if kind == "operand":
            return self.uses[op.operand_group(part.name)[0]]
        if kind == "operands":
            return self.values(op.operand_group(part.name))
        if kind == "type":
            return str(_named_type(op, part.name))
        if kind == "types":
            return ", ".join(str(v.type) for v in op.operand_group(part.name))
        if kind == "index_types":
            return _index_types(op.operand_group(part.name))
        if kind == "attribute":
            return _attribute(op, part.name)
        if kind == "flag":
            return part.name if op.has(part.anchor) else ""
        if kind in ("dict", "keyword_dict"):
            return _other_attributes(op, " attributes " if kind == "keyword_dict" else " ")
        if kind == "repeated" or (kind == "optional" and not _present(op, part.anchor)):
            return ""
        return "".join(self.part(op, inner) for inner in part.parts)

    def values(self, values: list[Value]) -> str:
        return ", ".join(self.uses[v] for v in values)

    # -- regions ------------------------------------------------------------------------------------

    def region(self, region: Region, depth: int) -> None:
        """` {`, the operations, `}`, each on its line; goes on at the end of the last line."""
        self.lines[-1] += "{"
        for number, block in enumerate(region.blocks):
            if number or (block.label is not None and len(region.blocks) > 1):
                arguments = ", ".join(f"{self.uses[a]}: {a.type}" for a in block.arguments)
                pad = "  " * depth
                self.lines.append(f"{pad}^bb{number}{f'({arguments})' if arguments else ''}:")
            for op in block.operations:
                if not _is_implicit(op):
                    self.operation(op, depth + 1)
        self.lines.append("  " * depth + "}")


def _named_type(op: Operation, name: str) -> Type:
    assert op.spec is not None
    for k, row in enumerate(op.spec.results):
        if row.name == name:
            return op.results[k].type
    return op.operand_group(name)[0].type


def _index_types(values: list[Value]) -> str:
    types = [str(v.type) for v in values]
    return types[0] if len(set(types)) == 1 else ", ".join(types)


def _attribute(op: Operation, name: str) -> str:
    """An attribute in a form; nothing where it is at its default."""
    found = op.attributes.get(name)
    assert op.spec is not None
    if op.spec.attributes[name].kind == "symbol_name":
        assert isinstance(found, StringAttr)
        return symbol_text(found.value)
    return "" if found is None else pretty_attribute_text(found)


def _present(op: Operation, anchor: str) -> bool:
    assert op.spec is not None
    if anchor in op.spec.attributes:
        return anchor in op.attributes
    return bool(op.operand_group(anchor))


def _other_attributes(op: Operation, head: str) -> str:
    """The attributes that the form does not mention."""
    assert op.spec is not None
    mentioned = _mentioned(op)
    rest = [(name, value) for name, value in op.attributes.items() if name not in mentioned]
    return head + dict_text(sorted(rest)) if rest else ""


_mentions: dict[str, frozenset[str]] = {}


def _mentioned(op: Operation) -> frozenset[str]:
    found = _mentions.get(op.name)
    if found is None:
        found = _mentions[op.name] = frozenset(_names_in(_forms.get(op.name, ())))
    return found


def _names_in(parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        yield part.anchor if part.kind == "flag" else part.name
        yield from _names_in(part.parts)


# -- ops with a function of their own ---------------------------------------------------------------


def _types(types: list[Type]) -> str:
    return ", ".join(map(str, types))


def _trailing(op: Operation, *printed: str) -> str:
    rest = [(n, v) for n, v in op.attributes.items() if n not in printed]
    return f" {dict_text(sorted(rest))}" if rest else ""


def _entry(p: Printer, op: Operation, depth: int) -> None:
    assert isinstance(op, Entry)
    arguments = op.arguments if op.regions[0].blocks else []
    shown = ", ".join(
        f"{p.uses[a]}: {a.type}{attributes}"
        for a, attributes in zip(arguments, _argument_attributes(op))
    )
    function = op.attributes["function_type"].value  # type: ignore[attr-defined]
    results = list(function.results)
    arrow = ""
    if results:
        arrow = f" -> {results[0]}" if len(results) == 1 else f" -> ({_types(results)})"
    hints = op.hints
    hint = f" optimization_hints={hints_text(hints)}" if hints else ""
    p.lines[-1] += f" {symbol_text(op.symbol)}({shown}){arrow}{hint} "
    p.region(op.regions[0], depth)
    known = ("sym_name", "function_type", "arg_attrs", "res_attrs", "optimization_hints")
    p.lines[-1] += _trailing(op, *known)


def _argument_attributes(op: Entry) -> list[str]:
    """The attribute dictionaries of the arguments, each with a space in front, or empty."""
    found = op.attributes.get("arg_attrs")
    if not isinstance(found, ArrayAttr):
        return [""] * len(op.arguments)
    return [
        f" {dict_text(item.items)}" if isinstance(item, DictAttr) and item.items else ""
        for item in found.items
    ]


def _for(p: Printer, op: Operation, depth: int) -> None:
    lower, upper, step = op.operands[:3]
    induction, *carried = op.regions[0].block.arguments
    unsigned = " unsigned" if op.has("unsignedCmp") else ""
    text = (
        f"{unsigned} {p.uses[induction]} in ({p.uses[lower]} to {p.uses[upper]}, "
        f"step {p.uses[step]}) : {induction.type} "
    )
    initial = op.operand_group("initValues")
    if initial:
        text += f"iter_values({_assignments(p, carried, initial)}) -> "
        text += f"({_types([v.type for v in initial])}) "
    p.lines[-1] += text
    p.region(op.regions[0], depth)
    p.lines[-1] += _trailing(op, "unsignedCmp")


def _assignments(p: Printer, names: list[Value], values: list[Value]) -> str:
    return ", ".join(f"{p.uses[n]} = {p.uses[v]}" for n, v in zip(names, values))


def _loop(p: Printer, op: Operation, depth: int) -> None:
    text = " "
    results = _types([v.type for v in op.results])
    if op.operands:
        carried = op.regions[0].block.arguments
        text += f"iter_values({_assignments(p, carried, op.operands)}) : "
        text += _types([v.type for v in op.operands]) + " "
        text += f"-> {results} " if results else ""
    elif results:
        text += f": {results} "
    p.lines[-1] += text
    p.region(op.regions[0], depth)
    p.lines[-1] += _trailing(op)


def _if(p: Printer, op: Operation, depth: int) -> None:
    p.lines[-1] += f" {p.uses[op.operands[0]]} "
    if op.results:
        p.lines[-1] += f"-> ({_types([v.type for v in op.results])}) "
    p.region(op.regions[0], depth)
    if not op.regions[1].empty:
        p.lines[-1] += " else "
        p.region(op.regions[1], depth)
    p.lines[-1] += _trailing(op)


def _reduce_or_scan(p: Printer, op: Operation, depth: int) -> None:
    dim, identities = op.attributes["dim"], op.attributes["identities"]
    reverse = op.attributes.get("reverse")
    assert isinstance(dim, IntegerAttr)
    text = f" {p.values(op.operands)}{_trailing(op, 'dim', 'identities', 'reverse')}"
    text += f" dim={dim.value}"
    if isinstance(reverse, BoolAttr):
        text += f" reverse={'true' if reverse.value else 'false'}"
    text += f" identities={attribute_text(identities)} : "
    text += f"{_types([v.type for v in op.operands])} -> {_types([v.type for v in op.results])} "
    p.lines[-1] += text
    arguments = op.regions[0].block.arguments
    shown = ", ".join(f"{p.uses[a]}: {a.type}" for a in arguments)
    p.lines.append(f"{'  ' * depth}({shown}) ")
    p.region(op.regions[0], depth)


def _make_tensor_view(p: Printer, op: Operation, depth: int) -> None:
    view = op.results[0].type
    assert isinstance(view, TensorViewType)
    shape, strides = op.operand_group("dynamicShape"), op.operand_group("dynamicStrides")
    base = op.operands[0]
    text = f" {p.uses[base]}, shape = [{_mixed(p, view.shape, shape)}]"
    text += f", strides = [{_mixed(p, view.strides, strides)}]{_trailing(op)} : "
    types = []
    if isinstance(base.type, TileType) and isinstance(base.type.element, PointerType):
        # The base's type is printed only where the view's type does not give it.
        types += [str(base.type)] if base.type.element.attribute else []
    types += [str(v.type) for v in [*shape, *strides][:1]]
    p.lines[-1] += text + (f"{', '.join(types)} -> " if types else "") + str(view)


def _mixed(p: Printer, sizes: tuple[int | None, ...], values: list[Value]) -> str:
    dynamic = iter(values)
    return ", ".join(p.uses[next(dynamic)] if s is None else str(s) for s in sizes)


def _shape_query(p: Printer, op: Operation, depth: int) -> None:
    source = op.operands[0]
    result = f" -> {op.results[0].type}" if op.results else ""
    p.lines[-1] += f" {p.uses[source]}{_trailing(op)} : {source.type}{result}"


def _opaque(p: Printer, op: Operation, depth: int) -> None:
    """An unknown operation: its own text with the present names, or the generic form."""
    if op.opaque_text is None:
        from .generic import generic_operation

        p.lines[-1:] = generic_operation(op, depth, p.uses, p.definitions)
        return
    text = op.opaque_text.removeprefix(op.name)
    pieces = text.split("\0")
    for k, piece in enumerate(pieces):
        if k % 2 == 0:
            p.lines[-1] += piece
        elif piece[0] == "o":
            p.lines[-1] += p.uses[op.operands[int(piece[1:])]]
        else:
            p.region(op.regions[int(piece[1:])], depth)


_CUSTOM: dict[str, Callable[[Printer, Operation, int], None]] = {
    "entry": _entry,
    "testing$func": _entry,
    "for": _for,
    "loop": _loop,
    "if": _if,
    "reduce": _reduce_or_scan,
    "scan": _reduce_or_scan,
    "make_tensor_view": _make_tensor_view,
    "get_index_space_shape": _shape_query,
    "get_tensor_shape": _shape_query,
}
