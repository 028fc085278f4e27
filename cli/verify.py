"""`tileir verify FILE..`: does a file keep the rules of the dialect?

Place in the flow: a thin consumer of `read`, `verify` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import (
    BytecodeError,
    Diagnostic,
    ForeignFormatError,
    InputError,
    ParseError,
    UsageError,
)

from .completing import arches, files, versions
from .running import COULD_NOT_RUN, error_text, examples, strict_option, write_output


@click.command(
    name="verify",
    epilog=examples("""
        tileir verify gen.mlir
            Everything that breaks a rule, each with its place.
        tileir verify *.mlir --arch sm_90
            Several files, for one target.
        tileir verify gen.mlir --bytecode-version 13.1
            What an older version cannot say.
    """),
)
@click.argument("files", shell_complete=files, metavar="FILE...", nargs=-1, required=True)
@strict_option
@click.option("--strict-hints", is_flag=True, help="Make hints that nobody knows errors.")
@click.option(
    "--bytecode-version",
    metavar="VERSION",
    shell_complete=versions,
    help="Check for a version, such as 13.3.",
)
@click.option(
    "--arch", metavar="ARCH", shell_complete=arches, help="Check for a target, such as sm_90."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(
    files: tuple[str, ...],
    strict: bool,
    strict_hints: bool,
    bytecode_version: str | None,
    arch: str | None,
    form: str,
) -> int:
    """Check that each FILE keeps the rules of the dialect.

    Everything that breaks one is printed. A file that cannot be read stops nothing.

    Exit codes: 0 all valid, 1 one has errors (also where it is Tile IR that cannot be decoded), 3 one
    cannot be read or is something else.
    """
    if form == "json" and len(files) > 1:
        raise UsageError("--format json takes one file: a document says what is in one")
    for_what = (strict_hints, bytecode_version, arch)
    return max(_check(file, strict, for_what, form) for file in files)


def _check(
    file: str, strict: bool, for_what: tuple[bool, str | None, str | None], form: str
) -> int:
    from tileir_tools.report.verify_report import verify_json, verify_text

    try:
        found = _diagnostics(file, strict, *for_what)
    except (ForeignFormatError, InputError) as error:
        click.echo(error_text(error), err=True)
        return COULD_NOT_RUN
    write_output(verify_json(file, found) if form == "json" else verify_text(file, found), None)
    return 1 if any(diagnostic.severity == "error" for diagnostic in found) else 0


def _diagnostics(
    file: str, strict: bool, strict_hints: bool, bytecode_version: str | None, arch: str | None
) -> list[Diagnostic]:
    from tileir_tools.read import load_all
    from tileir_tools.verify import verify

    try:
        modules = load_all(file, fragments=True)
    except ParseError as error:
        return error.diagnostics
    except BytecodeError as error:
        place = f"byte {error.offset}, section {error.section}"
        return [Diagnostic("error", f"{error.message} ({place})")]
    found: list[Diagnostic] = []
    for module in modules:
        severity = "error" if strict else "warning"
        found += [warning._replace(severity=severity) for warning in module.warnings]
        found += verify(
            module, strict_hints=strict_hints, bytecode_version=bytecode_version, arch=arch
        )
    return found
