"""`tileir show FILE`: what is known about the kernels in a file.

Place in the flow: a thin consumer of `analyze` and `report`.
"""

from __future__ import annotations

import click

from .running import arch_option, load_modules, output_option, strict_option, write_output


@click.command(name="show")
@click.argument("file")
@arch_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(file: str, arch: str | None, form: str, strict: bool, output: str | None) -> None:
    """Show the facts about each entry in FILE.

    Symbol, parameters and constants, hints, memory operations, matrix products with what feeds them,
    loops, reductions, conversions, promises, tiles and how block ids become indices.
    """
    from tileir_tools.analyze import analyze
    from tileir_tools.report.show_report import show_json, show_text

    modules = load_modules(file, strict)
    facts = [analyze(module, arch, with_fingerprints=True) for module in modules]
    write_output(show_json(facts, file) if form == "json" else show_text(facts), output)
