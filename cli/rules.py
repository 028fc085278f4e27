"""`tileir rules [CODE]`: the rules of comparing.

Place in the flow: a thin consumer of `diff.rules`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError

from .completing import rule_codes
from .running import examples, write_output


@click.command(
    name="rules",
    epilog=examples("""
        tileir rules
            All rules: code, severity, whose it is, title.
        tileir rules MEM007
            What one means, and what to do.
    """),
)
@click.argument("code", shell_complete=rule_codes, required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(code: str | None, form: str) -> None:
    """Explain rule CODE of tileir-diff, or list all rules.

    Exit codes: 0 printed, 3 no such rule.
    """
    from tileir_tools.diff.rules import RULES
    from tileir_tools.report.diff_report import rule_lines
    from tileir_tools.report.plain import document, plain

    if code is not None and code.upper() not in RULES:
        raise UsageError(f"no rule '{code}'; `tileir rules` lists them")
    chosen = [RULES[code.upper()]] if code else list(RULES.values())
    if form == "json":
        write_output(document("tileir-rules/1", {"rules": [plain(r) for r in chosen]}), None)
    elif code:
        write_output("\n".join(rule_lines(chosen[0])), None)
    else:
        rows = [f"{r.code}  {r.severity:8}  {r.owner:6}  {r.title}" for r in chosen]
        write_output("\n".join(rows), None)
