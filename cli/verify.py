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

from .running import COULD_NOT_RUN, error_text, write_output


@click.command(name="verify")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--strict-hints", is_flag=True, help="Make hints that nobody knows errors.")
@click.option("--bytecode-version", metavar="VERSION", help="Check for a version, such as 13.3.")
@click.option("--arch", metavar="ARCH", help="Check for a target, such as sm_90.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(
    files: tuple[str, ...],
    strict_hints: bool,
    bytecode_version: str | None,
    arch: str | None,
    form: str,
) -> int:
    """Check that each FILE keeps the rules of the dialect, and print everything that breaks one.

    Exits with 0 where all are valid, with 1 where one has errors (also where it is Tile IR that cannot
    be decoded), with 3 where one cannot be read or is something else; the others are checked all the
    same.
    """
    if form == "json" and len(files) > 1:
        raise UsageError("--format json takes one file: a document says what is in one")
    codes = [_check(file, strict_hints, bytecode_version, arch, form) for file in files]
    return max(codes)


def _check(
    file: str, strict_hints: bool, bytecode_version: str | None, arch: str | None, form: str
) -> int:
    from tileir_tools.report.verify_report import verify_json, verify_text

    try:
        found = _diagnostics(file, strict_hints, bytecode_version, arch)
    except (ForeignFormatError, InputError) as error:
        click.echo(error_text(error), err=True)
        return COULD_NOT_RUN
    write_output(verify_json(file, found) if form == "json" else verify_text(file, found), None)
    return 1 if any(diagnostic.severity == "error" for diagnostic in found) else 0


def _diagnostics(
    file: str, strict_hints: bool, bytecode_version: str | None, arch: str | None
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
        found += module.warnings
        found += verify(
            module, strict_hints=strict_hints, bytecode_version=bytecode_version, arch=arch
        )
    return found
