"""`tileir print FILE`: a module as text, normalised to one spelling.

Place in the flow: a thin consumer of `read` and `write`.
"""

from __future__ import annotations

import click

from .completing import files
from .running import (
    debug_info_option,
    examples,
    generic_option,
    load_modules,
    output_option,
    strict_option,
    wrap_option,
    write_output,
)


@click.command(
    name="print",
    epilog=examples("""
        tileir print gen.tileirbc
            Bytecode as text, byte for byte as tileirdisasm has it.
        tileir print gen.mlir --wrap -o wrapped.mlir
            With cuda_tile.module around it.
        tileir print gen.mlir --generic
            In MLIR's generic form.
        tileir print - < gen.mlir
            From the standard input.
    """),
)
@click.argument("file", shell_complete=files)
@debug_info_option
@wrap_option
@generic_option
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    file: str, debug_info: bool, wrap: bool | None, generic: bool, strict: bool, output: str | None
) -> None:
    """Print the Tile IR in FILE as the disassembler prints it.

    FILE may be in any spelling that the reader knows; `-` is the standard input.

    Exit codes: 0 printed, 3 could not run.
    """
    texts = [
        module.to_text(debug_info=debug_info, wrap=wrap, generic=generic)
        for module in load_modules(file, strict)
    ]
    write_output("// -----\n".join(texts), output)
