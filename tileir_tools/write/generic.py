"""MLIR's generic form: `"cuda_tile.addi"(%0, %1) <{..}> : (types) -> type`.

Place in the flow: part of Module -> text; imports `model`, `dialect`, `names`, `literals`, `locations`.
Attributes at their default are written out, as MLIR does, so that any MLIR tool reads the text.
"""

from __future__ import annotations

from ..model import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    Entry,
    Location,
    Module,
    Operation,
    Region,
    StringAttr,
    Type,
    Value,
)
from .literals import dict_text, string_text
from .locations import LocationAliases
from .names import Names


def generic_text(module: Module, debug_info: bool) -> str:
    """The text of a module, wrapped in `"cuda_tile.module"`."""
    locations = None
    if debug_info:
        every: list[Location] = [module.location, *(op.location for op in module.walk())]
        locations = LocationAliases(every)
    properties: dict[str, Attribute] = {"sym_name": StringAttr(module.name or "kernels")}
    if module.producer is not None:
        properties["producer"] = StringAttr(module.producer)
    shown = dict_text(sorted(properties.items()))
    lines = [f'"cuda_tile.module"() <{shown}> ({{']
    for op in module.operations:
        names = Names(op, hints=False)
        lines += generic_operation(op, 1, names.uses, names.definitions, locations)
    extra = f" {dict_text(sorted(module.attributes.items()))}" if module.attributes else ""
    lines.append(f"}}){extra} : () -> ()")
    if locations is not None:
        lines[-1] += f" {locations.use(module.location)}"
        lines += locations.definitions()
    return "\n".join(lines) + "\n"


def generic_operation(
    op: Operation,
    depth: int,
    uses: dict[Value, str],
    definitions: dict[Operation, str],
    locations: LocationAliases | None = None,
) -> list[str]:
    """The lines of one operation."""
    pad = "  " * depth
    left = definitions.get(op)
    name = op.name if op.spec is None and "." in op.name else f"cuda_tile.{op.name}"
    text = f"{pad}{left} = " if left else pad
    if op.opaque_text is not None:
        # What is not understood cannot be put in another form: MLIR takes both forms side by side.
        lines = [f"{text}{name}"]
        _opaque(op, depth, uses, definitions, locations, lines)
        return lines
    text += f"{string_text(name)}({', '.join(uses[v] for v in op.operands)})"
    properties, extra = _properties(op)
    if properties:
        text += f" <{dict_text(sorted(properties.items()))}>"
    lines = [text]
    if op.regions:
        lines[-1] += " ("
        for k, region in enumerate(op.regions):
            lines[-1] += ", {" if k else "{"
            if region.blocks:
                lines += _region(region, depth, uses, definitions, locations)
            else:
                lines[-1] += "}"
        lines[-1] += ")"
    if extra:
        lines[-1] += f" {dict_text(sorted(extra.items()))}"
    inputs = ", ".join(v.type.mlir for v in op.operands)
    lines[-1] += f" : ({inputs}) -> {_results([v.type for v in op.results])}"
    if locations is not None:
        lines[-1] += f" {locations.use(op.location)}"
    return lines


def _opaque(
    op: Operation,
    depth: int,
    uses: dict[Value, str],
    definitions: dict[Operation, str],
    locations: LocationAliases | None,
    lines: list[str],
) -> None:
    """Add the own text of an unknown operation, with the present names, behind its name."""
    assert op.opaque_text is not None
    for k, piece in enumerate(op.opaque_text.removeprefix(op.name).split("\0")):
        if k % 2 == 0:
            lines[-1] += piece
        elif piece[0] == "o":
            lines[-1] += uses[op.operands[int(piece[1:])]]
        else:
            lines[-1] += "{"
            lines += _region(op.regions[int(piece[1:])], depth, uses, definitions, locations)
    if locations is not None:
        lines[-1] += f" {locations.use(op.location)}"


def _results(types: list[Type]) -> str:
    return types[0].mlir if len(types) == 1 else f"({', '.join(t.mlir for t in types)})"


def _region(
    region: Region,
    depth: int,
    uses: dict[Value, str],
    definitions: dict[Operation, str],
    locations: LocationAliases | None,
) -> list[str]:
    """Everything behind the opening brace of a region, the closing one included."""
    lines: list[str] = []
    for number, block in enumerate(region.blocks):
        if number or block.arguments:
            arguments = ", ".join(f"{uses[a]}: {a.type.mlir}" for a in block.arguments)
            head = f"({arguments})" if arguments else ""
            lines.append(f"{'  ' * depth}^bb{number}{head}:")
        for op in block.operations:
            lines += generic_operation(op, depth + 1, uses, definitions, locations)
    lines.append("  " * depth + "}")
    return lines


def _properties(op: Operation) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The attributes of the op's definition, defaults included, and the others."""
    spec = op.spec
    if spec is None:
        return {}, dict(op.attributes)
    known = {n: v for n, v in op.attributes.items() if n in spec.attributes}
    extra = {n: v for n, v in op.attributes.items() if n not in spec.attributes}
    for name, row in spec.attributes.items():
        if name not in known and row.default is not None:
            known[name] = row.default
    if isinstance(op, Entry) and "arg_attrs" not in known:
        known["arg_attrs"] = ArrayAttr((DictAttr(()),) * len(op.arguments))
    if "segments" in spec.traits:
        sizes = op.segments if op.segments is not None else (1,) * len(spec.operands)
        known["operandSegmentSizes"] = DenseArrayAttr("i32", sizes)
    return known, extra
