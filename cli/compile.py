"""`tileir compile FILE --arch sm_90`: Tile IR to cubins, and what the compiler made of it.

Place in the flow: a thin consumer of `read`, `toolchain` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError
from tileir_tools.files import write_file

from .completing import arches, files
from .running import examples, load_modules, only_module, strict_option, write_output


@click.command(
    name="compile",
    epilog=examples("""
        tileir compile gen.mlir --arch sm_90
            Registers, shared memory, spills, instructions.
        tileir compile gen.mlir --arch sm_90 --arch sm_100 --format json
            For two targets, for other programs.
        tileir compile gen.mlir --arch sm_100 --cubin gen.cubin
            Keep the machine code.
    """),
)
@click.argument("file", shell_complete=files)
@click.option(
    "--arch",
    "arches",
    multiple=True,
    required=True,
    metavar="ARCH",
    shell_complete=arches,
    help="Target, such as sm_90; may be repeated.",
)
@click.option(
    "--cubin",
    metavar="OUT",
    shell_complete=files,
    help="Write the machine code to OUT; takes one --arch.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=300, show_default=True, metavar="S"
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@strict_option
@click.help_option("-h", "--help")
def command(
    file: str, arches: tuple[str, ...], cubin: str | None, timeout: float, form: str, strict: bool
) -> None:
    """Compile the Tile IR in FILE, and say what came out.

    NVIDIA's tileiras compiles it. Registers, stack, shared and local memory, machine instructions by
    class, spills, and the compiler's remarks with the operations that they are about. Needs no GPU;
    `tileir doctor` says which tools are there.

    Exit codes: 0 compiled, 3 could not run.
    """
    from tileir_tools.report.evidence_report import compile_json, compile_text
    from tileir_tools.toolchain.compiling import compile_module

    if cubin is not None and len(arches) > 1:
        raise UsageError("--cubin takes one --arch")
    module = only_module(load_modules(file, strict), file)
    found = [compile_module(module, arch, timeout=timeout) for arch in arches]
    if cubin is not None:
        write_file(found[0].cubin, cubin)
    if form == "json":
        write_output(compile_json(file, module, found), None)
    else:
        write_output(compile_text(module, found), None)
