"""Questions to the tables of a scan, in SQL.

Place in the flow: tables -> answers; imports `store`, `named`, `bridges.tables`, and duckdb where it is used.
The database is in memory and sees nothing but the tables: no file can be read or written from SQL.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..bridges.arrow import import_arrow
from ..bridges.tables import TABLES
from ..errors import InputError, UsageError
from .named import NAMED
from .store import read_about

if TYPE_CHECKING:
    import duckdb


class Answer(NamedTuple):
    """The answer to a question: names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query(out: str | os.PathLike[str], sql: str) -> Answer:
    """What the tables of a scan say.

    Args:
        out: the folder that `scan` wrote.
        sql: a question in DuckDB's SQL, to tables named as `bridges.tables.TABLES` names them.

    Raises:
        UsageError: DuckDB or pyarrow is not installed; the SQL is wrong.
        InputError: there is no finished scan in the folder.
    """
    connection = connect(out)
    import duckdb

    try:
        result = connection.execute(sql)
        if result is None:
            raise UsageError("SQL: nothing is asked")
        columns = tuple(about[0] for about in result.description or ())
        return Answer(columns, result.fetchall())
    except duckdb.Error as error:
        raise UsageError(f"SQL: {str(error).strip()}") from None
    finally:
        connection.close()


def query_named(out: str | os.PathLike[str], name: str) -> Answer:
    """The answer to a question that has a name.

    Raises:
        UsageError: none has; it asks for comparisons, and the scan has no reference; else as for `query`.
        InputError: as for `query`.
    """
    if name not in NAMED:
        raise UsageError(f"no question is called '{name}'; there are: {', '.join(NAMED)}")
    asked = NAMED[name]
    if asked.compares and not read_about(os.fspath(out)).get("reference"):
        raise UsageError(f"'{name}' asks what a scan with --reference compared; this one has none")
    return query(out, asked.sql)


def connect(out: str | os.PathLike[str]) -> duckdb.DuckDBPyConnection:
    """A database in memory with a view for each table. Arguments and errors are those of `query`."""
    import_arrow()
    try:
        import duckdb
    except ImportError:
        raise UsageError("questions need DuckDB: pip install 'tileir-tools[scan]'") from None
    folder = os.fspath(out)
    if not read_about(folder).get("complete"):
        raise InputError(f"{folder}: error: this scan is not finished: scan again to go on")
    from pyarrow import ArrowException, dataset

    connection = duckdb.connect(config={"python_enable_replacements": "false"})
    for name in TABLES:
        path = os.path.join(folder, f"{name}.parquet")
        try:
            connection.register(name, dataset.dataset(path))
        except (ArrowException, OSError) as error:
            connection.close()
            raise InputError(f"{path}: error: cannot be read: {error}") from None
    # Nothing is written, not even what memory cannot hold.
    connection.execute("set temp_directory = ''")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection
