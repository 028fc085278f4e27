"""`tileir-diff REFERENCE GENERATED`, also `tileir diff`.

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import InputError, TileIRError, UsageError

from .running import (
    COULD_NOT_RUN,
    arch_option,
    error_text,
    load_modules,
    output_option,
    run,
    strict_option,
    write_output,
)


@click.command(name="diff")
@click.argument("reference")
@click.argument("generated")
@arch_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print the answer.",
)
@click.option("--entry", metavar="NAME", help="Compare only entries whose symbol contains NAME.")
@click.option(
    "--severity",
    "severities",
    multiple=True,
    metavar="CODE=LEVEL",
    help="Give a rule another severity (CRITICAL, WARN, INFO); may be repeated.",
)
@click.option(
    "--policy", metavar="FILE", help='Read severities from a JSON file: {"CODE": "LEVEL"}.'
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict line.")
@strict_option
@output_option
@click.version_option(package_name="tileir-tools")
@click.help_option("-h", "--help")
def command(
    reference: str,
    generated: str,
    arch: str | None,
    form: str,
    entry: str | None,
    severities: tuple[str, ...],
    policy: str | None,
    quiet: bool,
    strict: bool,
    output: str | None,
) -> int:
    """Say in what GENERATED differs from REFERENCE, and whether it matters.

    Both are CUDA Tile IR text in any spelling, gzip allowed; `-` is the standard input.

    \b
    Exit codes: 0 PASS, 1 FAIL_FIXABLE, 2 PASS_WITH_NOTES, 3 BLOCKED (an input
    that cannot be read, no Tile IR, wrong usage).
    """
    try:
        answer, code = _answer(
            reference, generated, arch, form, entry, _policy(policy, severities), quiet, strict
        )
    except TileIRError as error:
        if form != "json":
            click.echo(error_text(error), err=True)
            click.echo("BLOCKED: nothing was compared", err=True)
            return COULD_NOT_RUN
        answer, code = _blocked(error_text(error)), COULD_NOT_RUN
    write_output(answer, output)
    return code


def _answer(
    reference: str,
    generated: str,
    arch: str | None,
    form: str,
    entry: str | None,
    policy: dict[str, str],
    quiet: bool,
    strict: bool,
) -> tuple[str, int]:
    from tileir_tools.diff import diff
    from tileir_tools.report.diff_report import diff_json, diff_markdown, diff_text

    if reference == generated == "-":
        raise UsageError("only one side can come from the standard input")
    left = load_modules(reference, strict)
    right = load_modules(generated, strict)
    found = diff(left, right, arch=arch, policy=policy, entry=entry)
    if form == "json":
        return diff_json(found, reference, generated), found.exit_code
    if form == "markdown":
        return diff_markdown(found, reference, generated), found.exit_code
    return diff_text(found, quiet=quiet), found.exit_code


def _policy(path: str | None, severities: tuple[str, ...]) -> dict[str, str]:
    """The severities of a file, overridden by those of the command line. Raises TileIRError."""
    found: dict[str, str] = {}
    if path is not None:
        found = _policy_file(path)
    for item in severities:
        code, separator, level = item.partition("=")
        if not separator:
            raise UsageError(f"--severity takes CODE=LEVEL, not '{item}'")
        found[code] = level.upper()
    return found


def _policy_file(path: str) -> dict[str, str]:
    import json

    from tileir_tools.read import read_bytes

    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: error: no JSON: {error}") from None
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise InputError(f"{path}: error: expected an object of rule codes and severities")
    return {str(code): str(level).upper() for code, level in content.items()}


def _blocked(message: str) -> str:
    from tileir_tools.report.diff_report import DIFF_SCHEMA
    from tileir_tools.report.plain import document

    return document(
        DIFF_SCHEMA, {"verdict": "BLOCKED", "exit_code": COULD_NOT_RUN, "error": message}
    )


def main() -> None:
    """The console script `tileir-diff`."""
    run(command)
