"""Which entry of the reference an entry of the scanned files is to be compared with.

Place in the flow: facts -> pairs, before findings; imports `analysis`, `read.search`. Entries correspond as
`tileir-diff` has it: equal symbols, then equal names with equal constants, then equal names, then equal
names behind an alias; then equal bodies modulo sizes; last, what stands alone in files at the same place. Of
several that correspond, the one whose file stands at the same place below its folder is taken, then the one
that is equal at the finest level, then the first.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..read.search import SUFFIXES
from .analysis import EntryKey

# Column of `entries` -> what `matched_by` says; the first that is equal counts.
_SAME = {
    "symbol": "symbol",
    "signature": "constants",
    "function": "function",
    "real_function": "alias",
    "fingerprint_sizes": "sizes",
}
_LEVELS = tuple(
    f"fingerprint_{level}" for level in ("exact", "names", "hints", "dtype", "sizes", "structure")
)
COLUMNS = (*EntryKey._fields, *dict.fromkeys([*_SAME, *_LEVELS]))

# Content -> the places below their folders at which files have it.
Places = Mapping[str, Iterable[str]]
Row = dict[str, Any]


class Match(NamedTuple):
    """A scanned entry, the one of the reference, and by what they correspond."""

    entry: EntryKey
    reference: EntryKey
    by: str


def match(
    rows: Iterable[Row], scanned: Places, reference: Places
) -> tuple[list[Match], list[EntryKey]]:
    """The pairs to compare, each once, and the scanned entries that nothing corresponds to.

    Args:
        rows: of `entries`, with the columns `COLUMNS`.
        scanned, reference: where the contents stand.
    """
    ordered = sorted(rows, key=_key)
    index = _Index(ordered, reference)
    entries = Counter(row["content"] for row in ordered)
    pairs: dict[Match, None] = {}
    alone = []
    for row in ordered:
        for place in sorted(scanned.get(row["content"], ())):
            found = index.find(row, place)
            if found is None and entries[row["content"]] == 1:
                found = index.find_alone(place)
            if found is None:
                alone.append(_key(row))
                break
            pairs[Match(_key(row), *found)] = None
    return list(pairs), alone


def place_of(root: str, path: str, member: str | None) -> str:
    """Where something stands below the folder that was named, without suffixes."""
    place = os.path.relpath(path, root) if path != root else os.path.basename(path)
    if member is not None:
        # Tarballs of two releases have different names.
        place = os.path.normpath(member)
    place = place.removesuffix(".gz")
    stem, suffix = os.path.splitext(place)
    return stem if suffix in SUFFIXES else place


def _key(row: Row) -> EntryKey:
    return EntryKey(row["content"], row["module"], row["entry"])


class _Index:
    """Entries of the reference by everything that they are looked for by; of each the first."""

    def __init__(self, rows: list[Row], places: Places):
        self._at: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        self._first: dict[tuple[object, ...], Row] = {}
        self._standing: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            where = places.get(row["content"])
            if where is None:
                continue
            for place in where:
                self._standing[place].append(row)
            for same in _SAME:
                for place in where:
                    self._at[same, row[same], place].append(row)
                for level in _LEVELS:
                    self._first.setdefault((same, row[same], level, row[level]), row)
                self._first.setdefault((same, row[same]), row)

    def find(self, row: Row, place: str) -> tuple[EntryKey, str] | None:
        """The entry that corresponds, and by what."""
        for same, by in _SAME.items():
            here = self._at.get((same, row[same], place))
            if here:
                return _key(max(here, key=lambda other: _likeness(row, other))), by
            keys = [(same, row[same], level, row[level]) for level in _LEVELS]
            for key in (*keys, (same, row[same])):
                if key in self._first:
                    return _key(self._first[key]), by
        return None

    def find_alone(self, place: str) -> tuple[EntryKey, str] | None:
        """The only entry of the file at a place; None where there are several."""
        here = self._standing.get(place, [])
        return (_key(here[0]), "place") if len(here) == 1 else None


def _likeness(one: Row, other: Row) -> int:
    """At how many levels two entries are equal."""
    return sum(one[level] == other[level] for level in _LEVELS)
