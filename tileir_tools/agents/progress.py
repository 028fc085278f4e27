"""How an agent tells what it is doing.

Place in the flow: below the agents; imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable

# Called with the name of a step, and a sentence about what it does or found.
Say = Callable[[str, str], None]


def silent(step: str, message: str) -> None:
    """Says nothing."""
