"""What a shell completes in the place of arguments: files, targets, rule codes and other names.

Place in the flow: shared by the commands; imports `dialect`, and what a completion needs when it is asked
for. The functions are what click calls with the word so far (`shell_complete=`); options, choices and
subcommands click completes by itself.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from tileir_tools.dialect import ARCHES, VERSIONS

_Items = list[CompletionItem]


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """The shell's own completion of files."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """The shell's own completion of folders."""
    return [CompletionItem(incomplete, type="dir")]


def arches(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """Targets that hints can name, such as sm_100."""
    return [CompletionItem(arch) for arch in ARCHES if arch.startswith(incomplete)]


def versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """Versions of bytecode."""
    return [CompletionItem(version) for version in VERSIONS if version.startswith(incomplete)]


def rule_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """Codes of rules, with their titles."""
    from tileir_tools.diff.rules import RULES

    wanted = incomplete.upper()
    return [
        CompletionItem(r.code, help=r.title) for r in RULES.values() if r.code.startswith(wanted)
    ]


def severities(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """CODE=LEVEL; whole, as bash takes `=` for the end of a word."""
    from tileir_tools.diff.rules import CRITICAL, INFO, RULES, WARN

    values = (f"{code}={level}" for code in RULES for level in (CRITICAL, WARN, INFO))
    return [CompletionItem(value) for value in values if value.startswith(incomplete.upper())]


def policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """Policies with a name, and files."""
    from tileir_tools.diff.policy import NAMED

    names = [CompletionItem(name) for name in NAMED if name.startswith(incomplete)]
    return names or files(ctx, param, incomplete)


def questions(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Items:
    """Questions to a scan that have a name."""
    from tileir_tools.scan.named import NAMED

    return [CompletionItem(name) for name in NAMED if name.startswith(incomplete)]
