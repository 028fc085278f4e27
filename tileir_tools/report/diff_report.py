"""The answer of a comparison as text, JSON or Markdown.

Place in the flow: findings -> **report**; imports `diff` records and `plain`.
"""

from __future__ import annotations

from collections import Counter

from ..diff import CRITICAL, INFO, RULES, WARN, Diff, EntryDiff, Finding, Place, Rule
from ..diff.constructs import CONSTRUCTS
from .plain import document, plain

DIFF_SCHEMA = "tileir-diff/1"
_WIDTH = 160


def diff_json(diff: Diff, reference: str, generated: str) -> str:
    """A document of schema `tileir-diff/1`."""
    counts = _by_severity(diff)
    entries = [
        {
            "reference": e.reference,
            "generated": e.generated,
            "verdict": e.verdict,
            "findings": plain(e.findings),
        }
        for e in diff.entries
    ]
    return document(
        DIFF_SCHEMA,
        {
            "verdict": diff.verdict,
            "exit_code": diff.exit_code,
            "reference": reference,
            "generated": generated,
            "arches": list(diff.arches),
            "counts": {s: counts[s] for s in (CRITICAL, WARN, INFO)},
            "ignored": sum(f.ignored is not None for f in diff.findings),
            "notes": list(diff.notes),
            "errors": list(diff.unread),
            "entries": entries,
        },
    )


def diff_text(diff: Diff, *, quiet: bool = False, colour: bool = False) -> str:
    """For a terminal: each finding with its code, one sentence and both source lines."""
    lines: list[str] = []
    for entry in diff.entries:
        if not quiet:
            lines += _entry_lines(entry, colour)
    lines += [f"note: {note}" for note in diff.notes]
    return "\n".join([*lines, verdict_line(diff, colour)])


def diff_stat(diff: Diff, colour: bool = False) -> str:
    """How many findings of each rule, the most severe first, and the verdict."""
    counts = Counter((f.code, f.severity) for f in diff.findings if f.ignored is None)
    rows = sorted(counts.items(), key=lambda row: (_RANKS.index(row[0][1]), row[0][0]))
    lines = [
        f"{count:>5}  {_painted(f'{severity:8}', severity, colour)}  {code}  {RULES[code].title}"
        for (code, severity), count in rows
    ]
    return "\n".join([*lines, verdict_line(diff, colour)])


_RANKS = (CRITICAL, WARN, INFO)
_COLOURS = {
    CRITICAL: 31,
    WARN: 33,
    INFO: 36,
    "FAIL_FIXABLE": 31,
    "PASS_WITH_NOTES": 33,
    "PASS": 32,
    "BLOCKED": 31,
}


