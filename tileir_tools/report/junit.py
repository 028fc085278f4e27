"""The answer of a comparison as JUnit XML: one test case for each pair of entries.

Place in the flow: findings -> **report**; imports `diff` records.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ..diff import CRITICAL, Diff, EntryDiff, Finding, Place

# What XML 1.0 cannot hold, however it is written.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def diff_junit(diff: Diff, reference: str, generated: str) -> str:
    """A test suite; a pair of entries with a CRITICAL finding is a failure, others say what was found.

    An input that could not be read is an error.
    """
    failed = sum(any(_fails(f) for f in entry.findings) for entry in diff.entries)
    suite = ElementTree.Element(
        "testsuite",
        name="tileir-diff",
        tests=str(len(diff.entries) + len(diff.unread)),
        failures=str(failed),
        errors=str(len(diff.unread)),
        skipped="0",
    )
    files = _clean(f"{reference} and {generated}")
    for entry in diff.entries:
        _case(suite, entry, files)
    for error in diff.unread:
        first = _clean(error.splitlines()[0])
        name = first.partition(": error")[0]
        case = ElementTree.SubElement(suite, "testcase", classname=files, name=name)
        ElementTree.SubElement(case, "error", message=first, type="BLOCKED").text = _clean(error)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode")


def _fails(finding: Finding) -> bool:
    return finding.severity == CRITICAL and finding.ignored is None


def _case(suite: ElementTree.Element, entry: EntryDiff, files: str) -> None:
    name = _clean(entry.reference or entry.generated or "")
    case = ElementTree.SubElement(suite, "testcase", classname=files, name=name)
    failing = [f for f in entry.findings if _fails(f)]
    others = [f for f in entry.findings if not _fails(f)]
    if failing:
        message = f"{len(failing)} CRITICAL: {failing[0].message}"
        failure = ElementTree.SubElement(
            case, "failure", message=_clean(message), type=failing[0].code
        )
        failure.text = _clean("\n".join(map(_line, failing)))
    if others:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(map(_line, others)))


def _line(finding: Finding) -> str:
    severity = "ignored" if finding.ignored is not None else finding.severity
    places = [_where(p) for p in (finding.reference, finding.generated) if p is not None]
    return f"{severity} {finding.code} {finding.status}: {finding.message}  {' / '.join(places)}"


def _where(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
