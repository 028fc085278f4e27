"""`tileir scan PATH.. -o OUT`: facts of every dump in folders, as Parquet tables.

Place in the flow: a thin consumer of `scan` and `report`.
"""

from __future__ import annotations

from contextlib import nullcontext

import click

from tileir_tools.errors import UsageError

from .completing import files, folders
from .progress import bar
from .running import COULD_NOT_RUN, arch_option, examples, jobs_option, write_output


@click.command(
    name="scan",
    epilog=examples("""
        tileir scan dumps -o facts -j 4
            All dumps below a folder, by four processes.
        tileir scan gens -o compared --reference refs --arch sm_100
            And compare each entry with that in refs.
    """),
)
@click.argument("paths", shell_complete=files, metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="OUT",
    shell_complete=folders,
    required=True,
    help="Folder of the tables.",
)
@arch_option
@click.option(
    "--reference",
    multiple=True,
    metavar="DIR",
    shell_complete=folders,
    help="Compare entry by entry with those in DIR.",
)
@jobs_option
@click.option("--scheduler", metavar="ADDRESS", help="Share the work out to this Dask cluster.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(
    paths: tuple[str, ...],
    out: str,
    arch: str | None,
    reference: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    form: str,
) -> int:
    """Write facts and errors of the dumps in PATHs to tables in OUT.

    Folders are searched for files of Tile IR, tarballs of them and compile caches of cuTile. Ask the tables
    with `tileir query`. A scan of the same OUT goes on where the last one was killed, and reads again only
    what has changed.

    Exit codes: 0 everything was read, 1 some file could not be read (its error is in the tables), 3
    could not run.
    """
    from tileir_tools.report.scan_report import scan_text
    from tileir_tools.scan import scan
    from tileir_tools.scan.sharing import dask_executor
    from tileir_tools.scan.store import about_text

    if scheduler is not None and jobs != 1:
        raise UsageError("--jobs are processes here, --scheduler names others; take one of them")
    with dask_executor(scheduler) if scheduler else nullcontext() as executor, bar() as progress:
        summary = scan(
            paths,
            out,
            arch=arch,
            reference=reference,
            jobs=jobs,
            executor=executor,
            progress=progress,
        )
    write_output(about_text(out) if form == "json" else scan_text(summary), None)
    if not summary.files:
        click.echo(f"error: no files of Tile IR in {', '.join(paths)}", err=True)
        return COULD_NOT_RUN
    return 1 if summary.errors else 0
