"""The dataflow of an entry as a graph of values, and its effects in order.

Place in the flow: Module -> **facts**; imports `model` and `dialect`. It is what comparing
kernels stands on.

Every value that is no token becomes a `Node`. Nodes are interned in a `NodeTable`: two values that
are computed the same way from the same leaves are one node, which is common subexpression
elimination, and a table shared by two entries makes equal values of both the same object. `assume`
is no node: it adds a fact to the node of its operand.

What happens (loads, stores, atomics, loops, branches, prints, asserts, unknown operations) is a
list of `Effect`s per region. Results of effects are leaves of the graph. Tokens are left out here;
`ordering` looks at them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ..dialect import OPS
from ..model import (
    I32,
    ArrayAttr,
    Attribute,
    Block,
    DenseArrayAttr,
    DenseElementsAttr,
    DictAttr,
    Entry,
    EnumAttr,
    IntegerAttr,
    Module,
    Operation,
    StringAttr,
    SymbolRefAttr,
    TileType,
    TokenType,
    Type,
    Value,
)

Attributes = tuple[tuple[str, Attribute], ...]
# Names a loop, a branch or another effect; equal on both sides where they correspond.
Label = tuple[object, ...]


class Node:
    """One value. `name` is the op's mnemonic, or for leaves `arg`, `index` (of a `for`), `carried`,
    `result` (of an effect), `param` (of a reduce body).

    `detail` tells leaves of one kind apart; `body` holds what a reduce or scan body yields;
    `output` is the number of the result for ops with several.
    """

    __slots__ = ("attributes", "body", "detail", "id", "name", "operands", "output", "type")

    def __init__(
        self,
        id: int,
        name: str,
        attributes: Attributes,
        operands: tuple[Node, ...],
        type: Type,
        detail: Label,
        body: tuple[Node, ...],
        output: int,
    ):
        self.id = id
        self.name = name
        self.attributes = attributes
        self.operands = operands
        self.type = type
        self.detail = detail
        self.body = body
        self.output = output

    @property
    def is_leaf(self) -> bool:
        return bool(self.detail)

    def attribute(self, name: str) -> Attribute | None:
        return next((value for key, value in self.attributes if key == name), None)

    def keyword(self, name: str) -> str | None:
        """The keyword of an enum attribute as written; None where it is not there."""
        found = self.attribute(name)
        return found.value if isinstance(found, EnumAttr) else None

    def __repr__(self) -> str:
        return (
            f"<Node {self.id} {self.name}{list(self.detail) if self.detail else ''}: {self.type}>"
        )


class NodeTable:
    """Makes nodes; gives the same node for the same computation."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Node] = {}

    def node(
        self,
        name: str,
        type: Type,
        operands: Sequence[Node] = (),
        attributes: Attributes = (),
        detail: Label = (),
        body: Sequence[Node] = (),
        output: int = 0,
    ) -> Node:
        ids = tuple(n.id for n in operands)
        inside = tuple(n.id for n in body)
        key = (name, type, ids, attributes, detail, inside, output)
        found = self._nodes.get(key)
        if found is None:
            number = len(self._nodes)
            found = Node(
                number, name, attributes, tuple(operands), type, detail, tuple(body), output
            )
            self._nodes[key] = found
        return found

    def constant(self, type: TileType, raw: tuple[int, ...]) -> Node:
        value = DenseElementsAttr(type, raw)
        return self.node("constant", type, (), (("value", value),))


class Carried(NamedTuple):
    """A value that a loop carries: `place` among the loop's values, where it starts."""

    place: int
    type: Type
    initial: Node


class Effect:
    """Something that happens.

    Attributes:
        op: the operation.
        label: its name in the graph's leaves.
        key: what it does, by node numbers; equal keys are equal effects.
        operands: operand group -> nodes, tokens left out.
        depth: loops around it.
        carried: for loops, the values carried (tokens left out), in the order in which both sides
            of a comparison count them.
        regions: what happens inside, one list per region.
        exits: for branches, whether control can leave the region around it (return, break,
            continue).
    """

    __slots__ = (
        "carried",
        "depth",
        "exits",
        "key",
        "label",
        "op",
        "operands",
        "parent",
        "regions",
    )

    def __init__(self, op: Operation, label: Label, depth: int, parent: Effect | None):
        self.op = op
        self.label = label
        self.depth = depth
        self.parent = parent
        self.key: tuple[object, ...] = ()
        self.operands: dict[str, tuple[Node, ...]] = {}
        self.carried: list[Carried] = []
        self.regions: list[list[Effect]] = []
        self.exits = False

    @property
    def name(self) -> str:
        return self.op.name

    def node(self, group: str) -> Node | None:
        """The node of a single or optional operand."""
        found = self.operands.get(group)
        return found[0] if found else None

    def __repr__(self) -> str:
        return f"<Effect {self.op.name} {self.label}>"


