"""The graph of a module as a drawing: DOT, and SVG where Graphviz is installed.

Place in the flow: Module -> **bridges**; imports `graph`, `analyze.hints` and `toolchain.run`. Entries, loops,
branches and reductions are clusters; the operation itself stands in its own. Boxes bring their background
with them, and lines and titles have the one grey that is as far from white as from black.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from ..analyze.hints import raw_hints
from ..errors import ToolError
from ..model import Operation, TileType, Type, ViewType
from ..toolchain.run import run_tool
from .graph import CARRIED, DATA, REGION, RESULT, TOKEN, Node, OperationGraph

# 4.5:1 or more against white and against black.
GREY = "#767676"
TEXT = "#1b1f24"

# Kind of operation -> background of its box; dark text can be read on each.
FILLS: dict[str, str] = {
    "load": "#cfe3fb",
    "store": "#fbdcc0",
    "atomic": "#f9c6c2",
    "product": "#e2d2f7",
    "reduction": "#cdebd3",
    "control": "#f7ebb5",
    "unknown": "#f3c9e4",
    "other": "#e6e8eb",
}
_PRODUCTS = frozenset({"mmaf", "mmai", "mmaf_scaled"})

_STYLES = {
    DATA: "",
    TOKEN: ", style=dashed, arrowhead=empty",
    CARRIED: ", style=bold, constraint=false",
    RESULT: ", style=dotted, constraint=false",
}

# Graphviz takes long for what nobody can look at anyway.
_TIMEOUT = 120.0
_LONGEST = 60


def dot_text(graph: OperationGraph) -> str:
    """A graph in the language of Graphviz; equal graphs give equal texts."""
    numbers = {node.id: k for k, node in enumerate(graph.nodes)}
    parents = {edge.target: edge.source for edge in graph.edges if edge.kind == REGION}
    holders = set(parents.values())
    # newrank: ranks are found for all clusters at once. One by one, Graphviz gives up on nested loops.
    lines = [
        f"digraph {_quoted(graph.name or 'module')} {{",
        '  graph [bgcolor=transparent, rankdir=TB, newrank=true, fontname="monospace", fontsize=11, '
        f'color="{GREY}", fontcolor="{GREY}"];',
        '  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=10, '
        f'color="{GREY}", fontcolor="{TEXT}"];',
        f'  edge [fontname="monospace", fontsize=9, color="{GREY}", fontcolor="{GREY}"];',
    ]
    open_clusters: list[str] = []
    for node in graph.nodes:
        parent = parents.get(node.id)
        while open_clusters and open_clusters[-1] != parent:
            open_clusters.pop()
            lines.append("  " * (len(open_clusters) + 1) + "}")
        if node.id in holders:
            pad = "  " * (len(open_clusters) + 1)
            lines.append(f"{pad}subgraph cluster_{numbers[node.id]} {{")
            lines.append(f"{pad}  label={_quoted(_title(node))};")
            open_clusters.append(node.id)
        pad = "  " * (len(open_clusters) + 1)
        lines.append(
            f'{pad}n{numbers[node.id]} [label={_quoted(_label(node))}, fillcolor="'
            f'{FILLS[kind_of(node)]}", tooltip={_quoted(node.text)}];'
        )
    lines += ["  " * depth + "}" for depth in range(len(open_clusters), 0, -1)]
    for edge in graph.edges:
        if edge.kind != REGION:
            ends = f"n{numbers[edge.source]} -> n{numbers[edge.target]}"
            tooltip = _quoted(f"{edge.value} as {edge.operand}: {edge.type}")
            label = "" if edge.kind == TOKEN else f"label={_quoted(edge.value)}, "
            lines.append(f"  {ends} [{label}tooltip={tooltip}{_STYLES[edge.kind]}];")
    return "\n".join([*lines, "}"]) + "\n"


def svg_text(graph: OperationGraph) -> str:
    """A graph as Graphviz draws it.

    Raises:
        ToolError: Graphviz is not installed, failed, or took longer than two minutes.
    """
    program = shutil.which("dot")
    if program is None:
        message = "dot: not installed: SVG is drawn by Graphviz (graphviz.org); --format dot needs nothing"
        raise ToolError(message, "dot", "missing")
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        path = os.path.join(folder, "graph.dot")
        with open(path, "w", encoding="utf-8") as file:
            file.write(dot_text(graph))
        done = run_tool([program, "-Tsvg", path], timeout=_TIMEOUT)
    if done.code != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ToolError(f"dot: failed: {said[0] if said else f'exit {done.code}'}", "dot", "failed")
    svg = done.stdout.decode("utf-8", "replace")
    if "<svg" not in svg:
        raise ToolError("dot: wrote no SVG", "dot", "garbage")
    return svg


def kind_of(node: Node) -> str:
    """What an operation is for the eye: a key of `FILLS`."""
    op = node.op
    if op.spec is None:
        return "unknown"
    traits = op.spec.traits
    if op.regions and op.name not in ("reduce", "scan"):
        return "control"
    if op.name in _PRODUCTS:
        return "product"
    if op.name in ("reduce", "scan"):
        return "reduction"
    if "atomic" in traits:
        return "atomic"
    if "stores" in traits:
        return "store"
    if "loads" in traits:
        return "load"
    return "control" if traits & {"control", "terminator"} else "other"


def _title(node: Node) -> str:
    """The title of a cluster."""
    if node.op.parent_op is None:
        return f"@{node.entry}" if node.entry else node.op.name
    return f"{node.op.name} at line {node.line}" if node.line else node.op.name


def _label(node: Node) -> str:
    """Mnemonic, tiles that come out (of a store: that go in), hints."""
    op = node.op
    tiles = [_tile(value.type) for value in op.results] + [_tile(t) for t in _stored(op)]
    lines = [op.name, ", ".join(filter(None, tiles))]
    for arch, hints in raw_hints(op.hints).items():
        lines += [f"{key} {value} ({arch})" for key, value in hints.items()]
    shown = (line if len(line) <= _LONGEST else f"{line[:_LONGEST]}\u2026" for line in lines)
    return "\n".join(filter(None, shown))


def _stored(op: Operation) -> list[Type]:
    """The type of what an operation stores, which gives only a token or nothing."""
    if op.spec is None or not op.spec.traits & {"stores", "atomic"}:
        return []
    if any(isinstance(value.type, TileType) for value in op.results):
        return []
    names = [row.name for row in op.spec.operands if row.name in ("tile", "value")]
    return [value.type for name in names for value in op.operand_group(name)]


def _tile(type: Type) -> str:
    """Shape and element type of a tile, or of the tiles of a view; nothing for other types."""
    if isinstance(type, ViewType):
        return f"tiles of {_tile(type.tile)}"
    if not isinstance(type, TileType):
        return ""
    return f"{'x'.join(map(str, type.shape))} {type.element}".strip()


def _quoted(text: str) -> str:
    """A string of DOT that is shown as it is: backslashes and entities mean nothing."""
    text = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'
