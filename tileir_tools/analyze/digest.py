"""One number for what an entry does, at one level of detail.

Place in the flow: Module -> **facts**; imports `dataflow`, `precedence`, `ranges`, `hints`,
`levels`.

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
from .levels import DTYPE, HINTS, LEVELS, NAMES, SIZES, Terms
from .precedence import Precedence, Sums
from .ranges import stated

_BYTES = 16
_WRAP = 1 << (8 * _BYTES)

# What is asked about the size of a view, whatever it reads as outside.
_SHAPES = frozenset({"get_index_space_shape", "get_tensor_shape"})

# The parts of a fused operation, and an operation whose operands are ordered as theirs are.
_FUSED = {"mul": "mulf", "add": "addf"}

# The digest of every constant where constants are forgotten.
_CONSTANT = "constant"


def digest_of(parts: Iterable[str]) -> str:
    """The hash of some printable texts, each told from its neighbours."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=_BYTES).hexdigest()


def _together(digests: Iterable[str]) -> str:
    """The hash of a bag of digests, whatever their order; adding keeps it one pass."""
    return _text(sum(int(digest, 16) for digest in digests))


def _text(sum: int) -> str:
    return f"{sum % _WRAP:x}"


class FlowDigest:
    """The hashes of one entry's values and effects at one level.

    Attributes:
        values: the nodes that the level sees, with their digests.
        effects: likewise.
        body: the digest of the entry but for its hints.
        entry: the digest of the whole.
        has_hints: whether hints of operations are in the digest.
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
        self._before: dict[Operation, Sums] = {}
        self._again: dict[tuple[Effect | None, str], int] = {}
        self._numbers: dict[Effect, int] = {}
        self.has_hints = False
        self.body = self._body()
        self.entry = digest_of((LEVELS[level], self._hints(flow.entry.hints), self.body))

    def without_hints(self) -> str:
        """The digest of the whole at the level `hints`."""
        if self.has_hints:
            return FlowDigest(self.flow, self._order, HINTS, self._arch).entry
        return digest_of((LEVELS[HINTS], "", self.body))

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
        if terms.is_constant(node):
            return _CONSTANT
        if node.name == "fma" and self._level >= DTYPE:
            # Where operand and sum have other formats, the compiler does not fuse.
            operands = [self._operation("mul", node, operands[:2], []), operands[2]]
            return self._operation("add", node, operands, [])
        return self._operation(terms.op(node.name), node, operands, body)

    def _operation(self, name: str, node: Node, operands: list[str], body: list[str]) -> str:
        """The digest of a node as an operation called `name` on some operands."""
        if self._level >= SIZES and operands and all(d == _CONSTANT for d in operands):
            return _CONSTANT
        terms = self.terms
        ordered = in_order(_FUSED.get(name, node.name), node.attributes, operands, _itself)
        return digest_of(
            (
                name,
                terms.type(node.type),
                terms.attributes(node.attributes),
                str(node.output),
                " ".join(ordered),
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
            where = (
                source.name,
                str(source.depth),
                str(node.detail[-1]) if node.name == "carried" else "",
            )
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
        order = [
            digest_of((op, _text(once), _text(twice)))
            for op, once, twice in self._order.again(self._by_op)
        ]
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
        hints = self._hints(op.hints)
        self.has_hints = self.has_hints or bool(hints)
        attributes = sorted((n, v) for n, v in op.attributes.items() if n != "optimization_hints")
        found = digest_of(
            (
                terms.op(effect.name),
                terms.attributes(tuple(attributes)),
                hints,
                # What is unknown may hold anything: quoted, it is printable.
                ascii(plain_text(op)),
                *operands,
                # Of what is read through a change of shape the rank is still known here.
                " ".join([terms.type(n.type) for n in _tiles(effect)]),
                carried,
                *regions,
                " ".join([terms.type(v.type) for v in op.results if str(v.type) != "token"]),
                _text(self._order.before(op, self._before, self._by_op)),
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


def _tiles(effect: Effect) -> list[Node]:
    """What an effect reads, but for views."""
    nodes = [n for group in effect.operands.values() for n in group]
    return [n for n in nodes if not isinstance(n.type, ViewType)]


def _itself(digest: str) -> str:
    return digest
