"""How every command starts and ends: inputs, outputs, errors, exit codes.

Place in the flow: shared by the commands; imports `errors` and `read`. No traceback reaches a user: what
the library raises on purpose is printed and ends the process with exit code 3.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from textwrap import indent
from typing import TYPE_CHECKING

import click

import tileir_tools
from tileir_tools.dialect import VERSIONS
from tileir_tools.errors import ParseError, TileIRError, UsageError
from tileir_tools.files import write_file
from tileir_tools.model import Module

from .completing import arches, files, folders

if TYPE_CHECKING:
    from concurrent.futures import Executor

COULD_NOT_RUN = 3


def run(command: click.Command) -> None:
    """Run a command as a process; does not return."""
    # As an interrupt: tools that run are ended, and temporary files go.
    signal.signal(signal.SIGTERM, _terminated)
    # Where they were closed (`>&-`) Python has none.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        code = command.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        # click's own exit code for wrong usage is 2, which means a pass with notes here.
        error.show()
        code = COULD_NOT_RUN
    except TileIRError as error:
        click.echo(error_text(error), err=True)
        code = COULD_NOT_RUN
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        # What cannot be printed: the library's own errors about files are of another kind.
        _forget_output()
        click.echo(f"error: {error.strerror or error}", err=True)
        code = COULD_NOT_RUN
    except MemoryError:
        click.echo("error: out of memory", err=True)
        code = COULD_NOT_RUN
    sys.exit(code if isinstance(code, int) else 0)


def _terminated(number: int, frame: object) -> None:
    sys.exit(128 + number)


def error_text(error: TileIRError) -> str:
    """The text of an error; those that name no place do not say yet that they are one."""
    text = str(error)
    return text if "error: " in text else f"error: {text}"


def load_modules(path: str, strict: bool) -> list[Module]:
    """The modules of an input; warnings go to the standard error.

    Raises:
        TileIRError: the input cannot be read, or `strict` and there are warnings.
    """
    from tileir_tools.read import load_all

    modules = load_all(path)
    warnings = [w for module in modules for w in module.warnings]
    if warnings and strict:
        raise ParseError([w._replace(severity="error") for w in warnings])
    for warning in warnings:
        click.echo(warning.render(), err=True)
    return modules


def read_text(path: str) -> str:
    """The text of a file that is no Tile IR. Raises InputError."""
    from tileir_tools.read import read_bytes
    from tileir_tools.read.detect import decode_text

    return decode_text(read_bytes(path), path)


def only_module(modules: list[Module], path: str) -> Module:
    """The one module of an input, for bytecode. Raises UsageError."""
    if len(modules) != 1:
        raise UsageError(f"{path} holds {len(modules)} modules; a bytecode file holds one")
    return modules[0]


def write_output(text: str, path: str | None) -> None:
    """Print, or write a file whole or not at all. Raises InputError."""
    text = text if text.endswith("\n") else text + "\n"
    # Half of a surrogate pair, out of somebody's source, is no character that can be written.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if path is None or path == "-":
        _print(text)
    else:
        write_file(text.encode("utf-8"), path)


def write_bytecode(data: bytes, path: str) -> None:
    """Write a file whole or not at all; `-` is the standard output. Raises InputError."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(data, path)


def _print(text: str) -> None:
    """Print; where the reader of our output is gone, stop printing without a complaint.

    The exit code stays the command's own: `tileir-diff a b | head -1` still tells the verdict.
    """
    try:
        click.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()


def _forget_output() -> None:
    """Python would complain once more about what it could not write when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shows_colour() -> bool:
    """Whether the standard output is a terminal that may be coloured (no-color.org)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """That many processes to share work out to; None for one, which is this one."""
    if jobs == 1:
        yield None
        return
    from tileir_tools.processes import process_pool

    with process_pool(jobs) as executor:
        yield executor


def examples(text: str) -> str:
    """The end of a command's help: calls of it, each above an indented line that says what it is good for."""
    # After \b click leaves lines as they are.
    return "\b\nExamples:\n" + indent(cleandoc(text), "  ")


# Options that several commands have.
strict_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--strict", is_flag=True, help="Make an unknown operation an error instead of a warning."
)
output_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=files,
    help="Write to FILE instead of the standard output.",
)
output_folder_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="DIR",
    shell_complete=folders,
    help="Where to write.",
)
project_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--project",
    metavar="DIR",
    shell_complete=folders,
    required=True,
    help="A project laid out as TileGym is.",
)
arch_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--arch",
    metavar="ARCH",
    shell_complete=arches,
    help="Resolve hints for this target, such as sm_100.",
)
debug_info_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "-g", "--debug-info", is_flag=True, help="Print source locations."
)
wrap_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--wrap/--no-wrap",
    default=None,
    help="Print cuda_tile.module around it, or not; default: as it was read.",
)
generic_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--generic", is_flag=True, help="Print MLIR's generic form."
)
version_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--bytecode-version",
    "version",
    type=click.Choice(VERSIONS),
    help="Version to write; default: that of the input, for text the oldest that can say it all.",
)
jobs_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Share the files out to this many processes.",
)
# What a report of a fault has to say.
about_option: Callable[[Callable[..., object]], Callable[..., object]] = click.version_option(
    tileir_tools.__version__,
    message="%(prog)s, version %(version)s\n"
    + f"Python {sys.version.split()[0]} on {sys.platform}\n"
    + f"installed in {os.path.dirname(tileir_tools.__file__)}".replace("%", "%%"),
    help="Show the version, Python's, and where it is installed.",
)
