"""Comparing what two kernels promise about values (`assume`).

Place in the flow: facts -> **findings**; imports `analyze`, `pair`, `values`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow, Node
from ..analyze.ranges import implied
from ..model import DivByAttr, PointerType, TileType
from .finding import EXTRA, MISSING, SEMANTIC_EQUIV
from .pair import Pair
from .values import say

_RAW_POINTER_USES = frozenset({"offset", "load_ptr_tko", "store_ptr_tko", "broadcast", "reshape"})


def compare_assumptions(pair: Pair) -> None:
    """Report promises that only one side makes about a value that both compute."""
    reference, generated = pair.reference, pair.generated
    live_left, live_right = _live(reference), _live(generated)
    for node, predicates in generated.assumes.items():
        if node not in live_right:
            continue
        for predicate, op in predicates.items():
            if predicate in reference.assumes.get(node, {}):
                continue
            message = f"{predicate} is assumed about {say(node, generated)}"
            if implied(node, predicate, reference):
                pair.report("ASM004", SEMANTIC_EQUIV, message, reference.op_of(node), op)
            else:
                pair.report("ASM001", EXTRA, message, reference.op_of(node), op)
    for node, predicates in reference.assumes.items():
        if node not in live_left or node not in live_right:
            continue
        for predicate, op in predicates.items():
            if not implied(node, predicate, generated):
                code = _missing_code(node, predicate, generated)
                message = f"{predicate} is not assumed about {say(node, reference)}"
                pair.report(code, MISSING, message, op, generated.op_of(node))


def _missing_code(node: Node, predicate: object, generated: Flow) -> str:
    """Alignment of a pointer matters most where memory is accessed through raw pointers."""
    pointer = isinstance(node.type, TileType) and isinstance(node.type.element, PointerType)
    if not pointer or not isinstance(predicate, DivByAttr):
        return "ASM003"
    uses = {
        op.name
        for value, owner in generated.nodes.items()
        if owner is node
        for op in value.users
    }
    return "ASM002" if uses & _RAW_POINTER_USES else "ASM003"


def _live(flow: Flow) -> set[Node]:
    """The nodes that some effect depends on."""
    found: set[Node] = set()
    pending: list[Node] = []
    for effect in flow.every_effect():
        for nodes in effect.operands.values():
            pending += nodes
        pending += [c.initial for c in effect.carried]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += node.operands
    return found


