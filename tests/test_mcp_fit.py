"""Cutting answers to a size: nothing is lost, and what is left keeps its shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileir_tools.errors import UsageError
from tileir_tools.server.fit import SHORTEST, Cut, fitted, part_of

# Those that JSON writes in different ways; the table of all takes a while to load.
CHARACTERS = 'ab /~\n\t"\\\x00é☃\U0001d11e'
# Long ones are drawn by their length: drawing each character takes too long.
TEXTS = st.text(CHARACTERS, max_size=20) | st.integers(0, 5 * SHORTEST).map(
    lambda n: 'a\n"é'[: n % 5] * n
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(st.sampled_from(["a", "b/c", "~", "", "0", "name"]), inner, max_size=6)
    ),
    max_leaves=25,
)


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def collected(document: Any, most: int) -> Any:
    """The document, put together from answers of at most that size, as a client would do it."""
    whole, cuts = fitted(document, most)
    for cut in cuts:
        _complete(document, whole, cut, most)
    return whole


def _complete(document: Any, whole: Any, cut: Cut, most: int) -> None:
    """Put into `whole` what was left out of one list or text."""
    items = part_of(whole, cut.part)
    behind = cut.offset + cut.shown
    while behind < cut.total:
        piece, cuts = fitted(part_of(document, cut.part), most, cut.part, behind)
        assert piece
        items = items + piece
        behind += len(piece)
        _replace(whole, cut.part, items)
        for inner in cuts:
            if inner.part != cut.part:
                _complete(document, whole, inner, most)
        items = part_of(whole, cut.part)


def _replace(whole: Any, pointer: str, value: Any) -> None:
    home, _, last = pointer.rpartition("/")
    key = last.replace("~1", "/").replace("~0", "~")
    holder = part_of(whole, home)
    holder[int(key) if isinstance(holder, list) else key] = value


@given(st.dictionaries(st.sampled_from(["x", "y"]), VALUES), st.integers(300, 3000))
def test_all_pieces_together_are_the_document(document: Any, most: int) -> None:
    assert collected(document, most) == document


@given(VALUES, st.integers(300, 3000))
def test_what_fits_is_left_alone(value: Any, most: int) -> None:
    found, cuts = fitted(value, most)
    assert (found == value) == (not cuts)
    if size(value) <= most:
        assert found == value


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["p", "q"]), st.integers() | st.text(CHARACTERS, max_size=50)
        )
    )
)
def test_lists_of_records_keep_to_the_size(rows: list[dict[str, Any]]) -> None:
    document = {"schema": "x/1", "rows": rows}
    found, _ = fitted(document, 500)
    assert size(found) <= 500
    assert found["rows"] == rows[: len(found["rows"])]


def test_small_members_are_whole_before_large_ones() -> None:
    document = {"large": list(range(1000)), "small": [1, 2, 3], "verdict": "PASS"}
    found, cuts = fitted(document, 300)
    assert (found["small"], found["verdict"]) == ([1, 2, 3], "PASS")
    [cut] = cuts
    assert (cut.part, cut.offset, cut.total) == ("/large", 0, 1000)
    assert found["large"] == list(range(cut.shown))
    assert 200 < size(found) <= 300


def test_a_large_item_is_cut_inside_and_named_behind_its_list() -> None:
    document = {"rows": [{"text": "x" * 5000}, {"text": "y"}]}
    found, cuts = fitted(document, 1000)
    assert [cut.part for cut in cuts] == ["/rows", "/rows/0/text"]
    assert cuts[0] == Cut("/rows", 0, 1, 2)
    assert found["rows"][0]["text"] == "x" * cuts[1].shown
    assert size(found) <= 1000


def test_offsets_count_items_and_characters() -> None:
    assert fitted([1, 2, 3], 100, "/a", 2) == ([3], [Cut("/a", 2, 1, 3)])
    assert fitted("abc", 100, "/a", 1) == ("bc", [Cut("/a", 1, 2, 3)])


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("", {"a/b": [{"~": 5}]}), ("/a~1b", [{"~": 5}]), ("/a~1b/0/~0", 5)],
)
def test_pointers(pointer: str, found: Any) -> None:
    assert part_of({"a/b": [{"~": 5}]}, pointer) == found


@pytest.mark.parametrize("pointer", ["a", "/b", "/a/x", "/a/-1", "/a/1", "/a/0/x", "/a/²"])
def test_pointers_to_nothing(pointer: str) -> None:
    with pytest.raises(UsageError, match="part "):
        part_of({"a": [1]}, pointer)


@pytest.mark.parametrize("value", [{"a": 1}, 5, None, [1, 2], "ab"])
def test_offsets_behind_the_end(value: Any) -> None:
    with pytest.raises(UsageError, match="part '/x'"):
        fitted(value, 100, "/x", 2)
