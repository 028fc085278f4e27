"""Which values and operations of two kernels stand for each other.

Place in the flow: facts -> **findings**; imports `compare`, `match`, `analyze`, `model`. It reads what
comparing builds anyway: both kernels in one table of nodes, in which equal values are one node.

Values that are no equals may still have the same role: a difference in a view makes another value of it and
of nothing else. From corresponding effects both expressions are followed down, operand by operand, as
long as they do the same; what is met on the way without being equal stands in for its counterpart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..analyze.dataflow import Flow, Node, NodeTable, build_flow, is_commutative
from ..model import Entry, Module, Operation, TokenType, Value
from .compare import prepare
from .match import EntryPair, match_entries, selected
from .pair import Pair


class Correspondence(NamedTuple):
    """Two entries and what corresponds in them; one side is None where an entry has no partner.

    Attributes:
        reference, generated: the entries.
        numbers: value of either side -> number. Values with one number are equal: computed in the same
            way from the same sources, or tokens of corresponding operations.
        stand_ins: number of a value of the reference -> number of the value that has its place in the
            generated kernel, where the two are not equal.
        operations: operation of the reference -> that of the generated kernel.
    """

    reference: Entry | None
    generated: Entry | None
    numbers: dict[Value, int]
    stand_ins: dict[int, int]
    operations: dict[Operation, Operation]


def correspondences(
    reference: Sequence[Module], generated: Sequence[Module], entry: str | None = None
) -> list[Correspondence]:
    """What corresponds in two sets of modules: one for each `EntryDiff` of `diff`, in its order.

    Args:
        reference, generated: the modules.
        entry: only entries whose symbol contains this text.
    """
    pairs = selected(match_entries(reference, generated), entry)
    return [_correspondence(pair) for pair in pairs]


def _correspondence(pair: EntryPair) -> Correspondence:
    one, other = pair.reference, pair.generated
    if one is None or other is None:
        return _alone(pair)
    assert pair.reference_module is not None
    assert pair.generated_module is not None
    both = prepare(one, other, pair.reference_module, pair.generated_module, (), {})
    stand_ins = _stand_ins(both)
    operations = _operations(both, stand_ins)
    numbers = _Numbers()
    numbers.add(both.reference)
    numbers.add(both.generated)
    for a, b in operations.items():
        numbers.link_tokens(a, b)
    # A node that only folding made belongs to no value.
    known = numbers.nodes
    places = {known[a]: known[b] for a, b in stand_ins.items() if a in known and b in known}
    return Correspondence(one, other, numbers.values, places, operations)


def _alone(pair: EntryPair) -> Correspondence:
    entry, module = pair.reference or pair.generated, pair.reference_module or pair.generated_module
    assert entry is not None
    assert module is not None
    numbers = _Numbers()
    numbers.add(build_flow(entry, module, NodeTable()))
    return Correspondence(pair.reference, pair.generated, numbers.values, {}, {})


class _Numbers:
    """Numbers values: equal ones alike, in the order of the text."""

    def __init__(self) -> None:
        self.values: dict[Value, int] = {}
        self.nodes: dict[Node, int] = {}
        self._next = 0

    def add(self, flow: Flow) -> None:
        """All values of an entry; a token has a number of its own until it is linked."""
        for value in _values(flow.entry):
            node = flow.nodes.get(value)
            number = self._next if node is None else self.nodes.setdefault(node, self._next)
            self.values[value] = number
            self._next += number == self._next

    def link_tokens(self, one: Operation, other: Operation) -> None:
        """The tokens of corresponding operations, by their order."""
        for a, b in zip(_tokens(one), _tokens(other)):
            self.values[b] = self.values[a]


def _values(op: Operation) -> Iterator[Value]:
    for inner in op.walk():
        yield from inner.results
        for region in inner.regions:
            for block in region.blocks:
                yield from block.arguments


def _tokens(op: Operation) -> list[Value]:
    inside = [v for r in op.regions for block in r.blocks for v in block.arguments]
    return [v for v in (*op.results, *inside) if isinstance(v.type, TokenType)]


# -- values that stand in for each other ------------------------------------------------------------


def _stand_ins(pair: Pair) -> dict[Node, Node]:
    """Node of the reference -> node of the generated kernel in its place, where they differ."""
    shared = _known(pair.reference) & _known(pair.generated)
    found: dict[Node, Node] = {}
    taken: set[Node] = set()
    # The nearest to an effect first.
    pending = deque(_read_by_effects(pair))
    while pending:
        one, other = pending.popleft()
        if one in shared or other in shared or one in found or other in taken:
            continue
        found[one] = other
        taken.add(other)
        if one.name == other.name and len(one.operands) == len(other.operands):
            pending += _operands(one, other)
            pending += zip(one.body, other.body)
    return found


def _known(flow: Flow) -> set[Node]:
    return set(flow.nodes.values())


def _read_by_effects(pair: Pair) -> Iterator[tuple[Node, Node]]:
    for one, other in pair.matching.pairs:
        for group, nodes in one.operands.items():
            yield from zip(nodes, other.operands.get(group, ()))
        for a, b in zip(one.carried, other.carried):
            yield a.initial, b.initial


def _operands(one: Node, other: Node) -> list[tuple[Node, Node]]:
    left, right = one.operands, other.operands
    if is_commutative(one.name, one.attributes):
        # Operands without an order: what both read is settled, the rest goes together.
        left, right = (
            tuple(n for n in left if n not in other.operands),
            tuple(n for n in right if n not in one.operands),
        )
    return list(zip(left, right))


# -- operations -------------------------------------------------------------------------------------


def _operations(pair: Pair, stand_ins: dict[Node, Node]) -> dict[Operation, Operation]:
    """Every operation of the reference that has a counterpart, each side once."""
    found: dict[Operation, Operation] = {pair.reference.entry: pair.generated.entry}
    taken: set[Operation] = {pair.generated.entry}
    for one, other in _candidates(pair, stand_ins):
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


def _candidates(pair: Pair, stand_ins: dict[Node, Node]) -> Iterator[tuple[Operation, Operation]]:
    left, right = pair.reference, pair.generated
    yield from pair.counterpart.items()
    for node, ops in left.ops.items():
        yield from zip(ops, right.ops.get(node, ()))
    for one, other in stand_ins.items():
        yield from zip(left.ops.get(one, ()), right.ops.get(other, ()))
    promises = [_promises(flow, stand_ins) for flow in (left, right)]
    for key, ops in promises[0].items():
        yield from zip(ops, promises[1].get(key, ()))
    for name in ("make_token", "join_tokens"):
        yield from zip(*([op for op in f.entry.walk() if op.name == name] for f in (left, right)))


def _promises(flow: Flow, stand_ins: dict[Node, Node]) -> dict[object, list[Operation]]:
    """(node, predicate) -> the assumes that say so, in order."""
    found: dict[object, list[Operation]] = {}
    for op in flow.entry.walk():
        if op.name == "assume" and op.spec is not None:
            node = flow.nodes.get(op.operands[0])
            key = stand_ins.get(node, node) if node is not None else None
            found.setdefault((key, op.attributes["predicate"]), []).append(op)
    return found
