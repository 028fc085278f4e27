"""Passes: what NVIDIA's own give, what each pattern does, and that kernels still do the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from filecheck import directives, failure
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from programs import TooLong, programs, run
from respell import EDITS
from samples import CORPUS, fixture_kernels

from tileir_tools import diff, load, parse, parse_all, verify
from tileir_tools.model import Module
from tileir_tools.transform import (
    PASSES,
    canonicalize,
    cse,
    dce,
    fuse_fma,
    loop_split,
    normalize,
    strip_debug,
)

CONFORMANCE = CORPUS.parent / "conformance" / "dialect"
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpus")
needs_conformance = pytest.mark.skipif(not CONFORMANCE.exists(), reason="no ../shared/conformance")

KERNELS = fixture_kernels()


def canonical(module: Module) -> str:
    canonicalize(module)
    cse(module)
    return module.to_text(wrap=True)


# -- what cuda-tile-opt gives -----------------------------------------------------------------------


@needs_corpus
def test_canonical_form_of_real_kernels() -> None:
    paths = sorted(CORPUS.rglob("*.canon.mlir"))
    assert len(paths) >= 239
    wrong = [
        path.name
        for path in paths
        if canonical(load(str(path).replace(".canon", ""))) != path.read_text()
    ]
    assert wrong == []


@needs_corpus
@pytest.mark.parametrize(
    ("name", "change", "count"), [("fuse-fma", fuse_fma, 40), ("loop-split", loop_split, 4)]
)
def test_passes_over_real_kernels(name: str, change: Callable[[Module], bool], count: int) -> None:
    paths = sorted((CORPUS / "passes").glob(f"*.{name}.mlir"))
    assert len(paths) >= count
    for path in paths:
        (source,) = CORPUS.glob(f"tile*/{path.name.replace(f'.{name}', '')}")
        module = load(source)
        assert change(module)
        assert module.to_text(wrap=True) == path.read_text(), path.name


@needs_conformance
def test_the_dialects_own_tests_of_canonical_form() -> None:
    chunks = (CONFORMANCE / "canonicalize.mlir").read_text().split("// -----")
    checked = 0
    for chunk in chunks:
        (module,) = parse_all(chunk)
        canonicalize(module)
        assert verify(module) == []
        text = module.to_text(wrap=True)
        assert failure(chunk, text) is None, text
        checked += len(directives(chunk))
    assert (len(chunks), checked) == (43, 245)


# -- kernels do the same ----------------------------------------------------------------------------


@given(
    programs(),
    st.sampled_from(sorted(PASSES)),
    st.integers(-2, 4),
    st.integers(-2, 4),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_passes_keep_what_a_kernel_does(text: str, name: str, a: int, b: int, c: bool) -> None:
    module = parse(text)
    assert verify(module) == []
    try:
        before = run(module, [a, b, int(c)])
    except TooLong:
        assume(False)
    PASSES[name](module)
    assert verify(module) == [], module.to_text()
    assert run(parse(module.to_text()), [a, b, int(c)]) == before, module.to_text()


# Not `cse`, which like MLIR's leaves what only its own first run makes dead, or makes canonicalize fold.
@given(programs(), st.sampled_from([canonicalize, normalize, dce]))
@settings(max_examples=200, deadline=None)
def test_the_second_time_changes_nothing(text: str, change: Callable[[Module], object]) -> None:
    module = parse(text)
    change(module)
    once = module.to_text()
    change(module)
    assert module.to_text() == once


# -- single patterns --------------------------------------------------------------------------------

_HEAD = "entry @k(%arg0: tile<i32>, %arg1: tile<i32>, %arg2: tile<i1>) {"


def _changed(body: str, change: Callable[[Module], object]) -> list[str]:
    """The operations of a kernel after a pass, without the constants at its front and its return."""
    module = parse(f"{_HEAD}\n{body}\n return\n}}\n")
    change(module)
    assert verify(module) == []
    lines = [line[2:] for line in module.to_text().splitlines()[1:-2]]
    return [line for line in lines if " = constant " not in line]


_USE = 'print_tko "%d", %r : tile<i32> -> token'
_SHOWN = 'print_tko "%d", {} : tile<i32> -> token'

CANONICAL = {
    "a select of one value": (
        f"%r = select %arg2, %arg0, %arg0 : tile<i1>, tile<i32>\n %t = {_USE}",
        ["%0 = " + _SHOWN.format("%arg0")],
    ),
    "a select by a constant": (
        "%f = constant <i1: false> : tile<i1>\n"
        f"%r = select %f, %arg0, %arg1 : tile<i1>, tile<i32>\n %t = {_USE}",
        ["%0 = " + _SHOWN.format("%arg1")],
    ),
    "a select by an equality": (
        "%e = cmpi equal %arg0, %arg1, signed : tile<i32> -> tile<i1>\n"
        f"%r = select %e, %arg0, %arg1 : tile<i1>, tile<i32>\n %t = {_USE}",
        ["%0 = " + _SHOWN.format("%arg1")],
    ),
    "a select by an inequality": (
        "%e = cmpi not_equal %arg1, %arg0, signed : tile<i32> -> tile<i1>\n"
        f"%r = select %e, %arg0, %arg1 : tile<i1>, tile<i32>\n %t = {_USE}",
        ["%0 = " + _SHOWN.format("%arg0")],
    ),
    "a select by a negation": (
        "%true = constant <i1: true> : tile<i1>\n %n = xori %arg2, %true : tile<i1>\n"
        f"%r = select %n, %arg0, %arg1 : tile<i1>, tile<i32>\n %t = {_USE}",
        [
            "%0 = select %arg2, %arg1, %arg0 : tile<i1>, tile<i32>",
            "%1 = " + _SHOWN.format("%0"),
        ],
    ),
    "a select in a select": (
        "%i = select %arg2, %arg0, %arg1 : tile<i1>, tile<i32>\n"
        f"%r = select %arg2, %arg1, %i : tile<i1>, tile<i32>\n %t = {_USE}",
        ["%0 = " + _SHOWN.format("%arg1")],
    ),
    "one or zero": (
        "%1 = constant <i32: 1> : tile<i32>\n %0 = constant <i32: 0> : tile<i32>\n"
        f"%r = select %arg2, %0, %1 : tile<i1>, tile<i32>\n %t = {_USE}",
        [
            "%0 = xori %arg2, %true : tile<i1>",
            "%1 = exti %0 unsigned : tile<i1> -> tile<i32>",
            "%2 = " + _SHOWN.format("%1"),
        ],
    ),
    "an assumption made twice": (
        "%a = assume bounded<0, ?>, %arg0 : tile<i32>\n"
        f"%r = assume bounded<0, ?>, %a : tile<i32>\n %t = {_USE}",
        ["%assume = assume bounded<0, ?>, %arg0 : tile<i32>", "%0 = " + _SHOWN.format("%assume")],
    ),
    "an if that gives values from outside": (
        "%r = if %arg2 -> (tile<i32>) {\n yield %arg0 : tile<i32>\n} else {\n"
        f"yield %arg1 : tile<i32>\n}}\n %t = {_USE}",
        [
            "%0 = select %arg2, %arg0, %arg1 : tile<i1>, tile<i32>",
            "%1 = " + _SHOWN.format("%0"),
        ],
    ),
    "an if that holds an if": (
        "%c = cmpi less_than %arg0, %arg1, signed : tile<i32> -> tile<i1>\n"
        f"if %arg2 {{\n if %c {{\n %t = {_USE.replace('%r', '%arg0')}\n }}\n}}",
        [
            "%0 = cmpi less_than %arg0, %arg1, signed : tile<i32> -> tile<i1>",
            "%1 = andi %arg2, %0 : tile<i1>",
            "if %1 {",
            "  %2 = " + _SHOWN.format("%arg0"),
            "}",
        ],
    ),
    "two ifs by one condition": (
        f"if %arg2 {{\n %t = {_USE.replace('%r', '%arg0')}\n}}\n"
        f"if %arg2 {{\n %t = {_USE.replace('%r', '%arg1')}\n}}",
        [
            "if %arg2 {",
            "  %0 = " + _SHOWN.format("%arg0"),
            "  %1 = " + _SHOWN.format("%arg1"),
            "}",
        ],
    ),
    "an if whose branches return": (
        f"if %arg2 {{\n return\n}} else {{\n %t = {_USE.replace('%r', '%arg0')}\n return\n}}",
        ["if %arg2 {", "  return", "}", "%0 = " + _SHOWN.format("%arg0")],
    ),
    "a loop whose branches return": (
        f"loop {{\n if %arg2 {{\n %t = {_USE.replace('%r', '%arg0')}\n return\n}} else {{\n return\n}}\n}}",
        [
            "loop {",
            "  if %arg2 {",
            "    %0 = " + _SHOWN.format("%arg0"),
            "    return",
            "  }",
            "  return",
            "}",
        ],
    ),
}


@pytest.mark.parametrize(("before", "after"), CANONICAL.values(), ids=CANONICAL.keys())
def test_canonical_patterns(before: str, after: list[str]) -> None:
    assert _changed(before, canonicalize) == after


def test_a_select_of_constant_elements() -> None:
    module = parse(
        "entry @k() {\n %c = constant <i1: [true, false]> : tile<2xi1>\n"
        " %a = constant <i32: [1, 2]> : tile<2xi32>\n %b = constant <i32: 7> : tile<2xi32>\n"
        " %r = select %c, %a, %b : tile<2xi1>, tile<2xi32>\n"
        ' %t = print_tko "%d", %r : tile<2xi32> -> token\n return\n}\n'
    )
    canonicalize(module)
    assert module.to_text().splitlines()[1:-2] == [
        "  %cst_i32 = constant <i32: [1, 7]> : tile<2xi32>",
        '  %0 = print_tko "%d", %cst_i32 : tile<2xi32> -> token',
    ]


def test_a_select_by_elements_that_yields_scalars_in_its_shape() -> None:
    lines = _changed(
        "%u = iota : tile<4xi32>\n %v = addi %u, %u : tile<4xi32>\n"
        "%r = if %arg2 -> (tile<4xi32>) {\n yield %u : tile<4xi32>\n} else {\n"
        'yield %v : tile<4xi32>\n}\n %t = print_tko "%d", %r : tile<4xi32> -> token',
        canonicalize,
    )
    assert lines[2:5] == [
        "%reshape = reshape %arg2 : tile<i1> -> tile<1xi1>",
        "%bcast = broadcast %reshape : tile<1xi1> -> tile<4xi1>",
        "%2 = select %bcast, %0, %1 : tile<4xi1>, tile<4xi32>",
    ]


def test_constants_are_one_each_at_the_front_in_the_order_of_mlir() -> None:
    module = parse(
        f"{_HEAD}\n %x = addi %arg0, %arg1 : tile<i32>\n %a = constant <i32: 1> : tile<i32>\n"
        " %b = constant <i32: 2> : tile<i32>\n %c = constant <i32: 1> : tile<i32>\n"
        " if %arg2 {\n %d = constant <i32: 3> : tile<i32>\n"
        ' %t = print_tko "%d %d %d %d %d", %a, %b, %c, %d, %x : '
        "tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32> -> token"
        "\n }\n return\n}\n"
    )
    canonicalize(module)
    constants = [op.attributes["value"].raw for op in module.find("constant")]  # type: ignore[attr-defined]
    assert constants == [(3,), (2,), (1,)]
    assert [op.name for op in module.entries[0].body.operations[3:]] == ["addi", "if", "return"]


def test_a_loop_is_not_split_at_a_bound_that_it_carries() -> None:
    body = (
        "%0 = constant <i32: 0> : tile<i32>\n %1 = constant <i32: 1> : tile<i32>\n"
        "%f = for %i in (%0 to %arg0, step %1) : tile<i32> iter_values(%x = BOUND) -> (tile<i32>) {\n"
        "%c = cmpi less_than %i, CHECKED, signed : tile<i32> -> tile<i1>\n"
        'if %c {\n %t = print_tko "%d", %x : tile<i32> -> token\n}\n'
        "%y = addi %x, %1 : tile<i32>\n continue %y : tile<i32>\n}"
    )
    for checked, loops in (("%arg1", 2), ("%x", 1), ("%i", 1)):
        text = body.replace("BOUND", "%arg1").replace("CHECKED", checked)
        lines = _changed(text, loop_split)
        assert sum(" for " in f" {line}" for line in lines if " in (" in line) == loops


# -- our own passes ---------------------------------------------------------------------------------


def test_dce_drops_what_a_loop_carries_only_for_itself() -> None:
    body = (
        "%0 = constant <i32: 0> : tile<i32>\n %1 = constant <i32: 1> : tile<i32>\n"
        "%f:3 = for %i in (%0 to %arg0, step %1) : tile<i32> "
        "iter_values(%x = %0, %y = %0, %z = %1) -> (tile<i32>, tile<i32>, tile<i32>) {\n"
        "%n = addi %x, %i : tile<i32>\n %m = muli %y, %1 : tile<i32>\n %k = muli %z, %i : tile<i32>\n"
        "continue %n, %m, %k : tile<i32>, tile<i32>, tile<i32>\n}\n"
        '%t = print_tko "%d", %f#2 : tile<i32> -> token'
    )
    assert _changed(body, canonicalize)[0].count("tile<i32>") == 4
    assert _changed(body, dce) == [
        "%for = for %loopIdx in (%cst_0_i32 to %arg0, step %cst_1_i32) : tile<i32> "
        "iter_values(%iterArg0 = %cst_1_i32) -> (tile<i32>) {",
        "  %1 = muli %iterArg0, %loopIdx : tile<i32>",
        "  continue %1 : tile<i32>",
        "}",
        '%0 = print_tko "%d", %for : tile<i32> -> token',
    ]


def test_dce_drops_what_canonicalize_must_keep() -> None:
    body = (
        "%0 = constant <i32: 0> : tile<i32>\n %1 = constant <i32: 1> : tile<i32>\n"
        "%a = assume bounded<0, ?>, %arg0 : tile<i32>\n"
        "%f = for %i in (%0 to %a, step %1) : tile<i32> iter_values(%x = %0) -> (tile<i32>) {\n"
        "continue %i : tile<i32>\n}"
    )
    assert len(_changed(body, canonicalize)) == 4
    assert _changed(body, dce) == []


def test_dce_keeps_effects_endless_loops_and_the_way_out_of_them() -> None:
    body = (
        f"loop {{\n %c = cmpi less_than %arg0, %arg1, signed : tile<i32> -> tile<i1>\n"
        f"if %c {{\n break\n }}\n %d = addi %arg0, %arg1 : tile<i32>\n continue\n}}\n"
        f"%t = {_USE.replace('%r', '%arg0')}"
    )
    assert _changed(body, dce) == [
        "loop {",
        "  %1 = cmpi less_than %arg0, %arg1, signed : tile<i32> -> tile<i1>",
        "  if %1 {",
        "    break",
        "  }",
        "}",
        "%0 = " + _SHOWN.format("%arg0"),
    ]


def test_dce_of_a_load_that_nothing_reads() -> None:
    text = (
        "entry @k(%p: tile<ptr<f32>>) {\n"
        " %x, %t = load_ptr_tko ORDER %p : tile<ptr<f32>> -> tile<f32>, token\n return\n}\n"
    )
    weak, acquired = (parse(text.replace("ORDER", order)) for order in ("weak", "acquire sys"))
    assert dce(weak)
    assert [op.name for op in weak.entries[0].body.operations] == ["return"]
    assert not dce(acquired)


def test_strip_debug_forgets_locations() -> None:
    path = next(p for p in KERNELS if p.name.startswith("matmul"))
    module = load(path.with_suffix(".tileirbc"))
    assert "#loc1" in module.to_text(debug_info=True)
    assert strip_debug(module)
    assert "#loc1" not in module.to_text(debug_info=True)
    assert not strip_debug(module)


def test_normalize_says_once_what_several_assumptions_say() -> None:
    body = (
        "%a = assume div_by<4>, %arg0 : tile<i32>\n %b = assume bounded<?, 9>, %a : tile<i32>\n"
        "%c = assume bounded<0, ?>, %arg0 : tile<i32>\n %d = assume div_by<8>, %c : tile<i32>\n"
        '%t = print_tko "%d %d %d", %b, %d, %arg0 : tile<i32>, tile<i32>, tile<i32> -> token'
    )
    assert _changed(body, normalize) == [
        "%assume = assume bounded<0, 9>, %arg0 : tile<i32>",
        "%assume_assume = assume div_by<8>, %assume : tile<i32>",
        '%0 = print_tko "%d %d %d", %assume_assume, %assume_assume, %assume_assume '
        ": tile<i32>, tile<i32>, tile<i32> -> token",
    ]


def test_normalize_drops_what_is_plainly_true_of_a_constant() -> None:
    body = (
        "%8 = constant <i32: 8> : tile<i32>\n %a = assume div_by<4>, %8 : tile<i32>\n"
        "%b = assume div_by<16>, %8 : tile<i32>\n"
        '%t = print_tko "%d %d", %a, %b : tile<i32>, tile<i32> -> token'
    )
    lines = _changed(body, normalize)
    assert [line for line in lines if "assume" in line.split(",")[0]] == [
        "%assume_cst_8_i32 = assume div_by<16>, %cst_8_i32 : tile<i32>"
    ]


_NORMALISED_AWAY = ("duplicate_constants", "add_dead_code", "reorder")


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.name)
def test_normalize_undoes_what_means_nothing(path: Path) -> None:
    module = load(path)
    original = module.clone()
    normalize(module)
    once = module.to_text()
    normalize(module)
    assert module.to_text() == once
    assert verify(module) == []
    for seed in range(3):
        respelled = original.clone()
        for name in _NORMALISED_AWAY:
            EDITS[name](respelled, Random(seed))
        normalize(respelled)
        assert respelled.to_text() == once


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.name)
def test_canonical_form_is_the_same_kernel(path: Path) -> None:
    module = load(path)
    original = module.clone()
    once = canonical(module)
    assert canonical(module) == once
    assert verify(module) == []
    # An unknown operation is a note even beside itself.
    assert diff(original, module).verdict == diff(original, original).verdict


def test_a_long_chain_of_operations_is_no_trouble() -> None:
    lines = [f"%v{k + 1} = addi %v{k}, %arg0 : tile<i32>" for k in range(20_000)]
    text = f"{_HEAD}\n%v0 = addi %arg0, %arg1 : tile<i32>\n" + "\n".join(lines)
    module = parse(f'{text}\n%t = print_tko "%d", %v20000 : tile<i32> -> token\nreturn\n}}\n')
    for name in PASSES:
        PASSES[name](module)
    assert len(module.entries[0].body.operations) == 20_003


def test_clone_shares_nothing_that_changes() -> None:
    for path in KERNELS:
        module = load(path)
        before = module.to_text(debug_info=True)
        copy = module.clone()
        assert copy.to_text(debug_info=True) == before
        normalize(copy)
        assert module.to_text(debug_info=True) == before
        assert verify(module) == []
