"""Comparing many files: folders and patterns on both sides.

Place in the flow: facts -> **findings** -> report; imports `read`, `grouping` and what comparing two sets of
modules imports.

A file of the reference and one of the generated side belong together where they have the same path below
their folder; else where they have it but for the suffix, since text may stand against bytecode. What is left
over on both sides is compared as one heap, entry by entry.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import TileIRError, UsageError
from ..model import Module
from ..read import load_all
from ..read.search import find_files
from ..write.marked import place_in_text
from . import diff as diff_modules
from .finding import Diff
from .grouping import Unread
from .policy import Policy

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Comparison(NamedTuple):
    """The answer about many files, and those that could not be read."""

    diff: Diff
    unread: tuple[Unread, ...]


class _Task(NamedTuple):
    """Files to compare with each other."""

    reference: tuple[str, ...]
    generated: tuple[str, ...]
    arch: str | None
    policy: Policy
    entry: str | None


def is_many(path: str) -> bool:
    """Whether an argument names a folder or a pattern, not a file."""
    return os.path.isdir(path) or (not os.path.exists(path) and glob.has_magic(path))


def diff_files(
    reference: str,
    generated: str,
    *,
    arch: str | None = None,
    policy: Policy | None = None,
    entry: str | None = None,
    executor: Executor | None = None,
) -> Comparison:
    """Compare everything on one side with everything on the other.

    Args:
        reference: a folder, a pattern (`*`, `?`, `**`) or a file.
        generated: likewise.
        arch: as for `diff`.
        policy: as for `diff`.
        entry: as for `diff`.
        executor: compares pairs at the same time; any `concurrent.futures.Executor`.

    Returns:
        A Comparison. A file that cannot be read stops nothing else.

    Raises:
        UsageError: no files on a side; unknown arch or rule; no entry of that name.
    """
    left, right = _expanded(reference), _expanded(generated)
    rest = (arch, policy or Policy(), entry)
    tasks = [_Task(one, other, *rest) for one, other in _paired(left, right)]
    answers = list(map(_compare, tasks) if executor is None else executor.map(_compare, tasks))
    unread = tuple(u for _, found in answers for u in found)
    diffs = [answer for answer, _ in answers if answer is not None]
    if not diffs and not unread:
        raise UsageError(f"no entry to compare{f': none contains {entry!r}' if entry else ''}")
    return Comparison(_together(diffs)._replace(unread=tuple(u.error for u in unread)), unread)


def _expanded(path: str) -> dict[str, str]:
    """Path below the folder -> file. Raises UsageError where there are none."""
    if not is_many(path):
        return {os.path.basename(path): path}
    if os.path.isdir(path):
        base, files = path, find_files(path)
    else:
        # What stands before the first part with a pattern in it.
        parts = path.split(os.sep)
        plain = next(k for k, part in enumerate(parts) if glob.has_magic(part))
        base = os.sep.join(parts[:plain]) or os.curdir
        files = sorted(f for f in glob.glob(path, recursive=True) if os.path.isfile(f))
    if not files:
        raise UsageError(f"no files of Tile IR in {path}")
    return {os.path.relpath(file, base): file for file in files}


def _paired(
    left: dict[str, str], right: dict[str, str]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for key in (lambda name: name, _stem):
        named: dict[str, str] = {}
        for name in right:
            named.setdefault(key(name), name)
        for name in list(left):
            other = named.pop(key(name), None)
            if other is not None:
                pairs.append(((left.pop(name),), (right.pop(other),)))
    if left or right:
        pairs.append((tuple(left.values()), tuple(right.values())))
    return sorted(pairs)


def _stem(path: str) -> str:
    return os.path.splitext(path.removesuffix(".gz"))[0]


def _compare(task: _Task) -> tuple[Diff | None, list[Unread]]:
    """The answer about one pair of files (or heaps), and what could not be read. What an executor runs."""
    unread: list[Unread] = []
    sides: list[list[Module]] = []
    for files in (task.reference, task.generated):
        modules: list[Module] = []
        for file in files:
            try:
                found = load_all(file)
                for module in found:
                    place_in_text(module, file)
                modules += found
            except TileIRError as error:
                unread.append(Unread(file, str(error)))
        sides.append(modules)
    if unread and not all(sides):
        return None, unread
    symbols = [e.symbol for modules in sides for m in modules for e in m.entries]
    if not any(task.entry is None or task.entry in symbol for symbol in symbols):
        return None, unread
    answer = diff_modules(sides[0], sides[1], arch=task.arch, policy=task.policy, entry=task.entry)
    return answer, unread


def _together(diffs: Sequence[Diff]) -> Diff:
    return Diff(
        tuple(entry for answer in diffs for entry in answer.entries),
        tuple(dict.fromkeys(arch for answer in diffs for arch in answer.arches)),
        tuple(dict.fromkeys(note for answer in diffs for note in answer.notes)),
    )
