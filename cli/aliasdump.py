"""`tileir alias-dump KERNEL --as OP`: a cuTile kernel under its operation's name, proven to be the same kernel.

Place in the flow: a thin consumer of `toolchain`, `diff.alias` and `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError

from .completing import files
from .dump import arches_option, arg_option, const_option, parse_constant
from .running import examples, output_folder_option, version_option, write_output

if TYPE_CHECKING:
    from tileir_tools.diff.alias import AliasProof
    from tileir_tools.toolchain.dump_folder import Dump


@click.command(
    name="alias-dump",
    epilog=examples("""
        tileir alias-dump ops.py:matmul --as bmm --arg 'f16[?,?]' -o dumps
            As matmul, and as bmm__matmul.
        tileir alias-dump matmul --as bmm --call train.py -o dumps -- --steps 1
            As a program launches it.
    """),
)
@click.argument("kernel", shell_complete=files, metavar="FILE.py:KERNEL | KERNEL")
@click.argument("words", nargs=-1, metavar="[-- ARGUMENTS..]")
@click.option("--as", "op", required=True, metavar="OP", help="Call the function OP__KERNEL.")
@arg_option
@const_option
@click.option(
    "--call",
    "script",
    metavar="SCRIPT",
    shell_complete=files,
    help="Take KERNEL as SCRIPT launches it.",
)
@arches_option
@version_option
@output_folder_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(
    kernel: str,
    words: tuple[str, ...],
    op: str,
    arguments: tuple[str, ...],
    constants: tuple[str, ...],
    script: str | None,
    arches: tuple[str, ...],
    version: str | None,
    folder: str,
    form: str,
) -> int:
    """Dump KERNEL under two names, proven to be one kernel.

    Its own name, and OP__KERNEL. Compiler options (num_ctas, occupancy..) are kept, which wrapping the
    function in ct.kernel again would lose. Options are those of `tileir dump`; nothing is written
    unless every alias is proven.

    Exit codes: 0 proven, 1 not the same, 3 could not run.
    """
    from tileir_tools.diff.alias import prove_alias
    from tileir_tools.read import parse
    from tileir_tools.report.equal_report import alias_json, alias_text
    from tileir_tools.toolchain.dump_folder import write_dumps

    name = kernel.rpartition(":")[2]
    alias = op if op.endswith(f"__{name}") else f"{op}__{name}"
    if script is None:
        pairs = _stated(kernel, alias, arguments, constants, arches, version)
    else:
        pairs = _launched(script, words, name, alias, arches, version)
    proofs: list[tuple[AliasProof, Dump, Dump]] = [
        (prove_alias(parse(one.bytecode), parse(other.bytecode), name), one, other)
        for one, other in pairs
    ]
    texts = [
        alias_json(proof, one.symbol, other.symbol) if form == "json" else alias_text(proof)
        for proof, one, other in proofs
    ]
    write_output("\n".join(texts), None)
    if not all(proof for proof, _, _ in proofs):
        return 1
    dumps = [one._replace(kernel=name) for one, _ in pairs]
    dumps += [other._replace(kernel=alias) for _, other in pairs]
    write_dumps(dumps, folder)
    return 0


def _stated(
    kernel: str,
    alias: str,
    arguments: tuple[str, ...],
    constants: tuple[str, ...],
    arches: tuple[str, ...],
    version: str | None,
) -> list[tuple[Dump, Dump]]:
    """The kernel under both names, for a stated signature."""
    from tileir_tools.toolchain.dumping import dump_kernel
    from tileir_tools.toolchain.signatures import parse_argument

    given = [parse_argument(text) for text in arguments]
    values = dict(parse_constant(text) for text in constants)

    def dumped(arch: str | None, name: str | None) -> Dump:
        return dump_kernel(kernel, given, values, arch=arch, version=version, name=name)

    return [(dumped(arch, None), dumped(arch, alias)) for arch in arches or (None,)]


def _launched(
    script: str,
    words: tuple[str, ...],
    kernel: str,
    alias: str,
    arches: tuple[str, ...],
    version: str | None,
) -> list[tuple[Dump, Dump]]:
    """The kernel under both names, for each way in which a program launches it."""
    from tileir_tools.toolchain.calls import capture_calls

    pairs = []
    for arch in arches or (None,):
        found = [
            [
                dump
                for dump in capture_calls(
                    script, words, arch=arch, version=version, launch=False, names=names
                ).dumps
                if dump.kernel == kernel
            ]
            for names in ({}, {kernel: alias})
        ]
        if not found[0]:
            raise UsageError(f"{script} launches no kernel '{kernel}'")
        if len(found[0]) != len(found[1]):
            raise UsageError(f"{script} launches '{kernel}' differently from run to run")
        pairs += list(zip(*found))
    return pairs
