"""The folder that a scan writes: one Parquet file for each table, and parts of them while it runs.

Place in the flow: below `scanning`; imports `errors`, `files`, `bridges.arrow`, and pyarrow where it is used.

A part is a folder `parts/NUMBER` with the tables of some contents, written under another name and renamed: it
is there as a whole or not at all. At the end of a scan the tables of the last one and all parts become the
new tables, without what no file has any more. Of rows about one thing those of the latest part count, so
that a scan that is killed at any moment leaves a folder from which the next one goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..bridges.arrow import arrow_schema, arrow_table, import_arrow
from ..bridges.tables import TABLES_VERSION
from ..errors import InputError, UsageError
from ..files import make_folder, write_file
from .analysis import PAIR_KEY, Tables, joined

if TYPE_CHECKING:
    import pyarrow

SCAN_SCHEMA = "tileir-scan/1"
SCAN_FILE = "scan.json"
_PARTS = "parts"
# How names of what is not finished, or of no use any more, begin.
_UNFINISHED = ".tileir-"

# So many contents and comparisons, or so many files, make a part.
_PART_ROWS = 1024

# Key of a thing: its table, and the columns that name it; the other tables hold rows about these things.
CONTENT, PAIR = ("contents", ("content",)), ("comparisons", PAIR_KEY)
_ABOUT = {
    "contents": CONTENT,
    "entries": CONTENT,
    "memory": CONTENT,
    "hints": CONTENT,
    "comparisons": PAIR,
    "findings": PAIR,
}

Key = tuple[Any, ...]


class Store:
    """The folder of a scan, open for writing; `opened` makes one."""

    def __init__(self, folder: str):
        self.folder = folder
        self._pending: list[Tables] = []
        self._pending_files: list[dict[str, Any]] = []
        self._rows = 0
        self._owners = {kind: self._owned_keys(*kind) for kind in (CONTENT, PAIR)}

    # -- what is there ------------------------------------------------------------------------------

    def keys(self, kind: tuple[str, tuple[str, ...]]) -> set[Key]:
        """The things that are written down."""
        return set(self._owners[kind])

    def rows(self, name: str, columns: Sequence[str], kept: set[Key]) -> Iterator[dict[str, Any]]:
        """Columns of the rows of a table about some things."""
        for table in self._current(name, kept, columns):
            yield from table.select(list(columns)).to_pylist()

    def files(self) -> Iterator[dict[str, Any]]:
        """The rows of files that this scan, if it was killed, and those before it wrote."""
        for source in self._sources():
            table = _read(source, "files")
            if table is not None:
                yield from table.to_pylist()

    def _sources(self) -> list[str]:
        """The folders with tables: that of the scan itself, then the parts from the oldest on."""
        parts = os.path.join(self.folder, _PARTS)
        names = sorted(n for n in os.listdir(parts) if n.isdigit()) if os.path.isdir(parts) else []
        return [self.folder, *(os.path.join(parts, name) for name in names)]

    def _owned_keys(self, name: str, columns: Sequence[str]) -> dict[Key, str]:
        """Key -> the last source that has it."""
        found: dict[Key, str] = {}
        for source in self._sources():
            table = _read(source, name, columns)
            if table is not None:
                found.update(dict.fromkeys(_keys(table, columns), source))
        return found

    def _current(
        self, name: str, kept: set[Key], columns: Sequence[str] | None = None
    ) -> Iterator[pyarrow.Table]:
        """The tables of all sources, each with the rows about kept things that no later source has."""
        kind = _ABOUT[name]
        owners = self._owners[kind]
        for source in self._sources():
            wanted = None if columns is None else list(dict.fromkeys([*kind[1], *columns]))
            table = _read(source, name, wanted)
            if table is not None:
                keys = _keys(table, kind[1])
                mask = [key in kept and owners.get(key) == source for key in keys]
                yield table.filter(import_arrow().array(mask, import_arrow().bool_()))

    # -- writing ------------------------------------------------------------------------------------

    def add(self, tables: Tables) -> None:
        """Take rows; they are written with others, `flush` at the latest."""
        self._pending.append(tables)
        self._rows += sum(tables[n].num_rows for n in ("contents", "comparisons") if n in tables)
        if self._rows >= _PART_ROWS:
            self.flush()

    def add_files(self, rows: Sequence[dict[str, Any]]) -> None:
        """Take rows of `files`, as `add`."""
        self._pending_files += rows
        if len(self._pending_files) >= _PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was taken as a part. Raises InputError."""
        if self._pending_files:
            self._pending.append({"files": arrow_table("files", self._pending_files)})
        if not self._pending:
            return
        tables = joined(self._pending)
        self._pending, self._pending_files, self._rows = [], [], 0
        last = self._sources()[-1]
        number = int(os.path.basename(last)) + 1 if last != self.folder else 0
        parts = os.path.join(self.folder, _PARTS)
        target = os.path.join(parts, f"{number:08}")
        with _writing(parts):
            os.makedirs(parts, exist_ok=True)
            unfinished = tempfile.mkdtemp(dir=parts, prefix=_UNFINISHED)
            for name, table in tables.items():
                _write([table], name, unfinished)
            os.rename(unfinished, target)
        for kind in (CONTENT, PAIR):
            if kind[0] in tables:
                keys = _keys(tables[kind[0]], kind[1])
                self._owners[kind].update(dict.fromkeys(keys, target))

    def finish(
        self,
        files: pyarrow.Table,
        pairs: set[Key],
        unmatched: pyarrow.Table,
        about: Mapping[str, object],
    ) -> None:
        """Make the tables of this scan.

        Args:
            files: the table of files; of contents, what these have is kept.
            pairs: of comparisons, those that are kept.
            unmatched: more rows of `comparisons`.
            about: what `scan.json` says.
        """
        self.flush()
        contents = {(content,) for content in files["content"].to_pylist() if content is not None}
        kept = {CONTENT: contents, PAIR: pairs}
        # Contents and comparisons first: were this killed, what the others lose is then not known either.
        order = ("contents", "comparisons", "entries", "memory", "hints", "findings")
        for name in order:
            more = [unmatched] if name == "comparisons" else []
            _write(chain(self._current(name, kept[_ABOUT[name]]), more), name, self.folder)
        _write([files], "files", self.folder)
        write_about(self.folder, {**about, "complete": True})
        self._drop_parts()

    def _drop_parts(self) -> None:
        parts = os.path.join(self.folder, _PARTS)
        if os.path.isdir(parts):
            # Renamed first: half a part would look like a whole one.
            unused = os.path.join(self.folder, f"{_UNFINISHED}{_PARTS}")
            os.rename(parts, unused)
            shutil.rmtree(unused)