class Flow:
    """The dataflow of one entry.

    Attributes:
        nodes: value -> node, for every value that is no token.
        ops: node -> the operations that compute it (several where the text repeats itself).
        assumes: node -> predicate -> the operation that makes the assumption.
        known: node -> the predicates assumed wherever the kernel runs, not only in some branch.
        divisors, bounds: what `ranges` found out about nodes.
        effects: what happens in the body, in order; `every_effect()` walks into regions.
        by_label: label -> effect.
    """

    def __init__(self, entry: Entry, module: Module, table: NodeTable):
        self.entry = entry
        self.module = module
        self.table = table
        self.nodes: dict[Value, Node] = {}
        self.ops: dict[Node, list[Operation]] = {}
        self.assumes: dict[Node, dict[Attribute, Operation]] = {}
        self.known: dict[Node, set[Attribute]] = {}
        self.divisors: dict[Node, int] = {}
        self.bounds: dict[Node, tuple[int | None, int | None]] = {}
        self.effects: list[Effect] = []
        self.by_label: dict[Label, Effect] = {}

    def every_effect(self) -> list[Effect]:
        """All effects, each before those inside it."""
        found: list[Effect] = []
        pending = list(reversed(self.effects))
        while pending:
            effect = pending.pop()
            found.append(effect)
            for region in reversed(effect.regions):
                pending += reversed(region)
        return found

    def source_of(self, node: Node) -> Effect | None:
        """The loop, branch or other effect that gives a leaf; None for other nodes."""
        label = node.detail[0] if node.detail else None
        return self.by_label.get(label) if isinstance(label, tuple) else None

    def op_of(self, node: Node, reader: Operation | None = None) -> Operation | None:
        """An operation that computes a node; the entry for an argument.

        Where the text computes it several times, the one that `reader` reads or holds, else the
        first.
        """
        found = self.ops.get(node)
        if found:
            return found[0] if len(found) == 1 or reader is None else _nearest(found, reader)
        source = self.source_of(node)
        if source is not None:
            return source.op
        return self.entry if node.name == "arg" else None


def _nearest(ops: list[Operation], reader: Operation) -> Operation:
    """Of several operations that compute one value, the one that `reader` reads or holds."""
    for value in reader.operands:
        op = value.defining_op
        while op is not None and op.name == "assume" and op.spec is not None:
            op = op.operands[0].defining_op
        if op in ops:
            return op
    held = set(reader.walk()) if reader.regions else ()
    return next((op for op in ops if op in held), ops[0])


def _in_branch(op: Operation) -> bool:
    """Whether an operation is inside a branch, so that it may not be executed."""
    around = op.parent_op
    while around is not None and around.name != "if":
        around = around.parent_op
    return around is not None


_COMMUTATIVE = frozenset(name for name, spec in OPS.items() if "commutative" in spec.traits)


def is_commutative(name: str, attributes: Attributes) -> bool:
    """Whether the order of an operation's operands means nothing."""
    if name in _COMMUTATIVE:
        return True
    return name in ("cmpi", "cmpf") and _is_equality(dict(attributes))


_Operand = TypeVar("_Operand")


def in_order(
    name: str,
    attributes: Attributes,
    operands: Sequence[_Operand],
    key: Callable[[_Operand], Any],
) -> list[_Operand]:
    """Operands in one order (that of `key`), whichever of those that mean the same they were in."""
    if is_commutative(name, attributes):
        return sorted(operands, key=key)
    if name == "fma":
        return [*sorted(operands[:2], key=key), *operands[2:]]
    return list(operands)


def by_number(node: Node) -> int:
    """The order of nodes in which operands whose order means nothing are kept."""
    return node.id


def _is_equality(attributes: dict[str, Attribute]) -> bool:
    predicate = attributes.get("comparison_predicate")
    return isinstance(predicate, EnumAttr) and predicate.value in ("equal", "not_equal")


class Plan(NamedTuple):
    """How the second of two entries is labelled like the first.

    Attributes:
        arguments: argument number -> the number of the first entry's argument that it stands for.
        labels: effect's operation -> label of the effect that it stands for.
        first: the first entry's flow, whose order of carried values is kept.
    """

    arguments: dict[int, int]
    labels: dict[Operation, Label]
    first: Flow


