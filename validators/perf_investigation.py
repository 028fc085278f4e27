"""Do a kernel's performance investigations say what they must? Takes the place of TileGym's
`validate_agent_f.sh KERNEL`.

Place in the flow: a reader of reports; imports `outcome`.

The script looks at first lines, and whether the agent's log is there. What the contract of agent F asks for
beyond that (sections, evidence that exists, one verdict) is a warning, or, where asked for, an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .outcome import Line, Outcome, kernel_folder, printable

VERDICTS = ("FIXABLE", "ALIGNED", "BLOCKED")

_ALL_SHAPES = "perf_investigation_all_shapes.md"
# Bytes of a report that are looked at; characters of a line that are shown.
_MOST = 16 << 20
_SHOWN = 200

# Section -> what its heading holds.
_SECTIONS = {
    "Ratio": "ratio",
    "Launch-count evidence": "launch",
    "Root Cause": "root cause",
    "Action Items": "action item",
    "Confidence": "confidence",
}
# Of a report on one shape.
_TABLES = {"tuning": re.compile(r"tuning|autotune"), "IR": re.compile(r"\bir\b")}
_TEMPLATE = re.compile(
    r"\bX\.XXx?\b|\{kernel_name\}|\{shape\}|\[Concrete cause\.?\]|\|\s*\.\.\.\s*\|"
)
_TEMPLATE_LINE = re.compile(r"^.*template propagation needed:\W*(?:yes|no)\b.*$", re.I | re.M)
_UNIFORM = re.compile(r"shape pattern:\W*uniform\b")
_SUFFIXES = (
    ".md",
    ".txt",
    ".mlir",
    ".json",
    ".jsonl",
    ".rs",
    ".py",
    ".log",
    ".xml",
    ".csv",
    ".svg",
)
_BETWEEN = re.compile(r"[\s`|()\[\]<>,;\"'*]+")
_LINE_NUMBER = re.compile(r"(?::\d+)+$")
_PATHS = 1000


class _Report(NamedTuple):
    """A `perf_investigation_*.md`: its verdict is None where the first line is none."""

    name: str
    text: str
    verdict: str | None

    @property
    def sections(self) -> dict[str, str]:
        """Section of the contract -> its text; of two that are called the same, the first."""
        found: dict[str, str] = {}
        for heading, body in _split(self.text):
            for name, words in _SECTIONS.items():
                if words in heading:
                    found.setdefault(name, body)
        return found


def validate_perf_investigation(kernel: str, root: str, strict: bool = False) -> Outcome:
    """Whether `ROOT/KERNEL/reports` holds what agent F has to leave.

    Args:
        kernel: name of the kernel's folder.
        root: the folder of all kernels (`CUTILE_KERNEL_OUT_ROOT`).
        strict: make what only the contract of agent F refuses a failure instead of a warning.

    Raises:
        UsageError: `kernel` is no plain name.
    """
    folder = Path(kernel_folder(root, kernel))
    reports = [_read(path) for path in _found(folder / "reports")]
    log = folder / "reports" / "agent_logs" / "agent_f.md"
    is_logged = log.is_file() and log.stat().st_size > 0
    lines = [_verdict(report) for report in reports]
    if not reports:
        lines.append(Line("FAIL", "no perf_investigation_*.md files found"))
    lines.append(
        Line("OK", "agent_f.md log") if is_logged else Line("FAIL", "agent_f.md log missing")
    )
    level = "FAIL" if strict else "WARN"
    for report in reports:
        lines += [Line(level, f"{report.name}: {why}") for why in _breaches(report, folder)]
    if reports:
        lines += [Line(level, why) for why in _contradictions(reports, folder / "reports")]
    failures = sum(line.level == "FAIL" for line in lines)
    return Outcome(
        "perf_investigation",
        str(folder / "reports"),
        tuple(line._replace(text=printable(line.text)) for line in lines),
        counted=False,
        closing="---\n" + (f"FAIL: {failures} issue(s)" if failures else "PASS"),
    )


def _found(reports: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(reports))
    except OSError:
        return []
    matching = (n for n in names if n.startswith("perf_investigation_") and n.endswith(".md"))
    return [reports / name for name in matching if (reports / name).is_file()]


def _text(path: Path) -> str:
    """What a file holds; "" where it cannot be read, as the script takes it."""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""


def _read(path: Path) -> _Report:
    text = _text(path)
    word = text.partition("\n")[0].removeprefix("VERDICT: ")
    is_verdict = text.startswith("VERDICT: ") and word in VERDICTS
    return _Report(path.name, text, word if is_verdict else None)


def _verdict(report: _Report) -> Line:
    first = report.text.partition("\n")[0]
    if report.verdict is not None:
        return Line("OK", f"{report.name}: {first}")
    shown = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}.."
    expected = f"VERDICT: {'|'.join(VERDICTS)}"
    return Line("FAIL", f"{report.name}: first line must be {expected}, got: {shown}")


# -- what the contract asks for -----------------------------------------------------------------------


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Headings below the title, in small letters, with the text up to the next; code holds none."""
    heading, fence = "", ""
    body: list[str] = []
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        if not fence and line.startswith("## "):
            yield heading, "\n".join(body).strip()
            heading, body = line[3:].lower().replace("-", " "), []
        else:
            body.append(line)
    yield heading, "\n".join(body).strip()


