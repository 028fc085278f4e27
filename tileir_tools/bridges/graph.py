"""The operations of a module and what runs between them, as a graph.

Place in the flow: Module -> **bridges**, beside facts and reports; imports `model`, `write` and `errors`,
and networkx where a graph of its own is asked for. Names of values are those that `tileir print` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UsageError
from ..model import (
    Entry,
    Module,
    Operation,
    StringAttr,
    SymbolRefAttr,
    TileType,
    TokenType,
    Value,
)
from ..write.literals import pretty_attribute_text, symbol_text
from ..write.marked import marked_lines
from ..write.names import Names

if TYPE_CHECKING:
    import networkx

# What runs along an edge.
DATA, TOKEN, REGION, CARRIED, RESULT = "data", "token", "region", "carried", "result"

# A text of more characters is a constant or an unknown operation: its beginning is kept.
_LONGEST = 600

_BREAK = re.compile(r"[ \t]*[\r\n]\s*")

# What no XML may hold: unknown operations are kept as they were written.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Node(NamedTuple):
    """One operation.

    Attributes:
        id: `SYMBOL/NUMBER`: the entry or global that it is in, and its number in text order; the entry or
            the global itself is 0.
        op: the operation.
        entry: symbol of the entry around it or that it is; "" for a global.
        text: how it is printed, on one line without what is inside it.
        results: the names of its results; those of its arguments for an entry. Empty for results of an
            unknown operation beside entries, which have none.
    """

    id: str
    op: Operation
    entry: str
    text: str
    results: tuple[str, ...]

    @property
    def line(self) -> int:
        """The line of the text that the operation was read from; 0 for bytecode."""
        span = self.op.span
        return span.line if span is not None else 0

    @property
    def tiles(self) -> tuple[str, ...]:
        """The types of the results that are tiles."""
        return tuple(str(v.type) for v in self.op.results if isinstance(v.type, TileType))


class Edge(NamedTuple):
    """What runs from one operation to another.

    Attributes:
        source, target: ids of nodes.
        kind: "data" or "token" (a result, or an argument of what is around, that `target` reads),
            "region" (`target` is inside `source`), "carried" (`continue` hands a value to the next
            iteration), "result" (`yield` or `break` hands one to what it is in). Those of "data" and
            "token" alone make up no cycle.
        value: name of the value, `@symbol` for a global, "" for a region.
        operand: what the value is there: operand (`lhs`, `index[1]`), attribute, argument of the next
            iteration (`%iterArg0`) or result (`%for#1`); for a region its name.
        type: type of the value; "" for a region.
    """

    source: str
    target: str
    kind: str
    value: str
    operand: str
    type: str


class OperationGraph(NamedTuple):
    """The graph of a module: nodes in text order, edges in the order of what they lead to."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def operation_graph(
    module: Module, entry: str | None = None, tokens: bool = True
) -> OperationGraph:
    """The operations of a module as a graph.

    Args:
        module: what to look at; it stays as it is.
        entry: take only globals, and entries whose symbol contains this.
        tokens: also the edges along which tokens run.

    Raises:
        UsageError: no entry has such a symbol.
    """
    if entry is not None and not any(entry in e.symbol for e in module.entries):
        there = ", ".join(e.symbol for e in module.entries) or "none"
        raise UsageError(f"no entry's symbol contains {entry!r}; there are: {there}")
    nodes: list[Node] = []
    by_op: dict[Operation, Node] = {}
    values: dict[Value, str] = {}
    used: set[str] = set()
    for top in module.operations:
        if entry is not None and isinstance(top, Entry) and entry not in top.symbol:
            continue
        names = Names(top).uses
        values.update(names)
        for node in _nodes(top, names, used):
            nodes.append(node)
            by_op[node.op] = node
    symbols = {_symbol(node.op): node for node in nodes if node.op.parent_op is None}
    edges = [
        edge
        for node in nodes
        for edge in _edges(node, by_op, values, symbols)
        if tokens or edge.type != str(TokenType())
    ]
    return OperationGraph(_shown(module.name or ""), tuple(nodes), tuple(edges))


def _symbol(op: Operation) -> str:
    """The symbol as it is printed, without `@`; the name of an operation that has none."""
    found = op.attributes.get("sym_name")
    return symbol_text(found.value)[1:] if isinstance(found, StringAttr) else _shown(op.name)


def _nodes(top: Operation, names: dict[Value, str], used: set[str]) -> Iterator[Node]:
    symbol = _symbol(top)
    while symbol in used:
        # Unknown operations beside entries need no symbol.
        symbol += "_"
    used.add(symbol)
    entry = symbol if isinstance(top, Entry) else ""
    printed = {line.op: line.text for line in marked_lines(top) if line.op is not None}
    for number, op in enumerate(top.walk()):
        # Terminators that the text leaves out have no line.
        text = printed.get(op, op.name).strip().removesuffix(" {")
        given = op.arguments if isinstance(op, Entry) and op.regions[0].blocks else op.results
        yield Node(
            f"{symbol}/{number}", op, entry, _shown(text), tuple(names.get(v, "") for v in given)
        )


