"""Processes that share work out, and that end when the one that started them does.

Place in the flow: beside everything; imports nothing of the package.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor


def process_pool(jobs: int) -> ProcessPoolExecutor:
    """That many processes. They do not outlive this one, even where it is killed."""
    return ProcessPoolExecutor(jobs, initializer=_follow_parent)


def _follow_parent() -> None:
    """End this process when its parent was killed: by itself it would wait for work for ever.

    An interrupt is the parent's affair, which then asks for no more work.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def follow() -> None:
        multiprocessing.connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
