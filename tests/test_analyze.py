"""Facts: the right ones, for kernels whose source says what they are."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tileir_tools import UsageError, analyze, load, load_all, parse
from tileir_tools.analyze.facts import EntryFacts
from tileir_tools.analyze.hints import resolved_hints
from tileir_tools.analyze.ordering import Order

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "kernels"


def facts(name: str, arch: str | None = None) -> EntryFacts:
    path = next(iter(sorted(FIXTURES.glob(f"{name}*.mlir"))))
    return analyze(load(path), arch).entries[0]


def entry_of(text: str, arch: str | None = None) -> EntryFacts:
    return analyze(parse(text), arch).entries[0]


def test_matmul() -> None:
    found = facts("matmul__128x128x64-float16__sm_100__bc13.4")
    assert (found.function, found.convention) == ("matmul", "cutile_v1")
    assert found.constants == (128, 128, 64)
    assert len(found.parameters) == 15
    loads = [m for m in found.memory if m.access == "load"]
    assert [(m.tile, m.element, m.bytes, m.padding, m.loop_depth) for m in loads] == [
        ((128, 64), "f16", 16384, "zero", 1),
        ((64, 128), "f16", 16384, "zero", 1),
    ]
    assert [m.base for m in found.memory] == ["%arg0", "%arg5", "%arg10"]
    assert all(m.family == "view" and m.view == "partition_view" for m in found.memory)
    assert all(m.strides == (None, 1) and m.dim_map == (0, 1) for m in found.memory)
    assert all(m.ordering == "weak" and m.allow_tma is True and m.latency is None for m in loads)
    assert loads[0].indices == ("block_id.x", "%loopIdx")
    (mma,) = found.mma
    assert mma.accumulator_carried
    assert mma.lhs_chain == ("load_view_tko",)
    assert mma.result_chain == ("carried by the loop", "ftof f16", "store_view_tko")
    (loop,) = found.loops
    assert (loop.lower, loop.step, loop.trip_count) == ("0", "1", None)
    assert loop.carried == ("tile<128x128xf32>",)
    assert {a.about: a.predicates for a in found.assumes}["%arg0"] == ("div_by<16>",)
    assert {m.axis: m.swizzled for m in found.block_mapping} == {"x": False, "y": False}


def test_persistent_matmul_is_swizzled_and_persistent() -> None:
    found = facts("persistent_matmul__", "sm_100")
    (mapping,) = found.block_mapping
    assert (mapping.axis, mapping.swizzled, mapping.persistent) == ("x", True, True)
    outer, inner = found.loops
    assert (outer.depth, inner.depth) == (0, 1)
    assert outer.step == "grid_size.x"
    assert found.resolved_hints == {"num_cta_in_cga": 2}


def test_tf32_conversions_feed_the_mma() -> None:
    found = facts("matmul_tf32__")
    assert found.mma[0].lhs_chain == ("ftof tf32", "load_view_tko")
    assert found.mma[0].rhs_chain == ("ftof tf32", "load_view_tko")
    assert {(c.op, c.result.rsplit("x", 1)[1]) for c in found.conversions} >= {("ftof", "tf32>")}


def test_softmax_by_pointers_is_masked() -> None:
    found = facts("softmax_gather__")
    assert {m.family for m in found.memory} == {"pointer"}
    assert all(m.masked for m in found.memory if m.access == "load")
    bodies = [r.body for r in found.reductions]
    assert ("maxf",) in bodies
    assert ("addf",) in bodies


def test_every_fixture_has_facts_that_pickle() -> None:
    for path in sorted(FIXTURES.glob("*.mlir")):
        for module in load_all(path):
            found = analyze(module, "sm_90")
            assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("bounds", "count"),
    [
        ((0, 10, 3), 4),
        ((0, 9, 3), 3),
        ((5, 5, 1), 0),
        ((7, 3, 1), 0),
        ((-4, 4, 2), 4),
        ((0, 4, 0), None),
    ],
)
def test_trip_counts(bounds: tuple[int, int, int], count: int | None) -> None:
    lower, upper, step = bounds
    found = entry_of(
        f"entry @k() {{ %l = constant <i32: {lower}> : tile<i32>\n"
        f"%u = constant <i32: {upper}> : tile<i32>\n%s = constant <i32: {step}> : tile<i32>\n"
        "for %i in (%l to %u, step %s) : tile<i32> { } return }"
    )
    assert found.loops[0].trip_count == count


def test_hints_resolve_key_by_key() -> None:
    text = (
        "entry @k(%p: tile<ptr<f32>>) optimization_hints=<default = {occupancy = 2, num_cta_in_cga = 1},"
        " sm_100 = {occupancy = 4}> {\n"
        "%r, %t = load_ptr_tko weak %p optimization_hints = <sm_90 = {latency = 3}> :"
        " tile<ptr<f32>> -> tile<f32>, token\nreturn }"
    )
    assert entry_of(text, "sm_100").resolved_hints == {"occupancy": 4, "num_cta_in_cga": 1}
    assert entry_of(text, "sm_90").resolved_hints == {"occupancy": 2, "num_cta_in_cga": 1}
    assert entry_of(text, "sm_90").memory[0].latency == 3
    assert entry_of(text).memory[0].latency is None
    assert resolved_hints(None, "sm_90") == {}
    with pytest.raises(UsageError, match="unknown arch 'sm_9'; known: sm_80"):
        entry_of(text, "sm_9")


def test_token_order() -> None:
    module = parse(
        "entry @k(%p: tile<ptr<f32>>, %v: tile<f32>, %n: tile<i32>) {\n"
        "%t0 = make_token : token\n"
        "%t1 = store_ptr_tko weak %p, %v token=%t0 : tile<ptr<f32>>, tile<f32> -> token\n"
        "%t2 = store_ptr_tko weak %p, %v token=%t0 : tile<ptr<f32>>, tile<f32> -> token\n"
        "%t3 = join_tokens %t1, %t2 : token\n"
        "%f = for %i in (%n to %n, step %n) : tile<i32> iter_values(%t = %t3) -> (token) {\n"
        "  %t4 = store_ptr_tko weak %p, %v token=%t : tile<ptr<f32>>, tile<f32> -> token\n"
        "  continue %t4 : token\n}\n"
        "%t5 = store_ptr_tko weak %p, %v token=%f : tile<ptr<f32>>, tile<f32> -> token\n"
        "return }"
    )
    order = Order(module.entries[0])
    first, second, inner, last = (op for op in module.find("store_ptr_tko"))
    assert order.direct(first) == []
    assert {(b.op, b.carried) for b in order.direct(inner)} == {
        (first, False),
        (second, False),
        (inner, True),
    }
    # The loop may run no time at all.
    assert {b.op for b in order.direct(last)} == {first, second, inner}
    assert {b.op for b in order.all_before(last)} == {first, second, inner}
