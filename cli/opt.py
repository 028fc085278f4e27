"""`tileir opt FILE`: passes over a module, as `cuda-tile-opt` runs them, and some of our own.

Place in the flow: a thin consumer of `read`, `transform` and `write`.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from tileir_tools.analyze import demangle
from tileir_tools.errors import UsageError
from tileir_tools.model import Module

from .completing import files
from .running import (
    debug_info_option,
    examples,
    generic_option,
    load_modules,
    only_module,
    output_option,
    strict_option,
    version_option,
    wrap_option,
    write_bytecode,
    write_output,
)

_Command = Callable[..., object]


def _pass_option(flag: str, help: str) -> Callable[[_Command], _Command]:
    """A flag that names a pass; passes run in the order in which they are asked for."""
    return click.option(flag, is_flag=True, expose_value=False, callback=_ask_for, help=help)


def _ask_for(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    # click calls this in the order of the command line.
    if value and param.name:
        ctx.meta.setdefault("tileir.passes", []).append(param.name)


@click.command(
    name="opt",
    epilog=examples("""
        tileir opt gen.mlir --canonicalize --cse
            As cuda-tile-opt does it.
        tileir opt gen.mlir --normalize -o normal.mlir
            The form in which kernels are easiest to compare by eye.
        tileir opt gen.mlir --rename-entry old=new --bytecode -o new.tileirbc
            Rename a kernel, write bytecode.
    """),
)
@click.argument("file", shell_complete=files)
@_pass_option("--canonicalize", "The dialect's canonical form, as cuda-tile-opt has it.")
@_pass_option("--cse", "Make equal operations one, as cuda-tile-opt does.")
@_pass_option("--fuse-fma", "mulf into addf or subf becomes fma (changes rounding).")
@_pass_option("--loop-split", "Split loops where a condition on their index flips.")
@_pass_option("--dce", "Drop everything that no effect needs, carried values included.")
@_pass_option("--strip-debug", "Forget source locations.")
@_pass_option("--strip-mangling", "Call every entry by its function name alone.")
@click.option(
    "--rename-entry",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="Rename an entry (a symbol, or the function name in one); before every pass.",
)
@_pass_option("--normalize", "Our own form for comparing: order, assumptions, dead code.")
@click.option(
    "--split-threshold",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="--loop-split only where a branch has N operations or an expensive one (default 1).",
)
@debug_info_option
@wrap_option
@generic_option
@click.option("--bytecode", is_flag=True, help="Write bytecode instead of text; needs -o.")
@version_option
@strict_option
@output_option
@click.help_option("-h", "--help")
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    renames: tuple[str, ...],
    split_threshold: int,
    debug_info: bool,
    wrap: bool | None,
    generic: bool,
    bytecode: bool,
    version: str | None,
    strict: bool,
    output: str | None,
) -> None:
    """Run passes over the Tile IR in FILE, and print it.

    Passes run in the order given. FILE may be text or bytecode; `-` is the standard input.
    --canonicalize, --cse, --fuse-fma and --loop-split give what the passes of those names in NVIDIA's
    cuda-tile-opt give.

    Exit codes: 0 done, 3 could not run.
    """
    if bytecode and output is None:
        raise UsageError("--bytecode needs -o FILE (-o - is the standard output)")
    if version is not None and not bytecode:
        raise UsageError("--bytecode-version needs --bytecode")
    modules = load_modules(file, strict)
    for item in renames:
        _rename(modules, item)
    for module in modules:
        for name in ctx.meta.get("tileir.passes", []):
            _run(name, module, split_threshold)
    if bytecode:
        assert output is not None
        write_bytecode(only_module(modules, file).to_bytecode(version), output)
        return
    texts = [m.to_text(debug_info=debug_info, wrap=wrap, generic=generic) for m in modules]
    write_output("// -----\n".join(texts), output)


def _rename(modules: list[Module], item: str) -> None:
    """Rename in the modules that have the entry. Raises UsageError where none has it."""
    from tileir_tools.transform import rename_entry

    old, separator, new = item.partition("=")
    if not separator:
        raise UsageError(f"--rename-entry takes OLD=NEW, not '{item}'")
    holders = [m for m in modules if any(demangle(e.symbol).function == old for e in m.entries)]
    holders = [m for m in modules if m.entry(old) is not None] or holders
    for module in holders or modules[:1]:
        rename_entry(module, old, new)


def _run(name: str, module: Module, split_threshold: int) -> None:
    from tileir_tools import transform

    if name == "loop_split":
        transform.loop_split(module, split_threshold)
    else:
        transform.PASSES[name](module)
