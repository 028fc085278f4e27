"""A scan: folders of dumps to tables.

Place in the flow: bytes -> Module -> facts -> findings -> **tables**; imports `reading`, `sharing`, `analysis`,
`matching`, `store`. This process finds files, reads and hashes them, and writes; workers get contents and
give tables. Contents that are known, from this scan or the last, are not looked at again, nor are files read
again whose size and time of change are those that were written down.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from ..analyze.hints import check_arch
from ..bridges.arrow import arrow_table, import_arrow, writable
from ..errors import InputError, UsageError
from ..read.search import find_files, is_dump
from ..toolchain.compile_cache import CACHE_FILE
from .analysis import (
    Content,
    EntryKey,
    Task,
    analyze_contents,
    cached_content,
    compare_tasks,
    comparison_row,
    lost_contents,
    lost_tasks,
)
from .matching import COLUMNS, Match, match, place_of
from .reading import ARCHIVES, Piece, is_container, read_pieces
from .sharing import Work, Workers
from .store import CONTENT, PAIR, Key, Store, opened

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Told what is done, how much of it, and of how much: ("files", 10, 200).
Progress = Callable[[str, int, int], None]

SCANNED, REFERENCE = "scanned", "reference"

# What a worker gets at once: at most so many contents, or bytes where several come to more.
_BATCH = 16
_BATCH_BYTES = 1 << 18

Row = dict[str, Any]


class Summary(NamedTuple):
    """What a scan found.

    Attributes:
        files: files, members of tarballs and kernels of caches.
        contents: different contents in them.
        entries: entries in these.
        errors: of the files, those that are no valid Tile IR or could not be read.
        read: files on disk that were read this time; the others have not changed.
        analyzed: contents that were analysed this time.
        verdicts: with a reference, how many pairs of entries have each verdict; "UNMATCHED" for entries that
            nothing corresponds to, "NOT_COMPARED" for pairs that could not be.
    """

    files: int
    contents: int
    entries: int
    errors: int
    read: int
    analyzed: int
    verdicts: dict[str, int]


def scan(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    arch: str | None = None,
    reference: Sequence[str | os.PathLike[str]] = (),
    jobs: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Facts of every dump in some folders, as Parquet tables in a folder.

    Args:
        paths: files and folders; in folders, files of Tile IR, tarballs and compile caches are read.
        out: the folder to write; a scan that it holds is brought up to date.
        arch: target for which hints are resolved; None looks at `default` alone.
        reference: files and folders to compare with, entry by entry.
        jobs: processes to share the work out to.
        executor: shares the work out instead; any `concurrent.futures.Executor`, Dask's included.
        progress: told how far the scan is.

    Returns:
        A Summary. A file that cannot be read is in the tables, and stops nothing.

    Raises:
        UsageError: pyarrow is not installed; unknown arch; `out` is in use, or no folder of a scan like this.
        InputError: a path does not exist; `out` cannot be written.
        ToolError: the executor can do no more work; what is done is written.
    """
    import_arrow()
    check_arch(arch)
    named = {SCANNED: [os.fspath(p) for p in paths], REFERENCE: [os.fspath(p) for p in reference]}
    if not named[SCANNED]:
        raise UsageError("nothing to scan")
    for path in (*named[SCANNED], *named[REFERENCE]):
        if not os.path.exists(path):
            raise InputError(f"{path}: error: no such file")
    about = {
        "tool": __version__,
        "arch": arch,
        "paths": named[SCANNED],
        "reference": named[REFERENCE],
    }
    with opened(os.fspath(out), about) as store:
        run = _Scan(store, arch, Workers(jobs, executor), progress or (lambda *_: None))
        run.contents(named)
        matches, alone = run.comparisons() if reference else ([], [])
        return run.finish(matches, alone, about)


class _Scan:
    """A scan on its way: `contents`, then `comparisons`, then `finish`."""

    def __init__(self, store: Store, arch: str | None, workers: Workers, progress: Progress):
        self._store = store
        self._arch = arch
        self._workers = workers
        self._progress = progress
        self._known = _sound(store)
        # Rows of files by path, as the last scan has them.
        self._before: dict[str, list[Row]] = defaultdict(list)
        for row in store.files():
            self._before[row["path"]].append(row)
        self._files: list[Row] = []
        # Path as it is written down -> path, where it has what no text can hold.
        self._odd: dict[str, str] = {}
        self._read = self._analyzed = 0

    # -- facts --------------------------------------------------------------------------------------

    def contents(self, named: dict[str, list[str]]) -> None:
        """Find and read files, and analyse what is not known."""
        found = [
            (side, root, path)
            for side, roots in named.items()
            for path, root in _found(roots).items()
        ]
        do = partial(analyze_contents, arch=self._arch)
        batches = _batches(self._unknown(found), lambda item: len(item.data))
        for tables in self._workers.run(batches, Work(do, lost_contents)):
            self._analyzed += tables["contents"].num_rows
            self._store.add(tables)
        self._store.flush()

    def _unknown(self, found: list[tuple[str, str, str]]) -> Iterator[Content]:
        """The contents of files that nobody has looked at; notes the rows of files on the way."""
        rows: dict[str, list[Row]] = {}
        for number, (side, root, path) in enumerate(found):
            if path not in rows:
                rows[path] = yield from self._file(path)
            own = [{**row, "side": side, "root": writable(root)} for row in rows[path]]
            self._files += own
            if own and own[0]["path"] != path:
                self._odd[own[0]["path"]] = path
            self._store.add_files(own)
            self._progress("files", number + 1, len(found))

    def _file(self, path: str) -> Generator[Content, None, list[Row]]:
        """The unknown contents of a file; returns its rows."""
        about = _about(path)
        before = self._before.get(about["path"], ())
        if before and all(self._still(row, about) for row in before):
            # Both sides may have it, and so may the scan before and one that was killed.
            return _unique(before)
        self._read += 1
        rows = []
        for piece in read_pieces(path):
            row = {**about, "member": piece.member, "error": piece.error}
            if piece.data is not None:
                item = Content(_hash(piece.data), piece.data)
                row["content"] = item.content
                if item.content not in self._known:
                    self._known.add(item.content)
                    yield from self._new(item, piece)
            rows.append(row)
        return _unique(rows)

    def _still(self, row: Row, about: Row) -> bool:
        """Whether a file is as it was, and what was in it is known. Errors are looked at again."""
        same = all(row[k] == about[k] for k in ("file_bytes", "modified_ns"))
        return same and row["content"] in self._known

    def _new(self, item: Content, piece: Piece) -> Iterator[Content]:
        if piece.cached is None:
            yield item
        else:
            self._store.add(cached_content(item, piece.cached))

    # -- findings -----------------------------------------------------------------------------------

    def comparisons(self) -> tuple[list[Match], list[EntryKey]]:
        """Compare the entries with those of the reference; gives the pairs, and what has no partner."""
        places: dict[str, dict[str, set[str]]] = {
            SCANNED: defaultdict(set),
            REFERENCE: defaultdict(set),
        }
        for row in self._files:
            if row.get("content") is not None:
                place = place_of(row["root"], row["path"], row["member"])
                places[row["side"]][row["content"]].add(place)
        kept = {(content,) for side in places.values() for content in side}
        rows = self._store.rows("entries", COLUMNS, kept)
        matches, alone = match(rows, places[SCANNED], places[REFERENCE])
        self._compare(matches)
        return matches, alone

    def _compare(self, matches: list[Match]) -> None:
        known = _compared(self._store)
        together: dict[tuple[str, str], list[Match]] = defaultdict(list)
        for found in matches:
            if _pair(found) not in known:
                together[found.entry.content, found.reference.content].append(found)
        wanted = {content for pair in together for content in pair}
        rows = ({**row, "path": self._odd.get(row["path"], row["path"])} for row in self._files)
        sources = _Sources(rows, wanted)
        do = partial(compare_tasks, arch=self._arch)
        done, total = 0, sum(map(len, together.values()))
        tasks = (
            Task(sources.data(one), sources.data(other), tuple(pairs))
            for (one, other), pairs in together.items()
        )
        batches = _batches(tasks, lambda task: len(task.data) + len(task.reference_data))
        for tables in self._workers.run(batches, Work(do, lost_tasks)):
            self._store.add(tables)
            done += tables["comparisons"].num_rows
            self._progress("comparisons", done, total)
        self._store.flush()

    # -- the end ------------------------------------------------------------------------------------

    def finish(
        self, matches: list[Match], alone: list[EntryKey], about: Mapping[str, object]
    ) -> Summary:
        """Make the tables, and sum up."""
        pairs = {_pair(found) for found in matches}
        kept = {(row["content"],) for row in self._files if row.get("content") is not None}
        verdicts: Counter[str] = Counter(
            row["verdict"] or "NOT_COMPARED"
            for row in self._store.rows("comparisons", ["verdict"], pairs)
        )
        if alone:
            verdicts["UNMATCHED"] = len(alone)
        bad = {
            row["content"]
            for row in self._store.rows("contents", ["content", "error"], kept)
            if row["error"] is not None
        }
        summary = Summary(
            files=len(self._files),
            contents=len(kept),
            entries=sum(1 for _ in self._store.rows("entries", ["entry"], kept)),
            errors=sum(row.get("content") is None or row["content"] in bad for row in self._files),
            read=self._read,
            analyzed=self._analyzed,
            verdicts=dict(sorted(verdicts.items())),
        )
        unmatched = arrow_table("comparisons", [comparison_row(key, None, None) for key in alone])
        files = arrow_table("files", self._files)
        self._store.finish(files, pairs, unmatched, {**about, "summary": summary._asdict()})
        return summary


class _Sources:
    """Contents again, for comparing: from files when they are asked for; from tarballs, where there is no way
    to one member but through all before it, at once, and kept compressed."""

    def __init__(self, files: Iterable[Row], wanted: set[str]):
        self._paths: dict[str, str] = {}
        self._kept: dict[str, bytes] = {}
        archives: dict[str, None] = {}
        for row in files:
            if row.get("content") not in wanted:
                continue
            if is_container(row["path"]):
                archives[row["path"]] = None
            else:
                self._paths[row["content"]] = row["path"]
        for path in archives:
            for piece in read_pieces(path):
                content = _hash(piece.data or b"")
                if content in wanted and content not in self._paths and piece.data is not None:
                    self._kept[content] = zlib.compress(piece.data, 1)

    def data(self, content: str) -> bytes:
        """The bytes; none where the file has changed meanwhile."""
        if content in self._kept:
            return zlib.decompress(self._kept[content])
        path = self._paths.get(content)
        pieces = read_pieces(path) if path is not None else ()
        return next((p.data for p in pieces if p.data and _hash(p.data) == content), b"")


def _found(roots: Iterable[str]) -> dict[str, str]:
    """File -> the root under which it was found first; in the order of the roots."""
    found: dict[str, str] = {}
    for root in roots:
        for path in find_files(root, (*ARCHIVES, CACHE_FILE)):
            # Not every name that ends as that of a cache is one.
            if path == root or is_container(path) or is_dump(path):
                found.setdefault(path, root)
    return found


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _about(path: str) -> Row:
    """The columns of `files` that the file system knows."""
    try:
        about = os.stat(path)
    except OSError:
        return {"path": writable(path), "file_bytes": None, "modified_ns": None}
    return {"path": writable(path), "file_bytes": about.st_size, "modified_ns": about.st_mtime_ns}


def _unique(rows: Iterable[Row]) -> list[Row]:
    """Rows of one file, each thing in it once: tarballs may hold one name twice."""
    return list({(r["member"], r.get("content"), r["error"]): r for r in rows}.values())


def _sound(store: Store) -> set[str]:
    """The contents that need no other look; those that workers died of get one."""
    rows = store.rows("contents", ["content", "error_kind"], store.keys(CONTENT))
    return {row["content"] for row in rows if row["error_kind"] != "worker"}


def _compared(store: Store) -> set[Key]:
    """The pairs that need no other look; those that could not be compared get one."""
    rows = store.rows("comparisons", [*PAIR[1], "error"], store.keys(PAIR))
    return {tuple(row[name] for name in PAIR[1]) for row in rows if row["error"] is None}


def _pair(found: Match) -> Key:
    return (*found.entry, *found.reference)


def _batches(items: Iterable[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    total = 0
    for item in items:
        if batch and (len(batch) >= _BATCH or total + size(item) > _BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
