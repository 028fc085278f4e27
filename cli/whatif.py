"""`tileir what-if GENERATED --from REFERENCE --arch sm_90`: which difference matters, tried out.

Place in the flow: a thin consumer of `diff.whatif`, `toolchain.timing` and `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .completing import arches, files, folders
from .running import examples, load_modules, only_module, output_option, strict_option, write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tileir_tools.diff.whatif import Timer
    from tileir_tools.toolchain.timing import Compiled, Timing


@click.command(
    name="what-if",
    epilog=examples("""
        tileir what-if gen.mlir --from ref.mlir --arch sm_90
            What each difference does to the machine code.
        tileir what-if gen.mlir --from ref.mlir --arch sm_90 --run dumps
            And to the time, launched on the GPU that is here.
    """),
)
@click.argument("generated", shell_complete=files)
@click.option(
    "--from",
    "reference",
    required=True,
    metavar="REFERENCE",
    shell_complete=files,
    help="What to take over.",
)
@click.option(
    "--arch",
    "arches",
    required=True,
    multiple=True,
    metavar="ARCH",
    shell_complete=arches,
    help="Target; may be repeated.",
)
@click.option("--entry", metavar="NAME", help="Try the entry whose symbol contains NAME.")
@click.option(
    "--run",
    "recipe",
    metavar="DIR",
    shell_complete=folders,
    help="Launch each copy on the GPU that is here, as the manifest in DIR (of tileir dump --call) says.",
)
@click.option(
    "--kernel", metavar="NAME", help="With --run: the kernel of the manifest to launch as."
)
@click.option(
    "--launches",
    type=click.IntRange(min=2),
    default=30,
    show_default=True,
    help="With --run: launches of each copy that are timed.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@output_option
@click.help_option("-h", "--help")
def command(
    generated: str,
    reference: str,
    arches: tuple[str, ...],
    entry: str | None,
    recipe: str | None,
    kernel: str | None,
    launches: int,
    form: str,
    strict: bool,
    output: str | None,
) -> None:
    """Take over differences from REFERENCE, and say what changes.

    They are put into GENERATED one by one, and together. Taken over are hints, padding, rounding,
    flush-to-zero, NaN and overflow flags, memory ordering, constants and promises (assume). Each copy
    is compiled, and what the machine code looks like then is put in a table, with the causes of
    slowness that are left. Needs no GPU; with --run each copy is launched on one and timed too.

    Exit codes: 0 done, 3 could not run.
    """
    from tileir_tools.diff.whatif import what_if
    from tileir_tools.report.whatif_report import what_if_json, what_if_text

    left = only_module(load_modules(reference, strict), reference)
    right = only_module(load_modules(generated, strict), generated)
    machine: dict[str, str] = {}
    texts = []
    for arch in arches:
        timer = None if recipe is None else _timer(recipe, kernel, launches, machine)
        found = what_if(left, right, arch, entry=entry, timer=timer)
        show = what_if_json if form == "json" else what_if_text
        texts.append(show(found, arch, machine or None))
    write_output("\n\n".join(texts), output)


def _timer(recipe: str, kernel: str | None, launches: int, machine: dict[str, str]) -> Timer:
    """Launches kernels as a manifest says; tells in `machine` what ran them."""
    from tileir_tools.toolchain.dump_folder import read_manifest
    from tileir_tools.toolchain.timing import launch_of, time_kernels

    launch = launch_of(read_manifest(recipe), kernel)

    def timer(code: Sequence[Compiled]) -> Sequence[Timing]:
        timings, found = time_kernels(launch, code, launches=launches)
        machine.update(found)
        return timings

    return timer
