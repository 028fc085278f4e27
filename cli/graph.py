"""`tileir graph FILE`: the operations of a file as a graph, for other tools and for the eye.

Place in the flow: a thin consumer of `bridges`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError

from .completing import files
from .running import examples, load_modules, output_option, strict_option, write_output

if TYPE_CHECKING:
    from tileir_tools.model import Module


@click.command(
    name="graph",
    epilog=examples("""
        tileir graph gen.mlir | dot -Tpng > gen.png
            A picture, by Graphviz.
        tileir graph gen.mlir --format svg -o gen.svg --no-tokens
            Without what only orders memory.
        tileir graph gen.mlir --format graphml -o gen.graphml
            For networkx, Gephi and the like.
    """),
)
@click.argument("file", shell_complete=files)
@click.option("--entry", metavar="NAME", help="Take only entries whose symbol contains NAME.")
@click.option("--tokens/--no-tokens", default=True, help="Draw what orders memory, or not.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["graphml", "dot", "json", "svg"]),
    default="dot",
    show_default=True,
)
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    file: str, entry: str | None, tokens: bool, form: str, strict: bool, output: str | None
) -> None:
    """Print the operations of FILE and their values as a graph.

    GraphML and JSON (node-link) need networkx (pip install 'tileir-tools[graph]'), SVG needs Graphviz.

    Exit codes: 0 printed, 3 could not run.
    """
    from tileir_tools.bridges import dot_text, operation_graph, svg_text
    from tileir_tools.bridges.documents import graph_json, graphml_text

    module = _only(load_modules(file, strict), file, entry)
    if form == "graphml":
        write_output(graphml_text(module, entry, tokens), output)
    elif form == "json":
        write_output(graph_json(module, file, entry, tokens), output)
    else:
        graph = operation_graph(module, entry, tokens)
        write_output(svg_text(graph) if form == "svg" else dot_text(graph), output)


def _only(modules: list[Module], file: str, entry: str | None) -> Module:
    """The one module that is drawn. Raises UsageError."""
    if len(modules) > 1 and entry is not None:
        held = [m for m in modules if any(entry in e.symbol for e in m.entries)]
        if len(held) == 1:
            return held[0]
    if len(modules) != 1:
        message = f"{file} holds {len(modules)} modules; --entry NAME picks one"
        raise UsageError(message)
    return modules[0]
