"""Modules in the hands of other tools: networkx, Graphviz, pygments, Jupyter.

Place in the flow: Module -> **bridges**, beside facts and reports; imports `model`, `write`, `analyze` and
`report`. Nothing imports it before it is used, and it imports other projects only where they are needed.

    graph = to_networkx(module)
    print(dot_text(operation_graph(module, entry="matmul")))

`lexer` is found by pygments itself, by the name `tileir`.
"""

from .drawing import dot_text, svg_text
from .graph import Edge, Node, OperationGraph, operation_graph, to_networkx

__all__ = [
    "Edge",
    "Node",
    "OperationGraph",
    "dot_text",
    "operation_graph",
    "svg_text",
    "to_networkx",
]