def _breaches(report: _Report, folder: Path) -> Iterator[str]:
    sections = report.sections
    for name in _SECTIONS:
        if name not in sections:
            yield f"section '{name}' is missing"
        elif not sections[name]:
            yield f"section '{name}' is empty"
    yield from _content(report, sections)
    if left := _TEMPLATE.search(report.text):
        yield f"text of the template is left: {left[0]}"
    if report.name != _ALL_SHAPES:
        headings = [heading for heading, _ in _split(report.text)]
        for what, pattern in _TABLES.items():
            if not any(pattern.search(heading) for heading in headings):
                yield f"a report on one shape without a section for its {what} table"
    for number, line in enumerate(report.text.split("\n")[1:], 2):
        if line.startswith("VERDICT:") and line != f"VERDICT: {report.verdict}":
            yield f"line {number} says {line[:_SHOWN]}"
    named = _named_paths(report.text)
    if not any(_exists(name, folder) for name in named):
        tail = f"; it names {', '.join(named[:5])}" if named else ""
        yield f"names no evidence that exists below {folder.name}{tail}"


def _content(report: _Report, sections: Mapping[str, str]) -> Iterator[str]:
    if (ratio := sections.get("Ratio")) and "shape pattern" not in ratio.lower():
        yield "'Ratio' does not say the shape pattern"
    if (items := sections.get("Action Items")) and report.verdict == "FIXABLE":
        if not _TEMPLATE_LINE.search(items):
            yield "'Action Items' does not say whether template propagation is needed"
        if not re.search(r"^[ \t]*(?:[-*]|\d+\.) ", _TEMPLATE_LINE.sub("", items), re.M):
            yield "FIXABLE without a list of action items"
    if (said := sections.get("Confidence")) and not re.search(
        r"\b(?:high|medium|low)\b", said, re.I
    ):
        yield "'Confidence' is not high, medium or low"


def _named_paths(text: str) -> list[str]:
    """What a text calls files, without the investigation's own reports, each once."""
    found: dict[str, None] = {}
    for word in _BETWEEN.split(text):
        name = _LINE_NUMBER.sub("", word.rstrip(".:")) if len(word) <= 4096 else ""
        own = os.path.basename(name).startswith(("perf_investigation_", "agent_f"))
        if name.endswith(_SUFFIXES) and not own and name.isprintable():
            found[name] = None
    return list(found)[:_PATHS]


def _exists(name: str, folder: Path) -> bool:
    """Whether a file is there, below the kernel's folder, however its path is written."""
    for prefix in ("$CUTILE_KERNEL_OUT_ROOT/", "${CUTILE_KERNEL_OUT_ROOT}/"):
        name = name.removeprefix(prefix)
    real = os.path.realpath(folder)
    paths = (os.path.realpath(folder / n) for n in (name, name.removeprefix(f"{folder.name}/")))
    return any(path.startswith(real + os.sep) and os.path.isfile(path) for path in paths)


# -- several reports ----------------------------------------------------------------------------------


def _contradictions(reports: Sequence[_Report], folder: Path) -> Iterator[str]:
    by_verdict: dict[str, list[str]] = {}
    for report in reports:
        if report.verdict is not None:
            by_verdict.setdefault(report.verdict, []).append(report.name)
    final = _final_verdict(reports)
    primary = any(r.name == _ALL_SHAPES and r.verdict is not None for r in reports)
    if len(by_verdict) > 1 and (primary or "BLOCKED" in by_verdict):
        said = "; ".join(f"{v}: {', '.join(names[:3])}" for v, names in sorted(by_verdict.items()))
        yield f"verdicts contradict each other: {said}"
    causes = [cause for r in reports if (cause := r.sections.get("Root Cause"))]
    uniform = any(_UNIFORM.search(r.sections.get("Ratio", "").lower()) for r in reports)
    if uniform and len(causes) > 1 and len(set(causes)) == 1:
        yield f"one root cause in {len(causes)} reports on a uniform gap: {_ALL_SHAPES} is for that"
    if not (folder / "agent_f.md").is_file():
        yield "agent_f.md is missing"
        return
    said_there = re.search(
        r"^\W{0,4}verdict:\W{0,4}(\w+)", _text(folder / "agent_f.md"), re.I | re.M
    )
    if said_there and final and said_there[1].upper() != final:
        yield f"agent_f.md says {said_there[1]}, the final verdict is {final}"


def _final_verdict(reports: Sequence[_Report]) -> str | None:
    """That of the report on all shapes; else FIXABLE where one is, else that of the first."""
    found = {r.name: r.verdict for r in reports if r.verdict is not None}
    if _ALL_SHAPES in found:
        return found[_ALL_SHAPES]
    return "FIXABLE" if "FIXABLE" in found.values() else next(iter(found.values()), None)
