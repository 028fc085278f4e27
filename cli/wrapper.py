"""`tileir wrapper NAME --project DIR`: what is wrong with the host code of a cutile-rs wrapper.

Place in the flow: a thin consumer of `wrappers` and `report`.
"""

from __future__ import annotations

import click

from .completing import arches, files
from .running import examples, output_option, project_option, write_output


@click.command(
    name="wrapper",
    epilog=examples("""
        tileir wrapper rms_norm --project TileGym
            Faults of a wrapper beside its operation.
        tileir wrapper rms_norm --project TileGym --analysis analysis.json
            With what is known of the kernel.
    """),
)
@click.argument("name")
@project_option
@click.option(
    "--analysis", metavar="FILE", shell_complete=files, help="analysis.json of the operation."
)
@click.option(
    "--arch",
    metavar="ARCH",
    shell_complete=arches,
    default="sm_100",
    show_default=True,
    help="The target that the wrapper is for.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(
    name: str, project: str, analysis: str | None, arch: str, form: str, output: str | None
) -> int:
    """Examine the wrapper NAME beside the cuTile operation NAME.

    Reads src/*/ops/cutile_rs/NAME.py, NAME_kernel/kernel.rs and ffi.rs; nothing is imported, compiled or
    run. Finds extra launches, faults of caches and search spaces, wrong dispatch, lost hints.

    Exit codes: 0 nothing found, 1 findings, 3 could not run.
    """
    from tileir_tools.agents import read_analysis
    from tileir_tools.errors import UsageError
    from tileir_tools.report.wrapper_report import wrapper_json, wrapper_text
    from tileir_tools.sources import find_project, read_operation
    from tileir_tools.toolchain.devices import DEVICES, device_of
    from tileir_tools.wrappers import examine_wrapper, read_wrapper, undecided_of

    device = device_of(arch)
    if device is None:
        known = ", ".join(device.arch for device in DEVICES)
        raise UsageError(f"no device is known for {arch}; known: {known}")
    found = find_project(project)
    wrapper = read_wrapper(found, name)
    if wrapper is None:
        raise UsageError(f"{project} has no wrapper {name}: expected src/*/ops/cutile_rs/{name}.py")
    path = found.operation_file(name)
    if path is None:
        raise UsageError(f"{project} has no operation {name} to compare with, in src/*/ops/cutile")
    reference = read_operation(path, found.root, capability=device.capability)
    known_facts = read_analysis(analysis) if analysis is not None else None
    findings = examine_wrapper(wrapper, reference, known_facts)
    undecided = undecided_of(wrapper, reference, known_facts)
    make = wrapper_json if form == "json" else wrapper_text
    write_output(make(wrapper, findings, undecided), output)
    return 1 if findings else 0
