"""For mkdocstrings: `rows, columns: what they are` in a docstring becomes a line for each name.

Our docstrings document names that belong together in one line, which Google's style does not know.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_COMBINED = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+): (?P<text>.*)$")


class CombinedNames(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            lines = obj.docstring.value.splitlines()
            obj.docstring.value = "\n".join(new for line in lines for new in _separate(line))


def _separate(line: str) -> list[str]:
    match = _COMBINED.match(line)
    if match is None:
        return [line]
    first, *others = match["names"].split(", ")
    indent = match["indent"]
    return [
        *(f"{indent}{name}: see {first}." for name in others),
        f"{indent}{first}: {match['text']}",
    ]
