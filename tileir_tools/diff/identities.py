"""Exact rewrites that ask for nothing: arithmetic of constants, neutral elements, inverse conditions, shapes.

Place in the flow: facts -> **findings**; imports `analyze` and `model`; `rewrites` lists what is here. Each
gives the node that a node, whose operands are already rewritten, is another spelling of, or None.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analyze.dataflow import Flow, Node, NodeTable, by_number, fold, in_order, scalar_constant
from ..dialect import OPS
from ..model import (
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    ElementType,
    EnumAttr,
    TileType,
)

# -- integers --------------------------------------------------------------------------------------

# Arithmetic whose result, cut to the width of the type, does not depend on signs.
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}


def _width(node: Node) -> int | None:
    """The bits of an integer element; None for another type."""
    element = node.type.element if isinstance(node.type, TileType) else None
    return element.width if isinstance(element, ElementType) and element.is_integer else None


def _integer(node: Node) -> int | None:
    """The integer that every element of a node is."""
    return scalar_constant(node) if _width(node) is not None else None


def constant_computed(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`constant 3 * constant 8` -> `constant 24`."""
    compute = _ARITHMETIC.get(node.name)
    width = _width(node)
    if compute is None or width is None or len(node.operands) != 2:
        return None
    left, right = (_integer(n) for n in node.operands)
    if left is None or right is None:
        return None
    exact = compute(left, right)
    result = _cut(exact, width)
    if result != exact and node.attribute("overflow") is not None:
        return None
    assert isinstance(node.type, TileType)
    return table.constant(node.type, (result,))


def _cut(number: int, width: int) -> int:
    """A number as a signed one of a width; one bit is 0 or 1."""
    bits = number & ((1 << width) - 1)
    return bits - (1 << width) if width > 1 and bits >> (width - 1) else bits


# Operation -> the number that changes nothing on its right; commutative ones take it on both sides.
_NEUTRAL = {"addi": 0, "subi": 0, "muli": 1, "ori": 0, "xori": 0, "shli": 0, "shri": 0, "offset": 0}


