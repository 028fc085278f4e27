"""The equivalence test: whatever way a kernel is written, the differ does not fail it.

`python tests/equivalences.py` runs all of it and prints the table; here a part of the pairs of each kind is
judged.
"""

from __future__ import annotations

import re

import pytest
from equivalence_kinds import KINDS, Equivalence
from equivalences import Kernel, judged, opened
from samples import CORPUS, ROOT, corpus_kernels, fixture_kernels

# Pairs of one kind that are judged on our own kernels, and on the corpus.
_MOST = 5

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def fixtures() -> list[Kernel]:
    return opened(fixture_kernels())


@pytest.fixture(scope="module")
def corpus() -> list[Kernel]:
    found = corpus_kernels()
    if not found:
        pytest.skip(f"there is no corpus at {CORPUS}")
    return opened(found)


@every_kind
def test_our_kernels(kind: Equivalence, fixtures: list[Kernel]) -> None:
    results = judged(kind, fixtures, _MOST)
    assert results, "no kernel has anything of this kind"
    assert [(j.kernel, j.problem) for j in results if j.problem] == []


@every_kind
def test_corpus(kind: Equivalence, corpus: list[Kernel]) -> None:
    results = judged(kind, corpus, _MOST)
    assert [(j.kernel, j.problem) for j in results if j.problem] == []


def test_there_are_enough_kernels_and_kinds(corpus: list[Kernel], fixtures: list[Kernel]) -> None:
    assert len(corpus) + len(fixtures) >= 60
    assert len(KINDS) >= 25
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_the_documented_table_is_of_these_kinds() -> None:
    text = (ROOT / "docs" / "equivalences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|*]+) \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    assert [name for name, _, _ in rows] == [kind.name for kind in KINDS]
    assert all(int(kernels) == int(right) > 0 for _, kernels, right in rows)
