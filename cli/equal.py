"""`tileir equal A B`: are two kernels equal at a level of detail?

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.analyze.levels import LEVELS
from tileir_tools.errors import UsageError

from .completing import files
from .running import arch_option, examples, load_modules, output_option, strict_option, write_output


@click.command(
    name="equal",
    epilog=examples("""
        tileir equal ref.mlir gen.mlir
            Equal but for names and order?
        tileir equal f16.mlir bf16.mlir --level dtype
            Equal but for number formats, too?
    """),
)
@click.argument("reference", shell_complete=files, metavar="A")
@click.argument("generated", shell_complete=files, metavar="B")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="names",
    show_default=True,
    help="What may differ: names; also hints; also dtype; also sizes; all but the structure.",
)
@arch_option
@click.option("--entry", metavar="NAME", help="Compare only entries whose symbol contains NAME.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    reference: str,
    generated: str,
    level: str,
    arch: str | None,
    entry: str | None,
    form: str,
    strict: bool,
    output: str | None,
) -> int:
    """Say whether A and B are equal, or the shortest reason why not.

    A is called the reference in reasons, B the generated kernel.

    \b
    Levels, each forgetting what those before it forget, too:
      exact      names of values, places in the source
      names      symbols, repeated and dead code, order, spelling
      hints      optimization hints
      dtype      number formats, with the conversions that they bring
      sizes      shapes (not ranks), constants, promises
      structure  arithmetic

    Exit codes: 0 equal, 1 not equal, 3 could not run.
    """
    from tileir_tools.diff import equal
    from tileir_tools.report.equal_report import equal_json, equal_text

    if reference == generated == "-":
        raise UsageError("only one side can come from the standard input")
    left, right = load_modules(reference, strict), load_modules(generated, strict)
    answer = equal(left, right, level=level, arch=arch, entry=entry)
    text = equal_json(answer, reference, generated) if form == "json" else equal_text(answer)
    write_output(text, output)
    return 0 if answer else 1