def _edges(
    node: Node,
    by_op: dict[Operation, Node],
    values: dict[Value, str],
    symbols: dict[str, Node],
) -> Iterator[Edge]:
    """The edges that lead to an operation, and those on which it hands values to what it is in."""
    op = node.op
    around = op.parent_op
    if around is not None and around in by_op:
        yield Edge(by_op[around].id, node.id, REGION, "", _region_name(op, around), "")
    for value, operand in zip(op.operands, _operand_names(op)):
        giver = value.defining_op or _around(value)
        if giver is not None and giver in by_op:
            kind = TOKEN if isinstance(value.type, TokenType) else DATA
            type = _shown(str(value.type))
            yield Edge(by_op[giver].id, node.id, kind, values[value], operand, type)
    for name, attribute in op.attributes.items():
        found = (
            symbols.get(symbol_text(attribute.value)[1:])
            if isinstance(attribute, SymbolRefAttr)
            else None
        )
        if found is not None and op.results:
            type = str(op.results[0].type)
            yield Edge(found.id, node.id, DATA, pretty_attribute_text(attribute), name, type)
    taker, kind, taken = _handed_over(op)
    if taker is not None and taker in by_op:
        for value, into in zip(op.operands, taken):
            type = _shown(str(value.type))
            yield Edge(node.id, by_op[taker].id, kind, values[value], values.get(into, ""), type)


def _around(argument: Value) -> Operation | None:
    """The operation that gives a block its arguments."""
    region = argument.owner.parent if not isinstance(argument.owner, Operation) else None
    return region.parent if region is not None else None


def _region_name(op: Operation, around: Operation) -> str:
    number = next(k for k, region in enumerate(around.regions) if op.parent in region.blocks)
    names = around.spec.regions if around.spec is not None else ()
    return names[number] if number < len(names) else str(number)


def _operand_names(op: Operation) -> list[str]:
    """What each operand is called."""
    if op.spec is None:
        return [str(k) for k in range(len(op.operands))]
    names: list[str] = []
    for row in op.spec.operands:
        count = len(op.operand_group(row.name))
        several = row.arity == "*"
        names += [f"{row.name}[{k}]" if several else row.name for k in range(count)]
    return names


def _handed_over(op: Operation) -> tuple[Operation | None, str, list[Value]]:
    """What a terminator gives its operands to: the operation, the kind of edge, what they become."""
    if op.name == "yield":
        around = op.parent_op
        return around, RESULT, around.results if around is not None else []
    if op.name not in ("continue", "break"):
        return None, "", []
    loop = op.parent_op
    while loop is not None and loop.name not in ("for", "loop"):
        loop = loop.parent_op
    if loop is None:
        return None, "", []
    if op.name == "break":
        return loop, RESULT, loop.results
    arguments = loop.regions[0].block.arguments
    return loop, CARRIED, arguments[1:] if loop.name == "for" else arguments


def _shown(text: str) -> str:
    """Any text on one line of bearable length, with nothing that XML cannot hold."""
    text = _NO_XML.sub("\ufffd", _BREAK.sub(" ", text))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


# -- networkx ---------------------------------------------------------------------------------------


def to_networkx(
    module: Module, entry: str | None = None, tokens: bool = True
) -> networkx.MultiDiGraph[str]:
    """The operations of a module as a graph of networkx; equal texts give equal graphs.

    Nodes are called as `Node.id` says and have `name`, `text`, `line`, `entry`, `loop_depth`, `results`,
    `tiles` (both joined by "; ") and, for each attribute of the operation, `attr.NAME` as text, those at
    their default included. Edges have `kind`, `value`, `operand` and `type`, as `Edge` describes them. All
    values are strings and integers, which any format of networkx can hold.

    Args:
        module: what to look at; it stays as it is.
        entry: take only globals, and entries whose symbol contains this.
        tokens: also the edges along which tokens run.

    Raises:
        UsageError: networkx is not installed, or no entry has such a symbol.
    """
    try:
        import networkx
    except ImportError:
        raise UsageError("graphs need networkx: pip install 'tileir-tools[graph]'") from None
    graph = operation_graph(module, entry, tokens)
    made: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=graph.name)
    for node in graph.nodes:
        made.add_node(node.id, **_node_attributes(node))
    for source, target, *about in graph.edges:
        made.add_edge(source, target, **dict(zip(Edge._fields[2:], about)))
    return made


def _node_attributes(node: Node) -> dict[str, str | int]:
    op = node.op
    names = {**(op.spec.attributes if op.spec is not None else {}), **op.attributes}
    found = {name: op.attribute(name) for name in names}
    return {
        "name": _shown(op.name),
        "text": node.text,
        "line": node.line,
        "entry": node.entry,
        "loop_depth": op.loop_depth,
        "results": "; ".join(node.results),
        "tiles": "; ".join(map(_shown, node.tiles)),
        **{
            f"attr.{_shown(name)}": _shown(pretty_attribute_text(value))
            for name, value in found.items()
            if value is not None
        },
    }
