"""`tileir validate CONTRACT ..`: does a file keep a contract?

Place in the flow: a thin consumer of `validators`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError
from tileir_tools.files import make_folder, write_file

from .completing import files, folders
from .running import examples, write_output

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


@click.group(
    name="validate",
    invoke_without_command=True,
    epilog=examples("""
        tileir validate ir gen.mlir matmul
            Is this valid Tile IR of that kernel?
        tileir validate analysis matmul
            Is matmul/reference/analysis.json complete?
        tileir validate --install-shims bin
            Scripts of the old names, which call this.
    """),
)
@click.option(
    "--install-shims",
    metavar="DIR",
    shell_complete=folders,
    help="Write validate_ir.sh, diff_ir.sh and the like to DIR, which call this tool.",
)
@click.help_option("-h", "--help")
@click.pass_context
def command(ctx: click.Context, install_shims: str | None) -> None:
    """Check that a file keeps a contract.

    Exit codes: 0 pass, 1 failure, 3 could not run.
    """
    if install_shims is not None:
        _install(install_shims)
    elif ctx.invoked_subcommand is None:
        raise UsageError("validate what? `tileir validate --help` lists the contracts")


def _install(folder: str) -> None:
    make_folder(folder)
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


@command.command(
    name="ir",
    epilog=examples("""
        tileir validate ir gen.mlir matmul
            Is this valid Tile IR of that kernel?
        tileir validate ir gen.mlir matmul --format json
            For other programs.
    """),
)
@click.argument("file", shell_complete=files)
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def ir(file: str, kernel: str, form: str) -> int:
    """Check that FILE is valid Tile IR that holds KERNEL.

    The symbol of an entry has to contain KERNEL. Prints PASS:, FAIL: and WARN: lines.

    Exit codes: 0 pass, 1 failure (also where FILE does not exist), 3 could not run.
    """
    from tileir_tools.validators.ir import validate_ir

    if not kernel:
        raise UsageError("KERNEL is empty: every symbol contains it")
    return _say(validate_ir(file, kernel), form)


@command.command(
    name="analysis",
    epilog=examples("""
        tileir validate analysis matmul
            What the next agents need, and whether it is there.
        tileir validate analysis matmul --strict
            The contract to the letter.
    """),
)
@click.argument("kernel")
@click.option("--strict", is_flag=True, help="Fail what only the contract of agent A refuses, too.")
@_format_option
@click.help_option("-h", "--help")
def analysis(kernel: str, strict: bool, form: str) -> int:
    """Check KERNEL/reference/analysis.json.

    KERNEL is a folder below $CUTILE_KERNEL_OUT_ROOT. Prints ERROR: and WARN: lines and ends with PASS:
    or FAIL:.

    Exit codes: 0 pass (also with warnings), 1 failure (also where the file does not exist), 3 could not
    run.
    """
    from tileir_tools.validators.analysis import validate_analysis

    return _say(validate_analysis(kernel, _root(), strict), form)


@command.command(
    name="diff-report",
    epilog=examples("""
        tileir validate diff-report matmul
            Is the report whole, with one verdict?
        tileir validate diff-report matmul --format json
            For other programs.
    """),
)
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def diff_report(kernel: str, form: str) -> int:
    """Check KERNEL/generated/diff_report.md.

    KERNEL is a folder below $CUTILE_KERNEL_OUT_ROOT. Every section has to be there with what belongs in
    it, and one verdict.

    Exit codes: 0 pass, 1 failure, 3 could not run.
    """
    from tileir_tools.validators.diff_report import validate_diff_report

    return _say(validate_diff_report(kernel, _root()), form)


@command.command(
    name="entry-pattern",
    epilog=examples("""
        tileir validate entry-pattern matmul
            Do the entries take what those of the reference take?
        tileir validate entry-pattern matmul --format json
            For other programs.
    """),
)
@click.argument("kernel")
@_format_option
@click.help_option("-h", "--help")
def entry_pattern(kernel: str, form: str) -> int:
    """Check the entries of KERNEL/kernel.rs.

    KERNEL is a folder below $CUTILE_KERNEL_OUT_ROOT. An entry takes tensors where its reference uses
    views, pointers where it uses pointers.

    Exit codes: 0 pass, 1 failure, 3 could not run.
    """
    from tileir_tools.validators.entry_pattern import validate_entry_pattern

    return _say(validate_entry_pattern(kernel, _root()), form)


@command.command(
    name="perf-log",
    epilog=examples("""
        tileir validate perf-log gen.log
            Has every test that passed a record?
        tileir validate perf-log junit.xml cutile-rs
            The same of JUnit XML, with a name for messages.
    """),
)
@click.argument("log", shell_complete=files)
@click.argument("label", required=False)
@_format_option
@click.help_option("-h", "--help")
def perf_log(log: str, label: str | None, form: str) -> int:
    """Check that LOG has a record for every test.

    A performance record for every test that passed; none may have failed. LOG is what pytest prints, or
    its JUnit XML. LABEL stands before every message; by default it is the name of LOG.

    Exit codes: 0 pass (also with warnings), 1 failure (also where LOG does not exist), 3 could not run.
    """
    from tileir_tools.validators.perf_log import validate_perf_log

    return _say(validate_perf_log(log, label), form)


@command.command(
    name="perf-investigation",
    epilog=examples("""
        tileir validate perf-investigation matmul
            Has each report of agent F a verdict, and its log?
        tileir validate perf-investigation matmul --strict
            The contract to the letter.
    """),
)
@click.argument("kernel")
@click.option("--strict", is_flag=True, help="Fail what only the contract of agent F refuses, too.")
@_format_option
@click.help_option("-h", "--help")
def perf_investigation(kernel: str, strict: bool, form: str) -> int:
    """Check KERNEL/reports/perf_investigation_*.md.

    KERNEL is a folder below $CUTILE_KERNEL_OUT_ROOT. Each has to begin with VERDICT: FIXABLE, ALIGNED
    or BLOCKED, and agent F's log has to be there. Prints OK:, FAIL: and WARN: lines.

    Exit codes: 0 pass (also with warnings), 1 failure, 3 could not run.
    """
    from tileir_tools.validators.perf_investigation import validate_perf_investigation

    return _say(validate_perf_investigation(kernel, _root(), strict), form)
