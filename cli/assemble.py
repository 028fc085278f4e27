"""`tileir as FILE -o OUT`: text or bytecode to bytecode.

Place in the flow: a thin consumer of `read` and `write`.
"""

from __future__ import annotations

import sys

import click

from tileir_tools.dialect import VERSIONS
from tileir_tools.errors import UsageError

from .running import load_modules, strict_option, write_file


@click.command(name="as")
@click.argument("file")
@click.option(
    "-o", "--output", metavar="OUT", required=True, help="Where to write; - is the standard output."
)
@click.option(
    "--bytecode-version",
    "version",
    type=click.Choice(VERSIONS),
    help="Version to write; default: that of the input, for text the oldest that can say it all.",
)
@strict_option
@click.help_option("-h", "--help")
def command(file: str, output: str, version: str | None, strict: bool) -> None:
    """Encode the Tile IR in FILE as bytecode.

    The same input gives the same bytes. What an older version cannot say is refused by name.
    """
    modules = load_modules(file, strict)
    if len(modules) != 1:
        raise UsageError(f"{file} holds {len(modules)} modules; a bytecode file holds one")
    data = modules[0].to_bytecode(version)
    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(data, output)
