"""Comparing what two kernels promise about values (`assume`).

Place in the flow: facts -> **findings**; imports `analyze`, `pair`, `values`,
`words`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow, Node
from ..analyze.ranges import implied
from ..model import Attribute, DivByAttr, Operation, PointerType, TileType
from .finding import EXTRA, MISSING, SEMANTIC_EQUIV
from .pair import Pair
from .values import Values
from .words import say

_RAW_ACCESSES = frozenset({"load_ptr_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko"})
_POINTER_STEPS = frozenset({"assume", "offset", "reshape", "broadcast", "ptr_to_ptr"})


def compare_assumptions(pair: Pair, values: Values) -> None:
    """Report promises that only one side makes about a value that both compute."""
    reference, generated = pair.reference, pair.generated
    left, right = _Promises(reference, values), _Promises(generated, values)
    for node, predicates in generated.assumes.items():
        if node not in right.live or (_has_no_counterpart(node) and pair.is_critical("ABI001")):
            continue
        for predicate, op in predicates.items():
            theirs = left.find(node, predicate)
            if theirs is not None and _made_there(pair, theirs, op):
                continue
            text = f"{predicate} is assumed about {say(node, generated)}"
            if implied(node, predicate, reference):
                pair.report("ASM004", SEMANTIC_EQUIV, text, reference.op_of(node), op)
            else:
                pair.report("ASM001", EXTRA, text, reference.op_of(node), op)
    for node, predicates in reference.assumes.items():
        if node not in left.live or not right.computes(node):
            continue
        for predicate, op in predicates.items():
            if right.find(node, predicate) is None and not implied(node, predicate, generated):
                code = _missing_code(node, predicate, generated)
                text = f"{predicate} is not assumed about {say(node, reference)}"
                pair.report(code, MISSING, text, op, generated.op_of(node))


def _has_no_counterpart(node: Node) -> bool:
    """Whether a value is a parameter that only the generated kernel has; that is reported."""
    return node.name == "arg" and not isinstance(node.detail[1], int)


class _Promises:
    """What one kernel promises, whichever way the values are spelled that it is about."""

    def __init__(self, flow: Flow, values: Values):
        self.flow = flow
        self.values = values
        self.live = _live(flow)
        self._leaves: dict[tuple[object, ...], dict[Attribute, Operation]] | None = None
        self._spelled: dict[Node, dict[Attribute, Operation]] | None = None
        self._live_spelled: set[Node] | None = None

    def find(self, node: Node, predicate: Attribute) -> Operation | None:
        """The operation that promises something about a value."""
        found = self.flow.assumes.get(node, {}).get(predicate)
        if found is not None:
            return found
        if node.is_leaf:
            return self._about_leaf(node, predicate)
        if self._spelled is None:
            self._spelled = {}
            for known, predicates in self.flow.assumes.items():
                self._spelled.setdefault(self.values.spelling(known), {}).update(predicates)
        return self._spelled.get(self.values.spelling(node), {}).get(predicate)

    def _about_leaf(self, node: Node, predicate: Attribute) -> Operation | None:
        """A promise about the same parameter or result, which may have another type here."""
        if self._leaves is None:
            self._leaves = {}
            for known, predicates in self.flow.assumes.items():
                if known.is_leaf:
                    self._leaves.setdefault((known.name, known.detail), {}).update(predicates)
        return self._leaves.get((node.name, node.detail), {}).get(predicate)

    def computes(self, node: Node) -> bool:
        """Whether something that happens depends on a value."""
        if node in self.live:
            return True
        if self._live_spelled is None:
            self._live_spelled = {self.values.spelling(n) for n in self.live}
        return self.values.spelling(node) in self._live_spelled


def _made_there(pair: Pair, reference: Operation, generated: Operation) -> bool:
    """Whether wherever the generated kernel makes a promise, the reference makes it too.

    A promise that the reference makes only in some branch may be false elsewhere.
    """
    branches = {id(op) for op in _branches(generated)}
    return all(
        pair.counterpart.get(op) is None or id(pair.counterpart[op]) in branches
        for op in _branches(reference)
    )


def _branches(op: Operation) -> list[Operation]:
    found = []
    around = op.parent_op
    while around is not None:
        if around.name == "if":
            found.append(around)
        around = around.parent_op
    return found


def _missing_code(node: Node, predicate: object, generated: Flow) -> str:
    """Alignment of a pointer matters most where memory is accessed through raw pointers."""
    pointer = isinstance(node.type, TileType) and isinstance(node.type.element, PointerType)
    if not pointer or not isinstance(predicate, DivByAttr):
        return "ASM003"
    return "ASM002" if _is_accessed_raw(node, generated) else "ASM003"


def _is_accessed_raw(node: Node, flow: Flow) -> bool:
    """Whether an access goes through a pointer, or one computed from it, and not through a view."""
    pending = [value for value, owner in flow.nodes.items() if owner is node]
    seen = set(pending)
    while pending:
        for op in pending.pop().users:
            if op.name in _RAW_ACCESSES:
                return True
            if op.name in _POINTER_STEPS and op.result not in seen:
                seen.add(op.result)
                pending.append(op.result)
    return False


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
            pending += (*node.operands, *node.body)
    return found
