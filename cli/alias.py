"""`tileir alias ORIGINAL ALIAS --kernel NAME`: is an alias its original under another name?

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError
from tileir_tools.model import Module

from .completing import files
from .running import examples, load_modules, output_option, write_output


@click.command(
    name="alias",
    epilog=examples("""
        tileir alias matmul.mlir alias.mlir --kernel matmul
            Is bmm__matmul in alias.mlir the matmul of matmul.mlir?
        tileir alias matmul.mlir alias.mlir --kernel matmul --op bmm
            The same, where OP has to be bmm.
    """),
)
@click.argument("original", shell_complete=files)
@click.argument("alias", shell_complete=files)
@click.option(
    "--kernel",
    required=True,
    metavar="NAME",
    help="Function name of the kernel, as its source has it.",
)
@click.option(
    "--op", metavar="OP", help="The operation that the alias names; default: what precedes __NAME."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(
    original: str, alias: str, kernel: str, op: str | None, form: str, output: str | None
) -> int:
    """Prove that ALIAS holds the kernel of ORIGINAL.

    ALIAS has it under the name OP__NAME. Proven means: equal operations in the same order with equal
    attributes and types, the same mangling behind the name, and equal entry hints.

    Exit codes: 0 proven, 1 not the same, 3 could not run.
    """
    from tileir_tools.diff.alias import prove_alias
    from tileir_tools.report.equal_report import alias_json, alias_text

    if original == alias == "-":
        raise UsageError("only one side can come from the standard input")
    proof = prove_alias(_module(original), _module(alias), kernel, op)
    write_output(
        alias_json(proof, original, alias) if form == "json" else alias_text(proof), output
    )
    return 0 if proof else 1


def _module(path: str) -> Module:
    modules = load_modules(path, strict=False)
    if len(modules) != 1:
        raise UsageError(f"{path} holds {len(modules)} modules; an alias is proven for one")
    return modules[0]
