"""`tileir explain REFERENCE GENERATED --arch sm_90`: why the generated kernel is slower.

Place in the flow: a thin consumer of `diff.causes` and `report`.
"""

from __future__ import annotations

import click

from .completing import arches, files
from .running import examples, load_modules, only_module, output_option, strict_option, write_output


@click.command(
    name="explain",
    epilog=examples("""
        tileir explain ref.mlir gen.mlir --arch sm_90
            Causes, and the differences that can bring them about.
        tileir explain ref.mlir gen.mlir --arch sm_90 --entry matmul
            One kernel of several.
    """),
)
@click.argument("reference", shell_complete=files)
@click.argument("generated", shell_complete=files)
@click.option(
    "--arch", required=True, metavar="ARCH", shell_complete=arches, help="Target, such as sm_90."
)
@click.option("--entry", metavar="NAME", help="Explain only entries whose symbol contains NAME.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    reference: str,
    generated: str,
    arch: str,
    entry: str | None,
    form: str,
    strict: bool,
    output: str | None,
) -> int:
    """Say what makes GENERATED slower than REFERENCE.

    Both are compiled. Causes are read off the machine code (spills, TMA, tensor cores, loads in flight,
    reuse), each with its numbers and the differences between the kernels that can bring it about. Needs
    no GPU.

    Exit codes: 0 no cause found, 1 some cause, 3 could not run.
    """
    from tileir_tools.diff.causes import explain
    from tileir_tools.report.explain_report import explain_json, explain_text

    from .settings import find_settings

    left = only_module(load_modules(reference, strict), reference)
    right = only_module(load_modules(generated, strict), generated)
    found = explain(left, right, arch, entry=entry, policy=find_settings())
    write_output(explain_json(found, arch) if form == "json" else explain_text(found, arch), output)
    return 1 if any(one.causes for one in found) else 0
