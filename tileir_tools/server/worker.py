"""The process of one call: a command under the guard.

Place in the flow: started by `calls` as `python -m tileir_tools.server.worker LIMITS ARGUMENT..`; runs the
commands of `cli`. Its output and exit code are the command's own.
"""

from __future__ import annotations

import json
import os
import sys

import click

from ..errors import TileIRError
from .guard import Limits, guard


def main() -> None:
    """Run `tileir ARGUMENT..` within LIMITS, which are JSON; does not return."""
    # Modules come from where they are installed, not from where we were started.
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != os.getcwd()]
    limits = json.loads(sys.argv[1])
    sys.argv = ["tileir", *sys.argv[2:]]
    guard(Limits(tuple(limits["reads"]), tuple(limits["writes"]), limits["programs"]))
    os.chdir(limits["home"])
    from tileir_tools.cli.running import COULD_NOT_RUN, error_text, read_text, run, write_output
    from tileir_tools.cli.tileir import command

    try:
        if sys.argv[1] == "read":
            write_output(read_text(sys.argv[2]), None)
        else:
            run(command)
    except TileIRError as error:
        click.echo(error_text(error), err=True)
        sys.exit(COULD_NOT_RUN)
    except Exception as error:
        # The client is told what went wrong in a line; the place in our code says nothing to it.
        click.echo(f"error: {type(error).__name__}: {error}", err=True)
        sys.exit(COULD_NOT_RUN)


if __name__ == "__main__":
    main()
