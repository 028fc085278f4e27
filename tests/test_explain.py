"""Causes of slowness, named from the machine code of kernels whose times were measured on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import ROOT
from test_cli import check, tool
from test_toolchain import needs_tools

from tileir_tools import equal, load
from tileir_tools.diff.causes import Cause, Explanation, Side, explain
from tileir_tools.diff.correspond import correspondences
from tileir_tools.diff.edits import edits
from tileir_tools.diff.policy import Policy
from tileir_tools.diff.whatif import Trial, what_if
from tileir_tools.errors import UsageError
from tileir_tools.model import (
    I64,
    Attribute,
    BoolAttr,
    DictAttr,
    IntegerAttr,
    Module,
    OptimizationHintsAttr,
)
from tileir_tools.read import parse

EVIDENCE = ROOT / "tests" / "fixtures" / "evidence"


def kernel(tile: str = "128x128x64") -> Path:
    return EVIDENCE / f"matmul__{tile}-float16__sm_100__bc13.3.mlir"


def hinted(key: str, value: Attribute) -> Module:
    """The reference with one hint on both loads."""
    module = load(kernel())
    hints = DictAttr((("default", DictAttr(((key, value),))),))
    for op in module.find("load_view_tko"):
        op.attributes["optimization_hints"] = OptimizationHintsAttr(hints)
    return module


def explained(generated: Module, reference: Module | None = None) -> Explanation:
    (found,) = explain(reference or load(kernel()), generated, "sm_90")
    return found


def codes(cause: Cause) -> set[str]:
    return {finding.code for finding in cause.findings}


@needs_tools
def test_a_latency_of_one_loses_the_pipeline() -> None:
    # Measured: 2.2 times slower.
    found = explained(hinted("latency", IntegerAttr(1, I64)))
    assert [cause.name for cause in found.causes] == ["pipelining lost"]
    assert codes(found.causes[0]) == {"HNT004"}
    assert found.causes[0].evidence[1] == "rounds of loads that fit in it: 6 -> 3"


@needs_tools
def test_a_high_latency_is_a_change_and_no_cause() -> None:
    # Measured: 1.3 times slower.
    found = explained(hinted("latency", IntegerAttr(8, I64)))
    assert found.causes == ()
    assert any(change.startswith("shared memory bytes: ") for change in found.changes)
    assert found.diff.verdict == "FAIL_FIXABLE"


@needs_tools
def test_thresholds_are_the_projects(tmp_path: Path) -> None:
    slow = hinted("latency", IntegerAttr(1, I64))
    (found,) = explain(load(kernel()), slow, "sm_90", policy=Policy(thresholds={"shared": 0.4}))
    assert found.causes == ()
    (tmp_path / "tileir.toml").write_text("threshold.spills = 5000\n")
    arguments = ("explain", kernel(), kernel("128x256x64"), "--arch", "sm_90")
    done = tool("tileir", *arguments, cwd=tmp_path)
    assert (done.returncode, b"spills: registers" in done.stdout) == (0, False)


@needs_tools
def test_tma_forbidden() -> None:
    # Measured: 10 times slower.
    found = explained(hinted("allow_tma", BoolAttr(False)))
    assert [cause.name for cause in found.causes] == ["TMA lost"]
    assert codes(found.causes[0]) == {"HNT006"}


@needs_tools
@pytest.mark.parametrize(
    ("tile", "first"),
    # Measured: 13.8, 8.5 and 1.8 times slower.
    [("128x256x64", "spills"), ("256x128x64", "spills"), ("64x64x64", "less reuse")],
)
def test_other_tiles(tile: str, first: str) -> None:
    found = explained(load(kernel(tile)))
    assert found.causes[0].name == first
    assert "MEM005" in codes(found.causes[0])


@needs_tools
def test_equal_kernels_have_no_cause() -> None:
    found = explained(load(kernel()))
    assert (found.causes, found.changes, found.diff.verdict) == ((), (), "PASS")


@needs_tools
def test_what_is_better_is_no_cause() -> None:
    slow = hinted("allow_tma", BoolAttr(False))
    found = explained(load(kernel()), slow)
    assert found.causes == ()
    assert "TMA loads: 0 -> 3" in found.changes


@needs_tools
def test_the_command() -> None:
    done = tool("tileir", "explain", kernel(), kernel("128x256x64"), "--arch", "sm_90")
    assert done.returncode == 1
    text = done.stdout.decode()
    assert "  1. spills: registers do not suffice" in text
    assert "     <- MEM005 " in text
    document = check(
        tool("tileir", "explain", kernel(), kernel(), "--arch", "sm_90", "--format", "json").stdout
    )
    assert document["pairs"][0]["causes"] == []  # type: ignore[index]
    assert tool("tileir", "explain", kernel(), kernel(), "--arch", "sm_1").returncode == 3


@needs_tools
def test_no_pair() -> None:
    with pytest.raises(UsageError, match="no pair of entries to explain"):
        explain(load(kernel()), load(kernel()), "sm_90", entry="absent")


# -- what-if ----------------------------------------------------------------------------------------


def spoilt() -> Module:
    """One load without TMA, the other one with a latency of 1."""
    module = hinted("latency", IntegerAttr(1, I64))
    first = next(module.find("load_view_tko"))
    no_tma = DictAttr((("default", DictAttr((("allow_tma", BoolAttr(False)),))),))
    first.attributes["optimization_hints"] = OptimizationHintsAttr(no_tma)
    return module


def side(trial: Trial) -> Side:
    assert trial.side is not None
    return trial.side


@needs_tools
def test_what_if_tries_each_difference_and_all_of_them() -> None:
    found = what_if(load(kernel()), spoilt(), "sm_90")
    rows = [(t.name, side(t).tma_loads, [c.name for c in t.causes]) for t in found.trials]
    assert rows == [
        ("nothing", 2, ["TMA lost"]),
        ("hints of load_view_tko (line 43)", 3, []),
        ("hints of load_view_tko (line 44)", 2, ["TMA lost"]),
        ("everything", 3, []),
    ]
    assert side(found.trials[-1]).function.shared == found.wanted.function.shared


@needs_tools
def test_what_if_leaves_the_modules_alone() -> None:
    reference, generated = load(kernel()), spoilt()
    before = generated.to_text()
    what_if(reference, generated, "sm_90")
    assert generated.to_text() == before


@needs_tools
def test_what_if_takes_padding_over(tmp_path: Path) -> None:
    path = tmp_path / "gen.mlir"
    path.write_text(kernel().read_text().replace("padding_value = zero, ", ""))
    done = tool("tileir", "what-if", path, "--from", kernel(), "--arch", "sm_90")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert sum(line.startswith("padding of load_view_tko (line 4") for line in lines) == 2
    assert lines[2].split()[:2] == ["taken", "over"]
    document = check(
        tool(
            "tileir", "what-if", path, "--from", kernel(), "--arch", "sm_90", "--format", "json"
        ).stdout
    )
    assert [t["name"] for t in document["trials"]][-1] == "everything"  # type: ignore[attr-defined]


@needs_tools
def test_what_if_of_equal_kernels_tries_nothing() -> None:
    found = what_if(load(kernel()), load(kernel()), "sm_90")
    assert [trial.name for trial in found.trials] == ["nothing"]


# -- edits ------------------------------------------------------------------------------------------

ELEMENTWISE = """cuda_tile.module @m {{
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
{assume}
    %c = constant <f32: {factor}> : tile<f32>
    %q, %t = load_ptr_tko {ordering} %{pointer} : tile<ptr<f32>> -> tile<f32>, token
    %r = mulf %q, %c{rounding}{ftz} : tile<f32>
    %u = store_ptr_tko weak %p, %r token=%t : tile<ptr<f32>>, tile<f32> -> token
    return
  }}
}}
"""


def elementwise(**changed: str) -> Module:
    parts = {
        "assume": "",
        "pointer": "p",
        "factor": "2.0",
        "ordering": "weak",
        "rounding": "",
        "ftz": "",
    }
    return parse(ELEMENTWISE.format(**{**parts, **changed}))


ASSUME = "    %a = assume div_by<16>, %p : tile<ptr<f32>>"


@pytest.mark.parametrize(
    ("reference", "generated", "names"),
    [
        ({"factor": "3.0"}, {}, ["constant of constant (line 4)"]),
        ({"rounding": " rounding<zero>"}, {}, ["rounding of mulf (line 6)"]),
        ({}, {"rounding": " rounding<zero>"}, ["rounding of mulf (line 6)"]),
        ({"ftz": " flush_to_zero"}, {}, ["flush_to_zero of mulf (line 6)"]),
        ({"ordering": "relaxed device"}, {}, ["ordering of load_ptr_tko (line 5)"]),
        (
            {"ordering": "acquire device", "factor": "1.0"},
            {"ordering": "relaxed sys"},
            ["constant of constant (line 4)", "ordering of load_ptr_tko (line 5)"],
        ),
        ({}, {}, []),
    ],
)
def test_what_can_be_taken_over(
    reference: dict[str, str], generated: dict[str, str], names: list[str]
) -> None:
    one, other = elementwise(**reference), elementwise(**generated)
    [found] = correspondences([one], [other])
    made = edits(found, other)
    assert [edit.name for edit in made] == names
    operations = list(other.walk())
    for edit in made:
        edit.change(operations)
    assert other.verify() == []
    assert other.to_text() == one.to_text()


def test_promises_are_taken_over_both_ways() -> None:
    plain = elementwise()
    promising = elementwise(assume=ASSUME, pointer="a")
    for one, other, name in (
        (promising, plain, "assume div_by<16> about parameter 0"),
        (plain, promising, "no assume (line 3) div_by<16>"),
    ):
        copy = other.clone()
        [found] = correspondences([one], [copy])
        [edit] = edits(found, copy)
        assert edit.name == name
        edit.change(list(copy.walk()))
        assert copy.verify() == []
        assert equal(one, copy)
