"""The mutation test: every kind of change is found, ranked and placed as the policy says.

`python tests/mutations.py` runs all of it and prints the table; here a part of the mutants of each
kind is judged.
"""

from __future__ import annotations

import re
from itertools import islice
from random import Random

import pytest
from mutation_kinds import CRITICAL, INFO, KINDS, NONE, Kind
from mutations import Kernel, judged, opened
from samples import CORPUS, ROOT, corpus_kernels, fixture_kernels

from tileir_tools.diff import diff

# Mutants of one kind that are judged on our own kernels, and on the corpus.
_MOST = 8

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
def test_our_kernels(kind: Kind, fixtures: list[Kernel]) -> None:
    results = judged(kind, fixtures, _MOST)
    assert results, "no kernel gives a mutant of this kind"
    assert [(j.kernel, j.problem) for j in results if j.problem] == []


@every_kind
def test_corpus(kind: Kind, corpus: list[Kernel]) -> None:
    results = judged(kind, corpus, _MOST)
    assert [(j.kernel, j.problem) for j in results if j.problem] == []


_HARMLESS = [k for k in KINDS if k.severity in (NONE, INFO) or k.codes == {"ALG001"}]
_HARMFUL = [k for k in KINDS if k.severity == CRITICAL]


@pytest.mark.parametrize("kind", _HARMLESS, ids=lambda kind: kind.name)
def test_another_spelling_hides_nothing(kind: Kind, fixtures: list[Kernel]) -> None:
    random = Random(kind.name)
    hidden = []
    for kernel in random.sample(fixtures, len(fixtures)):
        for respelled in islice(kernel.mutants(kind), 1):
            again = Kernel(kernel.name, respelled.generated.to_text())
            for harmful in random.sample(_HARMFUL, 4):
                if (kind.name[:4], harmful.name[:9]) == ("mini", "predicate"):
                    # The minimum by `<=` is the minimum by `<`.
                    continue
                for mutant in islice(again.mutants(harmful), 2):
                    if diff(kernel.reference, mutant.generated).verdict != "FAIL_FIXABLE":
                        hidden.append((kernel.name, harmful.name))
    assert hidden == []


def test_there_are_enough_kernels_and_kinds(corpus: list[Kernel]) -> None:
    assert len(corpus) >= 30
    assert len(KINDS) >= 100
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_the_documented_table_is_of_these_kinds() -> None:
    text = (ROOT / "docs" / "mutations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|*]+) \| (\d+) \| (\d+) \| (\w+) \|", text, re.MULTILINE)
    assert [(name, severity) for name, _, _, severity in rows] == [
        (kind.name, kind.severity) for kind in KINDS
    ]
    assert all(int(mutants) == int(right) > 0 for _, mutants, right, _ in rows)
