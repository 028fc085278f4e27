"""`tileir-diff REFERENCE GENERATED`, also `tileir diff`.

Place in the flow: a thin consumer of `diff` and `report`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tileir_tools.errors import TileIRError, UsageError

from .completing import arches, files, policies, rule_codes, severities
from .running import (
    COULD_NOT_RUN,
    about_option,
    error_text,
    examples,
    jobs_option,
    load_modules,
    output_option,
    processes,
    read_text,
    run,
    shows_colour,
    strict_option,
    write_output,
)

if TYPE_CHECKING:
    from tileir_tools.diff import Diff, Policy
    from tileir_tools.model import Module


@click.command(
    name="diff",
    epilog=examples("""
        tileir-diff ref.mlir gen.mlir
            Every difference that matters, with its place on both sides.
        tileir-diff ref.mlir gen.mlir --arch sm_100 --why MEM007
            What one rule means here, and what to do.
        tileir-diff ref.mlir gen.mlir --format html -o report.html
            A page with both kernels side by side.
        tileir-diff refs gens --baseline known.json -j 4
            Two folders; only what is new counts.
    """),
)
@click.argument("reference", shell_complete=files)
@click.argument("generated", shell_complete=files)
@click.option(
    "--arch",
    "arches",
    multiple=True,
    metavar="ARCH",
    shell_complete=arches,
    help="Resolve hints for this target, such as sm_100; may be repeated.",
)
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
    shell_complete=severities,
    help="Give a rule another severity (CRITICAL, WARN, INFO); may be repeated.",
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    shell_complete=policies,
    help="default, strict, legacy (as lenient as diff_ir.sh), or a TOML file; default: tileir.toml or "
    "[tool.tileir] of the pyproject.toml here or above.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=files,
    help="Findings that FILE lists do not count: only new ones do.",
)
@click.option(
    "--write-baseline",
    metavar="FILE",
    shell_complete=files,
    help="Write the findings to FILE, to be accepted from now on.",
)
@click.option(
    "--report",
    metavar="FILE",
    shell_complete=files,
    help="Write diff_report.md, in the shape that the cuTile-to-cutile-rs pipeline asks for, too.",
)
@click.option(
    "--why",
    metavar="CODE",
    shell_complete=rule_codes,
    help="Explain the findings of one rule: where the values go, what to do.",
)
@jobs_option
@click.option("--notes-pass", is_flag=True, help="Exit with 0 for PASS_WITH_NOTES, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict line.")
@click.option("--stat", is_flag=True, help="Print how many findings of each rule there are.")
@click.option("-y", "--side-by-side", is_flag=True, help="Show both texts around each difference.")
@strict_option
@output_option
@about_option
@click.help_option("-h", "--help")
def command(**options: Any) -> int:
    """Say how GENERATED differs from REFERENCE, and if it matters.

    Both are CUDA Tile IR, bytecode or text in any spelling, gzip allowed; `-` is the standard input.
    Folders and patterns ('dumps/*.mlir') are compared file by file, by the path below them; a file that
    cannot be read stops nothing, and makes the exit code 3.
    `--format html -o report.html` writes a page for a browser.

    Exit codes: 0 PASS, 1 FAIL_FIXABLE, 2 PASS_WITH_NOTES, 3 BLOCKED (an input that cannot be read, no
    Tile IR, wrong usage).
    """
    asked = _Asked(**options)
    try:
        _check_shapes(asked)
        found = _compared(asked)
        answer = _shown(asked, found)
    except TileIRError as error:
        if asked.form != "json":
            click.echo(error_text(error), err=True)
            click.echo("BLOCKED: nothing was compared", err=True)
        _write_blocked(asked, error_text(error))
        return COULD_NOT_RUN
    write_output(answer, asked.output)
    if asked.notes_pass and found.diff.verdict == "PASS_WITH_NOTES":
        return 0
    return found.diff.exit_code


class _Asked(NamedTuple):
    """The options of the command, under the names that they have above."""

    reference: str
    generated: str
    arches: tuple[str, ...]
    form: str
    entry: str | None
    severities: tuple[str, ...]
    policy: str | None
    baseline: str | None
    write_baseline: str | None
    report: str | None
    why: str | None
    jobs: int
    notes_pass: bool
    quiet: bool
    stat: bool
    side_by_side: bool
    strict: bool
    output: str | None


class _Found(NamedTuple):
    """The answer, and the modules of both sides (none where many files were compared)."""

    diff: Diff
    left: list[Module]
    right: list[Module]


def _compared(asked: _Asked) -> _Found:
    """Compare what was asked for. Raises TileIRError."""
    if asked.reference == asked.generated == "-":
        raise UsageError("only one side can come from the standard input")
    policy = _policy(asked.policy, asked.severities)
    if asked.arches:
        policy = policy._replace(arches=asked.arches)
    if _is_many(asked.reference) or _is_many(asked.generated):
        if asked.report is not None or asked.side_by_side or asked.form == "html":
            raise UsageError("--report, --side-by-side and html take one file on each side")
        found = _compare_many(asked, policy)
    else:
        from tileir_tools.diff import diff

        left = load_modules(asked.reference, asked.strict)
        right = load_modules(asked.generated, asked.strict)
        _place(left, asked.reference)
        _place(right, asked.generated)
        answer = diff(left, right, policy=policy, entry=asked.entry)
        found = _Found(answer, left, right)
    if asked.baseline is not None:
        found = found._replace(diff=_without_known(found.diff, asked.baseline))
    return found


def _shown(asked: _Asked, found: _Found) -> str:
    """The answer as it was asked for; files that were asked for beside it are written."""
    if asked.write_baseline is not None:
        _accept(found.diff, asked.write_baseline)
    names = (asked.reference, asked.generated)
    if asked.report is not None:
        _write_report(found.diff, asked.report, (found.left, found.right), names)
    if asked.why is not None:
        return _explanation(found.diff, asked.why.upper())
    if asked.form == "html":
        from tileir_tools.report.html_report import diff_html

        return diff_html(found.diff, found.left, found.right, names, asked.entry)
    if asked.form != "text":
        return _document(found.diff, asked.form, *names)
    colour = asked.output is None and shows_colour()
    if asked.side_by_side:
        return _side_by_side(found.diff, found.left, found.right, colour)
    return _text(found.diff, asked.quiet, asked.stat, colour)


def _is_many(path: str) -> bool:
    if path == "-" or os.path.isfile(path):
        # Comparing two files needs nothing of what comparing many does.
        return False
    from tileir_tools.diff.many import is_many

    return is_many(path)


def _compare_many(asked: _Asked, policy: Policy) -> _Found:
    """The answer about many files; those that cannot be read are said on the standard error."""
    from tileir_tools.diff.many import diff_files

    with processes(asked.jobs) as executor:
        answer, unread = diff_files(
            asked.reference,
            asked.generated,
            policy=policy,
            entry=asked.entry,
            executor=executor,
        )
    for file in unread:
        click.echo(file.error, err=True)
    return _Found(answer, [], [])


def _place(modules: list[Module], name: str) -> None:
    """Operations of bytecode get the lines of its printed text, so that findings have a place."""
    bytecode = [module for module in modules if module.source is None]
    if not bytecode:
        return
    from tileir_tools.write.marked import place_in_text

    for module in bytecode:
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
    from tileir_tools.diff.policy import NAMED

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
    return policy._replace(severities=changed)


def _check_shapes(asked: _Asked) -> None:
    """Raises UsageError: ways to print the answer that exclude each other."""
    chosen = {
        "--format": asked.form != "text",
        "--why": asked.why is not None,
        "--stat": asked.stat,
        "--side-by-side": asked.side_by_side,
        "--quiet": asked.quiet,
    }
    named = [name for name, given in chosen.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)}: only one of them can shape the answer")


def _write_blocked(asked: _Asked, message: str) -> None:
    """Say in the format that was asked for that nothing was compared.

    The file of the last run, which may say that it passed, must not stay.
    """
    if asked.form == "json":
        from tileir_tools.report.diff_report import DIFF_SCHEMA
        from tileir_tools.report.plain import document

        blocked = {"verdict": "BLOCKED", "exit_code": COULD_NOT_RUN, "error": message}
        write_output(document(DIFF_SCHEMA, blocked), asked.output)
        return
    if asked.output is None and asked.form == "text":
        return
    from tileir_tools.diff import Diff

    empty = _Found(Diff((), (), unread=(message,)), [], [])
    plain = asked._replace(why=None, write_baseline=None, report=None, side_by_side=False)
    write_output(_shown(plain, empty), asked.output)


def main() -> None:
    """The console script `tileir-diff`."""
    run(command)
