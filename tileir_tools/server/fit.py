"""Cutting a JSON value to a size, so that what is left out can be asked for.

Place in the flow: documents -> **answers** of the server; imports `errors`. What is cut is lists
and long strings: the value keeps its shape, so a document that keeps its schema does so when it is cut.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..errors import UsageError

# Strings up to here are never cut: names, places, enumerations.
SHORTEST = 200


class Cut(NamedTuple):
    """A list or string of which only a piece is there.

    Attributes:
        part: JSON pointer to it, from the whole document.
        offset: of the first item or character that is there.
        shown: how many items or characters are there.
        total: how many there are.
    """

    part: str
    offset: int
    shown: int
    total: int


def part_of(document: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) such as `/entries/0/memory` names.

    Raises:
        UsageError: there is nothing of that name.
    """
    if pointer and not pointer.startswith("/"):
        raise UsageError(f"part '{pointer}': a JSON pointer begins with /, as /entries/0")
    found = document
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise UsageError(f"part '{pointer}': there is no '{key}'{_names(found)}")
    return found


def _names(value: Any) -> str:
    if isinstance(value, dict):
        return f"; there is {', '.join(map(str, value))}"
    return f"; there are {len(value)} items" if isinstance(value, list) else ""


def fitted(value: Any, most: int, pointer: str = "", offset: int = 0) -> tuple[Any, list[Cut]]:
    """A value in at most `most` characters of JSON, and what was cut.

    Args:
        value: of JSON.
        most: characters. Names of members and short strings are kept even where they are more.
        pointer: where in the document the value is.
        offset: of the first item or character that is wanted, of a list or a string.

    Returns:
        The value, which is whole where nothing is cut, and the pieces, outer ones first. Asking for the
        part of each piece at `offset + shown`, until no piece is left, gives everything.

    Raises:
        UsageError: there is an offset, and the value is no list or string that is so long.
    """
    if offset:
        if not isinstance(value, (list, str)):
            raise UsageError(f"part '{pointer}' is no list and no text, so it takes no offset")
        if offset >= len(value):
            raise UsageError(f"part '{pointer}' has {len(value)} items; offset {offset} is behind")
    cuts: list[Cut] = []
    return _fitted(value, most, pointer, offset, cuts), cuts


def _fitted(value: Any, most: int, pointer: str, offset: int, cuts: list[Cut]) -> Any:
    if not offset and _size(value) <= most:
        return value
    if isinstance(value, list):
        return _list(value, most, pointer, offset, cuts)
    if isinstance(value, dict):
        return _members(value, most, pointer, cuts)
    if isinstance(value, str):
        return _text(value, most, pointer, offset, cuts)
    return value


def _list(items: list[Any], most: int, pointer: str, offset: int, cuts: list[Cut]) -> list[Any]:
    left = most - 2
    # Where it belongs in the order of cuts, before what is cut inside of its items.
    place = len(cuts)
    shown: list[Any] = []
    for index in range(offset, len(items)):
        # The first is there at any size, else asking for the next would not go on.
        if shown and _size(items[index]) + 2 > left:
            break
        shown.append(_fitted(items[index], max(left, 0), f"{pointer}/{index}", 0, cuts))
        left -= _size(shown[-1]) + 2
    if len(shown) < len(items):
        cuts.insert(place, Cut(pointer, offset, len(shown), len(items)))
    return shown


def _members(members: dict[str, Any], most: int, pointer: str, cuts: list[Cut]) -> dict[str, Any]:
    """Members share what is left evenly, small ones first: what they leave, larger ones get."""
    left = most - 2 - sum(_size(key) + 4 for key in members)
    smallest = sorted(members, key=lambda key: _size(members[key]))
    found: dict[str, Any] = {}
    for number, key in enumerate(smallest):
        share = max(left, 0) // (len(smallest) - number)
        step = key.replace("~", "~0").replace("/", "~1")
        found[key] = _fitted(members[key], share, f"{pointer}/{step}", 0, cuts)
        left -= _size(found[key])
    return {key: found[key] for key in members}


def _text(text: str, most: int, pointer: str, offset: int, cuts: list[Cut]) -> str:
    room = max(most - 2, SHORTEST)
    shown = text[offset : offset + room]
    # Characters that JSON escapes take more than one.
    while len(shown) > SHORTEST and _size(shown) > most:
        shown = shown[: max(SHORTEST, len(shown) * 3 // 4)]
    if len(shown) < len(text):
        cuts.append(Cut(pointer, offset, len(shown), len(text)))
    return shown


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
