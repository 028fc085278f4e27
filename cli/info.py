"""`tileir info FILE`: what kind of file it is and what is in it.

Place in the flow: a thin consumer of `read` and `report`.
"""

from __future__ import annotations

import click

from .completing import files
from .running import examples, output_option, write_output


@click.command(
    name="info",
    epilog=examples("""
        tileir info gen.tileirbc
            Version, producer, sections and entries of bytecode.
        tileir info gen.tileirbc --toc
            Only the tables, which is quick for large files.
    """),
)
@click.argument("file", shell_complete=files)
@click.option("--toc", is_flag=True, help="Only the tables: do not decode the bodies of entries.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(file: str, toc: bool, form: str, output: str | None) -> None:
    """Show what kind of file FILE is, and what is in it.

    Kind, version, producer, sections, entries and operation counts.

    Exit codes: 0 shown, 3 could not run.
    """
    from tileir_tools.read import file_info
    from tileir_tools.report.info_report import info_json, info_text

    info = file_info(file, bodies=not toc)
    write_output(info_json(info) if form == "json" else info_text(info), output)
