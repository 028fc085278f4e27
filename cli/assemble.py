"""`tileir as FILE -o OUT`: text or bytecode to bytecode.

Place in the flow: a thin consumer of `read` and `write`.
"""

from __future__ import annotations

import click

from .completing import files
from .running import (
    examples,
    load_modules,
    only_module,
    strict_option,
    version_option,
    write_bytecode,
)


@click.command(
    name="as",
    epilog=examples("""
        tileir as gen.mlir -o gen.tileirbc
            In the oldest version that can say it all.
        tileir as gen.mlir -o gen.tileirbc --bytecode-version 13.1
            In a stated version.
        tileir as gen.mlir -o - | tileir print -
            There and back again.
    """),
)
@click.argument("file", shell_complete=files)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    shell_complete=files,
    required=True,
    help="Where to write; - is the standard output.",
)
@version_option
@strict_option
@click.help_option("-h", "--help")
def command(file: str, output: str, version: str | None, strict: bool) -> None:
    """Encode the Tile IR in FILE as bytecode.

    The same input gives the same bytes. What an older version cannot say is refused by name.

    Exit codes: 0 written, 3 could not run.
    """
    module = only_module(load_modules(file, strict), file)
    write_bytecode(module.to_bytecode(version), output)
