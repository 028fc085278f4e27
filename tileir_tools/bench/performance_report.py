"""`performance.md` of the porting pipeline's agent E: its table, its geometric mean, its verdict.

Place in the flow: bytes -> **table of medians** -> comparison; imports `comparison`, `node_ids`, `records`,
`summary`, `untrusted`, `errors`, `source`. People and programs write these reports: columns stand in any
order and under several names, and every ratio is computed again from the medians beside it.

The contract asks for a first line `VERDICT: DONE` or `INVESTIGATE`, one table with a row for each
configuration, and a line `geomean_ratio=X.XXXX`; its validator reads the first line and that one alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from ..errors import Diagnostic, ParseError
from ..source import Source, Span
from .comparison import Ratio
from .node_ids import BACKENDS, backend_name
from .records import Config
from .summary import geomean
from .untrusted import read_limited

# A report has some kilobytes, its table some columns.
MAX_REPORT = 16 << 20
_MOST_COLUMNS = 64

GENERATED = "cutile_rs"
BASELINE = "baseline"

_SPELLINGS = {
    "cutile_python": "cutile",
    "cutile_py": "cutile",
    "py": "cutile",
    "rs": GENERATED,
    "cutile_rust": GENERATED,
    "generated": GENERATED,
}
# Words of a heading that do not say which backend it is.
_FILLERS = frozenset(
    "median time latency runtime cupti p50 kernel winning the of agent a a's gpu".split()
)
_BASELINES = frozenset("baseline reference ref base".split())
_LABELS = frozenset(
    "config configuration configs case params parameters test shape dtype variant direction".split()
)
_VERDICTS = frozenset("verdict status result validity valid".split())
# What a median of medians or another statistic is called: no time of one configuration.
_GEOMEANS = re.compile(r"geo[- _]?(?:metric[- _])?mean")
_OTHER = re.compile(
    _GEOMEANS.pattern + r"|speed-?up|\b(?:mean|std|stddev|min|max|nrep|iqr|noise)\b"
)
# What a row is called that sums up the others.
_SUMMARY = re.compile(
    rf"(?:overall|total|all|average|mean|median|aggregate|{_GEOMEANS.pattern})\b[a-z :()_-]*"
)
# A time beyond these is none of a call (milliseconds), nor a quotient of two a ratio.
_LEAST, _MOST = 1e-8, 1e8

_UNITS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3}
_NUMBER = re.compile(
    r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})?(?:\.(\d{0,18}))?(?:[eE]([-+]?\d{1,3}))?)"
    r"\s*(?:(?:±|\+/-)\s*[\d.]{1,18}\s*)?(ns|us|µs|μs|ms|s|x|×)?"
)
# Of a verdict's cell: the configuration has no result that counts.
_INVALID = re.compile(r"\b(?:fail(?:ed|ure)?|error|missing|missing_data|skipped|blocked|invalid)\b")

_VERDICT = re.compile(r"VERDICT: (DONE|INVESTIGATE|BLOCKED)[ \t]*")
_GEOMEAN = re.compile(r"geomean_ratio=(\d{1,18}(?:\.\d{1,18})?)[ \t]*")
_SEVERITY = re.compile(r"\W{0,4}severity\W{1,6}([A-Z_]{1,30})\W*", re.I)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_SECTION = "performance results"


class Figure(NamedTuple):
    """A number as it stands in a report: a time in milliseconds or a ratio, and half of its last digit."""

    value: float
    half: float


class PerformanceRow(NamedTuple):
    """One configuration of the table.

    Attributes:
        label: its cell; several cells that name it are joined by `-`.
        medians_ms: backend -> median in milliseconds, None where the cell has no time. Backends are spelled
            as `backend_name` has them; "baseline" is a column that does not say which it is.
        ratio: as stated; None where none is.
        recomputed: generated over reference, from the medians; None where one of them is missing.
        reference: the backend that it is over.
        verdict: as stated ("PASS", "INVESTIGATE"..), "" where nothing is.
        valid: both medians are times, and the verdict does not say that it failed.
        why: of a row that is not valid.
        section: the heading above the table, "" for none.
        line: in the report.
    """

    label: str
    medians_ms: Mapping[str, float | None]
    ratio: float | None
    recomputed: float | None
    reference: str
    verdict: str
    valid: bool
    why: str
    section: str
    line: int

    @property
    def reference_ms(self) -> float | None:
        """Median of the reference, in milliseconds; None where there is none."""
        return self.medians_ms.get(self.reference)

    @property
    def generated_ms(self) -> float | None:
        """Median of the generated kernel, in milliseconds; None where there is none."""
        return self.medians_ms.get(GENERATED)


class PerformanceReport(NamedTuple):
    """What agent E says.

    Attributes:
        path: the file.
        verdict: "DONE", "INVESTIGATE" or "BLOCKED"; None where the first line is no verdict.
        severity: as stated ("MILD_GAP"..), "" where nothing is.
        geomean_ratio: as stated for machines; None where it is not.
        recomputed_geomean: of the rows that are valid; None where none is.
        rows: in the report's order.
        notes: what is odd, `path:line: ..` each.
    """

    path: str
    verdict: str | None
    severity: str
    geomean_ratio: float | None
    recomputed_geomean: float | None
    rows: tuple[PerformanceRow, ...]
    notes: tuple[str, ...]

    def ratios(self) -> tuple[Ratio, ...]:
        """The rows that are valid, as `comparison.pattern_of` takes them; they have no noise."""
        found = []
        for row in self.rows:
            if row.valid and row.reference_ms and row.generated_ms and row.recomputed:
                config = Config("", tuple(row.label.split("-")))
                medians = (row.reference_ms, row.generated_ms)
                found.append(Ratio(config, None, *medians, row.recomputed, None))
        return tuple(found)


def read_performance_report(path: str) -> PerformanceReport:
    """Agent E's `performance.md`.

    Raises:
        InputError: it cannot be read, or is larger than MAX_REPORT.
        ParseError: no table has medians of cutile-rs and of a reference, and the verdict is not BLOCKED;
            with the line of the table that comes nearest.
    """
    data = read_limited(path, MAX_REPORT)
    return parse_performance_report(data.decode("utf-8-sig", "replace"), path)


def parse_performance_report(text: str, path: str) -> PerformanceReport:
    """As `read_performance_report`, of a text; `path` names it."""
    lines = text.split("\n")
    notes: list[str] = []
    verdict = _verdict(lines, path, notes)
    stated = _stated_geomean(lines, path, notes)
    tables = [t for t in _tables(lines) if t.columns.generated is not None]
    usable = [t for t in tables if t.columns.references]
    if not usable and verdict != "BLOCKED":
        _no_table(text, path, tables)
    chosen = _chosen(usable, path, notes)
    rows = tuple(_rows(chosen, path, notes))
    if usable and not rows:
        notes.append(f"{path}: no table has a configuration")
    _compare_geomeans(stated, rows, path, notes)
    ratios = [row.read.recomputed for row in rows if row.read.valid]
    return PerformanceReport(
        path,
        verdict,
        next((m[1].upper() for m in map(_SEVERITY.fullmatch, map(_line, lines)) if m), ""),
        None if stated is None else stated[1].value,
        geomean(r for r in ratios if r is not None) if ratios else None,
        tuple(row.read for row in rows),
        tuple(notes),
    )


# -- lines for machines -------------------------------------------------------------------------------


def _line(text: str) -> str:
    return text.rstrip("\r")


def _verdict(lines: Sequence[str], path: str, notes: list[str]) -> str | None:
    found = _VERDICT.fullmatch(_line(lines[0]))
    if found is None:
        notes.append(f"{path}:1: the first line is no VERDICT: DONE or INVESTIGATE")
        return None
    return found[1]


def _stated_geomean(lines: Sequence[str], path: str, notes: list[str]) -> tuple[int, Figure] | None:
    """Line and value of `geomean_ratio=`: the first one that is a number."""
    found = []
    for number, line in enumerate(map(_line, lines), 1):
        if line.startswith("geomean_ratio="):
            match = _GEOMEAN.fullmatch(line)
            if match is None or float(match[1]) == 0:
                notes.append(f"{path}:{number}: geomean_ratio is no positive number")
            else:
                decimals = len(match[1].partition(".")[2])
                found.append((number, Figure(float(match[1]), 0.5 * 10.0**-decimals)))
    if not found:
        notes.append(f"{path}: no line geomean_ratio=X.XXXX")
        return None
    notes += [f"{path}:{number}: geomean_ratio stands here again" for number, _ in found[1:]]
    return found[0]


# -- tables -------------------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """Which column is what; `references` maps each backend but the generated to its column."""

    labels: tuple[int, ...]
    generated: int | None
    references: Mapping[str, int]
    named_baseline: str
    ratio: int | None
    verdict: int | None
    factors: Mapping[int, float]


class _Table(NamedTuple):
    """A table: heading of its section, whether that is the one of results, cells with their lines."""

    section: str
    results: bool
    line: int
    columns: _Columns
    rows: Sequence[tuple[int, tuple[str, ...]]]


def _tables(lines: Sequence[str]) -> Iterator[_Table]:
    """Every table outside of code."""
    section, fence, results = "", "", 0
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if line.startswith(("```", "~~~")):
            if not fence:
                fence = line[: len(line) - len(line.lstrip(line[0]))]
            elif line.startswith(fence) and not line.strip(fence[0]):
                fence = ""
        elif fence:
            continue
        elif found := _HEADING.match(line):
            level, section = len(found[1]), found[2].strip("# \t")
            if section.lower().startswith(_SECTION):
                results = level
            elif level <= results:
                results = 0
        elif "|" in line and at < len(lines) and _is_rule(lines[at]):
            head, start, rows = _cells(line), at, []
            at += 1
            while at < len(lines) and "|" in lines[at]:
                rows.append((at + 1, _cells(lines[at])))
                at += 1
            if len(head) <= _MOST_COLUMNS:
                yield _Table(section, results > 0, start, _columns(head), rows)


def _is_rule(line: str) -> bool:
    """Whether a line is `|---|:--:|`."""
    return "-" in line and "|" in line and not set(line) - set("|:- \t\r")


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a row, without what only makes them bold or code."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    cells = inner.replace("\\|", "\0").split("|")
    return tuple(_plain(cell.replace("\0", "|")) for cell in cells)


def _plain(cell: str) -> str:
    return " ".join(cell.replace("`", "").replace("**", "").replace("__", "").strip(" \t*").split())


def _columns(head: Sequence[str]) -> _Columns:
    labels, others, references, factors = [], [], {}, {}
    generated = ratio = verdict = None
    named = ""
    for at, cell in enumerate(head):
        text = cell.lower()
        name, factor, is_baseline = _backend(text)
        if name == GENERATED and generated is None:
            generated, factors[at] = at, factor
        elif name and name != GENERATED and name not in references:
            references[name], factors[at] = at, factor
            named = name if is_baseline else named
        elif _is_ratio(text) and ratio is None:
            ratio = at
        elif text in _VERDICTS and verdict is None:
            verdict = at
        elif _LABELS & set(re.split(r"\W+", text)):
            labels.append(at)
        else:
            others.append((at, text))
    if not labels:
        labels = [at for at, text in others if not _OTHER.search(text)]
    return _Columns(tuple(labels), generated, references, named, ratio, verdict, factors)


def _is_ratio(heading: str) -> bool:
    if _OTHER.search(heading):
        return False
    return "ratio" in heading or "slowdown" in heading or ("/" in heading and "rs" in heading)


def _backend(heading: str) -> tuple[str, float, bool]:
    """Backend of a column of medians ("" for another column), its unit in ms, whether it is called the
    baseline."""
    if _OTHER.search(heading) or "ratio" in heading or "/" in heading:
        return "", 1.0, False
    words = re.split(r"[\s()\[\],:]+", heading)
    factor = next((_UNITS[w] for w in words if w in _UNITS), 1.0)
    rest = [w for w in words if w and w not in _UNITS and w not in _FILLERS]
    is_baseline = any(w in _BASELINES for w in rest)
    name = backend_name("_".join(w for w in rest if w not in _BASELINES))
    name = _SPELLINGS.get(name, name)
    if name in BACKENDS:
        return name, factor, is_baseline
    return (BASELINE if is_baseline and not name else ""), factor, is_baseline


def _no_table(text: str, path: str, tables: Sequence[_Table]) -> NoReturn:
    """Raises ParseError."""
    source = Source(text, path)
    expected = "expected columns Config, baseline (ms), cutile-rs (ms), ratio, verdict"
    if not tables:
        message, offset = f"no table has medians of cutile-rs; {expected}", 0
    else:
        message = f"a table without a reference beside cutile-rs; {expected}"
        offset = sum(len(line) + 1 for line in text.split("\n")[: tables[0].line - 1])
    raise ParseError([Diagnostic("error", message, Span(source, offset, offset + 1))])


def _chosen(tables: Sequence[_Table], path: str, notes: list[str]) -> Sequence[_Table]:
    """The tables below `Performance Results`; all that are not of means, where none stands there."""
    below = [t for t in tables if t.results]
    if not below:
        return [t for t in tables if not _GEOMEANS.search(t.section.lower())]
    notes += [
        f"{path}:{t.line}: a table below '{t.section}' is left out" for t in tables if not t.results
    ]
    return below


# -- rows ---------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A row with the figures that it was read from."""

    read: PerformanceRow
    reference: Figure | None
    generated: Figure | None
    ratio: Figure | None


