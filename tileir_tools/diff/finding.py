"""Findings, verdicts and the whole answer of a comparison.

Place in the flow: facts -> **findings** -> report; imports `rules`, `analyze.consequence`, `model`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..analyze.consequence import path_to_effect
from ..model import Operation
from .rules import CRITICAL, INFO, RULES, WARN

# How something stands on the two sides.
SEMANTIC_EQUIV, DIFFERS, MISSING, EXTRA = "SEMANTIC_EQUIV", "DIFFERS", "MISSING", "EXTRA"

PASS, FAIL_FIXABLE, PASS_WITH_NOTES, BLOCKED = (
    "PASS",
    "FAIL_FIXABLE",
    "PASS_WITH_NOTES",
    "BLOCKED",
)
EXIT_CODES: dict[str, int] = {PASS: 0, FAIL_FIXABLE: 1, PASS_WITH_NOTES: 2, BLOCKED: 3}


class Place(NamedTuple):
    """Where an operation stands: file, line and column from 1, the source line, the producer's own
    position (`file`, `line`) where debug information tells it."""

    file: str
    line: int
    column: int
    text: str
    origin: tuple[str, int] | None


class Finding(NamedTuple):
    """One difference.

    `status` is SEMANTIC_EQUIV, DIFFERS, MISSING (the generated side lacks it) or EXTRA; `severity`
    CRITICAL, WARN or INFO; `owner` kernel or host; `message` one sentence. `reference` and
    `generated` are None where a side has nothing to show. `path` is the way from the operation (that of
    the generated kernel where it has one) to an effect such as a store or a branch: why it matters.
    `ignored` is the reason why the finding does not count (a policy or a baseline says so), None where
    it counts.
    """

    code: str
    severity: str
    status: str
    owner: str
    message: str
    action: str
    reference: Place | None
    generated: Place | None
    path: tuple[str, ...] = ()
    ignored: str | None = None

    def explain(self) -> str:
        """Why it matters, in one line: the way from the operation to an effect."""
        return " -> ".join(self.path) or self.message


class EntryDiff(NamedTuple):
    """What comparing one pair of entries found; a symbol is None where the entry has no partner."""

    reference: str | None
    generated: str | None
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Of this pair: PASS, PASS_WITH_NOTES or FAIL_FIXABLE."""
        return verdict_of(self.findings)


class Diff(NamedTuple):
    """The whole answer: one EntryDiff for each pair, the targets hints were resolved for, what else the
    reader should know (a policy that ignores something no more), and the errors of inputs that could not be
    read."""

    entries: tuple[EntryDiff, ...]
    arches: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all entries, the most severe of each entry first."""
        return tuple(f for entry in self.entries for f in entry.findings)

    @property
    def verdict(self) -> str:
        """PASS, PASS_WITH_NOTES or FAIL_FIXABLE; BLOCKED where an input could not be read."""
        return BLOCKED if self.unread else verdict_of(self.findings)

    @property
    def exit_code(self) -> int:
        """What `tileir-diff` exits with: 0 PASS, 1 FAIL_FIXABLE, 2 PASS_WITH_NOTES, 3 BLOCKED."""
        return EXIT_CODES[self.verdict]

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        from ..bridges.notebook import diff_html

        return diff_html(self)


def verdict_of(findings: tuple[Finding, ...]) -> str:
    """Any CRITICAL fails; any WARN, or INFO that is no SEMANTIC_EQUIV, is a note; else a pass.

    What is ignored does not count.
    """
    findings = tuple(f for f in findings if f.ignored is None)
    if any(f.severity == CRITICAL for f in findings):
        return FAIL_FIXABLE
    if any(f.severity == WARN or f.status != SEMANTIC_EQUIV for f in findings):
        return PASS_WITH_NOTES
    return PASS


def place_of(op: Operation | None) -> Place | None:
    """Where an operation stands; what the text leaves out stands in what is around it."""
    if op is None:
        return None
    around: Operation | None = op
    while around is not None and around.span is None:
        around = around.parent_op
    span = around.span if around is not None else None
    origin = op.location.file_line
    if span is None:
        return Place("", 0, 0, op.name, origin)
    return Place(span.source.name, span.line, span.column, span.source_line(), origin)


def make_finding(
    code: str,
    status: str,
    message: str,
    reference: Operation | None,
    generated: Operation | None,
    severities: dict[str, str],
) -> Finding:
    """A finding of one rule; `severities` overrides the rule's own severity by code."""
    rule = RULES[code]
    severity = severities.get(code, rule.severity)
    return Finding(
        code,
        severity,
        status,
        rule.owner,
        message,
        rule.action,
        place_of(reference),
        place_of(generated),
        _path(generated or reference),
    )


def _path(op: Operation | None) -> tuple[str, ...]:
    # An entry goes nowhere.
    return () if op is None or op.parent_op is None else path_to_effect(op)


_RANKS = (CRITICAL, WARN, INFO)


def severity_of(code: str, severities: dict[str, str]) -> int:
    """How severe a rule is, 0 for the most severe; `severities` overrides the rule's own."""
    return _RANKS.index(severities.get(code, RULES[code].severity))


def by_weight(finding: Finding) -> tuple[int, int]:
    """The order of findings: the most severe first; of those, causes before what follows from them."""
    return _RANKS.index(finding.severity), RULES[finding.code].place
