"""Values and attributes in the words of a message.

Place in the flow: facts -> **findings**; imports `analyze`, `model`, `write.literals`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow, Node
from ..model import Attribute, DenseElementsAttr, EnumAttr, Operation, TileType, Type, UnitAttr
from ..write.literals import attribute_text, elements_text
from ..write.literals import element_text as raw_text

# Longer texts are cut: a message is one sentence.
_LONGEST = 40

CONVERSIONS = frozenset(
    {"ftof", "ftoi", "itof", "exti", "trunci", "bitcast", "int_to_ptr", "ptr_to_int", "ptr_to_ptr"}
)


def say(node: Node, flow: Flow) -> str:
    """A value: what computes it, or where it comes from."""
    name = node.name
    if node.is_leaf:
        return _say_leaf(node, flow)
    if name == "constant":
        return f"constant {constant_text(node)}"
    if name in ("get_tile_block_id", "get_num_tile_blocks"):
        kind = "block id" if name == "get_tile_block_id" else "grid size"
        return f"{kind} {'xyz'[node.output]}"
    if name in CONVERSIONS:
        return f"{name} to {element_text(node)}"
    several = name in ("get_index_space_shape", "get_tensor_shape", "reduce", "scan")
    return f"{name} ({node.output})" if several and node.output else name


# What a reader looks for first in a formula.
_FUNCTIONS = frozenset(
    "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh fpowf fpowi".split()
)


def functions_read(node: Node) -> frozenset[str]:
    """The functions whose values an operation reads, also in another shape."""
    found = set()
    for operand in node.operands:
        while operand.name in ("reshape", "broadcast", "permute"):
            operand = operand.operands[0]
        found.add(operand.name)
    return frozenset(found & _FUNCTIONS)


def _say_leaf(node: Node, flow: Flow) -> str:
    if node.name == "arg":
        place = node.detail[1]
        return f"argument {place}" if isinstance(place, int) else "a parameter of its own"
    if node.name == "param":
        return f"argument {node.detail[1]} of the body"
    source = flow.source_of(node)
    at = line_of(source.op if source else None)
    if node.name == "index":
        return f"the index of the loop{at}"
    if node.name == "carried":
        return f"carried value {node.detail[-1]} of the loop{at}"
    if source is None:
        return "the result of another operation"
    number = f" {node.detail[1]}" if node.detail[1] or len(source.op.results) > 2 else ""
    return f"result{number} of {source.name}{at}"


def line_of(op: Operation | None) -> str:
    """` (line 12)`, or nothing where there is no text."""
    span = op.span if op is not None else None
    return f" (line {span.line})" if span else ""


def element_text(node: Node) -> str:
    return str(node.type.element) if isinstance(node.type, TileType) else str(node.type)


def shape_text(type: Type) -> str:
    """The shape of a tile, for where nothing else differs."""
    if not isinstance(type, TileType):
        return str(type)
    return "x".join(map(str, type.shape)) if type.shape else "that of a scalar"


def constant_text(node: Node) -> str:
    value = node.attribute("value")
    if not isinstance(value, DenseElementsAttr):
        return "?"
    return f"{_cut(elements_text(value))} : {node.type}"


def say_attribute(value: Attribute | None) -> str:
    if value is None:
        return "absent"
    if isinstance(value, UnitAttr):
        return "set"
    if isinstance(value, EnumAttr):
        return value.value
    return _cut(attribute_text(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def constant_difference(a: Node, b: Node) -> str:
    """In what two constants differ: their values, or the first element of longer ones."""
    one, other = a.attribute("value"), b.attribute("value")
    if not isinstance(one, DenseElementsAttr) or not isinstance(other, DenseElementsAttr):
        return "another global, or one with another value"
    left, right = constant_text(a), constant_text(b)
    if left == right and len(one.raw) == len(other.raw):
        place = next(k for k, (x, y) in enumerate(zip(one.raw, other.raw, strict=True)) if x != y)
        left, right = (
            f"{raw_text(c.raw[place], c.type.element)} as element {place}" for c in (one, other)
        )
    return f"constant {left} in the reference, {right} in the generated kernel"
