"""`tileir as FILE -o OUT`: text or bytecode to bytecode.

Place in the flow: a thin consumer of `read` and `write`.
"""

from __future__ import annotations

import click

from .running import (
    load_modules,
    only_module,
    strict_option,
    version_option,
    write_bytecode,
)


@click.command(name="as")
@click.argument("file")
@click.option(
    "-o", "--output", metavar="OUT", required=True, help="Where to write; - is the standard output."
)
@version_option
@strict_option
@click.help_option("-h", "--help")
def command(file: str, output: str, version: str | None, strict: bool) -> None:
    """Encode the Tile IR in FILE as bytecode.

    The same input gives the same bytes. What an older version cannot say is refused by name.
    """
    module = only_module(load_modules(file, strict), file)
    write_bytecode(module.to_bytecode(version), output)