def _painted(text: str, kind: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if colour else text


def verdict_line(diff: Diff, colour: bool) -> str:
    return f"{_painted(diff.verdict, diff.verdict, colour)}: {_counts(diff)}{_targets(diff)}"


def why_text(diff: Diff, code: str) -> str:
    """Everything about the findings of one rule: what it means, where the values go, what to do."""
    lines = rule_lines(RULES[code])
    if not any(finding.code == code for finding in diff.findings):
        lines += ["", "Here it finds nothing."]
    for entry in diff.entries:
        for finding in entry.findings:
            if finding.code != code:
                continue
            lines += ["", f"{finding.severity} {finding.status}: {finding.message}"]
            for side, place in (("reference", finding.reference), ("generated", finding.generated)):
                if place is not None:
                    lines += [f"  {side}  {_where(place)}", f"    {_cut(place.text)}"]
            lines += [f"  why it matters, in {entry_name(entry)}:"] if finding.path else []
            lines += [f"    {'-> ' * (k > 0)}{step}" for k, step in enumerate(finding.path)]
    return "\n".join(lines)


def rule_lines(rule: Rule) -> list[str]:
    """A rule with how its subject is written in source."""
    lines = [f"{rule.code} ({rule.severity}, {rule.owner}): {rule.title}", "", rule.meaning, ""]
    lines.append(f"What to do: {rule.action}")
    construct = CONSTRUCTS.get(rule.code)
    if construct is not None:
        lines += [f"In cuTile: {construct.cutile}", f"In cutile-rs: {construct.cutile_rs}"]
    return lines


def _entry_lines(entry: EntryDiff, colour: bool) -> list[str]:
    lines = [f"{entry_name(entry)}: {counted(entry)}"]
    if not entry.findings:
        return lines
    for finding in entry.findings:
        lines += ["", finding_head(finding, colour)]
        if finding.ignored is not None:
            continue
        for side, place in (("reference", finding.reference), ("generated", finding.generated)):
            if place is not None:
                lines.append(f"  {side}  {_where(place)}")
                lines.append(f"    {_cut(place.text)}")
    return [*lines, ""]


def counted(entry: EntryDiff) -> str:
    """How many findings an entry has, in words."""
    count = len(entry.findings)
    return f"{count} finding{'s' * (count != 1)}" if count else "no difference"


def finding_head(finding: Finding, colour: bool) -> str:
    """The line that says what a finding is."""
    if finding.ignored is not None:
        return f"ignored {finding.code}: {finding.message}  [{finding.ignored}]"
    severity = _painted(finding.severity, finding.severity, colour)
    return f"{severity} {finding.code} {finding.status}: {finding.message}"


def entry_name(entry: EntryDiff) -> str:
    """The symbols of a pair of entries, cut where they are long."""
    if entry.reference is None or entry.generated is None:
        return f"@{_cut(entry.reference or entry.generated or '', 100)}"
    if entry.reference == entry.generated:
        return f"@{_cut(entry.reference, 100)}"
    return f"@{_cut(entry.reference, 70)} and @{_cut(entry.generated, 70)}"


def _where(place: Place) -> str:
    text = f"{place.file}:{place.line}:{place.column}"
    return f"{text}  (from {place.origin[0]}:{place.origin[1]})" if place.origin else text


def _cut(text: str, width: int = _WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _by_severity(diff: Diff) -> Counter[str]:
    """How many findings of each severity count."""
    return Counter(f.severity for f in diff.findings if f.ignored is None)


def _counts(diff: Diff) -> str:
    counts = _by_severity(diff)
    parts = [f"{counts[s]} {s}" for s in (CRITICAL, WARN, INFO) if counts[s]]
    ignored = sum(f.ignored is not None for f in diff.findings)
    if ignored:
        parts.append(f"{ignored} ignored")
    pairs = len(diff.entries)
    checked = f"{pairs} entr{'y' if pairs == 1 else 'ies'} compared"
    if diff.unread:
        count = len(diff.unread)
        checked += f", {count} input{'' if count == 1 else 's'} not read"
    if not pairs:
        return f"nothing was compared; {checked}"
    return f"{', '.join(parts) or 'no differences'}; {checked}"


def _targets(diff: Diff) -> str:
    return f"; hints for {', '.join(diff.arches)}" if diff.arches else ""


def diff_markdown(diff: Diff, reference: str, generated: str) -> str:
    """For a report or a pull request."""
    lines = [
        f"# {diff.verdict}",
        "",
        f"Reference `{reference}`, generated `{generated}`: {_counts(diff)}{_targets(diff)}.",
    ]
    lines += [f"\nNote: {note}." for note in diff.notes]
    lines += [f"\nNot read: `{error.splitlines()[0]}`" for error in diff.unread]
    for entry in diff.entries:
        lines += ["", f"## `{entry_name(entry)}`: {entry.verdict}", ""]
        if not entry.findings:
            lines.append("No difference.")
            continue
        lines += [
            "| severity | rule | status | difference | reference | generated | action |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_markdown_row(f) for f in entry.findings]
    return "\n".join(lines)


def _markdown_row(finding: Finding) -> str:
    cells = [
        finding.severity if finding.ignored is None else f"ignored: {finding.ignored}",
        finding.code,
        finding.status,
        finding.message,
        _markdown_place(finding.reference),
        _markdown_place(finding.generated),
        f"{finding.owner}: {finding.action}",
    ]
    return f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |"


def _markdown_place(place: Place | None) -> str:
    if place is None:
        return ""
    return f"line {place.line}: `{_cut(place.text, 80)}`"
