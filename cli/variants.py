"""`tileir variants FILE|DIR..`: structural variants and dtype supplements among dumps.

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

import click

from .completing import files
from .running import (
    COULD_NOT_RUN,
    arch_option,
    examples,
    jobs_option,
    output_option,
    processes,
    write_output,
)


@click.command(
    name="variants",
    epilog=examples("""
        tileir variants dumps
            How many kernels there really are in a folder.
        tileir variants dumps/*.mlir --arch sm_100 --format json
            With hints of one target, for other programs.
    """),
)
@click.argument("inputs", shell_complete=files, metavar="FILE|DIR...", nargs=-1, required=True)
@arch_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@jobs_option
@output_option
@click.help_option("-h", "--help")
def command(
    inputs: tuple[str, ...], arch: str | None, form: str, jobs: int, output: str | None
) -> int:
    """Group kernels by structure, and those by number formats.

    Folders are searched for files of Tile IR, with any number of entries each. A file that cannot be
    read is reported and stops nothing.

    Exit codes: 0 all grouped, 1 some file could not be read, 3 could not run (nothing could be read,
    wrong usage).
    """
    from tileir_tools.diff import variants
    from tileir_tools.report.variants_report import variants_json, variants_text

    with processes(jobs) as executor:
        found = variants(inputs, arch=arch, executor=executor)
    for unread in found.unread:
        click.echo(unread.error, err=True)
    write_output(variants_json(found) if form == "json" else variants_text(found), output)
    if not found.variants:
        return COULD_NOT_RUN
    return 1 if found.unread else 0
