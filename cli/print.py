"""`tileir print FILE`: a module as text, normalised to one spelling.

Place in the flow: a thin consumer of `read` and `write`.
"""

from __future__ import annotations

import click

from .running import load_modules, output_option, strict_option, write_output


@click.command(name="print")
@click.argument("file")
@click.option("-g", "--debug-info", is_flag=True, help="Print source locations.")
@click.option(
    "--wrap/--no-wrap",
    default=None,
    help="Print cuda_tile.module around it, or not; default: as it was read.",
)
@click.option("--generic", is_flag=True, help="Print MLIR's generic form.")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    file: str, debug_info: bool, wrap: bool | None, generic: bool, strict: bool, output: str | None
) -> None:
    """Print the Tile IR in FILE as the official disassembler prints it.

    FILE may be in any spelling that the reader knows; `-` is the standard input.
    """
    texts = [
        module.to_text(debug_info=debug_info, wrap=wrap, generic=generic)
        for module in load_modules(file, strict)
    ]
    write_output("// -----\n".join(texts), output)
