"""The answer of a comparison as GitHub Actions annotations: one workflow command a finding.

Place in the flow: findings -> **report**; imports `diff` records.
"""

from __future__ import annotations

from ..diff import CRITICAL, INFO, WARN, Diff, Finding

_COMMANDS = {CRITICAL: "error", WARN: "warning", INFO: "notice"}


def diff_github(diff: Diff) -> str:
    """Workflow commands, then the verdict; what is ignored is left out."""
    lines = [_command(f) for f in diff.findings if f.ignored is None]
    lines += [f"::notice::{_data(note)}" for note in diff.notes]
    lines += [f"::error title=BLOCKED::{_data(error)}" for error in diff.unread]
    return "\n".join([*lines, f"tileir-diff: {diff.verdict}"])


def _command(finding: Finding) -> str:
    place = finding.generated or finding.reference
    properties = {"title": f"{finding.code} {finding.status}"}
    if place is not None and place.line:
        properties = {
            "file": place.file,
            "line": str(place.line),
            "col": str(place.column),
            **properties,
        }
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = f"{finding.message}. {finding.action}"
    return f"::{_COMMANDS[finding.severity]} {shown}::{_data(message)}"


def _data(text: str) -> str:
    """What a workflow command may hold behind its second `::`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
