"""Kernels that are written in another form: equal ones pass, near misses fail."""

from __future__ import annotations

import pytest
from equivalence_kinds import KINDS
from equivalences import judge, opened
from mutation_kinds import CRITICAL
from mutations import Kernel
from samples import fixture_kernels

from tileir_tools.diff import diff
from tileir_tools.read import parse_all

BRANCH = """entry @k(%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>) {
  %c = CONDITION : tile<i32> -> tile<i1>
  if %c {
    %t = store_ptr_tko weak %p, THEN : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %t = store_ptr_tko weak %p, ELSE : tile<ptr<i32>>, tile<i32> -> token
  }
}
"""


def _branch(condition: str, then: str, other: str) -> str:
    return BRANCH.replace("CONDITION", condition).replace("THEN", then).replace("ELSE", other)


LESS = _branch("cmpi less_than %a, %b, signed", "%a", "%b")


def _verdict(reference: str, generated: str) -> str:
    return diff(parse_all(reference), parse_all(generated)).verdict


@pytest.mark.parametrize(
    ("condition", "then", "other", "verdict"),
    [
        ("cmpi greater_than_or_equal %a, %b, signed", "%b", "%a", "PASS"),
        ("cmpi less_than_or_equal %b, %a, signed", "%b", "%a", "PASS"),
        ("cmpi greater_than %b, %a, signed", "%a", "%b", "PASS"),
        ("cmpi greater_than_or_equal %a, %b, signed", "%a", "%b", "FAIL_FIXABLE"),
        ("cmpi less_than %a, %b, signed", "%b", "%a", "FAIL_FIXABLE"),
        ("cmpi greater_than %a, %b, signed", "%b", "%a", "FAIL_FIXABLE"),
        ("cmpi greater_than_or_equal %a, %b, unsigned", "%b", "%a", "FAIL_FIXABLE"),
    ],
)
def test_branches(condition: str, then: str, other: str, verdict: str) -> None:
    text = _branch(condition, then, other)
    assert _verdict(LESS, text) == _verdict(text, LESS) == verdict


def test_a_side_that_does_nothing() -> None:
    one = LESS.replace(
        "    %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token\n", ""
    )
    turned = _branch("cmpi greater_than_or_equal %a, %b, signed", "%b", "%a").replace(
        "    %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token\n", ""
    )
    assert _verdict(one, turned) == _verdict(turned, one) == "PASS"
    assert _verdict(one, LESS) == "FAIL_FIXABLE"