def build_flow(entry: Entry, module: Module, table: NodeTable, plan: Plan | None = None) -> Flow:
    """The dataflow of an entry; `plan` labels it like another one that it is compared with."""
    flow = Flow(entry, module, table)
    builder = _Builder(flow, plan)
    for number, value in enumerate(entry.arguments):
        place: object = number if plan is None else plan.arguments.get(number, ("extra", number))
        flow.nodes[value] = table.node("arg", value.type, detail=("arg", place))
    flow.effects = builder.block(entry.body, ("entry",), 0, None)
    return flow


# What an op does beside giving values. Loads are here: two equal loads may give different values.
_CONTROL = frozenset({"for", "loop", "if"})
_LEAVES = frozenset({"return", "break", "continue"})


def is_effect(op: Operation) -> bool:
    """Whether an operation does something beside computing its results from its operands."""
    spec = op.spec
    if spec is None:
        return True
    return not (spec.is_pure or op.name == "assume") or spec.is_terminator


def plain_text(op: Operation) -> str | None:
    """The text of an unknown operation without what means nothing; None for a known one."""
    if op.opaque_text is None:
        return None
    strings = r'("(?:[^"\\]|\\.)*")'
    parts = re.split(strings, op.opaque_text)
    for k in range(0, len(parts), 2):
        text = re.sub(r"[!#]?cuda_tile\.", "", parts[k])
        parts[k] = re.sub(r"\s*([^\w\s.%@-])\s*", r"\1", text)
    return "".join(parts)


