"""Modules that differ only in how they are written compare equal, without a finding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from respell import EDITS, SPELLINGS, respelled
from samples import CORPUS, FIXTURES, corpus_kernels, fixture_kernels

from tileir_tools.diff import diff
from tileir_tools.model import Module
from tileir_tools.read import parse_all

# Every third kernel of the corpus is enough here: each is compared many times.
_STEP = 3


@cache
def _text(path: Path) -> str:
    return parse_all(path.read_text(), path.name)[0].to_text()


def _open(path: Path) -> Module:
    return parse_all(_text(path), path.name)[0]


def _check(path: Path, text: str, generic: bool) -> None:
    if generic and _open(path).warnings:
        # The pretty and the generic form of an unknown operation are different texts.
        return
    result = diff(_open(path), parse_all(text, "respelled"))
    # An unknown operation is worth a note in any comparison.
    found = [(f.code, f.message) for f in result.findings if f.code != "OPQ001"]
    assert found == []


def _check_all(paths: list[Path], edits: list[str], spellings: list[str], generic: bool) -> None:
    for path in paths:
        _check(path, respelled(_open(path), edits, spellings, Random(path.name), generic), generic)


_WAYS = [
    *(pytest.param([name], [], False, id=name) for name in EDITS),
    *(pytest.param([], [name], False, id=name) for name in SPELLINGS),
    pytest.param([], [], True, id="generic"),
    pytest.param(list(EDITS), [], True, id="all edits, generic"),
    pytest.param(list(EDITS), list(SPELLINGS), False, id="everything"),
]


@pytest.mark.parametrize(("edits", "spellings", "generic"), _WAYS)
def test_our_kernels(edits: list[str], spellings: list[str], generic: bool) -> None:
    _check_all(fixture_kernels(), edits, spellings, generic)


@pytest.mark.parametrize(("edits", "spellings", "generic"), _WAYS)
def test_corpus(edits: list[str], spellings: list[str], generic: bool) -> None:
    paths = corpus_kernels()[::_STEP]
    if not paths:
        pytest.skip(f"there is no corpus at {CORPUS}")
    _check_all(paths, edits, spellings, generic)


@settings(max_examples=100, deadline=None)
@given(
    path=st.sampled_from(fixture_kernels()),
    edits=st.lists(st.sampled_from(list(EDITS)), max_size=4),
    spellings=st.lists(st.sampled_from(list(SPELLINGS)), max_size=4, unique=True),
    seed=st.integers(0, 2**32),
    generic=st.booleans(),
)
def test_random_compositions(
    path: Path, edits: list[str], spellings: list[str], seed: int, generic: bool
) -> None:
    _check(path, respelled(_open(path), edits, spellings, Random(seed), generic), generic)


def test_debug_information_is_no_difference() -> None:
    pairs = [
        (p, p.with_name(p.name.replace(".g.mlir", ".mlir"))) for p in FIXTURES.glob("*.g.mlir")
    ]
    assert len(pairs) > 20
    for with_locations, without in pairs:
        left = parse_all(with_locations.read_text(), "g")
        assert diff(left, parse_all(without.read_text(), "plain")).findings == ()
        again = parse_all(left[0].to_text(debug_info=True), "again")
        assert diff(left, again).findings == ()


def test_spellings_change_the_text() -> None:
    changed = dict.fromkeys(SPELLINGS, 0)
    for path in fixture_kernels():
        for name in SPELLINGS:
            changed[name] += respelled(_open(path), [], [name], Random(1)) != _text(path)
    assert min(changed.values()) > 0, changed


def test_edits_change_the_text() -> None:
    changed = dict.fromkeys(EDITS, 0)
    for path in fixture_kernels():
        for name in EDITS:
            changed[name] += respelled(_open(path), [name], [], Random(1)) != _text(path)
    assert min(changed.values()) > 0, changed
