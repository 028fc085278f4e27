"""`tileir source [NAME..] --project DIR`: what the source of an operation and its tests say.

Place in the flow: a thin consumer of `sources` and `report`.
"""

from __future__ import annotations

import click

from .completing import arches
from .running import examples, output_option, project_option, write_output


@click.command(
    name="source",
    epilog=examples("""
        tileir source --project TileGym
            A table of all operations.
        tileir source bmm --project TileGym
            Kernels, launches, configurations and tolerances of one.
        tileir source bmm --project TileGym --arch sm_100 --format json
            As it is for one target, for other programs.
    """),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@project_option
@click.option(
    "--arch",
    metavar="ARCH",
    shell_complete=arches,
    help="Decide what depends on the device for this target.",
)
@click.option(
    "--backend",
    "backends",
    metavar="NAME",
    multiple=True,
    help="Assume that this backend, and no other, is available; may be given several times.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(
    names: tuple[str, ...],
    project: str,
    arch: str | None,
    backends: tuple[str, ...],
    form: str,
    output: str | None,
) -> None:
    """Read operations and their tests, without running them.

    Kernels and what launches them under which conditions, what a search tries, all configurations of
    the tests, the reference, the tolerances. What the source alone does not say is listed as such.
    Without NAME, a table of all operations.

    Exit codes: 0 read, 3 could not run.
    """
    from tileir_tools.errors import UsageError
    from tileir_tools.report.source_report import source_json, source_table, source_text
    from tileir_tools.sources import find_project, read_source
    from tileir_tools.toolchain.devices import DEVICES, device_of

    device = device_of(arch) if arch is not None else None
    if arch is not None and device is None:
        known = ", ".join(device.arch for device in DEVICES)
        raise UsageError(f"no device is known for {arch}; known: {known}")
    capability = device.capability if device is not None else None
    found = find_project(project)
    sources = [
        read_source(found, name, capability=capability, backends=backends or None)
        for name in names or found.operations()
    ]
    if form == "json":
        write_output(source_json(sources), output)
    elif names:
        write_output("\n\n".join(map(source_text, sources)), output)
    else:
        write_output(source_table([s for s in sources if s.operation.registrations]), output)
