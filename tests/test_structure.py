"""Structures of kernels, and the sentence that tells two of them apart."""

from __future__ import annotations

import pytest
from samples import FIXTURES

import tileir_tools as tt
from tileir_tools.analyze.fingerprint import examine
from tileir_tools.analyze.structure import Access, Part, Structure
from tileir_tools.diff.structural import distance, structural_difference

VARIANTS = FIXTURES.parent / "variants"
LOAD = Access("load", "partition_view", 2, False)
STORE = Access("store", "partition_view", 2, False)


def structure(name: str) -> Structure:
    module = tt.load(next(iter(sorted(VARIANTS.glob(f"{name}*.tileirbc")))))
    return examine(module.entries[0], module, None)[1]


def loop(
    kind: str = "for", inner: tuple[Part, ...] = (), carried: int = 1, **changes: object
) -> Part:
    return part(kind=kind, inner=inner, carried=carried, **changes)


def part(**changes: object) -> Part:
    plain = Part("entry", False, 0, ((LOAD, 1), (STORE, 1)), (), ())
    return plain._replace(**changes)


def made(blocks: str = "x", swizzled: bool = False, **changes: object) -> Structure:
    return Structure(blocks, swizzled, part(**changes))


def test_of_a_matrix_product() -> None:
    load, store = (
        Access("load", "partition_view", 3, False),
        Access("store", "partition_view", 3, False),
    )
    inner = Part("for", False, 1, ((load, 2),), (("mma of rank 3", 1),), ())
    entry = Part("entry", False, 0, ((store, 1),), (), (inner,))
    assert structure("bmm_static") == Structure("xyz", False, entry)
    outer = Part("for", True, 0, ((store, 1),), (), (inner,))
    persistent = Part("entry", False, 0, (), (), (outer,))
    assert structure("bmm_persistent__64x64x32-float16") == Structure("x", True, persistent)


def test_values_stand_where_they_have_to() -> None:
    """A product that the text computes outside its loop is the same product."""
    entry = (
        "entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %x: tile<4x4xf32>) {{\n"
        "  %c0 = constant <i32: 0> : tile<i32>\n  %c1 = constant <i32: 1> : tile<i32>\n{}"
        "  for %i in (%c0 to %n, step %c1) : tile<i32> {{\n{}"
        "    %q = int_to_ptr %e : tile<i64> -> tile<ptr<f32>>\n"
        "    %t = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token\n  }}\n  return\n}}\n"
    )
    entry = entry.replace("    %q = int_to_ptr %e : tile<i64> -> tile<ptr<f32>>\n", "")
    product = (
        "  %y = mmaf %x, %x, %x : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>\n"
        "  %r = reduce %y dim=0 identities=[0.0 : f32] : tile<4x4xf32> -> tile<4xf32>\n"
        "  (%a: tile<f32>, %b: tile<f32>) {\n    %s = addf %a, %b : tile<f32>\n"
        "    yield %s : tile<f32>\n  }\n"
        "  %z = reduce %r dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>\n"
        "  (%a: tile<f32>, %b: tile<f32>) {\n    %s = addf %a, %b : tile<f32>\n"
        "    yield %s : tile<f32>\n  }\n"
        "  %f = addf %z, %z : tile<f32>\n"
    )
    outside, inside = tt.parse(entry.format(product, "")), tt.parse(entry.format("", product))
    found = examine(outside.entries[0], outside, None)[1]
    assert dict(found.body.computed)["mma of rank 2"] == 1
    assert tt.fingerprints(outside)[1:] == tt.fingerprints(inside)[1:]


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (
            made(inner=(loop(persistent=True),)),
            made(inner=(loop(),)),
            "a persistent loop over blocks in A, none in B",
        ),
        (made(computed=(("mma of rank 2", 1),)), made(), "mma in A, none in B"),
        (
            made(),
            made(accesses=((LOAD._replace(through="pointers"), 1), (STORE, 1))),
            "load by partition view in A, by pointer in B",
        ),
        (
            made(),
            made(accesses=((LOAD, 1), (STORE, 1), (STORE._replace(kind="atomic_rmw_tko"), 1))),
            "atomic_rmw_tko only in B",
        ),
        (
            made(),
            made(accesses=((LOAD._replace(rank=3), 1), (STORE._replace(rank=3), 1))),
            "tiles of rank 2 in A, 3 in B",
        ),
        (made(inner=(loop(),)), made(), "1 loop in A, none in B"),
        (
            made(inner=(loop("for"),)),
            made(inner=(loop("loop"),)),
            "bounded loops (`for`) in A, loops without bounds (`loop`) in B",
        ),
        (
            made(inner=(loop(inner=(loop(),)),)),
            made(inner=(loop(), loop())),
            "loops nested 2 deep in A, 1 deep in B",
        ),
        (
            made(computed=(("mma of rank 2", 2),)),
            made(computed=(("mma of rank 2", 1),)),
            "2 mma in A, 1 in B",
        ),
        (made(), made(computed=(("reduce of rank 1", 1),)), "reduction in B, none in A"),
        (
            made(computed=(("reduce of rank 1", 1),)),
            made(computed=(("scan of rank 1", 1),)),
            "reduce of rank 1 in A, scan of rank 1 in B",
        ),
        (
            made(inner=(part(kind="then"),)),
            made(),
            "1 branch with effects in A, none in B",
        ),
        (made(), made(accesses=((LOAD, 2), (STORE, 1))), "1 load in A, 2 in B"),
        (
            made(accesses=((LOAD._replace(permuted=True), 1), (STORE, 1))),
            made(),
            "1 access with permuted dimensions in A, none in B",
        ),
        (made(computed=(("permute of rank 2", 1),)), made(), "transposition in A, none in B"),
        (made(computed=(("cat of rank 2", 1),)), made(), "concatenation in A, none in B"),
        (made("x"), made("xy"), "block ids x in A, x, y in B"),
        (
            made(swizzled=True),
            made(),
            "block ids are divided (swizzled) in A, used as they are in B",
        ),
        (
            made(inner=(loop(carried=2),)),
            made(inner=(loop(carried=1),)),
            "loops carry 2 values in A, 1 in B",
        ),
        (
            made(accesses=((LOAD, 1),), inner=(loop(accesses=((STORE, 1),)),)),
            made(accesses=((STORE, 1),), inner=(loop(accesses=((LOAD, 1),)),)),
            "the same operations stand in other loops or branches",
        ),
    ],
)
def test_what_tells_structures_apart(one: Structure, other: Structure, sentence: str) -> None:
    assert structural_difference(one, other, "A", "B") == sentence
    assert structural_difference(one, one) is None
    assert distance(one, other) > 0 == distance(one, one)
