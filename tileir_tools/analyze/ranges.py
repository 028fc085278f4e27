"""What can be proven about integer values: bounds and divisibility.

Place in the flow: Module -> **facts**; imports `model` and `dataflow`. Used to tell a promise (`assume`)
that follows from the code from one that somebody must have known from elsewhere.
"""

from __future__ import annotations

from math import gcd

from ..model import Attribute, BoundedAttr, DivByAttr, EnumAttr, SameElementsAttr
from .dataflow import Flow, Node, scalar_constant

_DEPTH = 24


def implied(node: Node, predicate: Attribute, flow: Flow) -> bool:
    """Whether a predicate about a node follows from the code and the assumptions of `flow`."""
    known = flow.assumes.get(node, {})
    if predicate in known:
        return True
    if isinstance(predicate, DivByAttr):
        if predicate.every is not None:
            return False
        return divisor(node, flow) % predicate.divisor == 0
    if isinstance(predicate, BoundedAttr):
        lower, upper = bounds(node, flow)
        lower_holds = predicate.lower is None or (lower is not None and lower >= predicate.lower)
        upper_holds = predicate.upper is None or (upper is not None and upper <= predicate.upper)
        return lower_holds and upper_holds
    return isinstance(predicate, SameElementsAttr) and all(v == 1 for v in predicate.values)


def divisor(node: Node, flow: Flow, depth: int = _DEPTH) -> int:
    """A number that divides every element of a node (0: every element is 0, anything divides it)."""
    found = 1
    for predicate in flow.assumes.get(node, {}):
        if isinstance(predicate, DivByAttr) and predicate.every is None:
            found = max(found, predicate.divisor)
    computed = _computed_divisor(node, flow, depth) if depth else 1
    return 0 if computed == 0 else max(found, computed)


def _computed_divisor(node: Node, flow: Flow, depth: int) -> int:
    value = scalar_constant(node)
    if value is not None:
        return abs(value)
    parts = [divisor(n, flow, depth - 1) for n in node.operands]
    if node.name in ("addi", "subi", "maxi", "mini", "select"):
        numbers = parts[1:] if node.name == "select" else parts
        return gcd(*numbers)
    if node.name == "muli":
        return parts[0] * parts[1]
    if node.name in ("reshape", "broadcast", "exti", "permute"):
        return parts[0]
    return 1


def bounds(node: Node, flow: Flow, depth: int = _DEPTH) -> tuple[int | None, int | None]:
    """Inclusive bounds of every element of a node; None where nothing is known."""
    lower, upper = _computed_bounds(node, flow, depth) if depth else (None, None)
    for predicate in flow.assumes.get(node, {}):
        if isinstance(predicate, BoundedAttr):
            if predicate.lower is not None:
                lower = predicate.lower if lower is None else max(lower, predicate.lower)
            if predicate.upper is not None:
                upper = predicate.upper if upper is None else min(upper, predicate.upper)
    return lower, upper


def _computed_bounds(node: Node, flow: Flow, depth: int) -> tuple[int | None, int | None]:
    value = scalar_constant(node)
    if value is not None:
        return value, value
    if node.name == "get_tile_block_id":
        return 0, None
    if node.name == "get_num_tile_blocks":
        return 1, None
    if node.name in ("iota", "get_index_space_shape", "get_tensor_shape"):
        return 0, None
    if node.name == "index":
        return _index_bounds(node, flow, depth)
    parts = [bounds(n, flow, depth - 1) for n in node.operands]
    if node.name in ("reshape", "broadcast", "permute", "exti") and parts:
        signed = node.attribute("signedness")
        if node.name != "exti" or (isinstance(signed, EnumAttr) and signed.value == "signed"):
            return parts[0]
    return _arithmetic_bounds(node, parts)


def _arithmetic_bounds(
    node: Node, parts: list[tuple[int | None, int | None]]
) -> tuple[int | None, int | None]:
    """Lower bounds of sums, products, quotients and remainders of numbers that are not negative."""
    lowers = [low for low, _ in parts]
    if node.name == "maxi" and any(low is not None for low in lowers):
        return max(low for low in lowers if low is not None), None
    known = [low for low in lowers if low is not None]
    if len(known) != len(parts) or not known or min(known) < 0:
        return None, None
    if node.name == "addi":
        return sum(known), None
    if node.name == "muli":
        return known[0] * known[1], None
    if node.name in ("divi", "remi", "mini"):
        return (min(known) if node.name == "mini" else 0), None
    return None, None


def _index_bounds(node: Node, flow: Flow, depth: int) -> tuple[int | None, int | None]:
    """The induction variable of a `for` starts at its lower bound and grows."""
    loop = flow.by_label.get(node.detail[0])  # type: ignore[arg-type]
    if loop is None:
        return None, None
    start, step = loop.node("lowerBound"), loop.node("step")
    if start is None or step is None:
        return None, None
    lower, _ = bounds(start, flow, depth - 1)
    step_lower, _ = bounds(step, flow, depth - 1)
    return (lower, None) if step_lower is not None and step_lower >= 0 else (None, None)
