"""`tt.equal`: at which level kernels are equal, and the reason where they are not."""

from __future__ import annotations

import pytest
from samples import FIXTURES, fixture_kernels

import tileir_tools as tt
from tileir_tools.analyze.levels import LEVELS

VARIANTS = FIXTURES.parent / "variants"
MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"


def kernel(name: str) -> tt.Module:
    """A fixture by the beginning of its name."""
    found = [p for f in (VARIANTS, FIXTURES) for p in sorted(f.glob(f"{name}*.tileirbc"))]
    return tt.load(found[0])


def test_a_kernel_equals_itself_at_every_level() -> None:
    for path in fixture_kernels()[::4]:
        for level in LEVELS:
            answer = tt.equal(tt.load(path), tt.load(path), level=level)
            assert answer
            assert (answer.level, answer.reason, answer.first_unequal) == (level, "", None)
            assert answer.entries[0].equal_from == "exact"
            assert answer.entries[0].separated_by is None


@pytest.mark.parametrize(
    ("one", "other", "equal_from", "separated_by", "reason"),
    [
        pytest.param(*row, id=f"{row[0]} {row[1]}")
        for row in (
            (
                "bmm_static__64x64x32-float16",
                "bmm_static__64x64x32-bfloat16",
                "dtype",
                "hints",
                "parameter 0 is tile<ptr<f16>> in the reference and tile<ptr<bf16>> in the generated "
                "kernel (and 2 more differ)",
            ),
            (
                "bmm_static__64x64x32-float16",
                "bmm_static__128x64x32-float16",
                "sizes",
                "dtype",
                "tile of the view is 1x64x32 in the reference and 1x128x32 in the generated kernel",
            ),
            (
                "bmm_static__64x64x32-float16",
                "bmm_persistent__64x64x32-float16",
                None,
                "structure",
                "a persistent loop over blocks in the generated kernel, none in the reference",
            ),
            (
                "bmm_flat__64x64x32-float16",
                "bmv__64x128-float16",
                None,
                "structure",
                "mma in the reference, none in the generated kernel",
            ),
            (
                "bmm_static__64x64x32-float16",
                "bmm_flat__64x64x32-float16",
                None,
                "structure",
                "tiles of rank 3 in the reference, 2 in the generated kernel",
            ),
            (
                "bmv__64x128-float16",
                "bmv_gather__64x128-float16",
                None,
                "structure",
                "load by partition view in the reference, by partition view and pointer in the "
                "generated kernel",
            ),
            (
                "bmm_persistent__64x64x32-float16",
                "bmm_persistent__transposed",
                None,
                "structure",
                "transposition in the generated kernel, none in the reference",
            ),
            (
                "rms_norm__tile1024-bfloat16__sm_100__bc13.4",
                "rms_norm__tile1024-bfloat16__sm_90__bc13.2",
                "hints",
                "names",
                "latency of load_view_tko is 1 in the reference and absent in the generated kernel for "
                "sm_100",
            ),
        )
    ],
)
def test_reasons(
    one: str, other: str, equal_from: str | None, separated_by: str, reason: str
) -> None:
    answer = tt.equal(kernel(one), kernel(other))
    assert not answer
    assert answer.reason == reason
    (entry,) = answer.entries
    assert (entry.equal_from, entry.separated_by) == (equal_from, separated_by)
    for level in LEVELS:
        wanted = equal_from is not None and LEVELS.index(level) >= LEVELS.index(equal_from)
        assert bool(tt.equal(kernel(one), kernel(other), level=level)) is wanted


@pytest.mark.parametrize(
    ("old", "new", "equal_from", "reason"),
    [
        ("@matmul_", "@other_", "names", "the symbols differ: @matmul_Kt1_"),
        (
            "div_by<16>, %arg0",
            "div_by<32>, %arg0",
            "dtype",
            "div_by<32> is assumed about argument 0",
        ),
        (
            "rounding<nearest_even>",
            "rounding<zero>",
            "dtype",
            "tile of store_view_tko: rounding_mode of ftof is nearest_even",
        ),
        # Nobody reads it: only its text differs.
        ("addf", "subf", "names", "equal dataflow in other operations: operation "),
    ],
)
def test_edits(old: str, new: str, equal_from: str | None, reason: str) -> None:
    text = MATMUL.read_text().replace("ftof %for  :", "ftof %for rounding<nearest_even> :")
    text = text.replace("  return\n", "  %dead = addf %for, %for : tile<128x128xf32>\n  return\n")
    one, other = tt.parse(text, "a"), tt.parse(text.replace(old, new), "b")
    assert old in text
    answer = tt.equal(one, other, level="exact")
    assert answer.entries[0].equal_from == equal_from
    assert answer.reason.startswith(reason)


def test_other_order_is_another_text() -> None:
    text = MATMUL.read_text().split("\n")
    first = next(k for k, line in enumerate(text) if "= constant" in line)
    turned = [*text[: first - 1], text[first], text[first - 1], *text[first + 1 :]]
    one, other = tt.load(MATMUL), tt.parse("\n".join(turned))
    answer = tt.equal(one, other, level="exact")
    assert answer.reason.startswith("equal dataflow in other operations: operation ")
    assert tt.equal(one, other)


def test_proven_rewrites_are_named() -> None:
    """What the comparison proves equal is no difference there, but another spelling here."""
    text = (
        "entry @k(%a: tile<i32>, %b: tile<i32>, %p: tile<ptr<i32>>) {{\n"
        "  %c = mini %a, %b signed : tile<i32>\n{}"
        "  %t = store_ptr_tko weak %p, %{} : tile<ptr<i32>>, tile<i32> -> token\n  return\n}}\n"
    )
    chosen = (
        "  %l = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>\n"
        "  %d = select %l, %a, %b : tile<i1>, tile<i32>\n"
    )
    answer = tt.equal(tt.parse(text.format("", "c")), tt.parse(text.format(chosen, "d")))
    assert not answer
    assert answer.entries[0].finding is not None
    assert answer.entries[0].finding.code == "EQV001"


def test_hints_resolve_for_a_target() -> None:
    old, new = (kernel(f"bmm__64x128x32-float16__sm_100__bc{v}") for v in ("13.2", "13.3"))
    assert tt.fingerprints(old) != tt.fingerprints(new)
    assert tt.equal(old, new, arch="sm_100")
    assert tt.equal(old, new).arches == ("sm_100",)
    assert tt.equal(old, new)
    assert not tt.equal(old, new, arch="sm_90")


def test_entries_without_partner() -> None:
    one = tt.parse("entry @a() {\n  return\n}\nentry @b(%x: tile<i32>) {\n  return\n}\n")
    other = tt.parse("entry @a() {\n  return\n}\n")
    answer = tt.equal(one, other, level="structure")
    assert not answer
    assert answer.reason == "entry @b is only in the reference"
    assert tt.equal(other, one).reason == "entry @b is only in the generated module"
    assert tt.equal(one, other, entry="a")


def test_wrong_use() -> None:
    module = tt.load(MATMUL)
    with pytest.raises(tt.UsageError, match="unknown level 'shapes'; known: exact, names"):
        tt.equal(module, module, level="shapes")
    with pytest.raises(tt.UsageError, match="unknown arch"):
        tt.equal(module, module, arch="sm_1")
    with pytest.raises(tt.UsageError, match="none contains 'z'"):
        tt.equal(module, module, entry="z")
