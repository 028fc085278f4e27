"""What can be proven about integer values: bounds and divisibility.

Place in the flow: Module -> **facts**; imports `model` and `dataflow`. Used to tell a promise
(`assume`) that follows from the code from one that somebody must have known from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm
from typing import TypeVar

from ..model import Attribute, BoundedAttr, DivByAttr, EnumAttr, SameElementsAttr
from .dataflow import Flow, Node, scalar_constant

# Inclusive bounds; None is an open end.
Bounds = tuple["int | None", "int | None"]
_OPEN: Bounds = (None, None)
_T = TypeVar("_T")


def implied(node: Node, predicate: Attribute, flow: Flow) -> bool:
    """Whether a predicate about a node follows from the code and what `flow` assumes everywhere."""
    if predicate in flow.known.get(node, ()):
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


def stated(node: Node, flow: Flow) -> tuple[str, ...]:
    """The promises about a node that do not follow from the code or from those about other nodes.

    Several about one thing are put together: `div_by<4>` and `div_by<8>` are `div_by<8>`. Those
    made only in some branch are marked.
    """
    known = flow.known.get(node, set())
    found = [f"{p} in a branch" for p in flow.assumes.get(node, ()) if p not in known]
    parts = [divisor(n, flow) for n in node.operands]
    factors = [p.divisor for p in known if isinstance(p, DivByAttr) and p.every is None]
    if factors and _computed_divisor(node, parts) % lcm(*factors):
        found.append(str(DivByAttr(lcm(*factors))))
    found += [str(p) for p in known if isinstance(p, DivByAttr) and p.every is not None]
    found += _stated_bounds(node, flow, [p for p in known if isinstance(p, BoundedAttr)])
    same = [p for p in known if isinstance(p, SameElementsAttr) and any(v != 1 for v in p.values)]
    return tuple(sorted([*found, *map(str, same)]))


def _stated_bounds(node: Node, flow: Flow, promised: list[BoundedAttr]) -> list[str]:
    if not promised:
        return []
    bounds(node, flow)  # of what the node is made of
    lower, upper = _computed_bounds(node, [flow.bounds[n] for n in node.operands], flow)
    low, high = _OPEN
    for predicate in promised:
        low, high = _narrowed((low, high), (predicate.lower, predicate.upper))
    if low is not None and lower is not None and lower >= low:
        low = None
    if high is not None and upper is not None and upper <= high:
        high = None
    return [] if (low, high) == _OPEN else [str(BoundedAttr(low, high))]


def _behind(node: Node, flow: Flow, known: dict[Node, _T]) -> Iterator[Node]:
    """The nodes that a fact about `node` rests on and that are not known yet, innermost first."""
    seen: set[Node] = set()
    pending = [(node, False)]
    while pending:
        one, ready = pending.pop()
        if ready:
            yield one
        elif one not in seen and one not in known:
            seen.add(one)
            pending.append((one, True))
            pending += [(n, False) for n in (*one.operands, *_loop_limits(one, flow))]


def _loop_limits(node: Node, flow: Flow) -> list[Node]:
    """Lower bound and step of the loop whose index a node is."""
    loop = flow.source_of(node) if node.name == "index" else None
    if loop is None:
        return []
    start, step = loop.node("lowerBound"), loop.node("step")
    return [start, step] if start is not None and step is not None else []


# -- divisibility ----------------------------------------------------------------------------------


def divisor(node: Node, flow: Flow) -> int:
    """A number that divides every element of a node (0, which all divide: every element is 0)."""
    known = flow.divisors
    for one in _behind(node, flow, known):
        found = _computed_divisor(one, [known[n] for n in one.operands])
        for predicate in flow.known.get(one, ()):
            if isinstance(predicate, DivByAttr) and predicate.every is None:
                found = lcm(found, predicate.divisor)
        known[one] = found
    return known[node]


def _computed_divisor(node: Node, parts: list[int]) -> int:
    value = scalar_constant(node)
    if value is not None:
        return abs(value)
    if node.name in ("addi", "subi", "maxi", "mini"):
        return gcd(*parts)
    if node.name == "select":
        return gcd(*parts[1:])
    if node.name == "muli":
        return parts[0] * parts[1]
    if node.name in ("reshape", "broadcast", "exti", "permute"):
        return parts[0]
    return 1


# -- bounds ----------------------------------------------------------------------------------------


def bounds(node: Node, flow: Flow) -> Bounds:
    """Inclusive signed bounds of every element of a node; None where nothing is known."""
    known = flow.bounds
    for one in _behind(node, flow, known):
        found = _computed_bounds(one, [known[n] for n in one.operands], flow)
        for predicate in flow.known.get(one, ()):
            if isinstance(predicate, BoundedAttr):
                found = _narrowed(found, (predicate.lower, predicate.upper))
        known[one] = found
    return known[node]


def _narrowed(one: Bounds, other: Bounds) -> Bounds:
    lowers = [low for low, _ in (one, other) if low is not None]
    uppers = [high for _, high in (one, other) if high is not None]
    return max(lowers, default=None), min(uppers, default=None)


def _computed_bounds(node: Node, parts: list[Bounds], flow: Flow) -> Bounds:
    value = scalar_constant(node)
    if value is not None:
        return value, value
    if node.name in ("get_tile_block_id", "iota", "get_index_space_shape", "get_tensor_shape"):
        return 0, None
    if node.name == "get_num_tile_blocks":
        return 1, None
    if node.name == "index":
        limits = _loop_limits(node, flow)
        # The index starts at the lower bound and grows where the step does.
        step = flow.bounds[limits[1]][0] if limits else None
        return (flow.bounds[limits[0]][0], None) if step is not None and step >= 0 else _OPEN
    if node.name in ("reshape", "broadcast", "permute"):
        return parts[0]
    if node.name == "exti":
        return parts[0] if _is_signed(node) else (0, None)
    return _arithmetic_bounds(node, parts)


def _is_signed(node: Node) -> bool:
    found = node.attribute("signedness")
    return isinstance(found, EnumAttr) and found.value == "signed"


def _arithmetic_bounds(node: Node, parts: list[Bounds]) -> Bounds:
    """Lower bounds of sums, products, quotients and remainders of numbers that are not negative."""
    lowers = [low for low, _ in parts]
    known = [low for low in lowers if low is not None]
    if node.name == "maxi" and _is_signed(node) and known:
        return max(known), None
    if len(known) != len(parts) or not known or min(known) < 0:
        return _OPEN
    if node.name == "addi":
        return sum(known), None
    if node.name == "muli":
        return known[0] * known[1], None
    if node.name in ("mini", "maxi"):
        return (min(known) if node.name == "mini" else max(known)), None
    if node.name in ("divi", "remi"):
        return 0, None
    return _OPEN
