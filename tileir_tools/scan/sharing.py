"""Sharing work out: this process, processes of our own, or any executor; workers may die.

Place in the flow: below `scanning`; imports `errors`, `processes`. A worker that is killed takes nothing with
it: what it was at is done again, one item at a time, so that an item that kills every worker is found and told
apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

from ..errors import ToolError, UsageError
from ..processes import process_pool

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# Batches given to an executor of unknown size before the first of them is done.
_AHEAD = 256
# An item that a single worker dies of so often is given up.
_TRIES = 2


class Work(NamedTuple, Generic[_Item, _Result]):
    """What is done with items: `do` a batch of them, or say that they are `lost`, and why.

    Both can be pickled; `do` raises nothing of its own.
    """

    do: Callable[[Sequence[_Item]], _Result]
    lost: Callable[[Sequence[_Item], str], _Result]


class Workers:
    """Who does the work: this process (one job, no executor), `jobs` processes, or an executor."""

    def __init__(self, jobs: int = 1, executor: Executor | None = None):
        self._jobs = jobs
        self._given = executor

    def run(
        self, batches: Iterable[Sequence[_Item]], work: Work[_Item, _Result]
    ) -> Iterator[_Result]:
        """The results of all batches, in the order in which they come.

        Raises:
            ToolError: an executor that was given can do no more work.
        """
        if self._given is None and self._jobs == 1:
            yield from map(work.do, batches)
        elif self._given is not None:
            yield from self._run_given(batches, work, self._given)
        else:
            yield from self._run_own(batches, work)

    def _run_given(
        self, batches: Iterable[Sequence[_Item]], work: Work[_Item, _Result], executor: Executor
    ) -> Iterator[_Result]:
        for batch, future in _shared(batches, work, executor, _AHEAD):
            error = _error_of(future)
            if error is None:
                yield future.result()
            elif _killed_workers(error) and len(batch) > 1:
                # Dask has done it again on other workers, until it gave up.
                singles = ([item] for item in batch)
                yield from self._run_given(singles, work, executor)
            elif _killed_workers(error):
                yield work.lost(batch, "every worker that took it died")
            else:
                raise _no_more(error)

    def _run_own(
        self, batches: Iterable[Sequence[_Item]], work: Work[_Item, _Result]
    ) -> Iterator[_Result]:
        rest = iter(batches)
        while True:
            unfinished: list[Sequence[_Item]] = []
            with process_pool(self._jobs) as pool:
                # Enough to be at while a part is written, and few: what they are at when one of them dies is
                # done again by a single one.
                for batch, future in _shared(rest, work, pool, 4 * self._jobs):
                    error = _error_of(future)
                    if error is None:
                        yield future.result()
                    elif isinstance(error, BrokenExecutor):
                        unfinished.append(batch)
                    else:
                        raise _no_more(error)
            if not unfinished:
                return
            for batch in unfinished:
                for item in batch:
                    yield _alone(item, work)


def _shared(
    batches: Iterable[Sequence[_Item]],
    work: Work[_Item, _Result],
    executor: Executor,
    ahead: int,
) -> Iterator[tuple[Sequence[_Item], Future[_Result]]]:
    """Batches with their futures as they are done; no new ones are given to a broken executor."""
    waiting: dict[Future[_Result], Sequence[_Item]] = {}
    rest = iter(batches)
    sound = True
    try:
        while True:
            while sound and len(waiting) < ahead and (batch := next(rest, None)) is not None:
                try:
                    waiting[executor.submit(work.do, batch)] = batch
                except (BrokenExecutor, RuntimeError) as error:
                    # It died, or was shut down, since it took the last one.
                    sound = False
                    failed: Future[_Result] = Future()
                    failed.set_exception(error)
                    waiting[failed] = batch
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                sound = sound and not isinstance(_error_of(future), BrokenExecutor)
                yield waiting.pop(future), future
    finally:
        for future in waiting:
            future.cancel()


def _error_of(future: Future[_Result]) -> BaseException | None:
    """What went wrong; Dask cancels what it cannot do any more."""
    return CancelledError("cancelled") if future.cancelled() else future.exception()


def _alone(item: _Item, work: Work[_Item, _Result]) -> _Result:
    """The result of one item, in a process that does nothing else."""
    for _ in range(_TRIES):
        with process_pool(1) as pool:
            try:
                return pool.submit(work.do, [item]).result()
            except BrokenExecutor:
                continue
    return work.lost([item], "the process that took it died")


def _killed_workers(error: BaseException) -> bool:
    """Whether Dask says that workers died at a task."""
    if "distributed" not in sys.modules:
        return False
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)


def _no_more(error: BaseException) -> ToolError:
    said = str(error) or type(error).__name__
    return ToolError(
        f"no more workers: {said}; scan again to go on where it was", "executor", "crashed"
    )


@contextmanager
def dask_executor(scheduler: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler. They need tileir-tools, but none of the files.

    Raises:
        UsageError: distributed is not installed.
        ToolError: nobody answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'tileir-tools[dask]'") from None
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise ToolError(f"no Dask scheduler at {scheduler}: {error}", "dask", "missing") from None
    with client:
        yield client.get_executor(pure=False)
