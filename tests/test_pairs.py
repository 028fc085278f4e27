"""Honest pairs: one operation written in two ways, and what an expert would say first about them.

The sources are in `examples/pairs`, compiled by `examples/compile_fixtures.py`. `fixtures/pairs.json` holds for
each pair the verdict, the code of the first finding, what its message names, and why.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from samples import ROOT

from tileir_tools.diff import CRITICAL, PASS, SEMANTIC_EQUIV, Diff, diff, equal
from tileir_tools.model import Module
from tileir_tools.read import load

PAIRS = ROOT / "tests" / "fixtures" / "pairs"
EXPECTED: list[dict[str, Any]] = json.loads(PAIRS.with_suffix(".json").read_text(encoding="utf-8"))

every_pair = pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["pair"])


def _side(pair: str, side: str, ending: str) -> Module:
    [path] = [p for p in PAIRS.glob(f"{pair}_{side}__*{ending}") if p.name.endswith(ending)]
    return load(path)


def _compared(pair: str, ending: str = ".mlir") -> Diff:
    return diff(*(_side(pair, side, ending) for side in ("reference", "generated")))


@every_pair
def test_the_first_finding_is_what_an_expert_names(row: dict[str, Any]) -> None:
    found = _compared(row["pair"])
    assert found.verdict == row["verdict"], row["why"]
    first = found.findings[0] if found.findings else None
    assert (first.code if first is not None else None) == row["first"], row["why"]
    said = first.message if first is not None else ""
    assert [name for name in row["names"] if name not in said] == []


@every_pair
def test_bytecode_is_judged_like_text(row: dict[str, Any]) -> None:
    text, bytecode = _compared(row["pair"]), _compared(row["pair"], ".tileirbc")
    assert bytecode.verdict == text.verdict
    assert [f.code for f in bytecode.findings] == [f.code for f in text.findings]


@every_pair
def test_turned_around_it_is_as_severe(row: dict[str, Any]) -> None:
    """A difference is one from either side, but for a swizzle, which only a reference can miss."""
    reference, generated = (_side(row["pair"], s, ".mlir") for s in ("reference", "generated"))
    turned = diff(generated, reference)
    if row["first"] == "PRF001":
        assert turned.findings[0].severity == CRITICAL
    else:
        assert turned.verdict == row["verdict"]


@every_pair
def test_each_side_passes_against_itself(row: dict[str, Any]) -> None:
    for side in ("reference", "generated"):
        assert (
            diff(_side(row["pair"], side, ".mlir"), _side(row["pair"], side, ".mlir")).findings
            == ()
        )


@every_pair
def test_the_two_sides_are_not_one_text(row: dict[str, Any]) -> None:
    sides = [_side(row["pair"], side, ".mlir") for side in ("reference", "generated")]
    assert not equal(*sides, level="exact")
    if row["verdict"] == PASS:
        assert all(f.status == SEMANTIC_EQUIV for f in diff(*sides).findings)


def test_every_compiled_pair_is_expected() -> None:
    index = json.loads((PAIRS / "index.json").read_text(encoding="utf-8"))
    compiled = {entry["kernel"].rsplit("_", 1)[0] for entry in index}
    assert {row["pair"] for row in EXPECTED} == compiled
    assert len(compiled) >= 8
    assert all(row["why"].endswith(".") for row in EXPECTED)
