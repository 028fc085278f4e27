"""`tileir dump FILE.py:KERNEL ..`: cuTile-Python kernels to Tile IR, without a GPU.

Place in the flow: a thin consumer of `toolchain.dumping`, `read`, `transform` and `write`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tileir_tools.errors import InputError, UsageError

from .running import version_option, write_file

if TYPE_CHECKING:
    from tileir_tools.toolchain.dumping import Dump

MANIFEST_SCHEMA = "tileir-manifest/1"


@click.command(name="dump")
@click.argument("kernel", metavar="FILE.py:KERNEL")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="SPEC",
    help="A parameter: [NAME=]DTYPE for a scalar, [NAME=]DTYPE[SIZES][:LAYOUT] for an array, such as "
    "'a=f16[?,?]'; sizes are numbers or ?; layouts are rows (default), strided, int64.",
)
@click.option("--const", "constants", multiple=True, metavar="NAME=VALUE", help="A ct.Constant.")
@click.option("--arch", "arches", multiple=True, metavar="ARCH", help="Target; may be repeated.")
@version_option
@click.option("--as", "alias", metavar="NAME", help="Call the function NAME, such as bmm__matmul.")
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="Where to write.")
@click.help_option("-h", "--help")
def command(
    kernel: str,
    arguments: tuple[str, ...],
    constants: tuple[str, ...],
    arches: tuple[str, ...],
    version: str | None,
    alias: str | None,
    folder: str,
) -> None:
    """Compile a cuTile-Python kernel for a stated signature and write its Tile IR to DIR.

    Writes bytecode, text, canonical text and manifest.json. Needs cuda-tile, no GPU and no torch; runs
    FILE.py (or imports MODULE, for MODULE:KERNEL).
    """
    from tileir_tools.toolchain.dumping import dump_kernel, parse_argument

    given = [parse_argument(text) for text in arguments]
    values = dict(_constant(text) for text in constants)
    dumps = [
        dump_kernel(kernel, given, values, arch=arch, version=version, name=alias)
        for arch in arches or (None,)
    ]
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: error: {error.strerror or error}") from None
    rows = [_write(dump, folder, alias) for dump in dumps]
    _write_manifest(rows, folder)
    for row in rows:
        click.echo(f"wrote {row['bytecode']}, {row['text']}, {row['canonical']}")


def _constant(text: str) -> tuple[str, bool | int | float]:
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


def _write(dump: Dump, folder: str, alias: str | None) -> dict[str, object]:
    """Write the files of one dump; gives its row of the manifest."""
    from tileir_tools.read import parse
    from tileir_tools.transform import canonicalize, cse

    module = parse(dump.bytecode, dump.symbol)
    stem = os.path.join(folder, f"{alias or dump.kernel}{f'__{dump.arch}' if dump.arch else ''}")
    text = module.to_text()
    canonicalize(module)
    cse(module)
    files = {"bytecode": ".tileirbc", "text": ".mlir", "canonical": ".canon.mlir"}
    contents = (dump.bytecode, text.encode(), module.to_text(wrap=True).encode())
    for suffix, content in zip(files.values(), contents):
        write_file(content, stem + suffix)
    return {
        **{kind: os.path.basename(stem) + suffix for kind, suffix in files.items()},
        "kernel": dump.kernel,
        "symbol": dump.symbol,
        "source": {"file": dump.source[0], "line": dump.source[1]},
        "parameters": dump.parameters,
        "constants": dump.constants,
        "arch": dump.arch,
        "bytecode_version": module.bytecode_version,
    }


def _write_manifest(rows: list[dict[str, object]], folder: str) -> None:
    from tileir_tools.report.plain import document
    from tileir_tools.toolchain import find_tool

    version = find_tool("cuda-tile").version
    text = document(MANIFEST_SCHEMA, {"cuda_tile": version, "kernels": rows})
    write_file(f"{text}\n".encode(), os.path.join(folder, "manifest.json"))