@contextmanager
def opened(folder: str, about: Mapping[str, object]) -> Iterator[Store]:
    """The folder of a scan, made where it is not there; no other scan can write it meanwhile.

    Args:
        folder: where.
        about: what `scan.json` says; `arch` and `tool` must be those of the scan that is there.

    Raises:
        UsageError: the folder is somebody else's, or of another kind of scan; another scan is writing it.
        InputError: it cannot be written.
    """
    make_folder(folder)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder}: another scan is at work here") from None
        _check_ours(folder, about)
        write_about(folder, {**about, "complete": False})
        _sweep(folder)
        store = Store(folder)
        try:
            yield store
        finally:
            # What is done stays done, also where the scan was interrupted.
            with suppress(InputError):
                store.flush()
    finally:
        # Which ends the lock.
        os.close(handle)


def read_about(folder: str) -> dict[str, Any]:
    """What `scan.json` says. Raises InputError: there is none."""
    path = os.path.join(folder, SCAN_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise InputError(f"{path}: error: {error.strerror}: no folder of a scan") from None
    except ValueError as error:
        raise InputError(f"{path}: error: no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("schema") != SCAN_SCHEMA:
        raise InputError(f"{path}: error: expected schema {SCAN_SCHEMA}")
    return found


def about_text(folder: str) -> str:
    """`scan.json`, as it is. Raises InputError: there is none."""
    return json.dumps(read_about(folder), indent=2, ensure_ascii=False)


def write_about(folder: str, about: Mapping[str, object]) -> None:
    """Write `scan.json`. Raises InputError."""
    content = {"schema": SCAN_SCHEMA, "tables_version": TABLES_VERSION, **about}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_file(text.encode("utf-8", "backslashreplace"), os.path.join(folder, SCAN_FILE))


def _check_ours(folder: str, about: Mapping[str, object]) -> None:
    if all(name.startswith(_UNFINISHED) for name in os.listdir(folder)):
        return
    if not os.path.exists(os.path.join(folder, SCAN_FILE)):
        raise UsageError(f"{folder}: not empty, and no folder of a scan")
    there = read_about(folder)
    for key, value in {**about, "tables_version": TABLES_VERSION}.items():
        if key in ("arch", "tool", "tables_version") and there.get(key) != value:
            message = (
                f"{folder}: a scan with {key} {there.get(key)}, not {value}; name another folder"
            )
            raise UsageError(message)


def _sweep(folder: str) -> None:
    """Remove what a scan that was killed had not finished writing."""
    parts = os.path.join(folder, _PARTS)
    for place in (folder, parts):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            path = os.path.join(place, name)
            if name.startswith(_UNFINISHED):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def _keys(table: pyarrow.Table, columns: Sequence[str]) -> list[Key]:
    return list(zip(*(table[name].to_pylist() for name in columns)))


def _read(folder: str, name: str, columns: Sequence[str] | None = None) -> pyarrow.Table | None:
    """A table in a folder; None where it has none. Raises InputError: it cannot be read."""
    path = os.path.join(folder, f"{name}.parquet")
    if not os.path.exists(path):
        return None
    from pyarrow import ArrowException, parquet

    try:
        return parquet.ParquetFile(path).read(columns=list(columns) if columns else None)
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: error: cannot be read: {error}") from None


def _write(tables: Iterable[pyarrow.Table], name: str, folder: str) -> None:
    """Write a table whole or not at all. Raises InputError."""
    from pyarrow import parquet

    schema = arrow_schema(name)
    path = os.path.join(folder, f"{name}.parquet")
    unfinished = os.path.join(folder, f"{_UNFINISHED}{name}.parquet")
    with _writing(path):
        with parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for table in tables:
                if table.num_rows:
                    writer.write_table(table.cast(schema))
        os.replace(unfinished, path)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Raises InputError, naming what was to be written, for what the file system says."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: error: cannot be written: {reason}") from None
