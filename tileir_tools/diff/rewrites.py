"""Rewrites that comparing knows: other spellings of one value.

Place in the flow: facts -> **findings**; imports `analyze`, `model`, `identities`. Each rewrite is a small
function from a node, whose operands are already rewritten, to the node it is another spelling of,
or None. `EXACT` rewrites give the same value; `ALGEBRAIC` ones give the same formula, rounded
differently, or the same value under a condition that the code does not prove.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analyze.dataflow import Flow, Node, NodeTable, by_number, fold, in_order, scalar_constant
from ..analyze.ranges import bounds
from ..model import (
    Attribute,
    DenseElementsAttr,
    EnumAttr,
    PartitionViewType,
    TensorViewType,
    TileType,
)
from ..model.floats import FLOAT_FORMATS, decode, encode_ratio
from . import identities

Rewrite = Callable[[NodeTable, Node, "Flow | None"], "Node | None"]


def _promises(node: Node) -> bool:
    """Whether an operation promises not to overflow; a rewrite must not lose that."""
    return node.attribute("overflow") is not None


def _is_float(node: Node) -> bool:
    return isinstance(node.type, TileType) and str(node.type.element) in FLOAT_FORMATS


# -- exact ---------------------------------------------------------------------------------------


def at_least(node: Node, least: int, flow: Flow) -> bool:
    lower, _ = bounds(node, flow)
    return lower is not None and lower >= least


def ceiling_division(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`(a + b - 1) / b` -> `a / b` rounded up; exact where a is not negative and b is positive.

    The division may round to zero or down: there is nothing negative. With `flow` None the condition is not
    asked for.
    """
    if node.name != "divi" or node.keyword("rounding") == "positive_inf":
        return None
    numerator, divisor = node.operands
    dividend = _minus_one_added(numerator, divisor, scalar_constant(divisor))
    if dividend is None:
        return None
    if flow is not None and not (at_least(dividend, 0, flow) and at_least(divisor, 1, flow)):
        return None
    attributes = dict(node.attributes)
    attributes["rounding"] = EnumAttr("rounding", "positive_inf")
    return table.node("divi", node.type, (dividend, divisor), tuple(sorted(attributes.items())))


def _minus_one_added(sum: Node, divisor: Node, value: int | None) -> Node | None:
    """`a` where `sum` is a + b - 1 in one of its orders."""
    if _promises(sum):
        return None
    if sum.name == "subi" and scalar_constant(sum.operands[1]) == 1:
        inner = sum.operands[0]
        if inner.name == "addi" and divisor in inner.operands and not _promises(inner):
            return inner.operands[0 if inner.operands[1] is divisor else 1]
    if sum.name != "addi":
        return None
    for k in (0, 1):
        rest, other = sum.operands[k], sum.operands[1 - k]
        if value is not None and scalar_constant(other) == value - 1 and value > 1:
            return rest
        if (
            other.name == "subi"
            and other.operands[0] is divisor
            and scalar_constant(other.operands[1]) == 1
            and not _promises(other)
        ):
            return rest
    return None


