"""Does a kernel's `diff_report.md` say what it must? Takes the place of TileGym's
`validate_diff_report.sh KERNEL`.

Place in the flow: a reader of reports; imports `outcome`. The script looks for words anywhere in the file;
here each part has to be in the section that is for it, and the verdict has to be one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .outcome import Line, Outcome

_VERDICTS = ("PASS", "PASS_WITH_NOTES", "FAIL_FIXABLE", "FAIL_COMPILER_BUG", "BLOCKED")
_WORD = re.compile(r"\b(PASS_WITH_NOTES|FAIL_FIXABLE|FAIL_COMPILER_BUG|BLOCKED|PASS)\b")
_STATUS = re.compile(r"\b(MATCH|DIFFERS|MISSING|EXTRA|SEMANTIC_EQUIV)\b")
_SEVERITY = re.compile(r"\b(CRITICAL|WARN|INFO)\b")
_CATEGORY = re.compile(r"user_code|dsl_limitation|compiler_bug|semantic_equiv", re.I)
_IMPACT = re.compile(r"correctness|performance|blocking", re.I)
_HEADING = re.compile(r"^#+\s*(.*)$")

# Section -> what its heading may be called.
_SECTIONS = {
    "Structural Comparison": ("structural comparison", "op count", "step 1"),
    "Checklist Diff": ("checklist", "step 2", "item-by-item"),
    "Root Cause Analysis": ("root cause", "step 3"),
    "Impact Assessment": ("impact", "step 4"),
    "Verdict": ("verdict", "step 5"),
}

# What else a reader looks for: pattern, what is missing without it.
_ANALYSES = (
    (r"assume.*div_by|assume_div", "assume div_by alignment"),
    (r"flush_to_zero|FTZ|rounding.*approx", "flush_to_zero or rounding<approx>"),
    (r"strides=?\s*=?\s*\[", "strides=[?,1]"),
)


def validate_diff_report(kernel: str, root: str) -> Outcome:
    """Whether `ROOT/KERNEL/generated/diff_report.md` has every section, with what belongs in it.

    Args:
        kernel: name of the kernel's folder.
        root: the folder of all kernels (`CUTILE_KERNEL_OUT_ROOT`).
    """
    path = Path(root) / kernel / "generated" / "diff_report.md"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reason = f"diff_report.md not found at {path}: {error.strerror}"
        return Outcome("diff_report", str(path), (Line("FAIL", reason),))
    sections = _split(text)
    lines: list[Line] = []
    for name in _SECTIONS:
        body = sections.get(name)
        lines += [Line("FAIL", f"section '{name}' is missing")] if body is None else []
    lines += _structure(sections.get("Structural Comparison"))
    lines += _checklist(sections.get("Checklist Diff"))
    lines += _words(sections.get("Root Cause Analysis"), _CATEGORY, "root cause categories")
    lines += _words(sections.get("Impact Assessment"), _IMPACT, "impact on correctness or speed")
    lines += _verdict(sections.get("Verdict"), text)
    lines += [
        Line("WARN", f"no analysis of {what}")
        for pattern, what in _ANALYSES
        if not re.search(pattern, text, re.I)
    ]
    if not os.path.isfile(Path(root) / kernel / "reports" / "agent_logs" / "agent_c.md"):
        lines.append(Line("WARN", "agent_c.md log not found"))
    if not any(line.level == "FAIL" for line in lines):
        lines.append(Line("PASS", f"diff_report.md of {kernel} is complete"))
    return Outcome("diff_report", str(path), tuple(lines))


def _split(text: str) -> dict[str, str]:
    """Section -> its text; a heading that names none goes on with the section before it."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            title = heading[1].lower()
            # "Automated Diff" and the title of the report name no section.
            for name, words in _SECTIONS.items():
                if any(word in title for word in words) and not title.startswith("ir diff report"):
                    current = found.setdefault(name, [])
                    break
        current.append(line)
    return {name: "\n".join(body) for name, body in found.items()}


def _structure(body: str | None) -> list[Line]:
    if body is None or re.search(r"^\|.*\|.*\|.*\|", body, re.M):
        return []
    return [Line("FAIL", "'Structural Comparison' has no table of operations")]


def _checklist(body: str | None) -> list[Line]:
    if body is None:
        return []
    lines = []
    if not _STATUS.search(body):
        lines.append(Line("FAIL", "'Checklist Diff' has no status (MATCH, DIFFERS, MISSING..)"))
    if not _SEVERITY.search(body):
        lines.append(Line("WARN", "'Checklist Diff' has no severities"))
    return lines


def _words(body: str | None, pattern: re.Pattern[str], what: str) -> list[Line]:
    if body is None or pattern.search(body):
        return []
    return [Line("WARN", f"no {what}")]


def _verdict(body: str | None, text: str) -> list[Line]:
    if body is None:
        return []
    named = dict.fromkeys(_WORD.findall(body))
    if not named:
        return [Line("FAIL", f"'Verdict' names none of {', '.join(_VERDICTS)}")]
    if len(named) > 1:
        return [Line("FAIL", f"'Verdict' names several verdicts: {', '.join(named)}")]
    (verdict,) = named
    lines = []
    first = re.match(r"\s*VERDICT:\s*(\w+)", text)
    if first and first[1] != verdict:
        lines.append(Line("FAIL", f"the first line says {first[1]}, 'Verdict' says {verdict}"))
    if verdict == "FAIL_FIXABLE":
        if not re.search(r"action item|fix.*agent b|agent b.*fix|what.*fix", body, re.I):
            lines.append(Line("FAIL", "FAIL_FIXABLE without action items"))
        if not re.search(r"owner:\s*(kernel|host)\b", body):
            lines.append(Line("WARN", "FAIL_FIXABLE without 'owner: kernel' or 'owner: host'"))
    if verdict == "PASS_WITH_NOTES" and not re.search(
        r"known gap|accepted|limitation|notes\b", body.replace("PASS_WITH_NOTES", ""), re.I
    ):
        lines.append(Line("WARN", "PASS_WITH_NOTES lists no known gaps"))
    return lines
