"""What a worker does: contents to tables of facts, pairs of entries to tables of findings.

Place in the flow: facts and findings -> tables; imports `analyze`, `verify`, `diff`, `bridges.arrow`.
Everything here gets bytes and gives tables, so that workers need neither the files nor the folder that is
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..analyze import analyze
from ..analyze.hints import arches_named
from ..bridges.arrow import Row, arrow_table, fact_rows, import_arrow
from ..errors import BytecodeError, Diagnostic, ForeignFormatError, ParseError, TileIRError
from ..model import Module
from ..read import parse_all
from ..read.detect import is_bytecode
from ..verify import verify
from .reading import Cached, said

if TYPE_CHECKING:
    import pyarrow

# Table name -> table.
Tables = dict[str, "pyarrow.Table"]
# Table name -> rows.
Rows = dict[str, list[Row]]

# What contents are called while they are read: equal contents have many names.
_NAME = "input"


class Content(NamedTuple):
    """Bytes to look at, and their hash."""

    content: str
    data: bytes


class EntryKey(NamedTuple):
    """An entry: its content, the number of its module in it, its number in that."""

    content: str
    module: int
    entry: int


class Task(NamedTuple):
    """Pairs of entries (scanned, reference, how they were matched) of two contents to compare."""

    data: bytes
    reference_data: bytes
    pairs: tuple[tuple[EntryKey, EntryKey, str], ...]


def joined(many: Sequence[Tables]) -> Tables:
    """Tables of one kind each put together."""
    arrow = import_arrow()
    names = dict.fromkeys(name for tables in many for name in tables)
    return {name: arrow.concat_tables([t[name] for t in many if name in t]) for name in names}


# -- facts ------------------------------------------------------------------------------------------


def analyze_contents(contents: Sequence[Content], arch: str | None) -> Tables:
    """Tables `contents`, `entries`, `memory` and `hints`. Errors are in `contents`: nothing is raised."""
    many = [_analyzed(item, arch) for item in contents]
    try:
        return _tables(many)
    except Exception:
        # Some content states what no table holds, such as a size beyond 64 bits; which one, it says alone.
        return joined([_tables_of_one(item, rows) for item, rows in zip(contents, many)])


def lost_contents(contents: Sequence[Content], why: str) -> Tables:
    """The tables for contents on which a worker died."""
    return _tables([_failed(item, "worker", why) for item in contents])


def cached_content(content: Content, cached: Cached) -> Tables:
    """The tables for machine code out of a compile cache."""
    row = {
        "kind": "cubin",
        "producer": f"tileiras {cached.compiler}" if cached.compiler else None,
        "symbols": cached.symbols,
    }
    return _tables([{"contents": [{**_about(content), **row}]}])


def _tables(many: Sequence[Rows]) -> Tables:
    names = dict.fromkeys(name for rows in many for name in rows)
    return {n: arrow_table(n, [row for rows in many for row in rows.get(n, ())]) for n in names}


def _tables_of_one(item: Content, rows: Rows) -> Tables:
    try:
        return _tables([rows])
    except Exception as error:
        return _tables([_failed(item, "internal", f"{type(error).__name__}: {error}")])


def _analyzed(item: Content, arch: str | None) -> Rows:
    """The rows, also where this project has a mistake or memory is short: one file stops no scan."""
    try:
        return _analyze(item, arch)
    except Exception as error:
        return _failed(item, "internal", f"{type(error).__name__}: {error}")


def _failed(item: Content, kind: str, message: str) -> Rows:
    return {"contents": [{**_about(item), "error_kind": kind, "error": message}]}


def _about(item: Content) -> Row:
    return {"content": item.content, "bytes": len(item.data)}


def _analyze(item: Content, arch: str | None) -> Rows:
    row = _about(item)
    try:
        modules = parse_all(item.data, _NAME)
    except TileIRError as error:
        return {"contents": [{**row, **_error_columns(error, item.data)}]}
    rows: Rows = {"contents": [row], "entries": [], "memory": [], "hints": []}
    for number, module in enumerate(modules):
        facts = analyze(module, arch, with_fingerprints=True)
        for name, found in fact_rows(facts, item.content, number).items():
            rows[name] += found
    row.update(_content_columns(item.data, modules))
    return rows


def _content_columns(data: bytes, modules: list[Module]) -> Row:
    errors = [d for m in modules for d in verify(m) if d.severity == "error"]
    first = errors[0] if errors else None
    return {
        "kind": "bytecode" if is_bytecode(data) else "text",
        "bytecode_version": next((m.bytecode_version for m in modules), None),
        "producer": next((m.producer for m in modules if m.producer), None),
        "modules": len(modules),
        "symbols": [e.symbol for m in modules for e in m.entries],
        "operations": sum(len(list(e.walk())) - 1 for m in modules for e in m.entries),
        "warnings": sum(len(m.warnings) for m in modules),
        "verify_errors": len(errors),
        "verify_message": first.message if first else None,
        "verify_line": first.span.line if first and first.span else None,
    }


def _error_columns(error: TileIRError, data: bytes) -> Row:
    if isinstance(error, ParseError):
        first: Diagnostic = error.diagnostics[0]
        place = (first.span.line, first.span.column) if first.span else (None, None)
        return {
            "kind": "text",
            "error_kind": "parse",
            "error": first.message,
            "error_line": place[0],
            "error_column": place[1],
        }
    if isinstance(error, BytecodeError):
        return {
            "kind": "bytecode",
            "bytecode_version": error.version,
            "error_kind": "bytecode",
            "error": f"{error.message} (section {error.section})",
            "error_offset": error.offset,
        }
    kind = f"foreign:{error.kind}" if isinstance(error, ForeignFormatError) else "input"
    return {"error_kind": kind, "error": said(error, _NAME)}


# -- findings ---------------------------------------------------------------------------------------


def compare_tasks(tasks: Sequence[Task], arch: str | None) -> Tables:
    """Tables `comparisons` and `findings`. Errors are in `comparisons`: nothing is raised."""
    return joined([_compare(task, arch) for task in tasks])


def lost_tasks(tasks: Sequence[Task], why: str) -> Tables:
    """The tables for comparisons on which a worker died."""
    return joined([_not_compared(task, f"worker: {why}") for task in tasks])


def _not_compared(task: Task, why: str) -> Tables:
    rows = [comparison_row(*pair, error=why) for pair in task.pairs]
    return {
        "comparisons": arrow_table("comparisons", rows),
        "findings": arrow_table("findings", []),
    }


def comparison_row(
    key: EntryKey, reference: EntryKey | None, matched_by: str | None, **more: object
) -> Row:
    """A row of `comparisons`; `more` are its other columns."""
    row: Row = {**key._asdict(), "matched_by": matched_by, **more}
    if reference is not None:
        row.update({f"reference_{name}": value for name, value in reference._asdict().items()})
    return row


def _compare(task: Task, arch: str | None) -> Tables:
    if not task.data or not task.reference_data:
        return _not_compared(task, "a file changed while it was scanned")
    try:
        generated = parse_all(task.data, _NAME)
        reference = parse_all(task.reference_data, _NAME)
        rows: Rows = {"comparisons": [], "findings": []}
        for key, other, matched_by in task.pairs:
            found = _findings(
                reference[other.module], other.entry, generated[key.module], key.entry, arch
            )
            codes = list(dict.fromkeys(row["code"] for row in found[1]))
            row = comparison_row(key, other, matched_by, verdict=found[0], codes=codes)
            keys = {name: row[name] for name in PAIR_KEY}
            rows["comparisons"].append(row)
            rows["findings"] += [{**keys, "number": n, **r} for n, r in enumerate(found[1])]
        return _tables([rows])
    except Exception as error:
        # As for facts: what goes wrong with one pair stops no scan.
        return _not_compared(task, f"{type(error).__name__}: {error}")


def _findings(
    reference: Module, reference_entry: int, generated: Module, entry: int, arch: str | None
) -> tuple[str, list[Row]]:
    from ..diff.compare import compare_entries

    arches = (arch,) if arch is not None else tuple(arches_named(reference, generated))
    answer = compare_entries(
        reference.entries[reference_entry],
        generated.entries[entry],
        reference,
        generated,
        arches or (None,),
        {},
    )
    rows = [
        {
            **finding._asdict(),
            "line": (finding.generated.line if finding.generated else 0) or None,
            "reference_line": (finding.reference.line if finding.reference else 0) or None,
        }
        for finding in answer.findings
    ]
    return answer.verdict, rows


# What names a pair in the tables.
PAIR_KEY = (
    *EntryKey._fields,
    *(f"reference_{name}" for name in EntryKey._fields),
)
