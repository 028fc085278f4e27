"""`tileir validate CONTRACT ..`: does a file keep a contract?

Place in the flow: a thin consumer of `validators`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError
from tileir_tools.files import write_file

from .running import write_output

if TYPE_CHECKING:
    from tileir_tools.validators.outcome import Outcome

# Script of the pipeline -> the command that takes its place.
_SHIMS = {
    "diff_ir.sh": "tileir-diff",
    "validate_analysis.sh": "tileir validate analysis",
    "validate_ir.sh": "tileir validate ir",
    "validate_diff_report.sh": "tileir validate diff-report",
    "validate_entry_pattern.sh": "tileir validate entry-pattern",
    "validate_perf_log.sh": "tileir validate perf-log",
    "validate_agent_f.sh": "tileir validate perf-investigation",
}


@click.group(name="validate", invoke_without_command=True)
@click.option(
    "--install-shims",
    metavar="DIR",
    help="Write validate_ir.sh, diff_ir.sh and the like to DIR, which call this tool.",
)
@click.help_option("-h", "--help")
@click.pass_context
def command(ctx: click.Context, install_shims: str | None) -> None:
    """Check that a file keeps a contract."""
    if install_shims is not None:
        _install(install_shims)
    elif ctx.invoked_subcommand is None:
        raise UsageError("validate what? `tileir validate --help` lists the contracts")


def _install(folder: str) -> None:
    for name, replacement in _SHIMS.items():
        path = os.path.join(folder, name)
        # 3 says that the shell scripts would not have got so far either: they say 1.
        text = f'#!/bin/bash\n# Calls {replacement}.\n{replacement} "$@"\ncode=$?\n'
        text += "[ $code -eq 3 ] && exit 1\nexit $code\n"
        write_file(text.encode(), path)
        os.chmod(path, 0o755)
        click.echo(f"wrote {path}")


def _say(outcome: Outcome, form: str) -> int:
    write_output(outcome.json() if form == "json" else outcome.text(), None)
    return outcome.exit_code


def _root() -> str:
    """The folder of all kernels. Raises UsageError."""
    root = os.environ.get("CUTILE_KERNEL_OUT_ROOT")
    if not root:
        raise UsageError("CUTILE_KERNEL_OUT_ROOT must be set to the folder that holds KERNEL")
    return root


_format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text"
)


@command.command(name="ir")
@click.argument("file")
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def ir(file: str, kernel: str, form: str) -> int:
    """Check that FILE is valid Tile IR with an entry whose symbol contains KERNEL.

    Prints PASS:, FAIL: and WARN: lines; exits with 0 for a pass and 1 for a failure, also where FILE
    does not exist.
    """
    from tileir_tools.validators.ir import validate_ir

    if not kernel:
        raise UsageError("KERNEL is empty: every symbol contains it")
    return _say(validate_ir(file, kernel), form)


@command.command(name="analysis")
@click.argument("kernel")
@click.option("--strict", is_flag=True, help="Fail what only the contract of agent A refuses, too.")
@_format_option
@click.help_option("-h", "--help")
def analysis(kernel: str, strict: bool, form: str) -> int:
    """Check KERNEL/reference/analysis.json below $CUTILE_KERNEL_OUT_ROOT.

    Prints ERROR: and WARN: lines and ends with PASS: or FAIL:; exits with 0 for a pass, also with
    warnings, and 1 for a failure, also where the file does not exist.
    """
    from tileir_tools.validators.analysis import validate_analysis

    return _say(validate_analysis(kernel, _root(), strict), form)


@command.command(name="diff-report")
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def diff_report(kernel: str, form: str) -> int:
    """Check KERNEL/generated/diff_report.md below $CUTILE_KERNEL_OUT_ROOT.

    Every section has to be there with what belongs in it, and one verdict. Exits with 0 for a pass
    and 1 for a failure.
    """
    from tileir_tools.validators.diff_report import validate_diff_report

    return _say(validate_diff_report(kernel, _root()), form)


@command.command(name="entry-pattern")
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def entry_pattern(kernel: str, form: str) -> int:
    """Check the entries of KERNEL/kernel.rs below $CUTILE_KERNEL_OUT_ROOT against the reference.

    An entry takes tensors where its reference uses views, pointers where it uses pointers. Exits with
    0 for a pass and 1 for a failure.
    """
    from tileir_tools.validators.entry_pattern import validate_entry_pattern

    return _say(validate_entry_pattern(kernel, _root()), form)


@command.command(name="perf-log")
@click.argument("log")
@click.argument("label", required=False)
@_format_option
@click.help_option("-h", "--help")
def perf_log(log: str, label: str | None, form: str) -> int:
    """Check that LOG has a performance record for every test that passed, and that none failed.

    LOG is what pytest prints, or its JUnit XML. LABEL stands before every message; by default it is the
    name of LOG. Exits with 0 for a pass, also with warnings, and 1 for a failure, also where LOG does
    not exist.
    """
    from tileir_tools.validators.perf_log import validate_perf_log

    return _say(validate_perf_log(log, label), form)


@command.command(name="perf-investigation")
@click.argument("kernel")
@click.option("--strict", is_flag=True, help="Fail what only the contract of agent F refuses, too.")
@_format_option
@click.help_option("-h", "--help")
def perf_investigation(kernel: str, strict: bool, form: str) -> int:
    """Check KERNEL/reports/perf_investigation_*.md below $CUTILE_KERNEL_OUT_ROOT.

    Each has to begin with VERDICT: FIXABLE, ALIGNED or BLOCKED, and agent F's log has to be there. Prints
    OK:, FAIL: and WARN: lines; exits with 0 for a pass, also with warnings, and 1 for a failure.
    """
    from tileir_tools.validators.perf_investigation import validate_perf_investigation

    return _say(validate_perf_investigation(kernel, _root(), strict), form)
