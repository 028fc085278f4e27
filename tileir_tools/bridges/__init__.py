"""Modules in the hands of other tools: networkx, Graphviz, pygments, Jupyter, Arrow, pandas.

Place in the flow: Module -> **bridges**, beside facts and reports; imports `model`, `write`, `analyze` and
`report`. Nothing imports it before it is used, and it imports other projects only where they are needed.

    graph = to_networkx(module)
    print(dot_text(operation_graph(module, entry="matmul")))
    to_pandas(module, arch="sm_100")["memory"]

`lexer` is found by pygments itself, by the name `tileir`.
"""

from .arrow import to_arrow, to_pandas
from .drawing import dot_text, svg_text
from .graph import Edge, Node, OperationGraph, operation_graph, to_networkx

__all__ = [
    "Edge",
    "Node",
    "OperationGraph",
    "dot_text",
    "operation_graph",
    "svg_text",
    "to_arrow",
    "to_networkx",
    "to_pandas",
]
