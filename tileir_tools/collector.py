"""Python's cycle collector, kept out of what makes many objects and frees none.

Place in the flow: below everything; imports nothing of the package. A module is full of cycles (an operation
knows its block, a value who uses it), and what reads or examines one makes more objects around it. The
collector would walk all of them again and again: a third of the time of reading a large file, two thirds of
verifying it, and more than ten times as long for ten times the operations.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def without_collecting(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that runs while the collector waits; what it leaves behind is collected after it."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            gc.enable()

    return run
