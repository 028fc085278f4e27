"""`tileir`: the command that holds the others.

Place in the flow: finds the module of a command when it is called, so that starting one command does not
import the others.
"""

from __future__ import annotations

from importlib import import_module

import click

from .running import run

# Command -> the module of this package that holds it.
_COMMANDS = {
    "agent": "agent",
    "alias": "alias",
    "alias-dump": "aliasdump",
    "as": "assemble",
    "compile": "compile",
    "diff": "diff",
    "doctor": "doctor",
    "dump": "dump",
    "equal": "equal",
    "explain": "explain",
    "graph": "graph",
    "info": "info",
    "mcp": "mcp",
    "opt": "opt",
    "perf": "perf",
    "print": "print",
    "query": "query",
    "rules": "rules",
    "scan": "scan",
    "show": "show",
    "source": "source",
    "validate": "validate",
    "variants": "variants",
    "verify": "verify",
    "what-if": "whatif",
    "wrapper": "wrapper",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found = import_module(f"tileir_tools.cli.{_COMMANDS[cmd_name]}").command
        assert isinstance(found, click.Command)
        return found


@click.command(cls=_Commands)
@click.version_option(package_name="tileir-tools")
@click.help_option("-h", "--help")
def command() -> None:
    """Read, check and compare CUDA Tile IR."""


def main() -> None:
    """The console script `tileir`."""
    run(command)
