"""Logs of `pytest -v` runs: outcomes of tests, printed records, CUPTI event blocks.

Place in the flow: bytes -> **records**; imports `results_block`, `records`. A log is read line by line;
what stands between the id of a test and the next one belongs to that test. Logs that were cut off, hold the
output of other programs, colours, or lines of two streams mixed are ordinary.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .node_ids import split_node_id
from .records import CaseOutcome, Config, KernelTime, Measurement, PerformanceLog
from .results_block import RESULTS_HEADER, kernel_of, read_results

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WORDS = {
    "PASSED": "passed",
    "FAILED": "failed",
    "SKIPPED": "skipped",
    "ERROR": "error",
    "XFAIL": "skipped",
    "XPASS": "passed",
}
_OUTCOME = "(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)"
_PERCENT = r"(?:\s+\[\s*\d+%\])?"
_NODE = r"([^\s:]+\.py::[^\s\[]+(?:\[.*?\](?=\s|$))?)"
# `id ..` as -v prints it, and `[gw0] [ 10%] PASSED id` of pytest-xdist.
_STARTS = re.compile(rf"^{_NODE}(?:\s+(.*))?$")
_DISTRIBUTED = re.compile(rf"^\[gw\d+\]{_PERCENT}\s+{_OUTCOME}\s+{_NODE}\s*$")
# An outcome stands alone on its line, behind its test's id, or glued to output without a newline.
_ALONE = re.compile(rf"^\s*{_OUTCOME}(?:\s+\(.*\))?{_PERCENT}\s*$")
_GLUED = re.compile(rf"(?<=[a-z0-9.)\]}}>%]){_OUTCOME}{_PERCENT}\s*$")
_SUMMARY = re.compile(rf"^(FAILED|ERROR)\s+{_NODE}")
_RULE = re.compile(r"^={3,} (.*\S) ={3,}$")
_TOTALS = re.compile(r".*\bin [0-9.]+s\b")
# The last line of a quiet run.
_QUIET = re.compile(r"^\d+ (?:passed|failed|skipped|errors?)\b.* in [0-9.]+s\b")
_COUNTS = re.compile(r"\b(\d{1,6}) (passed|failed|skipped|errors?)\b")
_CUPTI = re.compile(r"=== CUPTI events \(total=(\d{1,15}(?:\.\d{1,9})?) us\) ===")
_CUPTI_END = "=== end ==="
_MODE = re.compile(r"\bmode='(\w+)'")
_GRAPHS = re.compile(r"\bcudagraph=(True|False).*?\bcupti=(True|False)")
# How much of the head of a record may name its test.
_HEAD = 4096
# Sections of a run in which ids of tests do not start tests.
_AFTERWARDS = ("warnings summary", "short test summary", "failures", "errors", "passes")


class _Block(NamedTuple):
    """One `CUPTI events` block."""

    total_us: float
    kernels: tuple[KernelTime, ...]
    line: int


class _Test:
    """A test of the log and what was printed while it ran; without an id, what stands outside of any."""

    __slots__ = ("blocks", "id", "line", "outcome", "records")

    def __init__(self, id: str, line: int) -> None:
        self.id = id
        self.line = line
        self.outcome = "none"
        self.blocks: list[_Block] = []
        self.records: list[Measurement] = []


def read_pytest_log(text: str, path: str) -> PerformanceLog:
    """The records and outcomes in a log. Never raises: a log without any has none."""
    return _Reader(text, path).read()


class _Reader:
    """One pass over the lines of a log."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.lines = [_COLOUR.sub("", line) for line in text.splitlines()]
        self.tests: list[_Test] = []
        # The latest test of each id.
        self.named: dict[str, _Test] = {}
        self.current = _Test("", 0)
        self.outside = self.current
        self.running = True
        self.counts: dict[str, int] = {}
        self.summary: dict[str, str] = {}
        self.notes: list[str] = []
        self.directions = ("forward", "backward")
        self.method = "unknown"
        self.blocks = 0

    def read(self) -> PerformanceLog:
        at = 0
        while at < len(self.lines):
            at = self._line(at)
        measurements: list[Measurement] = []
        for test in [self.outside, *self.tests]:
            outcome = test.outcome if test.outcome != "none" else "passed"
            measurements += [m._replace(outcome=outcome) for m in self._measurements(test)]
        tests = [CaseOutcome(t.id, t.outcome, t.line) for t in self.tests]
        tests += self._only_summarised()
        for test in self.tests:
            if test.outcome == "none":
                self._note(test.line, f"no outcome of {test.id}: the log was cut off")
        return PerformanceLog(
            self.path,
            "pytest log",
            tuple(measurements),
            tuple(tests),
            tuple(self.notes),
            self.blocks,
        )

    def _note(self, line: int, message: str) -> None:
        self.notes.append(f"{self.path}:{line}: {message}")

    def _line(self, at: int) -> int:
        """Read what begins on a line; the index of the line behind it."""
        line = self.lines[at]
        if self.running:
            self._settings(line)
            if self._outcome(line, at + 1):
                return at + 1
        block = _CUPTI.search(line)
        if block:
            return self._cupti(float(block[1]), at)
        if RESULTS_HEADER in line:
            return self._results(at)
        rule = _RULE.match(line)
        if rule:
            self._section(rule[1])
        elif _QUIET.match(line):
            self._section(line)
        self._summary(line)
        return at + 1

    def _section(self, title: str) -> None:
        title = title.lower()
        self.running = self.running and not title.startswith(_AFTERWARDS)
        for count, what in _COUNTS.findall(title) if _TOTALS.match(title) else ():
            self.counts[what.rstrip("s") if what.startswith("error") else what] = int(count)

    def _settings(self, line: str) -> None:
        """What TileGym prints of its own settings before the first test."""
        if line.startswith(("collecting", "Namespace(")):
            mode, graphs = _MODE.search(line), _GRAPHS.search(line)
            if mode and mode[1] in self.directions:
                self.directions = (mode[1], "")
            if graphs:
                names = {("True", "False"): "cuda_graph", ("False", "False"): "cuda_event"}
                self.method = names.get((graphs[1], graphs[2]), "cupti")

    # -- tests --------------------------------------------------------------------------------------

    def _outcome(self, line: str, number: int) -> bool:
        """Whether the line says how a test ended; opens a test where one starts."""
        distributed = _DISTRIBUTED.match(line)
        if distributed:
            self._start(distributed[2], number)
            self.current.outcome = _WORDS[distributed[1]]
            return True
        start = _STARTS.match(line)
        if start:
            self._start(start[1], number)
            line = start[2] or ""
        is_open = self.current is not self.outside and self.current.outcome == "none"
        found = _ALONE.match(line) or (_GLUED.search(line) if is_open else None)
        if found is None:
            return False
        if not is_open:
            # Sanitized logs keep outcomes without the ids.
            if found[1] not in ("PASSED", "FAILED", "SKIPPED"):
                return False
            self._start("", number)
        self.current.outcome = _WORDS[found[1]]
        self.current.line = number
        return found.re is _ALONE

    def _start(self, id: str, line: int) -> None:
        """Go on with the test of that id, or begin it; an id that has an outcome begins anew."""
        earlier = self.named.get(id)
        if earlier is not None and earlier.outcome == "none":
            self.current = earlier
            return
        self.current = _Test(id, line)
        self.tests.append(self.current)
        if id:
            self.named[id] = self.current

    def _summary(self, line: str) -> None:
        found = _SUMMARY.match(line)
        if found:
            self.summary[found[2]] = _WORDS[found[1]]

    def _only_summarised(self) -> list[CaseOutcome]:
        """Outcomes that only the end of the log tells: those of a quiet run, errors while collecting."""
        known = {t.id: t.outcome for t in self.tests}
        found = [
            CaseOutcome(id, outcome)
            for id, outcome in self.summary.items()
            if known.get(id) != outcome
        ]
        for outcome in ("passed", "failed", "error", "skipped"):
            seen = sum(t.outcome == outcome for t in self.tests)
            seen += sum(t.outcome == outcome for t in found)
            # Skipped tests that a marker skips are counted without being shown.
            if not self.tests or outcome in ("failed", "error"):
                found += [CaseOutcome("", outcome)] * (self.counts.get(outcome, 0) - seen)
        return found

    # -- records ------------------------------------------------------------------------------------

    def _cupti(self, total_us: float, at: int) -> int:
        kernels: list[KernelTime] = []
        first, at = at, at + 1
        ended = False
        while at < len(self.lines) and not ended:
            line = self.lines[at]
            kernel = kernel_of(line)
            if kernel is not None:
                kernels.append(kernel)
            elif line.strip() == _CUPTI_END:
                ended = True
            elif self._begins_something(line):
                break
            # Anything else is a line of the other stream.
            at += 1
        if not ended:
            said = "CUPTI events without '=== end ===': the block was cut off"
            # Each number is printed to 0.1 us.
            missing = total_us - sum(kernel.total_us for kernel in kernels)
            if abs(missing) > 0.05 * (len(kernels) + 1) + 1e-6:
                said += f"; {missing:.1f} us are missing, so its launches are not counted"
                kernels.clear()
            self._note(first + 1, said)
        self.current.blocks.append(_Block(total_us, tuple(kernels), first + 1))
        return at

    def _results(self, at: int) -> int:
        """A printed record: everything up to whatever begins next."""
        first, at = at, at + 1
        block = [self.lines[first]]
        while at < len(self.lines) and not self._begins_something(self.lines[at]):
            glued = _GLUED.search(self.lines[at])
            block.append(self.lines[at][: glued.start() if glued else None])
            if glued:
                # The line is read once more, for the outcome.
                break
            at += 1
        named = re.search(_NODE, block[0].partition(RESULTS_HEADER)[2][:_HEAD])
        # The record of a test that it names itself may stand behind the test's outcome.
        id = named[1] if named else self.current.id
        test = self.named.get(id, self.current if not id else self.outside)
        place = f"{self.path}:{first + 1}"
        found, problem = read_results(block, split_node_id(id), place, self.method)
        self.blocks += 1
        test.records += found
        if problem:
            self._note(first + 1, problem)
        return at

    def _begins_something(self, line: str) -> bool:
        return bool(
            RESULTS_HEADER in line
            or _CUPTI.search(line)
            or _STARTS.match(line)
            or _DISTRIBUTED.match(line)
            or _ALONE.match(line)
            or _RULE.match(line)
            or _QUIET.match(line)
        )

    def _measurements(self, test: _Test) -> list[Measurement]:
        """The printed records of a test, with the kernels of its CUPTI blocks; those alone where it has
        no records. The blocks follow the directions in which TileGym measures."""
        if test.records:
            bare = [r for r in test.records if not r.kernels]
            blocks = iter(test.blocks if len(bare) == len(test.blocks) else ())
            return [r if r.kernels else _with_kernels(r, next(blocks, None)) for r in test.records]
        node = split_node_id(test.id)
        directions: tuple[str | None, ...] = self.directions
        if len(test.blocks) > 2:
            self._note(test.blocks[0].line, "more CUPTI blocks than directions: not told apart")
            directions = ()
        return [
            Measurement(
                Config(node.test, node.params),
                node.backend,
                (directions[index] or None) if index < len(directions) else None,
                "cupti",
                f"{self.path}:{block.line}",
                block.total_us / 1000,
                nrep=1,
                kernels=block.kernels,
            )
            for index, block in enumerate(test.blocks)
        ]


def _with_kernels(record: Measurement, block: _Block | None) -> Measurement:
    return record._replace(kernels=block.kernels) if block is not None else record
