"""Why a generated kernel is slower, as text or JSON.

Place in the flow: causes -> **report**; imports `diff.causes` records and `plain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import Finding
from ..diff.causes import Cause, Explanation
from .plain import document, plain

EXPLAIN_SCHEMA = "tileir-explain/1"


def explain_json(found: Sequence[Explanation], arch: str) -> str:
    """A document of schema `tileir-explain/1`."""
    pairs = [
        {
            "reference": one.reference,
            "generated": one.generated,
            "verdict": one.diff.verdict,
            "causes": plain(one.causes),
            "changes": list(one.changes),
        }
        for one in found
    ]
    return document(EXPLAIN_SCHEMA, {"arch": arch, "pairs": pairs})


def explain_text(found: Sequence[Explanation], arch: str) -> str:
    """For a terminal: the causes, the one that costs most first, each with what may bring it about."""
    lines: list[str] = []
    for one in found:
        lines.append(f"@{one.reference} and @{one.generated}, compiled for {arch}")
        if not one.causes:
            lines.append("  nothing in the machine code says that the generated kernel is slower")
        for number, cause in enumerate(one.causes, 1):
            lines += _cause_lines(number, cause)
        if one.changes:
            lines += ["", "  what changed in the machine code:"]
            lines += [f"    {change}" for change in one.changes]
        lines.append(f"  comparison: {one.diff.verdict}")
    return "\n".join(lines)


def _cause_lines(number: int, cause: Cause) -> list[str]:
    lines = ["", f"  {number}. {cause.name}: {cause.sentence}"]
    lines += [f"     {number_line}" for number_line in cause.evidence]
    lines += [f"     <- {_finding(finding)}" for finding in cause.findings]
    return lines


def _finding(finding: Finding) -> str:
    place = finding.generated or finding.reference
    where = f" (line {place.line})" if place is not None and place.line else ""
    return f"{finding.code} {finding.message}{where}"