def neutral_element(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`x + 0`, `x * 1`, a pointer moved by nothing -> `x`."""
    neutral = _NEUTRAL.get(node.name)
    if neutral is None or len(node.operands) != 2:
        return None
    left, right = node.operands
    if _integer(right) == neutral and left.type is node.type:
        return left
    commutes = "commutative" in OPS[node.name].traits
    return right if commutes and _integer(left) == neutral else None


def shift_as_product(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`x << 3` -> `x * 8`."""
    width = _width(node)
    if node.name != "shli" or width is None or node.attribute("overflow") is not None:
        return None
    count = _integer(node.operands[1])
    if count is None or not 0 <= count < width:
        return None
    assert isinstance(node.type, TileType)
    factor = table.constant(node.type, (_cut(1 << count, width),))
    operands = sorted((node.operands[0], factor), key=by_number)
    return table.node("muli", node.type, operands)


_SHAPES = frozenset({"broadcast", "reshape", "permute"})

# -- conditions ------------------------------------------------------------------------------------

# Predicate -> (the inverse one, whether its operands are turned around): of the two of a pair one is kept.
_INVERSE = {
    "greater_than_or_equal": ("less_than", False),
    "less_than_or_equal": ("less_than", True),
    "not_equal": ("equal", False),
}
# With floats it is the ordering that is kept: "unordered" is the inverse of another one, "ordered".
_INVERSE_UNORDERED = {
    "less_than": ("less_than_or_equal", True),
    "less_than_or_equal": ("less_than", True),
    "greater_than": ("less_than_or_equal", False),
    "greater_than_or_equal": ("less_than", False),
    "equal": ("not_equal", False),
    "not_equal": ("equal", False),
}


def inverse(
    name: str, attributes: dict[str, Attribute]
) -> tuple[dict[str, Attribute], bool] | None:
    """The attributes of the comparison that holds where this one does not, and whether it turns its operands
    around; None where this one is the one of the two that is kept."""
    predicate = _keyword(attributes, "comparison_predicate")
    if name == "cmpi":
        found = _INVERSE.get(predicate)
    elif name == "cmpf" and _keyword(attributes, "comparison_ordering") == "unordered":
        found = _INVERSE_UNORDERED.get(predicate)
    else:
        return None
    if found is None:
        return None
    changed = {**attributes, "comparison_predicate": EnumAttr("comparison_predicate", found[0])}
    if name == "cmpf":
        changed["comparison_ordering"] = EnumAttr("comparison_ordering", "ordered")
    return changed, found[1]


def _keyword(attributes: dict[str, Attribute], name: str) -> str:
    found = attributes.get(name)
    return found.value if isinstance(found, EnumAttr) else ""


def _negated(table: NodeTable, node: Node) -> Node | None:
    """The condition that a condition is the negation of, also below a change of shape."""
    if node.name in _SHAPES:
        inner = _negated(table, node.operands[0])
        return inner and table.node(node.name, node.type, (inner,), node.attributes)
    if node.name == "xori" and _width(node) == 1:
        left, right = node.operands
        if 1 in (_integer(left), _integer(right)):
            return right if _integer(left) == 1 else left
    found = inverse(node.name, dict(node.attributes))
    if found is None:
        return None
    attributes, turned = found
    operands = node.operands[::-1] if turned else node.operands
    ordered = tuple(sorted(attributes.items()))
    return table.node(
        node.name, node.type, in_order(node.name, ordered, operands, by_number), ordered
    )


def condition_inverted(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`select (not c), a, b` -> `select c, b, a`; `not (a >= b)` -> `a < b`."""
    if node.name == "select":
        condition, if_true, if_false = node.operands
        positive = _negated(table, condition)
        if positive is None:
            return None
        return table.node("select", node.type, (positive, if_false, if_true), node.attributes)
    if node.name != "xori":
        return None
    inner = _negated(table, node)
    return _negated(table, inner) if inner is not None else None


# -- shapes ----------------------------------------------------------------------------------------


def order_of(node: Node) -> tuple[int, ...]:
    """The permutation of a `permute`."""
    found = node.attribute("permutation")
    assert isinstance(found, DenseArrayAttr)
    return tuple(found.values)


def permuted_twice(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """Two permutations are one; one that moves nothing is none."""
    if node.name != "permute":
        return None
    order, source = order_of(node), node.operands[0]
    if order == tuple(range(len(order))):
        return source
    if source.name != "permute":
        return None
    inner = order_of(source)
    both = DenseArrayAttr("i32", tuple(inner[k] for k in order))
    return table.node("permute", node.type, source.operands, (("permutation", both),))


# What computes each element from the elements at its place.
_ELEMENTWISE = frozenset(
    "addi subi muli shli shri divi remi mini maxi andi ori xori absi negi mulhii cmpi addf subf mulf divf "
    "maxf minf remf negf absf exp exp2 log log2 sqrt rsqrt sin cos tan tanh sinh cosh ceil floor fma fpowf "
    "cmpf select ftof ftoi itof exti trunci offset ptr_to_int int_to_ptr ptr_to_ptr".split()
)


def shape_last(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`broadcast a + broadcast b` -> `broadcast (a + b)`, and so for `reshape`, `permute` and constants."""
    if node.name not in _ELEMENTWISE or not isinstance(node.type, TileType):
        return None
    changed = next((n for n in node.operands if n.name in _SHAPES), None)
    if changed is None:
        return None
    shape = changed.operands[0].type
    assert isinstance(shape, TileType)
    operands = [_before(table, n, changed, shape, node.type.shape) for n in node.operands]
    found = [n for n in operands if n is not None]
    if len(found) < len(operands):
        return None
    type = TileType(shape.shape, node.type.element)
    found = in_order(node.name, node.attributes, found, by_number)
    inner = table.node(node.name, type, found, node.attributes)
    again = fold(table, changed.name, node.type, [inner])
    return again or table.node(changed.name, node.type, (inner,), changed.attributes)


def _before(
    table: NodeTable, node: Node, change: Node, type: TileType, shape: tuple[int, ...]
) -> Node | None:
    """What an operand is before the same change of shape as another one's; None where it has no such form."""
    if not isinstance(node.type, TileType) or node.type.shape != shape:
        return None
    if node.name == change.name and node.attributes == change.attributes:
        source = node.operands[0].type
        return (
            node.operands[0]
            if isinstance(source, TileType) and source.shape == type.shape
            else None
        )
    value = node.attribute("value") if node.name == "constant" else None
    if isinstance(value, DenseElementsAttr) and value.is_splat:
        return table.constant(TileType(type.shape, value.type.element), value.raw)
    return None