class _Builder:
    def __init__(self, flow: Flow, plan: Plan | None):
        self.flow = flow
        self.table = flow.table
        self.plan = plan
        self._counts: dict[Label, int] = {}
        # Loops around the place that is being built, innermost last: their carried places in order.
        self._loops: list[list[int]] = []

    def block(self, block: Block, path: Label, depth: int, parent: Effect | None) -> list[Effect]:
        effects: list[Effect] = []
        for op in block.operations:
            if op.name == "assume" and op.spec is not None:
                self._assume(op)
            elif is_effect(op):
                effects.append(self._effect(op, path, depth, parent))
                if effects[-1].exits:
                    # What comes behind a possible exit may not happen: it is another place.
                    path = (*path, "after", effects[-1].label)
            else:
                self._pure(op)
        return effects

    # -- values -----------------------------------------------------------------------------------

    def _node(self, value: Value) -> Node:
        return self.flow.nodes[value]

    def _operands(self, values: Sequence[Value]) -> list[Node]:
        return [self._node(v) for v in values if not isinstance(v.type, TokenType)]

    def _assume(self, op: Operation) -> None:
        node = self._node(op.operands[0]) if op.operands[0] in self.flow.nodes else None
        if node is None:
            return
        self.flow.nodes[op.results[0]] = node
        # A promise about a value that nobody reads promises nothing.
        if op.results[0].users:
            predicate = op.attributes["predicate"]
            known = self.flow.known.setdefault(node, set())
            if not _in_branch(op) and predicate not in known:
                known.add(predicate)
                self.flow.assumes.setdefault(node, {})[predicate] = op
            self.flow.assumes.setdefault(node, {}).setdefault(predicate, op)

    def _pure(self, op: Operation) -> None:
        if all(isinstance(v.type, TokenType) for v in op.results):
            return
        operands = self._operands(op.operands)
        body = self._body(op)
        attributes = tuple(sorted(_attributes(op, self.flow.module)))
        for number, value in enumerate(op.results):
            node = fold(self.table, op.name, value.type, operands) or self._make(
                op, value, operands, attributes, body, number
            )
            self.flow.nodes[value] = node
            self.flow.ops.setdefault(node, []).append(op)

    def _make(
        self,
        op: Operation,
        value: Value,
        operands: list[Node],
        attributes: Attributes,
        body: list[Node],
        number: int,
    ) -> Node:
        operands = in_order(op.name, attributes, operands, by_number)
        text = plain_text(op)
        if text is not None:
            attributes = (*attributes, ("#text", StringAttr(text)))
        if op.segments is not None:
            # Which of the optional operands are there is part of what is computed.
            attributes = (*attributes, ("#segments", _segments_attribute(op)))
        return self.table.node(op.name, value.type, operands, attributes, body=body, output=number)

    def _body(self, op: Operation) -> list[Node]:
        """What the body of a reduce or scan yields, its arguments being `param` leaves."""
        nodes: list[Node] = []
        for region in op.regions:
            for block in region.blocks:
                for number, value in enumerate(block.arguments):
                    leaf = self.table.node("param", value.type, detail=("param", number))
                    self.flow.nodes[value] = leaf
                for inner in block.operations:
                    if inner.terminator:
                        nodes += self._operands(inner.operands)
                    elif inner.name == "assume" and inner.spec is not None:
                        self._assume(inner)
                    else:
                        self._pure(inner)
        return nodes

    # -- effects ----------------------------------------------------------------------------------

    def _effect(self, op: Operation, path: Label, depth: int, parent: Effect | None) -> Effect:
        if op.name in _CONTROL and op.spec is not None:
            effect = self._control(op, path, depth, parent)
        else:
            effect = self._simple(op, path, depth, parent)
        self.flow.by_label[effect.label] = effect
        if op.name not in ("for", "loop"):
            # Tokens do not count: a kernel may thread more of them through a branch than another.
            values = [v for v in op.results if not isinstance(v.type, TokenType)]
            self._results(effect, list(enumerate(values)))
        return effect

    def _results(self, effect: Effect, numbered: list[tuple[int, Value]]) -> None:
        for number, value in numbered:
            self.flow.nodes[value] = self.table.node(
                "result", value.type, detail=(effect.label, number)
            )

    def _simple(self, op: Operation, path: Label, depth: int, parent: Effect | None) -> Effect:
        operands = self._named_operands(op)
        attributes = tuple(sorted(_attributes(op, self.flow.module)))
        key = (
            op.name,
            path,
            attributes,
            tuple((name, tuple(n.id for n in nodes)) for name, nodes in operands.items()),
            tuple(v.type for v in op.results),
            plain_text(op),
        )
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        label: Label = (*key, count)
        if self.plan is not None:
            label = self.plan.labels.get(op, label)
        effect = Effect(op, label, depth, parent)
        effect.key = key
        effect.operands = operands
        for region in op.regions:
            for block in region.blocks:
                self._opaque_arguments(block, effect.label)
                effect.regions.append(self.block(block, effect.label, depth, effect))
        return effect

    def _opaque_arguments(self, block: Block, label: Label) -> None:
        for number, value in enumerate(block.arguments):
            self.flow.nodes[value] = self.table.node(
                "carried", value.type, detail=(label, "argument", number)
            )

    def _named_operands(self, op: Operation) -> dict[str, tuple[Node, ...]]:
        if op.spec is None:
            return {"operands": tuple(self._operands(op.operands))}
        groups: dict[str, tuple[Node, ...]] = {}
        for row in op.spec.operands:
            values = op.operand_group(row.name)
            if op.name == "continue" and self._loops and len(values) == len(self._loops[-1]):
                values = [values[place] for place in self._loops[-1]]
            nodes = tuple(self._operands(values))
            if nodes:
                groups[row.name] = nodes
        return groups

    def _control(self, op: Operation, path: Label, depth: int, parent: Effect | None) -> Effect:
        label = self._control_label(op, path)
        effect = Effect(op, label, depth, parent)
        for row in op.spec.operands if op.spec else ():
            if row.name != "initValues":
                effect.operands[row.name] = tuple(self._operands(op.operand_group(row.name)))
        effect.key = (op.name, path, tuple(sorted(_attributes(op, self.flow.module))))
        # Labels are needed inside: results and carried values refer to them.
        self.flow.by_label[label] = effect
        if op.name == "if":
            for number, region in enumerate(op.regions):
                effect.regions.append([])
                for block in region.blocks:
                    inside = self.block(block, (label, number), depth, effect)
                    effect.regions[number] = inside
                    effect.exits = effect.exits or any(_leaves(e) for e in inside)
        else:
            self._loop(op, effect, depth)
        return effect

    def _control_label(self, op: Operation, path: Label) -> Label:
        if self.plan is not None:
            return self.plan.labels.get(op, ("extra", path, id(op)))
        count = self._counts.get((path, "control"), 0)
        self._counts[(path, "control")] = count + 1
        return (op.name, path, count)

    def _loop(self, op: Operation, effect: Effect, depth: int) -> None:
        initial = op.operand_group("initValues")
        arguments = op.regions[0].block.arguments
        first = 1 if op.name == "for" else 0
        if first:
            self.flow.nodes[arguments[0]] = self.table.node(
                "index", arguments[0].type, detail=(effect.label,)
            )
        effect.carried = [
            Carried(place, value.type, self._node(value))
            for place, value in enumerate(initial)
            if not isinstance(value.type, TokenType)
        ]
        if self.plan is not None:
            effect.carried = _in_order_of(self.plan.first.by_label.get(effect.label), effect)
        for number, carried in enumerate(effect.carried):
            argument = arguments[first + carried.place]
            self.flow.nodes[argument] = self.table.node(
                "carried", argument.type, detail=(effect.label, "argument", number)
            )
        self._loops.append(_places(effect, len(initial)))
        effect.regions.append(self.block(op.regions[0].block, (effect.label,), depth + 1, effect))
        self._loops.pop()
        self._loop_results(op, effect)

    def _loop_results(self, op: Operation, effect: Effect) -> None:
        """Results of a `for` are its carried values; those of a `loop` are what `break` gives."""
        values = [v for v in op.results if not isinstance(v.type, TokenType)]
        if op.name == "for":
            numbers = {c.place: n for n, c in enumerate(effect.carried)}
            self._results(effect, [(numbers.get(v.index, v.index), v) for v in values])
        else:
            self._results(effect, list(enumerate(values)))


