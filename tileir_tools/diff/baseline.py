"""Findings that were there before: what a project accepts for now, so that only new ones count.

Place in the flow: facts -> **findings**; imports `finding`, `errors`. A baseline is a JSON document
(`tileir-baseline/1`) that lists findings by rule, entry and message, without positions: moving code does not
make a finding new.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from ..errors import InputError
from .finding import Diff, EntryDiff, Finding

BASELINE_SCHEMA = "tileir-baseline/1"

_POSITION = re.compile(r" \(line \d+\)")

_Key = tuple[str, str, str]


def _key(finding: Finding, entry: EntryDiff) -> _Key:
    symbol = entry.reference or entry.generated or ""
    return finding.code, symbol, _POSITION.sub("", finding.message)


def baseline_of(diff: Diff) -> dict[str, object]:
    """The content of a baseline that accepts every finding of an answer that is not ignored."""
    counts = Counter(
        _key(f, entry) for entry in diff.entries for f in entry.findings if f.ignored is None
    )
    rows = [
        {"rule": code, "entry": symbol, "message": message, "count": count}
        for (code, symbol, message), count in sorted(counts.items())
    ]
    return {"findings": rows}


def read_baseline(text: str, where: str) -> Counter[_Key]:
    """What a baseline accepts: (rule, entry, message) -> how often. Raises InputError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: error: no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != BASELINE_SCHEMA:
        raise InputError(f"{where}: error: expected a document of schema {BASELINE_SCHEMA}")
    accepted: Counter[_Key] = Counter()
    try:
        for row in document["findings"]:
            accepted[str(row["rule"]), str(row["entry"]), str(row["message"])] += int(row["count"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: error: findings: {error!r}") from None
    return accepted


def apply_baseline(diff: Diff, accepted: Counter[_Key], where: str) -> Diff:
    """The answer with the findings marked that a baseline accepts; more than it counts are new."""
    left = Counter(accepted)
    entries = []
    for entry in diff.entries:
        findings = []
        for finding in entry.findings:
            key = _key(finding, entry)
            if finding.ignored is None and left[key] > 0:
                left[key] -= 1
                finding = finding._replace(ignored=f"in the baseline {where}")
            findings.append(finding)
        entries.append(entry._replace(findings=tuple(findings)))
    return diff._replace(entries=tuple(entries))
