"""Rewrites that the differ knows: right spellings are equal, near misses are not."""

from __future__ import annotations

import pytest

from tileir_tools.diff import CRITICAL, INFO, WARN, diff
from tileir_tools.read import parse_all

HEAD = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<f32>>, %a: tile<i32>, %b: tile<i32>, %x: tile<f32>, %y: tile<f32>, %z: tile<f32>) {
  %m = assume bounded<0, ?>, %a : tile<i32>
  %n = assume bounded<1, ?>, %b : tile<i32>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %c9 = constant <i32: 9> : tile<i32>
  %c56 = constant <i32: 56> : tile<i32>
"""  # noqa: E501
INT = "  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token\n}\n"
FLOAT = "  %t = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token\n}\n"


def kernel(body: str, end: str) -> str:
    """A kernel that stores %r; one operation a line, types by the operation."""
    return HEAD + "".join(f"  {line.strip()}\n" for line in body.strip().split("\n")) + end


def typed(body: str) -> str:
    """Write the types out: every value of these kernels is an i32, an f32 or an i1."""
    lines = []
    for line in body.strip().split("\n"):
        name = line.split(" = ")[1].split()[0] if " = " in line else ""
        if ":" in line:
            lines.append(line)
        elif name == "cmpi":
            lines.append(f"{line} : tile<i32> -> tile<i1>")
        elif name == "cmpf":
            lines.append(f"{line} : tile<f32> -> tile<i1>")
        elif name in ("andi", "xori", "ori"):
            lines.append(f"{line} : tile<i1>")
        elif name in ("select", "selectf"):
            kind = "f32" if name == "selectf" else "i32"
            lines.append(f"{line.replace('selectf', 'select')} : tile<i1>, tile<{kind}>")
        else:
            kind = "f32" if name.endswith("f") or name in ("fma", "exp") else "i32"
            lines.append(f"{line} : tile<{kind}>")
    return "\n".join(lines)


def found(reference: str, generated: str) -> list[tuple[str, str]]:
    """(code, severity) of what differs between two kernels that store an integer or a float."""
    last = reference.strip().split("\n")[-1]
    is_float = last.split(" = ")[1].split()[0] in _FLOATS
    end = FLOAT if is_float else INT
    texts = (kernel(typed(body), end) for body in (reference, generated))
    left, right = (parse_all(text) for text in texts)
    return [(f.code, f.severity) for f in diff(left, right).findings]


_FLOATS = ("addf", "subf", "mulf", "divf", "negf", "fma", "selectf", "exp")

FLOOR_MOD = """
%s = remi %m, %n signed
%l = cmpi less_than %s, %c0, signed
%k = cmpi less_than %n, %c0, signed
%d = xori %l, %k
%o = cmpi not_equal %s, %c0, signed
%w = andi %d, %o
%u = addi %s, %n
%r = select %w, %u, %s
"""
# Of parameters about which nothing is known.
FLOOR_MOD_AB = FLOOR_MOD.replace("%m", "%a").replace("%n", "%b")
FLOOR_MOD_8 = """
%false = constant <i1: false> : tile<i1>
%s = remi %m, %c8 signed
%l = cmpi less_than %s, %c0, signed
%d = xori %l, %false
%o = cmpi not_equal %s, %c0, signed
%w = andi %d, %o
%u = addi %s, %c8
%r = select %w, %u, %s
"""
CEILING = "%r = divi %m, %n signed rounding<positive_inf>"
CEILING_8 = "%r = divi %m, %c8 signed rounding<positive_inf>"

# (name, one spelling, another one): the same value.
EQUAL = [
    ("ceiling, size less one", CEILING,
     "%d = subi %n, %c1\n%s = addi %m, %d\n%r = divi %s, %n signed"),
    ("ceiling, sum less one", CEILING,
     "%s = addi %m, %n\n%d = subi %s, %c1\n%r = divi %d, %n signed"),
    ("ceiling by a constant", CEILING_8, "%s = addi %m, %c7\n%r = divi %s, %c8 signed"),
    ("ceiling, other order", CEILING_8, "%s = addi %c7, %m\n%r = divi %s, %c8 signed"),
    ("ceiling of a block id", "%r = divi %bx, %c8 signed rounding<positive_inf>",
     "%s = addi %bx, %c7\n%r = divi %s, %c8 signed"),
    ("ceiling by Python's //", CEILING_8,
     "%s = addi %m, %c7\n%r = divi %s, %c8 signed rounding<negative_inf>"),
    ("minimum", "%r = mini %a, %b signed",
     "%l = cmpi less_than %a, %b, signed\n%r = select %l, %a, %b"),
    ("minimum or equal", "%r = mini %a, %b signed",
     "%l = cmpi less_than_or_equal %a, %b, signed\n%r = select %l, %a, %b"),
    ("minimum turned", "%r = mini %a, %b signed",
     "%l = cmpi greater_than %a, %b, signed\n%r = select %l, %b, %a"),
    ("maximum", "%r = maxi %a, %b unsigned",
     "%l = cmpi greater_than_or_equal %a, %b, unsigned\n%r = select %l, %a, %b"),
    ("floor remainder", "%r = remi %m, %n signed", FLOOR_MOD),
    ("floor remainder by a constant", "%r = remi %m, %c8 signed", FLOOR_MOD_8),
    ("comparison turned", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than %b, %a, signed\n%r = select %l, %c0, %c1"),
    ("float comparison turned", "%l = cmpf less_than ordered %x, %y\n%r = selectf %l, %x, %z",
     "%l = cmpf greater_than ordered %y, %x\n%r = selectf %l, %x, %z"),
    ("constants multiplied", "%r = muli %a, %c56", "%f = muli %c7, %c8\n%r = muli %a, %f"),
    ("constants added", "%r = muli %a, %c8", "%f = addi %c7, %c1\n%r = muli %a, %f"),
    ("constants that fit what they promise", "%r = muli %a, %c8",
     "%f = addi %c7, %c1 overflow<no_signed_wrap>\n%r = muli %a, %f"),
    ("plus 0", "%r = muli %a, %c8", "%s = addi %c0, %a\n%r = muli %s, %c8"),
    ("minus 0", "%r = muli %a, %c8", "%s = subi %a, %c0\n%r = muli %s, %c8"),
    ("times 1", "%r = addi %a, %c8", "%s = muli %c1, %a\n%r = addi %s, %c8"),
    ("shifted", "%r = muli %a, %c8", "%c3 = constant <i32: 3> : tile<i32>\n%r = shli %a, %c3"),
    ("selected by the inverse", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than_or_equal %a, %b, signed\n%r = select %l, %c1, %c0"),
    ("selected by the inverse, turned", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi less_than_or_equal %b, %a, signed\n%r = select %l, %c1, %c0"),
    ("selected by equality", "%l = cmpi equal %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi not_equal %a, %b, signed\n%r = select %l, %c1, %c0"),
    ("selected by the inverse of floats", "%l = cmpf less_than ordered %x, %y\n%r = selectf %l, %x, %z",
     "%l = cmpf greater_than_or_equal unordered %x, %y\n%r = selectf %l, %z, %x"),
    ("selected by the inverse of unordered floats",
     "%l = cmpf less_than unordered %x, %y\n%r = selectf %l, %x, %z",
     "%l = cmpf greater_than_or_equal ordered %x, %y\n%r = selectf %l, %z, %x"),
    ("selected by the negation",
     "%l = cmpi less_than %a, %b, signed\n%k = cmpi less_than %b, %a, signed\n"
     "%d = andi %l, %k\n%r = select %d, %c0, %c1",
     "%l = cmpi less_than %a, %b, signed\n%k = cmpi less_than %b, %a, signed\n"
     "%true = constant <i1: true> : tile<i1>\n"
     "%d = andi %l, %k\n%e = xori %d, %true\n%r = select %e, %c1, %c0"),
    ("negated comparison in a conjunction",
     "%l = cmpi less_than %a, %b, signed\n%k = cmpi less_than %a, %c8, signed\n"
     "%d = andi %l, %k\n%r = select %d, %c0, %c1",
     "%true = constant <i1: true> : tile<i1>\n%g = cmpi greater_than_or_equal %a, %b, signed\n"
     "%l = xori %g, %true\n%k = cmpi less_than %a, %c8, signed\n"
     "%d = andi %l, %k\n%r = select %d, %c0, %c1"),
]  # fmt: skip

# The same formula, rounded differently or equal under a condition that is not proven.
ALGEBRA = [
    ("subtraction as addition", "%r = subf %x, %y", "%w = negf %y\n%r = addf %x, %w"),
    ("integer subtraction as addition", "%r = subi %a, %b", "%w = negi %b\n%r = addi %a, %w"),
    ("negation of a product", "%w = mulf %x, %y\n%r = negf %w", "%w = negf %x\n%r = mulf %w, %y"),
    ("negation twice", "%r = mulf %x, %y", "%u = negf %x\n%w = negf %u\n%r = mulf %w, %y"),
    ("division by 4", "%c = constant <f32: 4.0> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: 0.25> : tile<f32>\n%r = mulf %x, %c"),
    ("division by -0.5", "%c = constant <f32: -0.5> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: -2.0> : tile<f32>\n%r = mulf %x, %c"),
    ("fma split", "%r = fma %x, %y, %z", "%w = mulf %x, %y\n%r = addf %w, %z"),
    ("fma fused", "%w = mulf %x, %y\n%r = subf %w, %z", "%w = negf %z\n%r = fma %x, %y, %w"),
    ("sum in another order", "%w = addf %x, %y\n%r = addf %w, %z",
     "%w = addf %y, %z\n%r = addf %x, %w"),
    ("product in another order", "%w = mulf %x, %y\n%r = mulf %w, %z",
     "%w = mulf %z, %y\n%r = mulf %x, %w"),
    ("sum inside a sum", "%v = addf %x, %y\n%e = exp %v\n%w = addf %v, %e\n%r = addf %w, %z",
     "%v = addf %x, %y\n%e = exp %v\n%w = addf %e, %z\n%r = addf %v, %w"),
    ("integers in another order", "%w = addi %a, %b\n%r = addi %w, %bx",
     "%w = addi %b, %bx\n%r = addi %a, %w"),
    ("ceiling of what may be negative", CEILING.replace("%m", "%a"),
     "%d = subi %n, %c1\n%s = addi %a, %d\n%r = divi %s, %n signed"),
    ("ceiling by what may be negative", CEILING.replace("%n", "%b"),
     "%d = subi %b, %c1\n%s = addi %m, %d\n%r = divi %s, %b signed"),
    ("floor remainder of what may be negative", "%r = remi %a, %c8 signed",
     FLOOR_MOD_8.replace("%m", "%a")),
]  # fmt: skip

# Near misses: another value.
DIFFERENT = [
    ("ceiling with another constant", CEILING_8, "%s = addi %m, %c9\n%r = divi %s, %c8 signed"),
    ("ceiling without less one", CEILING_8, "%s = addi %m, %c8\n%r = divi %s, %c8 signed"),
    ("ceiling by another divisor", CEILING_8, "%s = addi %m, %c7\n%r = divi %s, %c9 signed"),
    ("ceiling against floor", CEILING_8, "%r = divi %m, %c8 signed"),
    ("ceiling of another size", CEILING,
     "%d = subi %n, %c1\n%s = addi %bx, %d\n%r = divi %s, %n signed"),
    ("ceiling, unsigned", CEILING_8, "%s = addi %m, %c7\n%r = divi %s, %c8 unsigned"),
    ("ceiling that promises not to overflow", CEILING_8,
     "%s = addi %m, %c7 overflow<no_signed_wrap>\n%r = divi %s, %c8 signed"),
    ("minimum, arms swapped", "%r = mini %a, %b signed",
     "%l = cmpi less_than %a, %b, signed\n%r = select %l, %b, %a"),
    ("minimum, unsigned comparison", "%r = mini %a, %b signed",
     "%l = cmpi less_than %a, %b, unsigned\n%r = select %l, %a, %b"),
    ("minimum of others", "%r = mini %a, %b signed",
     "%l = cmpi less_than %a, %b, signed\n%r = select %l, %a, %bx"),
    ("minimum by equality", "%r = mini %a, %b signed",
     "%l = cmpi equal %a, %b, signed\n%r = select %l, %a, %b"),
    ("remainder corrected by another value", "%r = remi %m, %n signed",
     FLOOR_MOD.replace("%u = addi %s, %n", "%u = addi %s, %c8")),
    ("remainder, other sign test", "%r = remi %a, %b signed",
     FLOOR_MOD_AB.replace("%l = cmpi less_than", "%l = cmpi greater_than")),
    ("remainder, unsigned sign test", "%r = remi %a, %c8 signed",
     FLOOR_MOD_8.replace("%m", "%a").replace("%s, %c0, signed\n%d", "%s, %c0, unsigned\n%d")),
    ("remainder without the zero test", "%r = remi %a, %c8 signed",
     FLOOR_MOD_8.replace("%m", "%a").replace("not_equal %s, %c0", "not_equal %s, %c1")),
    ("comparison turned halfway", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than %a, %b, signed\n%r = select %l, %c0, %c1"),
    ("comparison turned, or equal", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than_or_equal %b, %a, signed\n%r = select %l, %c0, %c1"),
    ("float comparison turned, other ordering",
     "%l = cmpf less_than ordered %x, %y\n%r = selectf %l, %x, %z",
     "%l = cmpf greater_than unordered %y, %x\n%r = selectf %l, %x, %z"),
    ("constants multiplied to another", "%r = muli %a, %c56", "%f = muli %c8, %c8\n%r = muli %a, %f"),
    ("constants that overflow against their promise",
     "%m1 = constant <i32: -2147483648> : tile<i32>\n%r = addi %a, %m1",
     "%m2 = constant <i32: 2147483647> : tile<i32>\n%f = addi %m2, %c1 overflow<no_signed_wrap>\n"
     "%r = addi %a, %f"),
    ("plus 1", "%r = muli %a, %c8", "%s = addi %a, %c1\n%r = muli %s, %c8"),
    ("0 minus", "%r = muli %a, %c8", "%s = subi %c0, %a\n%r = muli %s, %c8"),
    ("times 0", "%r = addi %a, %c8", "%s = muli %a, %c0\n%r = addi %s, %c8"),
    ("shifted too far", "%r = muli %a, %c8", "%r = shli %a, %c8"),
    ("shifted with a promise", "%r = muli %a, %c8",
     "%c3 = constant <i32: 3> : tile<i32>\n%r = shli %a, %c3 overflow<no_signed_wrap>"),
    ("selected by the inverse, arms kept", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than_or_equal %a, %b, signed\n%r = select %l, %c0, %c1"),
    ("selected by the wrong inverse", "%l = cmpi less_than %a, %b, signed\n%r = select %l, %c0, %c1",
     "%l = cmpi greater_than %a, %b, signed\n%r = select %l, %c1, %c0"),
    ("selected by the inverse of the other sign", "%l = cmpi less_than %a, %b, signed\n"
     "%r = select %l, %c0, %c1",
     "%l = cmpi greater_than_or_equal %a, %b, unsigned\n%r = select %l, %c1, %c0"),
    ("selected by an inverse that forgets NaN",
     "%l = cmpf less_than ordered %x, %y\n%r = selectf %l, %x, %z",
     "%l = cmpf greater_than_or_equal ordered %x, %y\n%r = selectf %l, %z, %x"),
    ("subtraction as addition without negation", "%r = subf %x, %y", "%r = addf %x, %y"),
    ("subtraction turned", "%r = subf %x, %y", "%w = negf %x\n%r = addf %y, %w"),
    ("subtraction, other rounding", "%r = subf %x, %y",
     "%w = negf %y\n%r = addf %x, %w rounding<zero>"),
    ("negation of one factor of two", "%w = mulf %x, %y\n%r = negf %w",
     "%u = negf %x\n%w = negf %y\n%r = mulf %u, %w"),
    ("negation of a product rounded down", "%w = mulf %x, %y rounding<negative_inf>\n%r = negf %w",
     "%w = negf %x\n%r = mulf %w, %y rounding<negative_inf>"),
    ("division by 3", "%c = constant <f32: 3.0> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: 0.333333343> : tile<f32>\n%r = mulf %x, %c"),
    ("division by 4, wrong inverse", "%c = constant <f32: 4.0> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: 0.5> : tile<f32>\n%r = mulf %x, %c"),
    ("division by 4, wrong sign", "%c = constant <f32: 4.0> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: -0.25> : tile<f32>\n%r = mulf %x, %c"),
    ("division by too small a number",
     "%c = constant <f32: 0x00000001> : tile<f32>\n%r = divf %x, %c",
     "%c = constant <f32: 0x7F800000> : tile<f32>\n%r = mulf %x, %c"),
    ("division rounded down",
     "%c = constant <f32: 4.0> : tile<f32>\n%r = divf %x, %c rounding<negative_inf>",
     "%c = constant <f32: 0.25> : tile<f32>\n%r = mulf %x, %c"),
    ("fma, addend as factor", "%r = fma %x, %y, %z", "%w = mulf %x, %z\n%r = addf %w, %y"),
    ("fma, other rounding", "%r = fma %x, %y, %z",
     "%w = mulf %x, %y\n%r = addf %w, %z rounding<zero>"),
    ("fma, flushed", "%r = fma %x, %y, %z", "%w = mulf %x, %y flush_to_zero\n%r = addf %w, %z"),
    ("sum of others", "%w = addf %x, %y\n%r = addf %w, %z", "%w = addf %y, %z\n%r = addf %y, %w"),
    ("sum, other rounding inside", "%w = addf %x, %y\n%r = addf %w, %z",
     "%w = addf %y, %z rounding<zero>\n%r = addf %x, %w"),
    ("sum for product", "%w = addf %x, %y\n%r = addf %w, %z", "%w = mulf %y, %z\n%r = addf %x, %w"),
    ("integers, overflow flag inside", "%w = addi %a, %b\n%r = addi %w, %bx",
     "%w = addi %b, %bx overflow<no_signed_wrap>\n%r = addi %a, %w"),
    ("three operations in another order",
     "%v = addf %x, %y\n%w = addf %v, %z\n%e = exp %z\n%r = addf %w, %e",
     "%e = exp %z\n%v = addf %e, %z\n%w = addf %v, %x\n%r = addf %w, %y"),
]  # fmt: skip


def cases(rows: list[tuple[str, str, str]]) -> pytest.MarkDecorator:
    parameters = [pytest.param(one, other, id=name) for name, one, other in rows]
    return pytest.mark.parametrize(("one", "other"), parameters)


@cases(EQUAL)
def test_equal_spellings(one: str, other: str) -> None:
    assert found(one, other) == [("EQV001", INFO)]
    assert found(other, one) == [("EQV001", INFO)]


@cases(ALGEBRA)
def test_algebra(one: str, other: str) -> None:
    assert found(one, other) == [("ALG001", WARN)]
    assert found(other, one) == [("ALG001", WARN)]


@cases(DIFFERENT)
def test_near_misses(one: str, other: str) -> None:
    assert CRITICAL in [severity for _, severity in found(one, other)]
    assert CRITICAL in [severity for _, severity in found(other, one)]


# -- the same elements through another view --------------------------------------------------------

TENSOR = "tensor_view<?x?xf32, strides=[?,1]>"
PARTITION = f"partition_view<tile=(64x8), padding_value = zero, {TENSOR}>"


def strided(steps: str, tile: str = "64x8", padding: str = "zero") -> str:
    return (
        f"strided_view<tile=({tile}), traversal_strides=[{steps}], padding_value = {padding}, "
        f"{TENSOR}>"
    )


TILE = "tile<64x8xf32>"


def copies(view: str, first: str, second: str) -> str:
    """A kernel that reads a tile through a view."""
    make = "make_partition_view" if view.startswith("partition") else "make_strided_view"
    return f"""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {{
      %bx, %by, %bz = get_tile_block_id : tile<i32>
      %c2 = constant <i32: 2> : tile<i32>
      %c3 = constant <i32: 3> : tile<i32>
      %c24 = constant <i32: 24> : tile<i32>
      %c64 = constant <i32: 64> : tile<i32>
      %x2 = muli %bx, %c2 : tile<i32>
      %x64 = muli %bx, %c64 : tile<i32>
      %y64 = muli %by, %c64 : tile<i32>
      %v = make_tensor_view %p, shape = [%n, %n], strides = [%s, 1] : tile<i32> -> {TENSOR}
      %w = {make} %v : {view}
      %x, %t1 = load_view_tko weak %w[{first}, {second}] : {view}, tile<i32> -> {TILE}, token
      %z = make_tensor_view %q, shape = [%n, %n], strides = [%s, 1] : tile<i32> -> {TENSOR}
      %o = make_partition_view %z : {PARTITION}
      %t2 = store_view_tko weak %x, %o[%bx, %by] : {TILE}, {PARTITION}, tile<i32> -> token
    }}"""


TILES = copies(PARTITION, "%bx", "%c3")


@pytest.mark.parametrize(
    "other",
    [
        copies(strided("64,8"), "%bx", "%c3"),
        copies(strided("1,1"), "%x64", "%c24"),
        copies(strided("32,8"), "%x2", "%c3"),
        copies(strided("1,8"), "%x64", "%c3"),
    ],
)
def test_views_of_the_same_elements(other: str) -> None:
    for one, two in ((TILES, other), (other, TILES)):
        findings = diff(parse_all(one), parse_all(two)).findings
        assert [(f.code, f.severity) for f in findings] == [("EQV001", INFO)]


@pytest.mark.parametrize(
    "other",
    [
        copies(strided("32,8"), "%bx", "%c3"),
        copies(strided("1,1"), "%bx", "%c3"),
        copies(strided("1,1"), "%y64", "%c24"),
        copies(strided("1,1"), "%x64", "%c3"),
        copies(strided("64,8", padding="nan"), "%bx", "%c3"),
        copies(PARTITION, "%c3", "%bx"),
    ],
)
def test_views_of_other_elements(other: str) -> None:
    for one, two in ((TILES, other), (other, TILES)):
        assert diff(parse_all(one), parse_all(two)).verdict == "FAIL_FIXABLE"
