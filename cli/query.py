"""`tileir query SQL OUT`: questions to the tables of `tileir scan`.

Place in the flow: a thin consumer of `scan` and `report`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError

from .completing import folders, questions
from .running import examples, output_option, write_output


@click.command(
    name="query",
    epilog=examples("""
        tileir query "select function, count(*) from entries group by 1" facts
            SQL of your own.
        tileir query --named errors facts
            A question that has a name.
        tileir query --named verdicts compared --format csv -o verdicts.csv
            For a spreadsheet.
    """),
)
@click.argument("words", shell_complete=folders, metavar="[SQL] OUT", nargs=-1, required=True)
@click.option(
    "--named",
    metavar="NAME",
    shell_complete=questions,
    help="Ask a question that has a name instead of SQL.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json"]),
    default="text",
    show_default=True,
)
@output_option
@click.help_option("-h", "--help")
def command(words: tuple[str, ...], named: str | None, form: str, output: str | None) -> None:
    """Ask the tables that `tileir scan` wrote to OUT.

    In DuckDB's SQL. The tables are files, contents, entries, memory, hints, comparisons and findings
    (docs/scan.md). Nothing else can be read, and nothing written.

    \b
    Names: duplicates, errors, hints-by-arch, lost-tma, variants, verdicts.

    Exit codes: 0 answered, 3 could not (no finished scan in OUT, wrong SQL).
    """
    from tileir_tools.report.scan_report import answer_csv, answer_json, answer_text
    from tileir_tools.scan import query
    from tileir_tools.scan.querying import query_named

    if len(words) != (2 if named is None else 1):
        raise UsageError("usage: tileir query SQL OUT, or tileir query --named NAME OUT")
    answer = query(words[-1], words[0]) if named is None else query_named(words[-1], named)
    write = {"text": answer_text, "csv": answer_csv, "json": answer_json}[form]
    write_output(write(answer), output)
