"""`tileir validate CONTRACT ..`: does a file keep a contract?

Place in the flow: a thin consumer of `validators`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError

from .running import write_output


@click.group(name="validate")
@click.help_option("-h", "--help")
def command() -> None:
    """Check that a file keeps a contract."""


@command.command(name="ir")
@click.argument("file")
@click.argument("kernel")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def ir(file: str, kernel: str, form: str) -> int:
    """Check that FILE is valid Tile IR with an entry whose symbol contains KERNEL.

    Prints PASS:, FAIL: and WARN: lines; exits with 0 for a pass and 1 for a failure, also where FILE
    does not exist.
    """
    from tileir_tools.validators.ir import validate_ir

    if not kernel:
        raise UsageError("KERNEL is empty: every symbol contains it")
    outcome = validate_ir(file, kernel)
    write_output(outcome.json() if form == "json" else outcome.text(), None)
    return outcome.exit_code
