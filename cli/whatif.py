"""`tileir what-if GENERATED --from REFERENCE --arch sm_90`: which difference matters, tried out.

Place in the flow: a thin consumer of `diff.whatif` and `report`.
"""

from __future__ import annotations

import click

from .running import load_modules, only_module, output_option, strict_option, write_output


@click.command(name="what-if")
@click.argument("generated")
@click.option("--from", "reference", required=True, metavar="REFERENCE", help="What to take over.")
@click.option("--arch", required=True, metavar="ARCH", help="Target, such as sm_90.")
@click.option("--entry", metavar="NAME", help="Try the entry whose symbol contains NAME.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    generated: str,
    reference: str,
    arch: str,
    entry: str | None,
    form: str,
    strict: bool,
    output: str | None,
) -> None:
    """Take hints and padding over from REFERENCE into GENERATED, one by one and together.

    Each copy is compiled, and what the machine code looks like then is put in a table, with the causes
    of slowness that are left. Needs no GPU.
    """
    from tileir_tools.diff.whatif import what_if
    from tileir_tools.report.whatif_report import what_if_json, what_if_text

    left = only_module(load_modules(reference, strict), reference)
    right = only_module(load_modules(generated, strict), generated)
    found = what_if(left, right, arch, entry=entry)
    write_output(what_if_json(found, arch) if form == "json" else what_if_text(found, arch), output)