LOOP = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %r:2 = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%FIRST = %c1, %SECOND = %c1) -> (tile<i32>, tile<i32>) {
    %x = addi %sum, %i : tile<i32>
    %y = muli %product, %c2 : tile<i32>
    continue %UPDATE1, %UPDATE2 : tile<i32>, tile<i32>
  }
  %t1 = store_ptr_tko weak %p, %r#RESULT1 : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko weak %q, %r#RESULT2 : tile<ptr<i32>>, tile<i32> -> token
}
"""  # noqa: E501


def _loop(order: tuple[str, str], updates: tuple[str, str], results: tuple[int, int]) -> str:
    text = LOOP.replace("FIRST", order[0]).replace("SECOND", order[1])
    for number in (0, 1):
        text = text.replace(f"UPDATE{number + 1}", updates[number])
        text = text.replace(f"RESULT{number + 1}", str(results[number]))
    return text


SUMS = _loop(("sum", "product"), ("x", "y"), (0, 1))


@pytest.mark.parametrize(
    ("order", "updates", "results", "verdict"),
    [
        (("product", "sum"), ("y", "x"), (1, 0), "PASS"),
        (("product", "sum"), ("y", "x"), (0, 1), "FAIL_FIXABLE"),
        (("product", "sum"), ("x", "y"), (1, 0), "FAIL_FIXABLE"),
        (("sum", "product"), ("y", "x"), (0, 1), "FAIL_FIXABLE"),
        (("sum", "product"), ("x", "y"), (1, 0), "FAIL_FIXABLE"),
    ],
)
def test_carried_values(
    order: tuple[str, str], updates: tuple[str, str], results: tuple[int, int], verdict: str
) -> None:
    text = _loop(order, updates, results)
    assert _verdict(SUMS, text) == _verdict(text, SUMS) == verdict


TURNED = """entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>, %s: tile<i32>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape = [%n, %n], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %w = make_tensor_view %q, shape = [%n, %n], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %a = make_partition_view %v : VIEW
  %b = make_partition_view %w : partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>
  %x, %t1 = load_view_tko weak %a[INDEX] : VIEW, tile<i32> -> tile<SHAPExf16>, token
  PERMUTE
  %t2 = store_view_tko weak %TILE, %b[%bx, %by] : tile<16x32xf16>, partition_view<tile=(16x32), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
}
"""  # noqa: E501


def _turned(tile: str, index: str, map: str = "", permuted: bool = False) -> str:
    view = f"partition_view<tile=({tile}), tensor_view<?x?xf16, strides=[?,1]>{map}>"
    text = TURNED.replace("VIEW", view).replace("INDEX", index).replace("SHAPE", tile)
    permute = f"%z = permute %x [1, 0] : tile<{tile}xf16> -> tile<16x32xf16>" if permuted else ""
    return text.replace("PERMUTE", permute).replace("TILE", "z" if permuted else "x")


def test_permuted_by_the_view_or_beside_it() -> None:
    permuted = _turned("32x16", "%by, %bx", permuted=True)
    mapped = _turned("16x32", "%bx, %by", ", dim_map=[1, 0]")
    for reference, generated in ((permuted, mapped), (mapped, permuted)):
        found = diff(parse_all(reference), parse_all(generated))
        assert (found.verdict, found.findings[0].code) == ("PASS_WITH_NOTES", "PRF005")
    for other in (
        _turned("16x32", "%by, %bx", ", dim_map=[1, 0]"),
        _turned("16x32", "%bx, %by"),
        _turned("32x16", "%bx, %by", permuted=True),
    ):
        assert _verdict(permuted, other) == _verdict(other, permuted) == "FAIL_FIXABLE"


# -- another form hides nothing --------------------------------------------------------------------

_FORMS = (
    "branch by the inverse comparison, its sides exchanged",
    "carried values of a loop in the opposite order",
    "value carried round a loop for nothing",
    "tile loaded transposed and permuted",
    "constant computed from two others",
    "arithmetic in front of the broadcast, not behind it",
)
_HARM = (
    "float operation replaced by one of the same signature",
    "indices of an access transposed",
    "mma operands swapped",
    "store or atomic dropped",
    "load repeated",
    "upper bound of a loop changed",
    "padding_value dropped",
)


@pytest.mark.parametrize("name", _FORMS)
def test_a_change_in_another_form_is_found(name: str) -> None:
    from mutation_kinds import KINDS as CHANGES

    kind = next(k for k in KINDS if k.name == name)
    hidden = []
    for kernel in opened(fixture_kernels()):
        same = judge(kind, kernel)
        if same is None:
            continue
        again = Kernel(kernel.name, same.texts[1])
        for change in (c for c in CHANGES if c.name in _HARM and c.severity == CRITICAL):
            mutant = next(again.mutants(change), None)
            if (
                mutant is not None
                and diff(kernel.module(), mutant.generated).verdict != "FAIL_FIXABLE"
            ):
                hidden.append((kernel.name, change.name))
    assert hidden == []


def test_comparing_changes_no_module() -> None:
    one, other = parse_all(LESS)[0], parse_all(_branch("cmpi equal %a, %b, signed", "%b", "%a"))[0]
    before = one.to_text(), other.to_text()
    diff(one, other)
    assert (one.to_text(), other.to_text()) == before
