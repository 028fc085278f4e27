"""`tileir completion SHELL`: what makes a shell complete our commands.

Place in the flow: prints click's own scripts; what is completed says `completing`.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .running import examples, write_output

# Command -> the variable by which click is asked for completions of it.
_COMMANDS = {"tileir": "_TILEIR_COMPLETE", "tileir-diff": "_TILEIR_DIFF_COMPLETE"}


@click.command(
    name="completion",
    epilog=examples("""
        eval "$(tileir completion bash)"
            In ~/.bashrc: completion in every bash from then on.
        eval "$(tileir completion zsh)"
            In ~/.zshrc, after compinit.
        tileir completion fish | source
            In ~/.config/fish/config.fish.
    """),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.help_option("-h", "--help")
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete tileir and tileir-diff.

    Completed are commands, options, their choices, targets, codes of rules, files and folders. bash has
    to be 4.4 or newer.

    Exit codes: 0 printed, 3 could not run.
    """
    made = get_completion_class(shell)
    assert made is not None, shell
    root = ctx.find_root().command
    write_output("".join(made(root, {}, *each).source() for each in _COMMANDS.items()), None)
