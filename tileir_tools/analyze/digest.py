"""One number for what an entry does, at one level of detail.

Place in the flow: Module -> **facts**; imports `dataflow`, `ordering`, `ranges`, `hints`, `levels`.

The graph of `dataflow` is hashed from its leaves up. A value is hashed with what it is computed from, an
effect with what it reads and with the effects that tokens put before it, a loop or branch with what
is inside. Effects of one region are a bag, as are operands whose order means nothing, so that the
hash depends neither on names nor on the order of the text beyond what the kernel itself imposes.
Nothing of Python's own hashing is in it: the same kernel gives the same number everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ..model import Operation, OptimizationHintsAttr, ViewType
from .dataflow import Effect, Flow, Node, in_order, plain_text
from .hints import normal_hints
from .levels import HINTS, LEVELS, NAMES, SIZES, Terms
from .ordering import Order, conflict, kind_in_order
from .ranges import stated

_BYTES = 16
_WRAP = 1 << (8 * _BYTES)

# What is asked about the size of a view, whatever it reads as outside.
_SHAPES = frozenset({"get_index_space_shape", "get_tensor_shape"})

# The digest of every constant where constants are forgotten.
_CONSTANT = "constant"


def digest_of(parts: Iterable[str]) -> str:
    """The hash of some texts, each told from its neighbours."""
    data = "".join([f"{len(part)}:{part}" for part in parts])
    # Unknown operations may hold bytes that are no text.
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()


def _together(digests: Iterable[str]) -> str:
    """The hash of a bag of digests, whatever their order; adding keeps it one pass."""
    return f"{sum(int(digest, 16) for digest in digests) % _WRAP:x}"


class FlowDigest:
    """The hashes of one entry's values and effects at one level.

    Attributes:
        values: the nodes that the level sees, with their digests.
        effects: likewise.
        body: the digest of the entry but for its hints.
        entry: the digest of the whole.
    """

    def __init__(self, flow: Flow, order: Precedence, level: int, arch: str | None):
        self.flow = flow
        self.terms = Terms(level)
        self.values: dict[Node, str] = {}
        self.effects: dict[Effect, str] = {}
        self._level = level
        self._arch = arch
        self._order = order
        self._by_op: dict[Operation, str] = {}
        self._again: dict[tuple[Effect | None, str], int] = {}
        self._numbers: dict[Effect, int] = {}
        self.body = self._body()
        self.entry = digest_of((LEVELS[level], self._hints(flow.entry.hints), self.body))

    def value(self, node: Node) -> str:
        """The digest of a value."""
        node = self.terms.passed(node)
        found = self.values.get(node)
        return found if found is not None else self._compute(node)

    def seen(self, node: Node) -> Node:
        """The node that stands for a value at this level."""
        return self.terms.passed(node)

    def _compute(self, node: Node) -> str:
        terms, known = self.terms, self.values
        pending = [node]
        while pending:
            one = pending[-1]
            parts = [terms.passed(n) for n in (*terms.operands(one), *one.body)]
            missing = [n for n in parts if n not in known]
            if missing:
                pending += missing
                continue
            pending.pop()
            if one not in known:
                known[one] = self._leaf(one) if one.is_leaf else self._computed(one, parts)
        return known[node]

    def _computed(self, node: Node, parts: list[Node]) -> str:
        terms = self.terms
        digests = [self.values[n] for n in parts]
        if node.name in _SHAPES:
            digests = [self._unpadded(n) for n in parts]
        count = len(parts) - len(node.body)
        operands, body = digests[:count], digests[count:]
        if terms.is_constant(node) or (
            self._level >= SIZES and operands and all(d == _CONSTANT for d in operands)
        ):
            return _CONSTANT
        return digest_of(
            (
                terms.op(node.name),
                terms.type(node.type),
                terms.attributes(node.attributes),
                str(node.output),
                " ".join(in_order(node.name, node.attributes, operands, _itself)),
                " ".join(body),
                *self._promises(node),
            )
        )

    def _unpadded(self, view: Node) -> str:
        """The digest of a view whose padding nobody sees: what is stored never leaves the tensor."""
        if not isinstance(view.type, ViewType) or view.is_leaf:
            return self.value(view)
        behind = [self.value(n) for n in view.operands]
        return digest_of((view.name, self.terms.unpadded(view.type), *behind))

    def _leaf(self, node: Node) -> str:
        terms = self.terms
        source = self.flow.source_of(node)
        where: tuple[str, ...]
        if source is None:
            where = (str(node.detail[-1]),)
        elif node.name == "result":
            # Which of several equal effects: the finer levels keep them apart.
            number = self._numbers[source] if self._level <= HINTS else 0
            where = (self.effects[source], str(node.detail[-1]), str(number))
        else:
            where = (str(source.depth), str(node.detail[-1]) if node.name == "carried" else "")
        return digest_of((node.name, terms.type(node.type), *where, *self._promises(node)))

    def _promises(self, node: Node) -> list[str]:
        if self._level >= SIZES or node not in self.flow.assumes:
            return []
        return sorted({self.terms.promise(text) for text in stated(node, self.flow)})

    # -- effects ----------------------------------------------------------------------------------

    def _body(self) -> str:
        entry = self.flow.entry
        names = ("sym_name", "function_type", "optimization_hints")
        attributes = tuple(sorted((n, v) for n, v in entry.attributes.items() if n not in names))
        inside = self._region(self.flow.effects)
        order = [digest_of(pair) for pair in self._order.again(self._by_op)]
        return digest_of(
            (
                " ".join([self.terms.type(v.type) for v in entry.arguments]),
                self.terms.attributes(attributes),
                inside,
                _together(order),
            )
        )

    def _region(self, effects: list[Effect]) -> str:
        """What happens in a region; behind an effect that may leave it a new bag begins."""
        parts: list[str] = []
        bag: list[str] = []
        for effect in effects:
            digest = self._effect(effect)
            if effect.name == "yield" and not effect.operands:
                continue
            if effect.exits:
                parts += [_together(bag), digest]
                bag = []
            else:
                bag.append(digest)
        return digest_of((*parts, _together(bag)))

    def _effect(self, effect: Effect) -> str:
        op, terms = effect.op, self.terms
        operands = [
            f"{name} {' '.join([self._read(effect, n) for n in nodes])}"
            for name, nodes in effect.operands.items()
        ]
        carried = " ".join([self.value(c.initial) for c in effect.carried])
        regions = [self._region(region) for region in effect.regions]
        attributes = sorted((n, v) for n, v in op.attributes.items() if n != "optimization_hints")
        found = digest_of(
            (
                terms.op(effect.name),
                terms.attributes(tuple(attributes)),
                self._hints(op.hints),
                plain_text(op) or "",
                *operands,
                carried,
                *regions,
                " ".join([terms.type(v.type) for v in op.results if str(v.type) != "token"]),
                _together([self._by_op[before] for before in self._order.first(op)]),
            )
        )
        self.effects[effect] = self._by_op[op] = found
        key = (effect.parent, found)
        self._numbers[effect] = self._again[key] = self._again.get(key, -1) + 1
        return found

    def _read(self, effect: Effect, node: Node) -> str:
        spec = effect.op.spec
        stores = spec is not None and "stores" in spec.traits
        return self._unpadded(node) if stores else self.value(node)

    def _hints(self, hints: OptimizationHintsAttr | None) -> str:
        return normal_hints(hints, self._arch) if self._level <= NAMES else ""


def _itself(digest: str) -> str:
    return digest


class Precedence:
    """What must happen before what in an entry, as far as it can matter."""

    def __init__(self, flow: Flow):
        order = Order(flow.entry)
        self._first: dict[Operation, list[Operation]] = {}
        self._again: list[tuple[Operation, Operation]] = []
        for op in order.ops:
            kind = kind_in_order(op)
            first = []
            for before in order.all_before(op):
                if not conflict(kind, kind_in_order(before.op)):
                    continue
                if before.carried:
                    self._again.append((before.op, op))
                else:
                    first.append(before.op)
            self._first[op] = first

    def first(self, op: Operation) -> list[Operation]:
        """What must happen before an operation."""
        return self._first.get(op, [])

    def again(self, digests: dict[Operation, str]) -> list[tuple[str, str]]:
        """What must have happened in an earlier iteration of a loop, as pairs of digests."""
        return [(digests[before], digests[op]) for before, op in self._again]
