"""The graph of a module in formats that networkx writes: GraphML and node-link JSON.

Place in the flow: Module -> **bridges**; imports `graph` and `report.plain`, and networkx when it is used.
"""

from __future__ import annotations

from ..model import Module
from ..report.plain import document
from .graph import to_networkx


def graphml_text(module: Module, entry: str | None = None, tokens: bool = True) -> str:
    """A module as GraphML, for yEd, Gephi, Cytoscape.. Arguments and errors are those of `to_networkx`."""
    graph = to_networkx(module, entry, tokens)
    from networkx import generate_graphml

    return "\n".join(generate_graphml(graph)) + "\n"


def graph_json(module: Module, file: str, entry: str | None = None, tokens: bool = True) -> str:
    """A module as JSON that `networkx.node_link_graph(.., edges="edges")` reads.

    Described in docs/schemas/tileir-graph-1.json; `file` is what the document calls its input. The other
    arguments, and errors, are those of `to_networkx`.
    """
    graph = to_networkx(module, entry, tokens)
    from networkx import node_link_data

    return document("tileir-graph/1", {"file": file, **node_link_data(graph, edges="edges")})
