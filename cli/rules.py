"""`tileir rules [CODE]`: the rules of comparing.

Place in the flow: a thin consumer of `diff.rules`.
"""

from __future__ import annotations

import click

from tileir_tools.errors import UsageError


@click.command(name="rules")
@click.argument("code", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.help_option("-h", "--help")
def command(code: str | None, form: str) -> None:
    """Explain rule CODE of tileir-diff, or list all rules."""
    from tileir_tools.diff.rules import RULES
    from tileir_tools.report.plain import document, plain

    if code is not None and code.upper() not in RULES:
        raise UsageError(f"error: no rule '{code}'; `tileir rules` lists them")
    chosen = [RULES[code.upper()]] if code else list(RULES.values())
    if form == "json":
        click.echo(document("tileir-rules/1", {"rules": [plain(rule) for rule in chosen]}))
    elif code:
        rule = chosen[0]
        click.echo(f"{rule.code} ({rule.severity}, {rule.owner}): {rule.title}")
        click.echo(f"\n{rule.meaning}\n\nWhat to do: {rule.action}")
    else:
        for rule in chosen:
            click.echo(f"{rule.code}  {rule.severity:8}  {rule.owner:6}  {rule.title}")
