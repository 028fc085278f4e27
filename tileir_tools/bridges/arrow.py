"""Facts as tables of Arrow and pandas.

Place in the flow: facts -> **bridges**; imports `tables`, `analyze` and, where it is used, pyarrow. The columns
are those of `tables`, which `tileir scan` writes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..analyze import analyze, demangle
from ..analyze.facts import EntryFacts, MemoryFact, ModuleFacts, Where
from ..errors import UsageError
from ..model import Module
from .tables import BOOLEAN, COUNTS, INTEGER, TABLES, TEXT, TEXTS

if TYPE_CHECKING:
    import pandas
    import pyarrow

# A row: column -> value.
Row = dict[str, Any]


def to_arrow(
    what: Module | ModuleFacts | Sequence[Module | ModuleFacts], arch: str | None = None
) -> dict[str, pyarrow.Table]:
    """Facts as Arrow tables `entries`, `memory` and `hints`; docs/scan.md describes their columns.

    Args:
        what: modules, or what `analyze` gave of them, or one; `module` is its number among them, from 0.
        arch: target for which the hints of modules are resolved; facts have their own.

    Returns:
        Table name -> table. `content` is null; fingerprints are null for facts without them.

    Raises:
        UsageError: pyarrow is not installed; unknown arch.
    """
    items = [what] if isinstance(what, (Module, ModuleFacts)) else what
    rows: dict[str, list[Row]] = {"entries": [], "memory": [], "hints": []}
    for number, item in enumerate(items):
        if isinstance(item, Module):
            item = analyze(item, arch, with_fingerprints=True)
        for name, found in fact_rows(item, None, number).items():
            rows[name] += found
    return {name: arrow_table(name, found) for name, found in rows.items()}


def to_pandas(
    what: Module | ModuleFacts | Sequence[Module | ModuleFacts], arch: str | None = None
) -> dict[str, pandas.DataFrame]:
    """What `to_arrow` gives, as frames of pandas. Integers that may be null stay integers (`Int64`).

    Raises:
        UsageError: pyarrow or pandas is not installed; unknown arch.
    """
    tables = to_arrow(what, arch)
    try:
        import pandas
    except ImportError:
        raise UsageError("frames need pandas: pip install pandas") from None
    import pyarrow

    kept = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}
    return {name: table.to_pandas(types_mapper=kept.get) for name, table in tables.items()}


# -- Arrow ------------------------------------------------------------------------------------------


def import_arrow() -> ModuleType:
    """The module pyarrow. Raises UsageError: it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError("tables need pyarrow: pip install 'tileir-tools[scan]'") from None
    return pyarrow


@cache
def arrow_schema(name: str) -> pyarrow.Schema:
    """The schema of a table of `tables`; what stands in a column is its field's metadata."""
    arrow = import_arrow()
    schema: pyarrow.Schema = arrow.schema(
        [
            arrow.field(column.name, _arrow_type(column.form), metadata={"about": column.about})
            for column in TABLES[name]
        ]
    )
    return schema


def arrow_table(name: str, rows: Iterable[Row]) -> pyarrow.Table:
    """Rows as a table of `tables`."""
    arrow = import_arrow()
    rows, schema = list(rows), arrow_schema(name)
    table: pyarrow.Table
    try:
        table = arrow.Table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:
        # Halves of surrogate pairs, from names of files and out of sources, are no characters.
        table = arrow.Table.from_pylist([_clean(row) for row in rows], schema=schema)
    return table


def _arrow_type(form: Any) -> Any:
    arrow = import_arrow()
    if isinstance(form, list):
        return arrow.list_(_arrow_type(form[0]))
    if isinstance(form, dict):
        return arrow.struct([(name, _arrow_type(inner)) for name, inner in form.items()])
    return {
        TEXT: arrow.string(),
        INTEGER: arrow.int64(),
        BOOLEAN: arrow.bool_(),
        COUNTS: arrow.map_(arrow.string(), arrow.int64()),
        TEXTS: arrow.map_(arrow.string(), arrow.string()),
    }[form]


def _clean(value: Any) -> Any:
    """A value whose texts can be written."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, tuple):
        # A key of a map and its value, which Arrow wants as a tuple.
        return tuple(_clean(item) for item in value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def writable(text: str) -> str:
    """A text without halves of surrogate pairs, which are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# -- rows -------------------------------------------------------------------------------------------


def fact_rows(facts: ModuleFacts, content: str | None, number: int) -> dict[str, list[Row]]:
    """The rows of `entries`, `memory` and `hints` of a module; `number` is the module's."""
    rows: dict[str, list[Row]] = {"entries": [], "memory": [], "hints": []}
    for k, entry in enumerate(facts.entries):
        key = {"content": content, "module": number, "entry": k}
        rows["entries"].append({**key, **_entry_row(entry, facts.arch)})
        rows["memory"] += [
            {**key, "number": at, **_memory_row(fact)} for at, fact in enumerate(entry.memory)
        ]
        rows["hints"] += [
            {
                **key,
                "op": fact.op,
                "line": line_of(fact.where),
                "arch": fact.arch,
                "key": fact.key,
                "value": _hint_text(fact.value),
            }
            for fact in entry.written_hints
        ]
    return rows


def line_of(where: Where) -> int | None:
    """The line of a place; None for bytecode."""
    return where.line or None


def _hint_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _entry_row(entry: EntryFacts, arch: str | None) -> Row:
    prints = entry.fingerprints._asdict() if entry.fingerprints is not None else {}
    return {
        "symbol": entry.symbol,
        "function": entry.function,
        "real_function": demangle(entry.symbol).real_function,
        "convention": entry.convention,
        "signature": entry.signature,
        "line": line_of(entry.where),
        "parameters": [{"name": name, "type": type} for name, type in entry.parameters],
        "arch": arch,
        "hints": [(key, _hint_text(value)) for key, value in entry.resolved_hints.items()],
        "operations": list(entry.operations.items()),
        "tiles": [fact._asdict() for fact in entry.tiles],
        "mma": [{**fact._asdict(), "line": line_of(fact.where)} for fact in entry.mma],
        "loops": [{**fact._asdict(), "line": line_of(fact.where)} for fact in entry.loops],
        **{f"fingerprint_{level}": value for level, value in prints.items()},
    }


def _memory_row(fact: MemoryFact) -> Row:
    latency, allowed = fact.latency, fact.allow_tma
    return {
        **fact._asdict(),
        "line": line_of(fact.where),
        # A hint of another kind of value is in the table of hints.
        "latency": latency if isinstance(latency, int) and not isinstance(latency, bool) else None,
        "allow_tma": allowed if isinstance(allowed, bool) else None,
        "may_use_tma": fact.family == "view" and allowed is not False,
    }
