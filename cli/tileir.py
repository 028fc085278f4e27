"""`tileir`: the command that holds the others.

Place in the flow: finds the module of a command when it is called, so that starting one command does not
import the others; what `--help` and completion say of them stands here.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from .running import about_option, examples, run


class _Entry(NamedTuple):
    """A command: the module of this package that holds it, and the first line of its help."""

    module: str
    about: str


# Heading -> command -> where it is. The lines are those of the commands (a test says so) and fit 80 columns.
_GROUPS: dict[str, dict[str, _Entry]] = {
    "Look": {
        "show": _Entry("show", "Show the facts about each entry in FILE."),
        "info": _Entry("info", "Show what kind of file FILE is, and what is in it."),
        "print": _Entry("print", "Print the Tile IR in FILE as the disassembler prints it."),
        "graph": _Entry("graph", "Print the operations of FILE and their values as a graph."),
    },
    "Compare": {
        "diff": _Entry("diff", "Say how GENERATED differs from REFERENCE, and if it matters."),
        "rules": _Entry("rules", "Explain rule CODE of tileir-diff, or list all rules."),
        "equal": _Entry("equal", "Say whether A and B are equal, or the shortest reason why not."),
        "variants": _Entry("variants", "Group kernels by structure, and those by number formats."),
        "alias": _Entry("alias", "Prove that ALIAS holds the kernel of ORIGINAL."),
    },
    "Check": {
        "verify": _Entry("verify", "Check that each FILE keeps the rules of the dialect."),
        "validate": _Entry("validate", "Check that a file keeps a contract."),
    },
    "Change": {
        "opt": _Entry("opt", "Run passes over the Tile IR in FILE, and print it."),
        "as": _Entry("assemble", "Encode the Tile IR in FILE as bytecode."),
    },
    "From sources": {
        "dump": _Entry("dump", "Write kernels' Tile IR to a folder."),
        "alias-dump": _Entry("aliasdump", "Dump KERNEL under two names, proven to be one kernel."),
        "source": _Entry("source", "Read operations and their tests, without running them."),
        "wrapper": _Entry("wrapper", "Examine the wrapper NAME beside the cuTile operation NAME."),
    },
    "Performance": {
        "compile": _Entry("compile", "Compile the Tile IR in FILE, and say what came out."),
        "explain": _Entry("explain", "Say what makes GENERATED slower than REFERENCE."),
        "what-if": _Entry("whatif", "Take over differences from REFERENCE, and say what changes."),
        "perf": _Entry("perf", "Show performance records, and ratios to those of a reference."),
        "doctor": _Entry("doctor", "Say which of NVIDIA's tools were found, and where."),
    },
    "Many files": {
        "scan": _Entry("scan", "Write facts and errors of the dumps in PATHs to tables in OUT."),
        "query": _Entry("query", "Ask the tables that `tileir scan` wrote to OUT."),
    },
    "Pipeline": {
        "agent": _Entry("agent", "Run an agent of the pipeline that ports cuTile kernels."),
    },
    "For other programs": {
        "mcp": _Entry("mcp", "Serve the commands to an agent by the Model Context Protocol."),
        "completion": _Entry(
            "completion", "Print what makes a shell complete tileir and tileir-diff."
        ),
    },
}
_COMMANDS = {name: entry for group in _GROUPS.values() for name, entry in group.items()}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found = import_module(f"tileir_tools.cli.{_COMMANDS[cmd_name].module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click looks for what may be meant among the commands that are imported: here, none.
        close = get_close_matches(args[0], _COMMANDS, n=2) if args[0] not in _COMMANDS else []
        if close and not ctx.resilient_parsing:
            meant = " or ".join(f"'{name}'" for name in close)
            raise click.UsageError(f"No such command '{args[0]}'. Did you mean {meant}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))
        for heading, group in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(n.ljust(width), entry.about) for n, entry in group.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=entry.about)
            for name, entry in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.command(
    cls=_Commands,
    epilog=examples("""
        tileir show gen.mlir
            What a kernel loads, multiplies and loops over.
        tileir-diff ref.mlir gen.mlir
            Whether a kernel does what its reference does.
        tileir verify gen.mlir
            Every rule of the dialect that it breaks.
        tileir show --help
            What a command takes, with examples.
    """),
)
@about_option
@click.help_option("-h", "--help")
def command() -> None:
    """Read, check and compare CUDA Tile IR.

    Exit codes: 0 pass, 1 failure, 3 could not run; `tileir diff` has 2 for a pass with notes.
    """


def main() -> None:
    """The console script `tileir`."""
    run(command)
