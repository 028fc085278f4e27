"""How deep regions may nest.

Place in the flow: part of bytes -> Module; imports nothing.
"""

from __future__ import annotations

import sys

# Real kernels nest fewer than ten; the limit keeps hostile input from exhausting the stack of a thread.
MAX_REGION_DEPTH = 1000

# Nothing has to be done for modules that nest fewer; reading, writing, verifying and comparing take at most
# six calls for each level.
_ORDINARY = 50
_CALLS = 10


def make_room(depth: int) -> None:
    """Let calls nest as deep as a module needs that nests `depth` deep, or deeper.

    The interpreter's limit is raised for good: what is read is written and compared afterwards.
    """
    if depth > _ORDINARY:
        needed = 1000 + _CALLS * MAX_REGION_DEPTH
        sys.setrecursionlimit(max(needed, sys.getrecursionlimit()))
