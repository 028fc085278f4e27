"""`tileir-diff REFERENCE GENERATED`, also `tileir diff`.

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tileir_tools.errors import TileIRError, UsageError

from .running import (
    COULD_NOT_RUN,
    arch_option,
    error_text,
    load_modules,
    output_option,
    read_text,
    run,
    shows_colour,
    strict_option,
    write_output,
)

if TYPE_CHECKING:
    from tileir_tools.diff import Diff, Policy
    from tileir_tools.model import Module


@click.command(name="diff")
@click.argument("reference")
@click.argument("generated")
@arch_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html", "sarif", "github", "junit"]),
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
    "--policy",
    metavar="NAME|FILE",
    help="default, strict, legacy (as lenient as diff_ir.sh), or a TOML file; default: tileir.toml or "
    "[tool.tileir] of the pyproject.toml here or above.",
)
@click.option(
    "--baseline", metavar="FILE", help="Findings that FILE lists do not count: only new ones do."
)
@click.option(
    "--write-baseline",
    metavar="FILE",
    help="Write the findings to FILE, to be accepted from now on.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Write diff_report.md, in the shape that the cuTile-to-cutile-rs pipeline asks for, too.",
)
@click.option(
    "--why",
    metavar="CODE",
    help="Explain the findings of one rule: where the values go, what to do.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict line.")
@click.option("--stat", is_flag=True, help="Print how many findings of each rule there are.")
@click.option("-y", "--side-by-side", is_flag=True, help="Show both texts around each difference.")
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
    baseline: str | None,
    write_baseline: str | None,
    report: str | None,
    why: str | None,
    quiet: bool,
    stat: bool,
    side_by_side: bool,
    strict: bool,
    output: str | None,
) -> int:
    """Say in what GENERATED differs from REFERENCE, and whether it matters.

    Both are CUDA Tile IR text in any spelling, gzip allowed; `-` is the standard input.
    `--format html -o report.html` writes a page for a browser.

    \b
    Exit codes: 0 PASS, 1 FAIL_FIXABLE, 2 PASS_WITH_NOTES, 3 BLOCKED (an input
    that cannot be read, no Tile IR, wrong usage).
    """
    try:
        if reference == generated == "-":
            raise UsageError("only one side can come from the standard input")
        from tileir_tools.diff import diff

        left, right = load_modules(reference, strict), load_modules(generated, strict)
        if form == "html":
            _place(left, reference)
            _place(right, generated)
        found = diff(left, right, arch=arch, policy=_policy(policy, severities), entry=entry)
        if baseline is not None:
            found = _without_known(found, baseline)
        if write_baseline is not None:
            _accept(found, write_baseline)
        if report is not None:
            _write_report(found, report, (left, right), (reference, generated))
        colour = output is None and shows_colour()
        if why is not None:
            answer = _explanation(found, why.upper())
        elif form == "html":
            from tileir_tools.report.html_report import diff_html

            answer = diff_html(found, left, right, (reference, generated), entry)
        elif form != "text":
            answer = _document(found, form, reference, generated)
        elif side_by_side:
            answer = _side_by_side(found, left, right, colour)
        else:
            answer = _text(found, quiet, stat, colour)
    except TileIRError as error:
        if form != "json":
            click.echo(error_text(error), err=True)
            click.echo("BLOCKED: nothing was compared", err=True)
            return COULD_NOT_RUN
        write_output(_blocked(error_text(error)), output)
        return COULD_NOT_RUN
    write_output(answer, output)
    return found.exit_code


def _place(modules: list[Module], name: str) -> None:
    """The page shows lines: operations of bytecode get those of its printed text."""
    from tileir_tools.write.marked import place_in_text

    for module in modules:
        place_in_text(module, name)


def _write_report(
    found: Diff, path: str, modules: tuple[list[Module], list[Module]], names: tuple[str, str]
) -> None:
    from tileir_tools.analyze import demangle
    from tileir_tools.report.agent_report import agent_report

    symbol = next((e.reference or e.generated for e in found.entries), None) or "kernel"
    write_output(agent_report(found, demangle(symbol).function, *modules, names), path)


def _document(found: Diff, form: str, reference: str, generated: str) -> str:
    """The answer in a format for other tools; the module for it is imported when it is asked for."""
    if form == "sarif":
        from tileir_tools.report.sarif import diff_sarif

        return diff_sarif(found)
    if form == "github":
        from tileir_tools.report.github import diff_github

        return diff_github(found)
    if form == "junit":
        from tileir_tools.report.junit import diff_junit

        return diff_junit(found, reference, generated)
    from tileir_tools.report.diff_report import diff_json, diff_markdown

    return (diff_json if form == "json" else diff_markdown)(found, reference, generated)


def _text(found: Diff, quiet: bool, stat: bool, colour: bool) -> str:
    from tileir_tools.report.diff_report import diff_stat, diff_text

    return diff_stat(found, colour) if stat else diff_text(found, quiet=quiet, colour=colour)


def _side_by_side(found: Diff, left: list[Module], right: list[Module], colour: bool) -> str:
    import shutil

    from tileir_tools.report.side_by_side import diff_side_by_side

    return diff_side_by_side(found, left, right, shutil.get_terminal_size((160, 0)).columns, colour)


def _explanation(found: Diff, code: str) -> str:
    from tileir_tools.diff import RULES
    from tileir_tools.report.diff_report import why_text

    if code not in RULES:
        raise UsageError(f"no rule '{code}'; `tileir rules` lists them")
    return why_text(found, code)


def _without_known(found: Diff, path: str) -> Diff:
    from tileir_tools.diff.baseline import apply_baseline, read_baseline

    return apply_baseline(found, read_baseline(read_text(path), path), path)


def _accept(found: Diff, path: str) -> None:
    from tileir_tools.diff.baseline import BASELINE_SCHEMA, baseline_of
    from tileir_tools.report.plain import document

    write_output(document(BASELINE_SCHEMA, baseline_of(found)), path)


def _policy(chosen: str | None, severities: tuple[str, ...]) -> Policy:
    """The policy asked for, else that of the project, with the severities of the command line."""
    from tileir_tools.diff.policy import NAMED, Policy

    from .settings import find_settings, read_settings

    if chosen is None:
        policy = find_settings()
    elif chosen in NAMED:
        policy = NAMED[chosen]
    else:
        policy = read_settings(chosen)
    if not severities:
        return policy
    changed = dict(policy.severities)
    for item in severities:
        code, separator, level = item.partition("=")
        if not separator:
            raise UsageError(f"--severity takes CODE=LEVEL, not '{item}'")
        changed[code] = level.upper()
    return Policy(changed, policy.ignores, policy.arches)


def _blocked(message: str) -> str:
    from tileir_tools.report.diff_report import DIFF_SCHEMA
    from tileir_tools.report.plain import document

    return document(
        DIFF_SCHEMA, {"verdict": "BLOCKED", "exit_code": COULD_NOT_RUN, "error": message}
    )


def main() -> None:
    """The console script `tileir-diff`."""
    run(command)