def _leaves(effect: Effect) -> bool:
    """Whether control can leave the region of an `if` for somewhere else than behind the `if`."""
    return effect.name in _LEAVES or effect.exits


def _places(effect: Effect, count: int) -> list[int]:
    """The places of all carried values: first those that are no tokens, in their common order."""
    ordered = [c.place for c in effect.carried]
    return ordered + [place for place in range(count) if place not in set(ordered)]


def _in_order_of(other: Effect | None, effect: Effect) -> list[Carried]:
    """The carried values in the order in which the other loop has them.

    Same place and type first; where types or initial values disagree, by type and initial value.
    """
    if other is None:
        return effect.carried
    mine = effect.carried
    if [c.type for c in mine] == [c.type for c in other.carried] and all(
        a.initial is b.initial for a, b in zip(mine, other.carried, strict=True)
    ):
        return mine
    rest = list(mine)
    order: list[Carried | None] = []
    for wanted in other.carried:
        exact = [c for c in rest if c.type is wanted.type and c.initial is wanted.initial]
        found = exact[0] if exact else None
        order.append(found)
        if found is not None:
            rest.remove(found)
    for k, wanted in enumerate(other.carried):
        if order[k] is None:
            same = [c for c in rest if c.type is wanted.type] or rest
            if same:
                order[k] = same[0]
                rest.remove(same[0])
    return [c for c in order if c is not None] + rest


def _attributes(op: Operation, module: Module) -> list[tuple[str, Attribute]]:
    """The attributes that say what an op computes: no hints, and a global by what it holds."""
    found = [(n, v) for n, v in op.attributes.items() if n != "optimization_hints"]
    if op.name == "get_global":
        return [("global", global_value(op, module))]
    if op.name == "cmpi" and _is_equality(op.attributes):
        # Whether two integers are equal does not depend on how their sign is read.
        return [(n, v) for n, v in found if n != "signedness"]
    return found


def global_value(op: Operation, module: Module) -> Attribute:
    """What a global is, without its name: two kernels may call one buffer differently.

    A global is told from others with the same attributes by its place among them.
    """
    name = op.attributes["name"]
    assert isinstance(name, SymbolRefAttr)
    twins: dict[DictAttr, int] = {}
    for item in module.globals:
        rest = tuple((n, v) for n, v in item.attributes.items() if n != "sym_name")
        what = DictAttr(rest)
        twins[what] = twins.get(what, 0) + 1
        if item.symbol == name.value:
            return ArrayAttr((what, IntegerAttr(twins[what], I32)))
    return StringAttr(name.value)


def _segments_attribute(op: Operation) -> Attribute:
    return DenseArrayAttr("i32", op.segments or ())


def fold(table: NodeTable, name: str, type: Type, operands: Sequence[Node]) -> Node | None:
    """Shape changes of a splat constant are a splat constant; None where nothing folds."""
    if name not in ("reshape", "broadcast") or len(operands) != 1:
        return None
    source = operands[0]
    if source.type is type:
        return source
    value = source.attribute("value") if source.name == "constant" else None
    if isinstance(value, DenseElementsAttr) and value.is_splat and isinstance(type, TileType):
        return table.constant(type, value.raw)
    if name == source.name:
        return fold(table, name, type, source.operands) or table.node(name, type, source.operands)
    return None


def scalar_constant(node: Node | None) -> int | None:
    """The integer that a splat or scalar integer constant holds."""
    if node is None or node.name != "constant":
        return None
    value = node.attribute("value")
    if isinstance(value, DenseElementsAttr) and value.is_splat:
        number = value.values[0]
        return number if isinstance(number, int) else None
    return None
