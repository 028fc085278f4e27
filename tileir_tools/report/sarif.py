"""The answer of a comparison as SARIF 2.1.0, which GitHub code scanning and editors show.

Place in the flow: findings -> **report**; imports `diff` records.
"""

from __future__ import annotations

import json
import urllib.parse

from .. import __version__
from ..diff import CRITICAL, INFO, RULES, WARN, Diff, EntryDiff, Finding, Place, Rule

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {CRITICAL: "error", WARN: "warning", INFO: "note"}


def diff_sarif(diff: Diff) -> str:
    """A log with one run; a result for each finding, what is ignored suppressed with the reason."""
    codes = list(dict.fromkeys(f.code for f in diff.findings))
    driver = {
        "name": "tileir-diff",
        "version": __version__,
        "rules": [_rule(RULES[code]) for code in codes],
    }
    results = [
        _result(finding, entry, codes.index(finding.code))
        for entry in diff.entries
        for finding in entry.findings
    ]
    notes = [{"level": "note", "message": {"text": note}} for note in diff.notes]
    notes += [{"level": "error", "message": {"text": error}} for error in diff.unread]
    invocation = {"executionSuccessful": not diff.unread, "exitCode": diff.exit_code}
    run = {
        "tool": {"driver": driver},
        "invocations": [{**invocation, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"verdict": diff.verdict, "arches": list(diff.arches)},
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.title.split()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": rule.action},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"owner": rule.owner},
    }


def _result(finding: Finding, entry: EntryDiff, index: int) -> dict[str, object]:
    # The generated kernel is the one to change; where it has nothing to show, the reference points to it.
    shown = finding.generated or finding.reference
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.action}"},
        "locations": [_location(shown)] if shown is not None else [],
        "properties": {
            "status": finding.status,
            "owner": finding.owner,
            "referenceEntry": entry.reference,
            "generatedEntry": entry.generated,
        },
    }
    if finding.reference is not None and finding.generated is not None:
        related = {**_location(finding.reference), "message": {"text": "the reference"}, "id": 1}
        result["relatedLocations"] = [related]
    if finding.ignored is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.ignored}]
    return result


def _location(place: Place) -> dict[str, object]:
    uri = urllib.parse.quote(place.file.replace("\\", "/") or "stdin")
    physical: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if place.line:
        physical["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "snippet": {"text": place.text},
        }
    return {"physicalLocation": physical}
