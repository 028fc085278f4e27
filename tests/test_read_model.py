"""The model that reading gives: operand groups, attributes, types, spans, uses, scopes, loop depth."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tileir_tools.dialect import OPS
from tileir_tools.model import (
    I32,
    TOKEN,
    ArrayAttr,
    BoolAttr,
    BoundedAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictAttr,
    DivByAttr,
    ElementType,
    FloatAttr,
    GatherScatterViewType,
    IntegerAttr,
    Module,
    Operation,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    StridedViewType,
    StringAttr,
    TensorViewType,
    TileType,
)
from tileir_tools.read import load, load_all, parse

Read = Callable[[str], Module]

FIXTURES = Path(__file__).parent / "fixtures"
TEXTS, KERNELS = FIXTURES / "text", FIXTURES / "kernels"


def ops(module: Module) -> list[Operation]:
    """What stands directly in the first entry."""
    return module.entries[0].body.operations


def body(text: str, arguments: str = "") -> list[Operation]:
    return ops(parse(f"entry @k({arguments}) {{\n{text}\n}}"))


# -- control flow -----------------------------------------------------------------------------------


def test_branches_empty_and_without_else(text_module: Read) -> None:
    first, both, one_line, one, two, _ = ops(text_module("empty_branches_and_no_else"))
    then, otherwise = first.regions
    assert [op.name for op in then.block.operations] == ["yield"]
    assert otherwise.empty
    assert not both.regions[1].empty
    assert [len(r.block.operations) for r in one_line.regions] == [1, 1]
    assert [str(v.type) for v in one.results] == ["tile<i32>"]
    assert [v.name for v in two.results] == ["%p", "%q"]
    assert [op.name for op in two.regions[1].block.operations] == ["return"]


def test_terminators_that_the_text_leaves_out(text_module: Read) -> None:
    first, second, loop, end = ops(text_module("terminators_left_out"))
    assert [op.name for op in first.regions[0].block.operations] == ["if", "continue"]
    assert first.regions[0].block.operations[0].regions[0].block.operations[0].name == "continue"
    assert second.has("unsignedCmp")
    assert [op.name for op in second.regions[0].block.operations] == ["continue"]
    assert [op.name for op in loop.regions[0].block.operations] == ["loop", "if", "continue"]
    assert end.name == "return"
    assert end.span is None, "an operation that no text says has no place in the text"


def test_loops_with_values(text_module: Read) -> None:
    once, twice, quiet, last, _ = ops(text_module("loops_with_values"))
    assert [str(v.type) for v in once.results] == ["tile<f32>"]
    assert [v.name for v in twice.operand_group("initValues")] == ["%n", "%a"]
    assert [str(v.type) for v in twice.results] == ["tile<f32>", "tile<i32>"]
    arguments = twice.regions[0].block.arguments
    assert [(v.name, str(v.type)) for v in arguments] == [("%u", "tile<i32>"), ("%v", "tile<f32>")]
    assert quiet.results == []
    # `%b` stands for `%b#0`.
    assert last.operands[0] is twice.results[0]


def test_the_operand_groups_of_a_for() -> None:
    (loop, _) = body(
        "for %i in (%lo to %hi, step %by) : tile<i32> iter_values(%a = %x) -> (tile<f32>) "
        "{ continue %a : tile<f32> }",
        "%lo: tile<i32>, %hi: tile<i32>, %by: tile<i32>, %x: tile<f32>",
    )
    groups = ("lowerBound", "upperBound", "step", "initValues")
    assert [[v.name for v in loop.operand_group(g)] for g in groups] == [
        ["%lo"],
        ["%hi"],
        ["%by"],
        ["%x"],
    ]
    induction, carried = loop.regions[0].block.arguments
    assert (induction.name, str(induction.type)) == ("%i", "tile<i32>")
    assert (carried.name, str(carried.type)) == ("%a", "tile<f32>")
    assert carried.owner is loop.regions[0].block


def test_loop_depth_counts_loops_only(text_module: Read) -> None:
    module = text_module("loops_with_values")
    assert next(module.find("addi")).loop_depth == 2
    (inside_if,) = (
        op for op in module.find("break") if op.parent_op is not None and op.parent_op.name == "if"
    )
    assert inside_if.loop_depth == 1
    assert next(module.find("negf")).loop_depth == 0


def test_reduce_and_scan(text_module: Read) -> None:
    next_line, same_line, labelled, scan, _ = ops(text_module("reduce_and_scan_bodies"))
    for op in (next_line, same_line, labelled):
        assert op.attribute("dim") == IntegerAttr(1, I32)
        assert op.attribute("identities") == ArrayAttr((FloatAttr(0, ElementType("f32")),))
        assert [str(v.type) for v in op.regions[0].block.arguments] == ["tile<f32>"] * 2
        assert [inner.name for inner in op.regions[0].block.operations] == ["addf", "yield"]
    assert scan.attribute("reverse") == BoolAttr(True)
    assert [v.name for v in scan.results] == ["%two#0", "%two#1"]
    assert [v.name for v in scan.regions[0].block.arguments] == ["%a", "%b", "%c", "%d"]


def test_identities_take_the_type_of_their_operand(text_module: Read) -> None:
    two, zero, flag, least, _ = ops(text_module("identities_without_types"))
    f16, i8, i64 = (ElementType(name) for name in ("f16", "i8", "i64"))
    assert two.attribute("identities") == ArrayAttr((FloatAttr(0xFC00, f16), IntegerAttr(0, i8)))
    assert zero.attribute("identities") == ArrayAttr((FloatAttr(0, f16),))
    assert flag.attribute("identities") == ArrayAttr((BoolAttr(True),))
    assert least.attribute("identities") == ArrayAttr((IntegerAttr(-(2**63), i64),))


# -- values and scopes ------------------------------------------------------------------------------


def test_values_know_their_uses() -> None:
    first, second, third, _ = body(
        '%0 = addi %a, %a : tile<i32>\n%1 = muli %0, %a : tile<i32>\nassert %c, "x" : tile<i1>',
        "%a: tile<i32>, %c: tile<i1>",
    )
    a = first.operands[0]
    assert a.uses == [(first, 0), (first, 1), (second, 1)]
    assert first.result.uses == [(second, 0)]
    assert second.result.uses == []
    assert first.result.defining_op is first
    assert a.defining_op is None
    assert third.operand("condition") is third.operands[0]


def test_sibling_regions_may_use_the_same_names() -> None:
    module = parse(
        "entry @a(%c: tile<i1>, %x: tile<i32>) {\n"
        "  if %c { %0 = addi %x, %x : tile<i32> } else { %0 = muli %x, %x : tile<i32> }\n"
        "  %0 = subi %x, %x : tile<i32>\n"
        "}\n"
        "entry @b(%c: tile<i1>, %x: tile<i32>) { %0 = addi %x, %x : tile<i32> }"
    )
    assert [op.name for op in module.walk() if op.results] == ["addi", "muli", "subi", "addi"]
    a, b = module.entries
    assert b.body.operations[0].operands[0] is b.arguments[1]
    assert a.arguments[1] is not b.arguments[1]


def test_regions_read_values_from_around_them() -> None:
    module = parse(
        "entry @k(%c: tile<i1>, %x: tile<i32>) { loop { if %c { %0 = absi %x : tile<i32> } } }"
    )
    assert next(module.find("absi")).operands[0] is module.entries[0].arguments[1]


def test_parents() -> None:
    module = parse("entry @k(%c: tile<i1>) { loop { if %c { break } } }")
    stop = next(module.find("break"))
    chain = [stop.name]
    op = stop.parent_op
    while op is not None:
        chain.append(op.name)
        op = op.parent_op
    assert chain == ["break", "if", "loop", "entry"]
    assert module.entries[0].parent is module.body
    for op in module.walk():
        for region in op.regions:
            assert region.parent is op
            assert all(block.parent is region for block in region.blocks)


def test_results_that_nobody_reads_need_no_names() -> None:
    (load, _) = body(
        "load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token", "%p: tile<ptr<f32>>"
    )
    assert [(v.name, str(v.type)) for v in load.results] == [(None, "tile<f32>"), (None, "token")]


# -- spans ------------------------------------------------------------------------------------------


def test_spans_have_line_and_column() -> None:
    text = (
        "// head\n"
        "entry @k(%c: tile<i1>) {\n"
        "  %0 = constant <i32: 1> : tile<i32> loc(unknown)\n"
        "\tif %c { // comment\n"
        "    assert %c,\n"
        '        "é"  :  tile<i1> // tail\n'
        "  }\n"
        "}\n"
    )
    entry, constant, branch, check, *_ = parse(text, "a.mlir").walk()
    spans = [op.span for op in (entry, constant, branch, check)]
    assert [span.where() for span in spans if span] == [
        "a.mlir:2:1",
        "a.mlir:3:3",
        "a.mlir:4:2",
        "a.mlir:5:5",
    ]
    assert [span.text for span in spans[1:] if span] == [
        "%0 = constant <i32: 1> : tile<i32>",
        text[text.index("if") : text.index("}\n}") + 1],
        'assert %c,\n        "é"  :  tile<i1>',
    ]
    assert check.span is not None
    assert check.span.excerpt() == "      assert %c,\n      ^~~~~~~~~~"
    assert check.span.source_line() == "assert %c,"


def test_spans_count_characters_behind_a_byte_order_mark() -> None:
    module = parse("﻿entry @k() {\n  return\n}\n")
    assert module.entries[0].span is not None
    assert module.entries[0].span.where() == "<string>:1:1"


def test_every_operation_of_a_fixture_stands_where_its_span_says(text_module: Read) -> None:
    module = text_module("reduce_and_scan_bodies")
    for op in module.walk():
        assert op.span is not None
        head = op.span.text.split("=", 1)[-1] if op.results else op.span.text
        assert head.split()[0] == op.name


# -- types ------------------------------------------------------------------------------------------


def test_views(text_module: Read) -> None:
    scalar, dynamic, large, part, strided, gather, sizes, steps, load, store, _ = ops(
        text_module("views_of_every_kind")
    )
    f32 = ElementType("f32")
    assert scalar.result.type is TensorViewType((), (), f32)
    view = TensorViewType((None, None), (None, 1), f32)
    assert dynamic.result.type is view
    assert [len(dynamic.operand_group(g)) for g in ("base", "dynamicShape", "dynamicStrides")] == [
        1,
        2,
        1,
    ]
    assert large.result.type is TensorViewType((1099511627776, 4), (4, 1), f32)
    assert part.result.type is PartitionViewType((16, 32), view, (1, 0), "nan")
    assert strided.result.type is StridedViewType((16, 32), (4, 1), view, (1, 0), "neg_inf")
    assert gather.result.type is GatherScatterViewType((16, 32), view, 0)
    assert [str(v.type) for v in sizes.results] == ["tile<i64>"] * 2
    assert [str(v.type) for v in steps.results] == ["tile<i32>"] * 2
    assert [v.name for v in load.operand_group("index")] == ["%rows", "%i"]
    assert load.attribute("inbounds") == DenseArrayAttr("i1", (1, 0))
    assert store.attribute("inbounds") is None, "all false is what absence says"
    assert store.hints is not None
    assert store.hints.value == DictAttr(()), "empty hints are kept on operations"


def test_hints_are_kept_target_by_target(text_module: Read) -> None:
    load = next(text_module("views_of_every_kind").find("load_view_tko"))
    assert load.hints is not None
    sm_100 = load.hints.value.get("sm_100")
    assert isinstance(sm_100, DictAttr)
    assert sm_100.get("allow_tma") == BoolAttr(False)
    latency = sm_100.get("latency")
    assert isinstance(latency, IntegerAttr)
    assert latency.value == 5
    assert load.hints.value.get("sm_90") == DictAttr(())


def test_shapes_that_look_like_numbers(text_module: Read) -> None:
    types = [v.type for v in text_module("shapes_that_look_like_numbers").entries[0].arguments]
    assert [t.shape for t in types if isinstance(t, TileType)] == [
        (0,),
        (0, 4),
        (16, 0),
        (0, 0),
        (1, 2, 3, 4, 5),
        (),
        (0,),
        (0,),
        (0, 0, 16),
    ]
    elements = [t.element for t in types[6:] if isinstance(t, TileType)]
    assert elements[0] is PointerType(ElementType("f32"))
    assert [str(e) for e in elements[1:]] == ["f8E4M3FN", "fnv8E5M3FNU"]


def test_float8_in_both_cases(text_module: Read) -> None:
    module = text_module("float8_in_both_cases")
    types = [str(v.type) for v in module.entries[0].arguments]
    assert types[0:8:2] == types[1:8:2]
    assert types[::2] == [
        f"tile<{name}>" for name in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
    ]
    assert [op.attributes["value"].raw for op in module.find("constant")] == [(60,), (60,), (62,)]  # type: ignore[attr-defined]


def test_types_are_one_object_whatever_their_spelling() -> None:
    spellings = (
        "tile<16x8xptr<f8E4M3FN>>",
        "!cuda_tile.tile<16x8x!cuda_tile.ptr<f8e4m3fn>>",
        "tile < 16 x 8 x ptr < f8E4M3FN > >",
        "tile<16x8xptr<f8E4M3FN // comment >\n>>",
    )
    types = {parse(f"entry @k(%a: {t}) {{}}").entries[0].arguments[0].type for t in spellings}
    assert len(types) == 1


# -- constants --------------------------------------------------------------------------------------


def test_numbers_keep_their_bits(text_module: Read) -> None:
    values = [op.attributes["value"] for op in text_module("numbers").find("constant")]
    raws = [v.raw[0] for v in values if isinstance(v, DenseElementsAttr)]
    assert [f"{bits:#x}" for bits in raws[:11]] == [
        "0xff800000",
        "0x7fc00001",
        "0x80000000",
        "0x3e00",
        "0x3e00",
        "0x3eab",
        "0x3fb999999999999a",
        "0x4048f5c3",
        "0x7f800000",
        "0xff800000",
        "0x7fc00000",
    ]
    assert raws[11:] == [1, 1, -1, -1, -1, 0x1FC00]
    assert isinstance(values[2], DenseElementsAttr)
    assert str(values[2].values[0]) == "-0.0"


def test_dense_constants(text_module: Read) -> None:
    module = text_module("dense_constants")
    raws = {
        op.result.name: op.attributes["value"].raw  # type: ignore[attr-defined]
        for op in module.find("constant")
    }
    assert raws == {
        "%splat": (7,),
        "%nested": (1, 2, 3, 4),
        "%deeper": (1, -2, 3, -4),
        "%flags": (1, 0, 1, 1),
        "%equal": (0x3F800000,),
        "%packed": (1, 2, -1, -32768),
        "%packed_splat": (0x3C00,),
        "%flat": (1, 2, 3, 4),
        "%blocks": (5, 5, 5, 5, 1, 2, 3, 4),
        "%spread": (0x3F800000, 0x40000000),
    }


def test_strings(text_module: Read) -> None:
    module = text_module("strings")
    assert [op.attributes["str"] for op in module.find("print_tko")] == [
        StringAttr(s)
        for s in (
            'a "quoted" b',
            "line\nnew\ttab\r\0nul",
            "back\\slash",
            "café 你",
            "café",
            "brace {x} } ] ) // not a comment -> %0 = addi",
            "",
            # A byte that is no UTF-8.
            "\udcff",
        )
    ]
    assert next(module.find("assert")).attributes["message"] == StringAttr(
        "bad { brace } -> @sym %x"
    )


def test_strings_of_rust(text_module: Read) -> None:
    prints = list(text_module("strings_of_rust").find("print_tko"))
    assert [op.attributes["str"] for op in prints[:2]] == [
        StringAttr('a "quoted" b'),
        StringAttr("tab\tline\nreturn\rbell\aeacuteésmile😀'"),
    ]
    assert all(v.type is TOKEN for op in prints for v in op.results)
    groups = [
        ([v.name for v in op.operand_group("args")], [v.name for v in op.operand_group("token")])
        for op in prints
    ]
    assert groups == [([], []), ([], []), (["%n"], []), (["%n"], ["%t"]), ([], ["%t"])]


# -- traps ------------------------------------------------------------------------------------------


def test_a_lone_operand_of_a_load_is_mask_or_padding_by_its_type(text_module: Read) -> None:
    loads = list(text_module("load_ptr_mask_and_padding").find("load_ptr_tko"))
    groups = ("source", "mask", "paddingValue", "token")
    assert [[[v.name for v in op.operand_group(g)] for g in groups] for op in loads] == [
        [["%p"], [], [], []],
        [["%p"], ["%m"], [], ["%t"]],
        [["%p"], [], ["%v"], ["%t"]],
        [["%p"], ["%m"], ["%v"], ["%t"]],
    ]
    assert [op.segments for op in loads] == [(1, 0, 0, 0), (1, 1, 0, 1), (1, 0, 1, 1), (1, 1, 1, 1)]
    assert loads[3].keyword("memory_scope") == "device"


def test_two_spaces_and_tight_signs(text_module: Read) -> None:
    module = text_module("two_spaces_and_tight_signs")
    wide, narrow, add, to_int, exp, most, plus, _ = ops(module)
    assert wide.attributes == narrow.attributes == {}
    assert wide.keyword("rounding_mode") == "nearest_even"
    assert add.has("flush_to_zero")
    assert add.keyword("rounding_mode") == "nearest_even"
    assert to_int.has("saturating")
    assert to_int.keyword("rounding_mode") == "nearest_int_to_zero"
    assert exp.keyword("rounding_mode") == "full"
    assert most.has("propagate_nan")
    assert most.has("flush_to_zero")
    assert plus.keyword("overflow") == "no_wrap"
    assert module.entries[0].hints is not None


@pytest.mark.parametrize("mnemonic", ["exti", "cuda_tile.exti"])
@pytest.mark.parametrize("keyword", ["signed", "#cuda_tile.signedness<signed>", "1 : i32"])
def test_keywords_in_their_spellings(mnemonic: str, keyword: str) -> None:
    (op, _) = body(f"%0 = {mnemonic} %a {keyword} : tile<i32> -> tile<i64>", "%a: tile<i32>")
    assert op.keyword("signedness") == "signed"


@pytest.mark.parametrize(
    "text",
    [
        "addf %a, %b rounding<zero> : tile<f32>",
        "addf %a, %b rounding zero : tile<f32>",
        "addf %a, %b #cuda_tile.rounding<zero> : tile<f32>",
        "addf %a, %b rounding < zero > : tile<f32>",
        "addf %a, %b {rounding_mode = 1} : tile<f32>",
        "addf %a, %b {rounding_mode = 1 : i32} : tile<f32>",
        "addf %a, %b {rounding_mode = #cuda_tile.rounding<zero>} : tile<f32>",
        'addf %a, %b {"rounding_mode" = zero} : tile<f32>',
        '"cuda_tile.addf"(%a, %b) {rounding_mode = #cuda_tile.rounding<zero>} '
        ": (tile<f32>, tile<f32>) -> tile<f32>",
        '"cuda_tile.addf"(%a, %b) <{rounding_mode = 1 : i32}> : (tile<f32>, tile<f32>) -> tile<f32>',
    ],
)
def test_rounding_in_its_spellings(text: str) -> None:
    (op, _) = body(f"%0 = {text}", "%a: tile<f32>, %b: tile<f32>")
    assert op.keyword("rounding_mode") == "zero"
    assert list(op.attributes) == ["rounding_mode"]


def test_defaults_are_not_stored() -> None:
    (op, _) = body(
        "%0 = addf %a, %a rounding<nearest_even> {flush_to_zero = false} : tile<f32>",
        "%a: tile<f32>",
    )
    assert op.attributes == {}
    assert op.keyword("rounding_mode") == "nearest_even"
    assert not op.has("flush_to_zero")


def test_predicates() -> None:
    found = body(
        "%0 = assume div_by<16>, %a : tile<i32>\n"
        "%1 = assume #cuda_tile.div_by<4, every 2 along 1>, %a : tile<i32>\n"
        "%2 = assume bounded<-3, ?>, %a : tile<i32>\n"
        "%3 = assume bounded<?, ?>, %a : tile<i32>\n"
        "%4 = assume same_elements<[2, 4]>, %a : tile<i32>",
        "%a: tile<i32>",
    )
    assert [op.attribute("predicate") for op in found[:5]] == [
        DivByAttr(16),
        DivByAttr(4, 2, 1),
        BoundedAttr(-3, None),
        BoundedAttr(None, None),
        SameElementsAttr((2, 4)),
    ]


def test_the_spellings_of_cutile_rs(text_module: Read) -> None:
    module = text_module("cutile_rs_spellings")
    divi, addi, tanh, negi, rmw, cas, power, loop, _ = ops(module)
    scalar, strided = (v.type for v in module.entries[0].arguments[2:4])
    assert scalar is TensorViewType((), (), ElementType("f32"))
    assert isinstance(strided, StridedViewType)
    assert (strided.padding, strided.traversal_strides, strided.dim_map) == ("zero", (4, 1), (1, 0))
    assert divi.keyword("rounding") == "negative_inf"
    assert addi.keyword("overflow") == negi.keyword("overflow") == "no_signed_wrap"
    assert tanh.keyword("rounding_mode") == "approx"
    assert rmw.keyword("mode") == "add"
    assert [v.name for v in rmw.operand_group("token")] == ["%5"]
    assert [v.name for v in cas.operand_group("val")] == ["%0"]
    assert power.name == "fpowf"
    assert loop.name == "loop"


def test_what_cutile_rs_leaves_out_is_kept_as_text(text_module: Read) -> None:
    module = text_module("cutile_rs_leaves_things_out")
    assert [op.name for op in module.walk() if op.spec is None] == [
        "global",
        "alloca",
        "assume",
        "pow",
        "constant",
        "reduce",
    ]
    assert [w.message for w in module.warnings if hasattr(w, "message")] == [
        f"operation '{name}' is printed without all it says: kept as text, not understood"
        for name in ("global", "alloca", "assume", "pow", "constant", "reduce")
    ]
    reduce = next(module.find("reduce"))
    assert next(module.find("negf")).operands[0] is reduce.result
    assert [op.name for op in reduce.regions[0].block.operations] == ["addf", "yield"]


# -- newer and unknown operations -------------------------------------------------------------------


def test_operations_of_13_4(text_module: Read) -> None:
    power, insert, fence, launch, launch_after, wait, wait_after, *_ = ops(
        text_module("ops_of_13_4")
    )
    assert str(power.result.type) == "tile<8xf32>"
    assert str(insert.result.type) == "tile<8x16xf32>"
    assert [len(insert.operand_group(g)) for g in ("source", "destination", "indices")] == [1, 1, 2]
    assert fence.result.type is TOKEN
    assert [len(op.operand_group("token")) for op in (launch, launch_after, wait, wait_after)] == [
        0,
        1,
        0,
        1,
    ]


def test_operations_of_13_5(text_module: Read) -> None:
    module = text_module("ops_of_13_5")
    view, _, plain, most, least, store, atomic, _ = ops(module)
    given = module.entries[0].attributes["arg_attrs"]
    assert isinstance(given, ArrayAttr)
    assert [len(item.items) for item in given.items if isinstance(item, DictAttr)] == [1, 0, 0]
    assert isinstance(view.result.type, TensorViewType)
    assert view.result.type.attribute == "multicast"
    assert plain.keyword("reduction") == "add"
    assert most.keyword("reduction") == "max"
    assert least.keyword("reduction") == "min"
    assert [v.name for v in least.operand_group("tile")] == ["%v"]
    assert store.attribute("inbounds") == DenseArrayAttr("i1", (1, 1))
    assert atomic.keyword("mode") == "umax"
    assert [v.name for v in atomic.operand_group("token")] == ["%t3"]


def test_unknown_operations_keep_all_they_say(text_module: Read) -> None:
    module = text_module("unknown_operations")
    unknown = [op for op in module.walk() if op.spec is None]
    assert [op.name for op in unknown] == [
        "frobnicate",
        "split_tko",
        "barrier",
        "while_loop",
        "parallel",
        "nested",
        "new_op",
        "arith.something",
    ]
    assert [[v.name for v in op.operands] for op in unknown] == [
        ["%a", "%b"],
        ["%0", "%a", "%b"],
        [],
        ["%a", "%n"],
        ["%n"],
        ["%i"],
        ["%2", "%0"],
        ["%n"],
    ]
    assert [[str(v.type) for v in op.results] for op in unknown] == [
        ["tile<4xf32>"],
        ["tile<2xf32>", "tile<2xf32>"],
        [],
        ["tile<4xf32>"],
        [],
        [],
        ["tile<f32>"],
        [],
    ]
    assert [len(op.regions) for op in unknown] == [0, 0, 0, 1, 1, 1, 2, 0]
    assert unknown[1].location.file_line == ("x.py", 1)
    assert len(module.warnings) == len(unknown)


def test_the_text_of_an_unknown_operation_has_places_for_values_and_regions(
    text_module: Read,
) -> None:
    unknown = {op.name: op for op in text_module("unknown_operations").walk() if op.spec is None}
    assert unknown["frobnicate"].opaque_text == (
        'frobnicate \0o0\0, \0o1\0 {mode = "fast", level = 3} : tile<4xf32>'
    )
    assert unknown["split_tko"].opaque_text == (
        "split_tko \0o0\0, \0o1\0 token = \0o2\0, rounding<zero> "
        ": tile<4xf32>, tile<4xf32> -> tile<2xf32>, tile<2xf32>"
    )
    assert unknown["parallel"].opaque_text == (
        "parallel %i: tile<i32>, %j: tile<i32> in \0o0\0 \0r0\0 attributes {x = 1}"
    )
    assert [str(v.type) for v in unknown["parallel"].regions[0].block.arguments] == [
        "tile<i32>"
    ] * 2
    assert unknown["new_op"].opaque_text is None, "the generic form says all in attributes"
    assert list(unknown["new_op"].attributes) == ["flag", "k"]


def test_the_prefix_of_an_unknown_operation_does_not_matter() -> None:
    plain, prefixed = (
        body(f"%0 = {name} %a : tile<i32>", "%a: tile<i32>")[0]
        for name in ("new_thing", "cuda_tile.new_thing")
    )
    assert (plain.name, plain.opaque_text) == (prefixed.name, prefixed.opaque_text)


def test_attributes_that_the_table_does_not_know_are_kept() -> None:
    (op, _) = body(
        '%0 = addi %a, %a {x.y = #foo.bar<"<">, note = "n"} : tile<i32>', "%a: tile<i32>"
    )
    assert repr(op.attributes["x.y"]) == "OpaqueAttr('#foo.bar<\"<\">')"
    assert op.attributes["note"] == StringAttr("n")


# -- the table and its forms ------------------------------------------------------------------------


def test_every_row_of_the_table_is_read_somewhere() -> None:
    """Ops whose form nobody has read are ops that nobody knows to work."""
    files = [*TEXTS.rglob("*.mlir"), *KERNELS.glob("*bc13.4.mlir")]
    seen = {op.name for path in files for m in load_all(path) for op in m.walk()}
    # A module is an object of its own, the function only occurs in the dialect's own tests.
    assert set(OPS) - seen == {"module", "testing$func"}


def test_rare_arithmetic(text_module: Read) -> None:
    module = text_module("arithmetic_that_kernels_rarely_use")
    found = {op.name: op for op in module.walk()}
    assert str(found["unpack"].result.type) == "tile<64xf4E2M1FN>"
    assert found["trunci"].keyword("overflow") == "no_signed_wrap"
    assert str(found["int_to_ptr"].result.type) == "tile<8xptr<i8>>"
    assert found["mmai"].keyword("signedness_lhs") == "signed"
    assert found["mmai"].keyword("signedness_rhs") == "unsigned"
    assert str(found["mmai"].result.type) == "tile<8xi32>"
    assert found["cmpf"].keyword("comparison_predicate") == "less_than_or_equal"
    assert found["cmpf"].keyword("comparison_ordering") == "unordered"


def test_a_function_of_the_dialects_own_tests() -> None:
    (entry,) = parse("cuda_tile.module @m { testing$func @f(%a: tile<i32>) { return } }").entries
    assert (entry.name, entry.symbol) == ("testing$func", "f")


def test_threads_may_ask_for_spans_at_the_same_time() -> None:
    lines = "".join(f"%{k + 1} = addi %{k}, %{k} : tile<i32>\n" for k in range(20_000))
    module = parse(f"entry @k(%0: tile<i32>) {{\n{lines}return\n}}\n")
    ops = list(module.walk())
    with ThreadPoolExecutor(4) as pool:
        every = list(pool.map(lambda _: [op.span and op.span.line for op in ops], range(4)))
    assert every == [[1, *range(2, 20_003)]] * 4


def test_modules_can_be_pickled_and_copied() -> None:
    module = load(FIXTURES / "kernels" / "matmul__128x128x64-float16__sm_100__bc13.4.mlir")
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert other.to_text() == module.to_text()
        places = [[op.span and op.span.where() for op in m.walk()] for m in (module, other)]
        assert places[0] == places[1]
        assert [op.location for op in other.walk()] == [op.location for op in module.walk()]
        first, second = (next(m.find("mmaf")) for m in (module, other))
        assert first is not second
        assert first.result.type is second.result.type
        assert first.spec is second.spec