def minimum_by_selection(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`select (a < b), a, b` -> `mini a, b`, and the like."""
    if node.name != "select" or node.operands[0].name != "cmpi":
        return None
    compare, if_true, if_false = node.operands
    predicate = compare.keyword("comparison_predicate") or ""
    left, right = compare.operands
    if {left, right} != {if_true, if_false} or left is right:
        return None
    less = predicate in ("less_than", "less_than_or_equal")
    if not less and predicate not in ("greater_than", "greater_than_or_equal"):
        return None
    name = "mini" if less == (left is if_true) else "maxi"
    signedness = compare.attribute("signedness")
    assert signedness is not None
    operands = sorted((if_true, if_false), key=lambda n: n.id)
    return table.node(name, node.type, operands, (("signedness", signedness),))


def floor_remainder(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """The correction that makes a remainder follow the divisor's sign -> the plain remainder.

    `select ((r < 0) != (b < 0) and r != 0), r + b, r`; exact where dividend and divisor are not
    negative.
    """
    if node.name != "select":
        return None
    condition, corrected, plain = node.operands
    if plain.name != "remi" or corrected.name != "addi" or _promises(corrected):
        return None
    dividend, divisor = plain.operands
    if set(corrected.operands) != {plain, divisor}:
        return None
    if not _is_sign_correction(condition, plain, divisor):
        return None
    if flow is not None and not (at_least(dividend, 0, flow) and at_least(divisor, 0, flow)):
        return None
    return plain


def _is_sign_correction(condition: Node, remainder: Node, divisor: Node) -> bool:
    """`((r < 0) xor (b < 0)) and (r != 0)`; for a constant b, `b < 0` may be `false` or absent."""
    if condition.name != "andi":
        return False
    for signs, nonzero in (condition.operands, reversed(condition.operands)):
        if not _compares_with_zero(nonzero, "not_equal", remainder):
            continue
        is_positive = (scalar_constant(divisor) or 0) > 0
        if is_positive and _compares_with_zero(signs, "less_than", remainder):
            return True
        if signs.name != "xori":
            continue
        for a, b in (signs.operands, signs.operands[::-1]):
            is_false = is_positive and scalar_constant(b) == 0
            if _compares_with_zero(a, "less_than", remainder) and (
                is_false or _compares_with_zero(b, "less_than", divisor)
            ):
                return True
    return False


def _compares_with_zero(node: Node, predicate: str, value: Node) -> bool:
    """Whether a node is `value < 0`, signed, or `value != 0` in either order."""
    if node.name != "cmpi" or node.keyword("comparison_predicate") != predicate:
        return False
    left, right = node.operands
    if predicate == "less_than":
        is_signed = node.keyword("signedness") == "signed"
        return is_signed and left is value and scalar_constant(right) == 0
    return {left, right} >= {value} and 0 in (scalar_constant(left), scalar_constant(right))


_TURNED = {"greater_than": "less_than", "greater_than_or_equal": "less_than_or_equal"}


def comparison_turned(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`a > b` -> `b < a`, for integers and floats."""
    predicate = _TURNED.get(node.keyword("comparison_predicate") or "")
    if predicate is None or node.name not in ("cmpi", "cmpf"):
        return None
    attributes = dict(node.attributes)
    attributes["comparison_predicate"] = EnumAttr("comparison_predicate", predicate)
    left, right = node.operands
    return table.node(node.name, node.type, (right, left), tuple(sorted(attributes.items())))


def index_space(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """A size of an index space -> the tensor's size divided by the tile, rounded up."""
    if node.name != "get_index_space_shape":
        return None
    view = node.operands[0]
    if not isinstance(view.type, PartitionViewType) or view.name != "make_partition_view":
        return None
    tensor = view.operands[0]
    dimension = view.type.dim_map[node.output]
    size = _tensor_size(table, tensor, dimension, node)
    if size is None or not isinstance(node.type, TileType):
        return None
    tile = table.constant(node.type, (view.type.tile_shape[node.output],))
    rounding: Attribute = EnumAttr("rounding", "positive_inf")
    signed: Attribute = EnumAttr("signedness", "signed")
    return table.node(
        "divi", node.type, (size, tile), (("rounding", rounding), ("signedness", signed))
    )


def _tensor_size(table: NodeTable, tensor: Node, dimension: int, like: Node) -> Node | None:
    """The node of one size of a tensor view, where it has the wanted type."""
    if tensor.name != "make_tensor_view" or not isinstance(tensor.type, TensorViewType):
        return None
    static = tensor.type.shape[dimension]
    if static is not None:
        return table.constant(like.type, (static,)) if isinstance(like.type, TileType) else None
    place = 1 + sum(1 for s in tensor.type.shape[:dimension] if s is None)
    found = tensor.operands[place]
    return found if found.type is like.type else None


EXACT: dict[str, Rewrite] = {
    "division that rounds up": ceiling_division,
    "minimum or maximum by comparison": minimum_by_selection,
    "remainder of a non-negative value": floor_remainder,
    "size of the index space": index_space,
    "comparison turned around": comparison_turned,
    "constant computed": identities.constant_computed,
    "neutral element": identities.neutral_element,
    "shift as multiplication": identities.shift_as_product,
    "inverse condition": identities.condition_inverted,
    "permuted twice": identities.permuted_twice,
    "computed before the shape changes": identities.shape_last,
}


# -- algebraic -----------------------------------------------------------------------------------

# What adding and multiplying are called, for integers and for floating point.
_SUMS = {"addf": "subf", "addi": "subi"}
_NEGATIONS = {"addf": "negf", "addi": "negi"}


def subtraction_as_addition(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`a - b` -> `a + (-b)`."""
    for add, subtract in _SUMS.items():
        if node.name == subtract:
            left, right = node.operands
            negated = table.node(_NEGATIONS[add], right.type, (right,))
            pushed = negation_inwards(table, negated) or negated
            return _commuted(table, add, node, (left, pushed))
    return None


def negation_inwards(table: NodeTable, node: Node, flow: Flow | None = None) -> Node | None:
    """`-(a * b)` -> `(-a) * b`; `-(-a)` -> `a`; `-c` -> the constant."""
    if node.name != "negf":
        return None
    inner = node.operands[0]
    if inner.name == "negf":
        return inner.operands[0]
    if inner.name == "mulf" and inner.keyword("rounding_mode") not in _DIRECTED:
        first, second = sorted(inner.operands, key=lambda n: (n.name == "constant", n.id))
        target = second if second.name == "constant" else first
        other = first if target is second else second
        negated = table.node("negf", target.type, (target,))
        pushed = negation_inwards(table, negated) or negated
        return _commuted(table, "mulf", inner, (other, pushed))
    return _negated_constant(table, inner)


# Rounding to one side: the negated number is rounded the other way.
_DIRECTED = ("negative_inf", "positive_inf")


def _negated_constant(table: NodeTable, node: Node) -> Node | None:
    value = node.attribute("value") if node.name == "constant" else None
    if not isinstance(value, DenseElementsAttr) or not value.is_splat:
        return None
    form = FLOAT_FORMATS.get(str(value.type.element))
    if form is None or not form.signed:
        return None
    sign = 1 << (form.exponent + form.mantissa)
    return table.constant(value.type, (value.raw[0] ^ sign,))


def division_by_power_of_two(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`a / 4.0` -> `a * 0.25`."""
    if node.name != "divf":
        return None
    value = node.operands[1].attribute("value") if node.operands[1].name == "constant" else None
    if not isinstance(value, DenseElementsAttr) or not value.is_splat:
        return None
    form = FLOAT_FORMATS.get(str(value.type.element))
    if form is None:
        return None
    number = decode(value.raw[0], form)
    if number.kind != "finite" or number.significand & (number.significand - 1):
        return None
    if number.significand == 0:
        return None
    power = number.exponent + number.significand.bit_length() - 1
    sign = -1 if number.negative else 1
    ratio = (sign, 1 << power) if power >= 0 else (sign << -power, 1)
    bits = encode_ratio(*ratio, form)
    inverse = decode(bits, form)
    if (
        inverse.kind != "finite"
        or inverse.exponent + inverse.significand.bit_length() - 1 != -power
    ):
        # The inverse of a very small number is too large for the format, and the other way round.
        return None
    constant = table.constant(value.type, (bits,))
    return _commuted(table, "mulf", node, (node.operands[0], constant))


def fused_multiply_add(table: NodeTable, node: Node, flow: Flow | None) -> Node | None:
    """`fma a, b, c` -> `a * b + c`."""
    if node.name != "fma":
        return None
    left, right, addend = node.operands
    product = _commuted(table, "mulf", node, (left, right))
    return _commuted(table, "addf", node, (product, addend))


def reassociated(one: Node, other: Node) -> bool:
    """Whether two sums or products have the same three terms in another order.

    This is about two nodes and not about one: what the three terms are made of does not count, and
    may be sums again.
    """
    if one.name != other.name or one.name not in ("addf", "mulf", "addi", "muli"):
        return False
    if one.attributes != other.attributes or one.type is not other.type:
        return False
    return bool(_three_terms(one) & _three_terms(other))


def _three_terms(node: Node) -> set[tuple[int, ...]]:
    """The terms of a sum of a term and a sum, for each of the ways to see it as such."""
    found = set()
    for inner, rest in (node.operands, node.operands[::-1]):
        # With another rounding mode inside, the order of the terms is not all that matters.
        if inner.name == node.name and inner.attributes == node.attributes:
            found.add(tuple(sorted(n.id for n in (*inner.operands, rest))))
    return found


def _commuted(table: NodeTable, name: str, like: Node, operands: tuple[Node, ...]) -> Node:
    """A commutative node with the attributes of `like` that it can have."""
    kept = ("flush_to_zero", "rounding_mode") if _is_float(like) else ("overflow",)
    attributes = tuple((n, v) for n, v in like.attributes if n in kept)
    if like.name == "divf" and like.keyword("rounding_mode") in ("approx", "full"):
        # Approximate division is a multiplication by an approximate reciprocal.
        attributes = tuple((n, v) for n, v in attributes if n != "rounding_mode")
    return table.node(name, like.type, sorted(operands, key=lambda n: n.id), attributes)


ALGEBRAIC: dict[str, Rewrite] = {
    "fma split or fused": fused_multiply_add,
    "subtraction as addition": subtraction_as_addition,
    "negation moved": negation_inwards,
    "division as multiplication": division_by_power_of_two,
}

# Exact rewrites whose condition is not asked for. Changes of shape stay where they are: the algebraic rewrites,
# which come after these, look at what is next to each other.
_NOT_HERE = (ceiling_division, floor_remainder, identities.shape_last)
CONDITIONAL: dict[str, Rewrite] = {
    **{n: r for n, r in EXACT.items() if r not in _NOT_HERE},
    "division that rounds up, if nothing is negative": ceiling_division,
    "remainder, if nothing is negative": floor_remainder,
}


class Rewriter:
    """Rewrites nodes with a set of rewrites, remembering what it did.

    `flow` gives the facts that exact rewrites ask for; None asks for none. `first` rewrites nodes
    before: its rewrites see operations that those of this one would take apart.
    """

    def __init__(
        self,
        table: NodeTable,
        rewrites: dict[str, Rewrite],
        flow: Flow | None,
        first: Rewriter | None = None,
    ):
        self.table = table
        self.rewrites = rewrites
        self.flow = flow
        self.first = first
        self._done: dict[Node, Node] = {}
        self._used: dict[Node, frozenset[str]] = {}

    def rewrite(self, node: Node) -> Node:
        """The node that this one is another spelling of; itself where it is none."""
        if self.first is not None:
            node = self.first.rewrite(node)
        if node not in self._done:
            # Operands have smaller numbers than the nodes that read them.
            for inner in sorted(self._unseen(node), key=lambda n: n.id):
                self._rewrite_one(inner)
        return self._done[node]

    def used(self, node: Node) -> frozenset[str]:
        """The names of the rewrites that were applied in a node or below it."""
        self.rewrite(node)
        if self.first is None:
            return self._used[node]
        return self.first.used(node) | self._used[self.first.rewrite(node)]

    def _unseen(self, node: Node) -> set[Node]:
        found: set[Node] = set()
        pending = [node]
        while pending:
            one = pending.pop()
            if one not in found and one not in self._done:
                found.add(one)
                pending += one.operands
        return found

    def _settled(self, node: Node) -> Node:
        """A node that a rewrite made, with the rewrites applied to what it made below it."""
        for inner in sorted(self._unseen(node) - {node}, key=lambda n: n.id):
            self._rewrite_one(inner)
        return self._on(node, [self._done[n] for n in node.operands])

    def _on(self, node: Node, operands: list[Node]) -> Node:
        """The same computation on other operands."""
        if all(a is b for a, b in zip(operands, node.operands, strict=True)):
            return node
        operands = in_order(node.name, node.attributes, operands, by_number)
        return fold(self.table, node.name, node.type, operands) or self.table.node(
            node.name, node.type, operands, node.attributes, node.detail, node.body, node.output
        )

    def _rewrite_one(self, node: Node) -> None:
        used = frozenset().union(*(self._used[n] for n in node.operands))
        result = self._on(node, [self._done[n] for n in node.operands])
        for _ in range(4):
            for name, rewrite in self.rewrites.items():
                found = rewrite(self.table, result, self.flow)
                if found is not None and found is not result:
                    result, used = self._settled(found), used | {name}
                    break
            else:
                break
        self._done[node] = result
        self._used[node] = used
        self._done.setdefault(result, result)
        self._used.setdefault(result, frozenset())
