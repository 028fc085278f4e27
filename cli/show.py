"""`tileir show FILE`: what is known about the kernels in a file.

Place in the flow: a thin consumer of `analyze` and `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError

from .completing import files
from .running import arch_option, examples, load_modules, output_option, strict_option, write_output

if TYPE_CHECKING:
    from tileir_tools.model import Module
    from tileir_tools.toolchain.compiling import Evidence


@click.command(
    name="show",
    epilog=examples("""
        tileir show gen.mlir
            Hints, memory operations, products and loops of each entry.
        tileir show gen.mlir --arch sm_100
            The same, with hints as they are for one target.
        tileir show gen.mlir --arch sm_90 --evidence
            Compile it too: registers, spills, instructions.
        tileir show gen.mlir --format json -o facts.json
            For other programs.
    """),
)
@click.argument("file", shell_complete=files)
@arch_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--evidence", is_flag=True, help="Compile for --arch, show what came out of it too.")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    file: str, arch: str | None, form: str, evidence: bool, strict: bool, output: str | None
) -> None:
    """Show the facts about each entry in FILE.

    Symbol, parameters and constants, hints, memory operations, matrix products with what feeds them,
    loops, reductions, conversions, promises, tiles and how block ids become indices.

    Exit codes: 0 shown, 3 could not run.
    """
    from tileir_tools.analyze import analyze
    from tileir_tools.report.show_report import show_json, show_text

    modules = load_modules(file, strict)
    facts = [analyze(module, arch, with_fingerprints=True) for module in modules]
    made = _compiled(modules, arch) if evidence else []
    if form == "json":
        write_output(show_json(facts, file, _rows(made) if evidence else None), output)
    else:
        write_output("\n\n".join([show_text(facts), *_texts(made)]), output)


def _compiled(modules: list[Module], arch: str | None) -> list[tuple[Module, Evidence]]:
    """What the compiler makes of each module."""
    from tileir_tools.toolchain.compiling import compile_module

    if arch is None:
        raise UsageError("--evidence needs a target: --arch sm_90")
    return [(module, compile_module(module, arch)) for module in modules]


def _rows(made: list[tuple[Module, Evidence]]) -> list[dict[str, object]]:
    from tileir_tools.report.evidence_report import evidence_rows

    return [row for module, evidence in made for row in evidence_rows(module, [evidence])]


def _texts(made: list[tuple[Module, Evidence]]) -> list[str]:
    from tileir_tools.report.evidence_report import compile_text

    return [compile_text(module, [evidence]) for module, evidence in made]
