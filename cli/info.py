"""`tileir info FILE`: what kind of file it is and what is in it.

Place in the flow: a thin consumer of `read` and `report`.
"""

from __future__ import annotations

import click

from .running import output_option, write_output


@click.command(name="info")
@click.argument("file")
@click.option("--toc", is_flag=True, help="Only the tables: do not decode the bodies of entries.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(file: str, toc: bool, form: str, output: str | None) -> None:
    """Show kind, version, producer, sections, entries and operation counts of FILE."""
    from tileir_tools.read import file_info
    from tileir_tools.report.info_report import info_json, info_text

    info = file_info(file, bodies=not toc)
    write_output(info_json(info) if form == "json" else info_text(info), output)
