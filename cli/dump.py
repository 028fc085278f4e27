"""`tileir dump`: kernels to Tile IR, from a stated signature, a program, a folder or cuda-tile's cache.

Place in the flow: a thin consumer of `toolchain`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tileir_tools.errors import UsageError
from tileir_tools.files import make_folder, write_file

from .completing import arches, files, folders
from .running import examples, output_folder_option, version_option

if TYPE_CHECKING:
    from tileir_tools.toolchain.dump_folder import Dump


# Options that `alias-dump` has too.
_Option = Callable[[Callable[..., object]], Callable[..., object]]
arg_option: _Option = click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="SPEC",
    help="A parameter: [NAME=]DTYPE for a scalar, [NAME=]DTYPE[SIZES][:LAYOUT] for an array, such as "
    "'a=f16[?,?]'; sizes are numbers or ?; layouts are rows (default), strided, int64.",
)
const_option: _Option = click.option(
    "--const", "constants", multiple=True, metavar="NAME=VALUE", help="A ct.Constant."
)
arches_option: _Option = click.option(
    "--arch",
    "arches",
    multiple=True,
    metavar="ARCH",
    shell_complete=arches,
    help="Target; may be repeated.",
)


@click.command(
    name="dump",
    epilog=examples("""
        tileir dump ops.py:scale --arg 'f16[?,?]' --const TM=128 -o dumps
            A kernel for a stated signature.
        tileir dump --call train.py --arch sm_100 -o dumps -- --steps 1
            Every kernel that a program launches.
        tileir dump --from logs -o dumps
            The Tile IR in files that are there already.
        tileir dump --cache -o dumps
            What cuda-tile has compiled on this machine.
    """),
)
@click.argument(
    "words", shell_complete=files, nargs=-1, metavar="[FILE.py:KERNEL | -- ARGUMENTS..]"
)
@arg_option
@const_option
@click.option("--as", "alias", metavar="NAME", help="Call the function NAME, such as bmm__matmul.")
@click.option(
    "--call",
    "script",
    metavar="SCRIPT",
    shell_complete=files,
    help="Run SCRIPT, dump what it launches.",
)
@click.option("--module", is_flag=True, help="With --call: SCRIPT is a module, as for python -m.")
@click.option(
    "--keep-going", is_flag=True, help="With --call: dump what a failing SCRIPT launched."
)
@click.option("--no-launch", is_flag=True, help="With --call: use no GPU, also where there is one.")
@click.option(
    "--tensors",
    type=click.Choice(["meta", "cpu"]),
    default="meta",
    show_default=True,
    help="With --call, without a GPU: tensors without data, or on the CPU.",
)
@click.option(
    "--triton", is_flag=True, help="With --call: SCRIPT's Triton kernels, by Triton-TileIR."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    metavar="S",
    help="With --call: seconds that SCRIPT may take.",
)
@click.option(
    "--from",
    "source",
    metavar="DIR",
    shell_complete=folders,
    help="Take the Tile IR in the files of DIR.",
)
@click.option(
    "--cache",
    is_flag=False,
    flag_value="",
    metavar="[DIR]",
    shell_complete=folders,
    help="Take the machine code in cuda-tile's compile cache (default: where cuda-tile keeps it).",
)
@arches_option
@version_option
@output_folder_option
@click.help_option("-h", "--help")
def command(
    words: tuple[str, ...],
    arguments: tuple[str, ...],
    constants: tuple[str, ...],
    alias: str | None,
    script: str | None,
    module: bool,
    keep_going: bool,
    no_launch: bool,
    tensors: str,
    triton: bool,
    timeout: float,
    source: str | None,
    cache: str | None,
    arches: tuple[str, ...],
    version: str | None,
    folder: str,
) -> None:
    """Write kernels' Tile IR to a folder.

    Bytecode, text, canonical text and manifest.json: of a cuTile kernel for a stated signature, without
    GPU or torch; of every kernel that a program launches (--call); of the files in a folder (--from). Of
    cuda-tile's compile cache (--cache) the cubins, and manifest.json.

    A program is run, as its author would run it: with a GPU its kernels are launched, without one (name
    a target: --arch) launches are caught, tensors on cuda have no data, and a search for the best
    configuration takes the first one after all were dumped.

    Exit codes: 0 written, 3 could not run.
    """
    ways = [bool(script), source is not None, cache is not None]
    if sum(ways) > 1 or (not script and bool(words) == any(ways)):
        raise UsageError("say what to dump: FILE.py:KERNEL, --call SCRIPT, --from DIR or --cache")
    if script:
        if triton:
            _dump_triton(script, words, timeout, folder)
        else:
            options = {
                "module": module,
                "keep_going": keep_going,
                "version": version,
                "launch": False if no_launch else None,
                "tensors": tensors,
                "timeout": timeout,
            }
            _dump_calls(script, words, arches, options, folder)
    elif source is not None:
        _dump_folder(source, folder)
    elif cache is not None:
        _dump_cache(cache, folder)
    elif len(words) > 1:
        raise UsageError(f"one kernel at a time, not {' '.join(words)}")
    else:
        _dump_kernel(words[0], arguments, constants, arches, version, alias, folder)


def _dump_kernel(
    kernel: str,
    arguments: tuple[str, ...],
    constants: tuple[str, ...],
    arches: tuple[str, ...],
    version: str | None,
    alias: str | None,
    folder: str,
) -> None:
    from tileir_tools.toolchain.dumping import dump_kernel
    from tileir_tools.toolchain.signatures import parse_argument

    given = [parse_argument(text) for text in arguments]
    values = dict(parse_constant(text) for text in constants)
    dumps = [
        dump_kernel(kernel, given, values, arch=arch, version=version, name=alias)
        for arch in arches or (None,)
    ]
    _write(dumps, folder, name=alias)


def _dump_calls(
    script: str,
    words: tuple[str, ...],
    arches: tuple[str, ...],
    options: dict[str, Any],
    folder: str,
) -> None:
    from tileir_tools.toolchain.calls import capture_calls

    captures = [capture_calls(script, words, arch=arch, **options) for arch in arches or (None,)]
    for capture in captures:
        # What the program printed is its user's; our own output stays our own.
        click.echo("".join(capture.output), err=True, nl=False)
    failures = [failure for capture in captures for failure in capture.failures]
    more = {
        "script": {"file": os.path.abspath(script), "arguments": list(words)},
        "launched": captures[0].launched,
        "failures": failures,
        "measured": {k: v for capture in captures for k, v in capture.measured.items()},
    }
    dumps = [d for capture in captures for d in (*capture.dumps, *capture.unseen)]
    if not dumps and not failures:
        raise UsageError(f"{script} launches no cuTile kernel")
    _write(dumps, folder, more=more)
    for failure in failures:
        click.echo(f"not compiled: {failure['kernel']}: {failure['error']}", err=True)


def _dump_triton(script: str, words: tuple[str, ...], timeout: float, folder: str) -> None:
    from tileir_tools.toolchain.triton import capture_triton

    _write(list(capture_triton(script, words, timeout=timeout)), folder)


def _dump_folder(source: str, folder: str) -> None:
    from tileir_tools.toolchain.dump_folder import collect

    dumps, wrong = collect(source)
    for message in wrong:
        click.echo(message, err=True)
    _write(dumps, folder)


def _dump_cache(cache: str, folder: str) -> None:
    from tileir_tools.analyze import demangle
    from tileir_tools.toolchain.compile_cache import default_cache, read_cache
    from tileir_tools.toolchain.dump_folder import write_manifest

    kernels = read_cache(cache or default_cache())
    make_folder(folder)
    rows = []
    for kernel in kernels:
        stem = demangle(kernel.symbols[0]).function if kernel.symbols else "kernel"
        name = f"{stem}__{kernel.key[:12]}.cubin".replace("/", "_")
        write_file(kernel.cubin, os.path.join(folder, name))
        rows.append({**kernel._asdict(), "cubin": name})
        click.echo(f"wrote {name}")
    write_manifest(folder, [], {"cached": rows})


def _write(
    dumps: list[Dump],
    folder: str,
    *,
    name: str | None = None,
    more: dict[str, object] | None = None,
) -> None:
    from tileir_tools.toolchain.dump_folder import write_dumps

    for row in write_dumps(dumps, folder, name=name, more=more):
        click.echo(f"wrote {row['bytecode']}, {row['text']}, {row['canonical']}")


def parse_constant(text: str) -> tuple[str, bool | int | float]:
    """`TM=128`, `CAUSAL=true`, `SCALE=0.5`. Raises UsageError."""
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--const takes NAME=VALUE, not '{text}'")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    raise UsageError(f"--const {name}: '{value}' is no number, true or false")