def _reference(table: _Table) -> str:
    """The backend that ratios are over: the one called the baseline, or with which most stated ratios
    agree."""
    columns = table.columns
    if columns.named_baseline:
        return columns.named_baseline

    def agreeing(name: str) -> int:
        found = 0
        for _, cells in table.rows:
            ratio = _cell_figure(cells, columns.ratio, 1.0)
            medians = _figures(columns, cells)
            found += ratio is not None and _agrees(ratio, medians[name], medians[GENERATED])
        return found

    return max(columns.references, key=agreeing)


def _figures(columns: _Columns, cells: Sequence[str]) -> dict[str, Figure | None]:
    """Backend -> median in milliseconds, of a row."""
    places = (*columns.references.items(), (GENERATED, columns.generated))
    return {
        name: _cell_figure(cells, at, columns.factors[at]) for name, at in places if at is not None
    }


def _cell_figure(cells: Sequence[str], at: int | None, factor: float) -> Figure | None:
    return None if at is None or at >= len(cells) else _figure(cells[at], factor)


def _figure(cell: str, factor: float) -> Figure | None:
    """The positive number in a cell, in the unit that stands behind it or in the column's."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None or not any(c.isdecimal() for c in found[1]):
        return None
    factor = _UNITS.get(found[4] or "", factor)
    value = float(found[1].replace(",", "")) * factor
    if not _LEAST < value < _MOST:
        return None
    half = 0.5 * 10.0 ** (int(found[3] or 0) - len(found[2] or "")) * factor
    return Figure(value, half)


def _agrees(ratio: Figure, reference: Figure | None, generated: Figure | None) -> bool:
    """Whether a stated ratio can be that of two medians, all of them rounded."""
    if reference is None or generated is None:
        return False
    low, high = _bounds(reference, generated)
    slack = 1e-9 * ratio.value + ratio.half
    return low - slack <= ratio.value <= high + slack


def _bounds(reference: Figure, generated: Figure) -> tuple[float, float]:
    """Between what the ratio of two rounded medians lies."""
    low = (generated.value - generated.half) / (reference.value + reference.half)
    below = reference.value - reference.half
    high = (generated.value + generated.half) / below if below > 0 else math.inf
    return max(low, 0.0), high


def _rows(tables: Iterable[_Table], path: str, notes: list[str]) -> Iterator[_Row]:
    # Sections may each have a configuration, with other medians.
    known: set[tuple[object, ...]] = set()
    lines: dict[tuple[str, str], int] = {}
    for table in tables:
        reference = _reference(table)
        for line, cells in table.rows:
            row = _row(table, line, cells, reference)
            if row is None or (same := (row.read.label, *row.read.medians_ms.items())) in known:
                continue
            known.add(same)
            label = row.read.label
            earlier = lines.setdefault((label, table.section), line)
            if earlier != line:
                notes.append(
                    f"{path}:{line}: {label} has other medians on line {earlier}, which count"
                )
                continue
            notes += [f"{path}:{line}: {label}: {text}" for text in _remarks(row)]
            yield row


def _remarks(row: _Row) -> Iterator[str]:
    if not row.read.valid:
        yield row.read.why
    elif row.ratio is None:
        yield "states no ratio"
    elif not _agrees(row.ratio, row.reference, row.generated):
        yield f"the ratio is {row.ratio.value:g}, its medians give {row.read.recomputed:.4g}"


def _row(table: _Table, line: int, cells: Sequence[str], reference: str) -> _Row | None:
    """None for a row that sums up others, or that names no configuration."""
    columns = table.columns
    label = "-".join(cells[k] for k in columns.labels if k < len(cells) and cells[k])
    if not label or _SUMMARY.fullmatch(label.lower()):
        return None
    figures = _figures(columns, cells)
    left, right = figures.get(reference), figures.get(GENERATED)
    at = columns.verdict
    verdict = cells[at] if at is not None and at < len(cells) else ""
    whys = [
        f"{name} has no median: {_shown(cells, column)}"
        for name, column in (
            (reference, columns.references.get(reference)),
            (GENERATED, columns.generated),
        )
        if figures.get(name) is None
    ]
    if not whys and _INVALID.search(verdict.lower()):
        whys.append(f"its verdict is {verdict}")
    ratio = _cell_figure(cells, columns.ratio, 1.0)
    read = PerformanceRow(
        label,
        {name: None if f is None else f.value for name, f in figures.items()},
        None if ratio is None else ratio.value,
        right.value / left.value if left is not None and right is not None else None,
        reference,
        verdict,
        not whys,
        "; ".join(whys),
        table.section,
        line,
    )
    return _Row(read, left, right, ratio)


def _shown(cells: Sequence[str], at: int | None) -> str:
    """What stands in the place of a time."""
    if at is None or at >= len(cells):
        return "no cell"
    return f"'{cells[at][:40]}'"


def _compare_geomeans(
    stated: tuple[int, Figure] | None,
    rows: Sequence[_Row],
    path: str,
    notes: list[str],
) -> None:
    pairs = [
        (row.reference, row.generated)
        for row in rows
        if row.read.valid and row.reference is not None and row.generated is not None
    ]
    if stated is None or not pairs:
        return
    lows, highs = zip(*(_bounds(*pair) for pair in pairs))
    low = geomean(lows) if all(lows) else 0.0
    high = geomean(highs) if math.inf not in highs else math.inf
    line, figure = stated
    slack = 1e-9 * figure.value + figure.half
    if not low - slack <= figure.value <= high + slack:
        value = geomean(g.value / r.value for r, g in pairs)
        notes.append(
            f"{path}:{line}: geomean_ratio is {figure.value:g}, the medians of {len(pairs)} "
            f"configurations give {value:.4f}"
        )
