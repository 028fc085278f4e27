"""HTML out of elements: what is no HTML yet is escaped, everywhere.

Place in the flow: findings -> **report**; imports nothing of the package. `tag` takes content and attribute
values as they are and escapes them; only what `tag` (or `joined`) made is taken as HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

# Control characters, half surrogates, and what turns the direction of text: kernels are written by others,
# and none of these may hide what a line says. Tabs and line breaks stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]"
)

_VOID = frozenset({"col", "input", "meta"})


class Html(str):
    """A text that is HTML."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Any text as HTML; characters that cannot be seen are shown as U+FFFD."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_HIDDEN.sub("\ufffd", text), quote=True))


def joined(parts: Iterable[str]) -> Html:
    """One text behind the other; those that are no HTML are escaped."""
    return Html("".join(map(escaped, parts)))


def tag(name: str, *content: str, **attributes: str | int | bool | None) -> Html:
    """An element. An attribute is left out for None and False, and stands without a value for True.

    `class_` is `class`; other underscores are hyphens (`data_n`, `aria_label`).
    """
    opening = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        opening += f" {shown}" if value is True else f' {shown}="{escaped(str(value))}"'
    if name in _VOID:
        return Html(f"<{opening}>")
    return Html(f"<{opening}>{joined(content)}</{name}>")
