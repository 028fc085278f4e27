"""How commands show what they are doing: on the standard error, by rich where it is installed.

Place in the flow: shared by the commands; imports rich (the extra `progress`) where there is a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tileir_tools.agents.progress import Say


@contextmanager
def steps() -> Iterator[Say]:
    """Says what a run does: on a terminal, where rich is installed, with a spinner for the step at hand."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            pass
        else:
            with Console(stderr=True).status("") as status:

                def show(step: str, message: str) -> None:
                    line = f"{step:<10}{message}"
                    status.console.print(line, markup=False, highlight=False)
                    status.update(step)

                yield show
            return

    def say(step: str, message: str) -> None:
        click.echo(f"{step:<10}{message}", err=True)

    yield say


@contextmanager
def bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Shows how much of each step is done: ("files", 10, 200); None where nobody would see a bar."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console  # type: ignore[import-not-found, unused-ignore]
            from rich.progress import (  # type: ignore[import-not-found, unused-ignore]
                MofNCompleteColumn,
                Progress,
                TaskID,
            )
        except ImportError:
            pass
        else:
            console = Console(stderr=True)
            columns = (*Progress.get_default_columns(), MofNCompleteColumn())
            with Progress(*columns, console=console, transient=True) as progress:
                tasks: dict[str, TaskID] = {}

                def show(step: str, done: int, total: int) -> None:
                    if step not in tasks:
                        tasks[step] = progress.add_task(step)
                    progress.update(tasks[step], completed=done, total=total)

                yield show
            return
    yield None
