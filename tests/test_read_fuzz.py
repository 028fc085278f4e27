"""Damaged files: nothing but our own errors or modules, whatever is cut off, swapped or put in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileir_tools.errors import ParseError, TileIRError
from tileir_tools.model import Module, Operation
from tileir_tools.read import parse_all

FIXTURES = Path(__file__).parent / "fixtures"

# Small real files that hold every kind of thing, and every file of ours.
CUT = [
    FIXTURES / "kernels" / f"{name}.mlir"
    for name in (
        "argmax__16x256-float32__sm_100__bc13.4",
        "argmax__16x256-float32__sm_100__bc13.4.g",
    )
] + sorted((FIXTURES / "text").rglob("*.*"))
SOURCES = [p.read_text(encoding="utf-8") for p in CUT]

# Rougher than the reader's own tokens: damage should not stop at their borders.
PIECE = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$]+|->|\s+|.', re.DOTALL)
PIECES = sorted({piece for text in SOURCES for piece in PIECE.findall(text)})


def read(text: str | bytes) -> list[Module] | None:
    """The modules in a text; None where it is wrong, which must be said with places."""
    try:
        modules = parse_all(text, "f")
    except TileIRError as error:
        _check_error(error)
        return None
    for module in modules:
        for op in module.walk():
            _check_links(op)
    return modules


def _check_error(error: TileIRError) -> None:
    assert str(error).startswith("f:")
    if isinstance(error, ParseError):
        assert error.diagnostics
        for found in error.diagnostics:
            assert found.span is not None
            assert 0 <= found.span.start <= found.span.end <= len(found.span.source.text)
            assert found.message


def _check_links(op: Operation) -> None:
    """Uses, owners and parents agree, so that whoever gets a module may rely on them."""
    assert op.parent is not None
    assert op in op.parent.operations
    for value in op.operands:
        assert op in value.users
    for index, value in enumerate(op.results):
        assert value.owner is op
        assert value.index == index
    if op.spec is not None and op.segments is not None:
        assert sum(op.segments) == len(op.operands)
        assert len(op.segments) == len(op.spec.operands)


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.name)
def test_a_file_cut_anywhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # Every place of a small file; of a large one every place in some of its lines.
    places = range(len(text)) if len(text) < 1500 else range(0, len(text), 7)
    for end in places:
        read(text[:end])


@pytest.mark.parametrize("path", CUT[:1] + CUT[2:6], ids=lambda path: path.name)
def test_a_file_that_begins_anywhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for start in range(0, len(text), 11):
        read(text[start:])


def test_bytes_cut_inside_of_a_character() -> None:
    data = 'entry @k() {\n  print_tko "é€😀" -> token\n}\n'.encode()
    for end in range(len(data)):
        read(data[:end])


Edit = tuple[str, float, float, str]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "swap", "insert", "replace", "repeat", "character"]),
        st.floats(0, 1, exclude_max=True),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(PIECES) | st.text(max_size=3),
    ),
    min_size=1,
    max_size=5,
)


def damage(text: str, edits: list[Edit]) -> str:
    """The text with pieces deleted, swapped, put in."""
    pieces = PIECE.findall(text)
    for kind, here, there, piece in edits:
        if not pieces:
            break
        i, j = int(here * len(pieces)), int(there * len(pieces))
        if kind == "delete":
            del pieces[i : i + 1 + j % 5]
        elif kind == "swap":
            pieces[i], pieces[j] = pieces[j], pieces[i]
        elif kind == "insert":
            pieces.insert(i, piece)
        elif kind == "replace":
            pieces[i] = piece
        elif kind == "repeat":
            pieces[i:i] = pieces[j : j + 20]
        else:
            at = int(there * (len(pieces[i]) + 1))
            pieces[i] = pieces[i][:at] + piece[:1] + pieces[i][at + 1 :]
    return "".join(pieces)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SOURCES), EDITS)
def test_damaged_files_give_our_errors_or_modules(text: str, edits: list[Edit]) -> None:
    read(damage(text, edits))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(SOURCES), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=8)
)
def test_flipped_bytes_give_our_errors_or_modules(
    text: str, flips: list[tuple[float, int]]
) -> None:
    data = bytearray(text.encode())
    for where, byte in flips:
        data[int(where * (len(data) - 1))] = byte
    read(bytes(data))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_piles_of_pieces_give_our_errors_or_modules(pieces: list[str]) -> None:
    read("entry @k(%arg0: tile<i32>) {\n" + "".join(pieces))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_our_errors(text: str) -> None:
    read("entry @k() {" + text)
    read(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_our_errors(data: bytes) -> None:
    read(data)
    read(b"entry @k() {" + data)
