"""Input that is wrong: the first error, exactly; all errors, without cascades; limits; foreign kinds."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest

from tileir_tools.errors import (
    Diagnostic,
    ForeignFormatError,
    InputError,
    ParseError,
    TileIRError,
)
from tileir_tools.read import load, parse_all
from tileir_tools.read.depth import MAX_REGION_DEPTH
from tileir_tools.read.state import MAX_ERRORS

HEAD = "entry @k(%a: tile<i32>, %b: tile<4xf32>, %p: tile<ptr<f32>>, %t: token) {\n"


def diagnostics(text: str) -> list[Diagnostic]:
    """What is wrong with a text. Every message must have a place and an excerpt that shows it."""
    with pytest.raises(ParseError) as caught:
        parse_all(text, "f.mlir")
    for found in caught.value.diagnostics:
        assert found.severity == "error"
        assert found.span is not None
        assert found.render().startswith(f"f.mlir:{found.span.line}:{found.span.column}: error: ")
    return caught.value.diagnostics


def messages(text: str) -> list[str]:
    """`line:column message` of every error."""
    return [
        f"{d.span.line}:{d.span.column} {d.message}"
        for d in diagnostics(text)
        if d.span is not None
    ]


def inside(text: str) -> list[str]:
    """The errors of some operations, which start at 2:3."""
    return messages(f"{HEAD}  {text}\n}}\n")


# -- one error, exactly -----------------------------------------------------------------------------

INSIDE = {
    # strings
    'print_tko "abc': "2:13 expected a string, found a string that does not end on its line",
    "print_tko hello": "2:13 expected a string, found 'hello'",
    # values
    "%0 = addi %a, %x : tile<i32>": "2:17 %x is not defined here",
    "%0 = addi %0, %a : tile<i32>": "2:13 %0 is not defined here",
    "%0 = absi %1 : tile<i32>\n  %1 = absi %a : tile<i32>": (
        "2:13 %1 is not defined here; a value must be defined before it is used"
    ),
    'assert %x, "" : tile<i1>\n}\nentry @l(%x: tile<i32>) {': "2:10 %x is not defined here",
    "loop { %0 = absi %a : tile<i32> break }\n  %1 = absi %0 : tile<i32>": (
        "3:13 %0 is not defined here"
    ),
    "%0:2 = foo : (i1, i2)\n  %1 = absi %0#2 : tile<i32>": "3:13 %0#2 is not defined here",
    # definitions
    "%0 = absi %a : tile<i32>\n  %0 = absi %a : tile<i32>": "3:3 %0 is already defined",
    "%x, %x = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token": (
        "2:7 %x is already defined"
    ),
    "%0:2 = foo : (i1, i2)\n  %1, %0:2 = bar : (i1, i2, i3)": "3:7 %0 is already defined",
    "loop { %a = constant <i32: 1> : tile<i32> }": "2:10 %a is already defined",
    "for %a in (%a to %a, step %a) : tile<i32> {\n  }": "2:7 %a is already defined",
    "for %i in (%a to %a, step %a) : tile<i32> iter_values(%i = %a) -> (tile<i32>) {\n  }": (
        "2:57 %i is already defined"
    ),
    'return {a = 1, "a" = 2}': "2:18 attribute 'a' is given twice",
    "%0 = maxf %b, %b propagate_nan propagate_nan : tile<4xf32>": (
        "2:34 'propagate_nan' is given twice"
    ),
    "%0 = reduce %b dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> {\n"
    "  ^a(%x: tile<f32>, %y: tile<f32>):\n    yield %x : tile<f32>\n  ^a:\n  }": (
        "5:3 block ^a is already defined"
    ),
    # numbers of results
    "%0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token": (
        "2:3 load_ptr_tko has 2 results, found 1 name"
    ),
    "%0, %1 = absi %a : tile<i32>": "2:3 absi has 1 result, found 2 names",
    "%0:2 = absi %a : tile<i32>": "2:3 absi has 1 result, found 2 names",
    "%0 = return": "2:3 return has 0 results, found 1 name",
    "%0#1 = absi %a : tile<i32>": "2:3 expected a result name such as %0, found '%0#1'",
    "%0:0 = absi %a : tile<i32>": "2:6 0 is not a number of results",
    # types that clash
    "%0 = exti %a signed : tile<i8> -> tile<i32>": (
        "2:25 %a is tile<i32>, the operation says tile<i8>"
    ),
    "continue %a, %b : tile<i32>, tile<8xf32>": (
        "2:32 %b is tile<4xf32>, the operation says tile<8xf32>"
    ),
    "continue %a, %b : tile<i32>": "2:21 expected 2 types, one for each value, found 1",
    "%0 = loop iter_values(%x = %a) : tile<f32> -> tile<f32> {\n  }": (
        "2:36 %a is tile<i32>, the operation says tile<f32>"
    ),
    "for %i in (%a to %b, step %a) : tile<i32> {\n  }": (
        "2:35 %b is tile<4xf32>, the operation says tile<i32>"
    ),
    '%0 = "cuda_tile.absi"(%a) : (tile<i8>) -> tile<i8>': (
        "2:32 %a is tile<i32>, the operation says tile<i8>"
    ),
    # keywords
    "%0 = cmpi lower %a, %a, signed : tile<i32> -> tile<i1>": (
        "2:13 expected one of equal, not_equal, less_than, less_than_or_equal, greater_than, "
        "greater_than_or_equal, found 'lower'"
    ),
    "%0 = exti %a : tile<i32> -> tile<i64>": "2:16 expected one of unsigned, signed, found ':'",
    "%0, %1 = load_ptr_tko strong %p : tile<ptr<f32>> -> tile<f32>, token": (
        "2:25 expected one of weak, relaxed, acquire, release, acq_rel, found 'strong'"
    ),
    "%0, %1 = load_ptr_tko relaxed gpu %p : tile<ptr<f32>> -> tile<f32>, token": (
        "2:33 expected one of tl_blk, device, sys, found 'gpu'"
    ),
    "%0, %1 = atomic_rmw_tko relaxed device %p, plus, %b : tile<ptr<f32>>, tile<f32> "
    "-> tile<f32>, token": (
        "2:46 expected one of and, or, xor, add, addf, max, min, umax, umin, xchg, found 'plus'"
    ),
    "%0 = addi %a, %a overflow<wrap> : tile<i32>": (
        "2:29 expected one of none, no_signed_wrap, no_unsigned_wrap, no_wrap, found 'wrap'"
    ),
    "%0 = addf %b, %b rounding up : tile<4xf32>": (
        "2:29 expected one of nearest_even, zero, negative_inf, positive_inf, approx, full, "
        "nearest_int_to_zero, nearest_away, found 'up'"
    ),
    "%0 = make_partition_view %b : partition_view<tile=(4), padding_value = one, "
    "tensor_view<4xf32, strides=[1]>>": (
        "2:74 expected one of zero, neg_zero, nan, pos_inf, neg_inf, found 'one'"
    ),
    "%0 = assume divisible<4>, %a : tile<i32>": (
        "2:15 expected div_by<..>, bounded<..> or same_elements<..>, found 'divisible<4>'"
    ),
    "%0 = assume div_by<x>, %a : tile<i32>": "2:22 expected an integer, found 'x'",
    "for %i (%a to %a, step %a) : tile<i32> {\n  }": "2:10 expected 'in', found '('",
    "%0 = reduce %b identities=[0.0 : f32] : tile<4xf32> -> tile<f32> {\n  }": (
        "2:18 expected 'dim', found 'identities'"
    ),
    "%0 = reduce %b dim=0 identities=[0.0, 1.0] : tile<4xf32> -> tile<f32> {\n  }": (
        "2:39 expected 1 identity, one for each operand, found ','"
    ),
    # brackets
    "return {a = [1, 2}": "2:15 '[' is not closed: expected ']', found '}'",
    "%0 = iota : tile<4xi32": "2:19 '<' is not closed: expected '>', found '}'",
    "%0 = constant <i32: 1 : tile<i32>": "2:17 '<' is not closed: expected '>', found '}'",
    "%0 = addi (%a, %a) : tile<i32>": "2:13 expected a value such as %0, found '('",
    "return )": "2:10 expected an operation, found ')'",
    "%0 = insert %b, %b[%a : tile<4xf32>, tile<4xf32>": "2:25 expected ']', found ':'",
    # types
    "%0 = iota : tensor<4xi32>": "2:15 expected a type, found 'tensor'",
    "%0 = iota : 5": "2:15 expected a type, found '5'",
    "%0 = iota : tile<4xi7>": "2:22 expected an element type such as f32 or ptr<f32>, found i7",
    "%0 = iota : tile<4xtoken>": (
        "2:22 expected an element type such as f32 or ptr<f32>, found token"
    ),
    "%0 = iota : tile<4x-1xi32>": (
        "2:22 expected an element type such as f32 or ptr<f32>, found '-1'"
    ),
    "%0 = iota : tile<?xi32>": "2:20 expected static sizes, found '?'",
    "%0 = iota : !missing": "2:15 expected a type, or an alias that the text defines, found '!missing'",
    "%0 = get_tensor_shape %b : tile<4xf32> -> tile<i32>": (
        "2:30 expected a view, found tile<4xf32>"
    ),
    # constants
    "%0 = constant 5 : tile<i32>": "2:17 expected elements such as <i32: 0>, found '5'",
    "%0 = constant <i32: 1.0> : tile<i32>": "2:23 expected an integer, found '1.0'",
    "%0 = constant <i8: 256> : tile<i8>": "2:22 256 does not fit in i8",
    "%0 = constant <f16: 1.0> : tile<f32>": "2:18 the elements are f16, the tile holds f32",
    "%0 = constant <i32: [1, 2, 3]> : tile<4xi32>": (
        "2:23 the elements have shape [3], the tile has [4]"
    ),
    "%0 = constant <i32: [[1, 2], [3]]> : tile<2x2xi32>": (
        "2:32 the elements are not of one shape"
    ),
    "%0 = constant <i32: [1; 2]> : tile<2xi32>": "2:25 expected ',' or ']', found ';'",
    "%0 = constant <i32: []> : tile<2xi32>": "2:24 expected an element, found ']'",
    "%0 = constant <i32: 1> : i32": "2:18 expected a tile type for a constant, found i32",
    "%0 = constant <f16: 0x12345> : tile<f16>": "2:23 '0x12345' does not fit in f16",
    "%0 = constant <f8E4M3FN: inf> : tile<f8E4M3FN>": "2:28 f8E4M3FN has no inf",
    '%0 = constant <i16: "0x010203"> : tile<4xi16>': (
        "2:23 3 bytes are not the elements of tile<4xi16>"
    ),
    '%0 = constant <i16: "0xzz"> : tile<4xi16>': ("2:23 expected elements as a hexadecimal string"),
    "%0 = constant <f32: 1.0e99999> : tile<f32>": ("2:23 exponent of '1.0e99999' is out of range"),
    "%0 = cat %a, %a dim = 99999999999999999999 : tile<i32>, tile<i32> -> tile<i32>": (
        "2:25 '99999999999999999999' does not fit in 64 bits"
    ),
    # attributes
    "return {a = @}": "2:15 expected an attribute, found '@'",
    "return {a = [1, , 2]}": "2:19 expected an attribute, found ','",
    "return {a = 1 : }": "2:19 expected a type, found '}'",
    "return {a = 1.5 : i32}": "2:21 expected a floating-point type behind '1.5', found i32",
    "return {a = 300 : i8}": "2:15 300 does not fit in 8 bits",
    "return {1 = 2}": "2:11 expected an attribute name or '}', found '1'",
    "return {a = 1 b = 2}": "2:17 expected ',' or '}', found 'b'",
    "return {a = array<i32: x>}": "2:26 expected an integer, found 'x'",
    # make_tensor_view
    "%0 = make_tensor_view %a, shape = [], strides = [] : tensor_view<f32>": (
        "2:25 %a is tile<i32>, expected a tile of one pointer"
    ),
    "%0 = make_tensor_view %p, shape = [4, 8], strides = [1, 1] : "
    "tensor_view<4x4xf32, strides=[1,1]>": "2:41 this shape entry is 4 in the type, 8 here",
    "%0 = make_tensor_view %p, shape = [4], strides = [%a] : tile<i32> -> "
    "tensor_view<4xf32, strides=[1]>": "2:53 this strides entry is 1 in the type, dynamic here",
    "%0 = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4x4xf32, strides=[1,1]>": (
        "2:37 expected 2 shape entries as in the type, found 1"
    ),
    "%0 = make_tensor_view %p, shape = [%a], strides = [1] : tile<i64> -> "
    "tensor_view<?xf32, strides=[1]>": "2:59 %a is tile<i32>, the operation says tile<i64>",
    "%0 = make_tensor_view %p, shape = [%a], strides = [1] : tensor_view<?xf32, strides=[1]>": (
        "2:59 expected the type of the sizes and '->' before the tensor_view type"
    ),
    "%0 = make_tensor_view %p, shape = [n], strides = [1] : tensor_view<?xf32, strides=[1]>": (
        "2:38 expected a number or a value such as %0, found 'n'"
    ),
    # the generic form
    '%0 = "cuda_tile.absi"(%a, %a) : (tile<i32>, tile<i32>) -> tile<i32>': (
        "2:8 absi takes 1 operand, found 2"
    ),
    '%0 = "cuda_tile.absi"(%a) : (tile<i32>, tile<i32>) -> tile<i32>': (
        "2:32 expected 1 type, one for each value, found 2"
    ),
    '"cuda_tile.absi"(%a) : (tile<i32>) -> ()': "2:3 absi has 1 result, found 0 types",
    '%0:2 = "cuda_tile.load_ptr_tko"(%p) {memory_ordering_semantics = 0 : i32} '
    ": (tile<ptr<f32>>) -> (tile<f32>, token)": (
        "2:10 load_ptr_tko needs operandSegmentSizes in the generic form"
    ),
    '%0:2 = "cuda_tile.load_ptr_tko"(%p) {memory_ordering_semantics = 0 : i32, '
    "operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tile<ptr<f32>>) -> (tile<f32>, token)": (
        "2:10 operandSegmentSizes does not fit the operands of load_ptr_tko"
    ),
    '%0 = "cuda_tile.make_tensor_view"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} '
    ": (tile<ptr<f32>>) -> tensor_view<?xf32, strides=[1]>": (
        "2:8 the shape of tensor_view<?xf32, strides=[1]> takes 1 values, make_tensor_view has 0"
    ),
    '%0 = "cuda_tile.exti"(%a) : (tile<i32>) -> tile<i64>': "2:8 exti needs an attribute 'signedness'",
    '%0 = "cuda_tile.exti"(%a) {signedness = 7 : i32} : (tile<i32>) -> tile<i64>': (
        "2:43 expected one of unsigned, signed, found '7'"
    ),
    '"cuda_tile.if"(%a) ({ }) : (tile<i32>) -> ()': "2:3 if has 2 regions, found 1",
    '"cuda_tile.loop"() ({ }) : () -> ()': "2:3 the region 'region' of loop is empty",
    # locations
    "return loc(nowhere)": "2:14 expected a location, found 'nowhere'",
    "return loc(#loc9)": (
        "2:14 expected a location, or an alias that the text defines, found '#loc9'"
    ),
    'return loc("f.py":1)': "2:22 expected ':', found ')'",
    # what is no operation
    "%0 = 5": "2:8 expected an operation, found '5'",
    "@foo": "2:3 expected an operation, found '@foo'",
    "é": "2:3 expected an operation, found 'é'",
    "%0 = addi %a %a : tile<i32>": "2:16 expected ',', found '%a'",
}

WHOLE = {
    'entry @"abc() {\n}\n': "1:7 expected a symbol such as @name, found '@\"abc() {'",
    "entry(%a: tile<i32>) {\n}\n": "1:6 expected a symbol such as @name, found '('",
    "entry @k(%a: tile<i32> {\n}\n": "1:24 expected ',' or ')', found '{'",
    "entry @k(%a) {\n}\n": "1:12 expected ':', found ')'",
    "entry @k(tile<i32>) {\n}\n": "1:10 expected a name such as %arg0, found 'tile<i32>'",
    "entry @k(%a: tile<ptr<f32>) {\n}\n": "1:18 '<' is not closed: expected '>', found ')'",
    "entry @k(%a: tile<i32>, %a: tile<i32>) {\n}\n": "1:25 %a is already defined",
    "entry @k()\n": "2:1 expected '{', found the end of the text",
    "entry @k() {\n  loop {\n": "2:8 '{' is not closed: expected '}', found the end of the text",
    "cuda_tile.module @m {\n  entry @k() {\n  }\n": (
        "1:21 '{' is not closed: expected '}', found the end of the text"
    ),
    "entry @k() {\n}\n}\n": "3:1 expected an entry, a global or a module, found '}'",
    "entry @k() {\n}\nkernel ran in 3 ms\nand more\n": (
        "3:1 expected an entry, a global or a module, found 'kernel'"
    ),
    "entry @a() {\n  entry @b() {\n  }\n}\n": (
        "2:3 'entry' cannot stand inside an entry: a '}' is missing before it"
    ),
    "cuda_tile.module @a {\n  cuda_tile.module @b {\n  }\n}\n": (
        "2:3 a cuda_tile.module cannot stand inside another"
    ),
    "cuda_tile.module {\n}\n": "1:18 expected a symbol such as @name, found '{'",
    "%0 = cuda_tile.constant <i32: 1> : tile<i32>\n": (
        "1:6 expected an entry, a global or a module, found 'cuda_tile.constant'"
    ),
    "cuda_tile.module @m {\n  addi %a, %b : tile<i32>\n}\n": (
        "2:3 expected an entry, a global or a module, found 'addi'"
    ),
    "entyr @k() {\n}\nentry @l() {\n}\n": (
        "1:1 expected an entry, a global or a module, found 'entyr'"
    ),
    "entry @k() {\n}\nglobal @k <i32: 1> : tile<1xi32>\n": "3:8 symbol @k is already defined",
    "global @g <i32: 1>\nentry @k() {\n}\n": "2:1 expected ':', found 'entry'",
    "entry @k() optimization_hints=<sm_90 = {}, sm_90 = {}> {\n}\n": (
        "1:44 hints for 'sm_90' are given twice"
    ),
    "entry @k() optimization_hints=<sm_90 = 4> {\n}\n": "1:40 expected '{', found '4'",
    "entry @k() optimization_hints=sm_90 {\n}\n": (
        "1:31 expected hints such as <sm_100 = {latency = 4}>, found 'sm_90'"
    ),
    "entry @k(%a: tensor_view<4x4xf32, strides=[1]>) {\n}\n": (
        "1:43 expected 2 strides, one for each dimension, found 1"
    ),
    "entry @k(%a: partition_view<tile=(4x), tensor_view<4xf32, strides=[1]>>) {\n}\n": (
        "1:35 expected sizes such as 64x32, found '4'"
    ),
    "entry @k(%a: partition_view<tile=(4), tile<4xf32>>) {\n}\n": (
        "1:39 expected a tensor_view, found tile<4xf32>"
    ),
    "#loc1 = loc(unknown)\n#loc1 = loc(unknown)\nentry @k() {}\n": (
        "2:1 alias #loc1 is already defined"
    ),
    '#loc1 = loc("f.py":x:1)\nentry @k() {\n  return loc(#loc1)\n}\n': (
        "1:20 expected an integer, found 'x'"
    ),
    # An alias that nothing uses is wrong as well.
    '#loc1 = loc("f.py":x:1)\nentry @k() {\n}\n': "1:20 expected an integer, found 'x'",
    '#loc1 = loc("n"(#loc1))\nentry @k() {\n}\n': "1:9 alias #loc1 is defined by itself",
    '#f = #cuda_tile.di_file<"a" in "b">\nentry @k() {\n  return loc(#f)\n}\n': (
        "1:6 expected a location, or an alias that the text defines, found '#cuda_tile.di_file'"
    ),
    '#u = #cuda_tile.di_compile_unit<file = "x">\nentry @k() {\n}\n': (
        "1:40 file of di_compile_unit must be a di_file"
    ),
    "#u = #cuda_tile.di_compile_unit<>\nentry @k() {\n}\n": (
        "1:6 di_compile_unit needs 'file', a di_file"
    ),
    '#u = #cuda_tile.di_compile_unit<path = "x">\nentry @k() {\n}\n': (
        "1:33 expected one of file, found 'path'"
    ),
    "!t = !cuda_tile.tile<4x>\nentry @k(%a: !t) {\n}\n": (
        "1:24 expected an element type such as f32 or ptr<f32>, found '>'"
    ),
    "entry @k() {\n}\n#x<1> = loc(unknown)\n": (
        "3:1 expected the name of an alias such as #loc1, found '#x<1>'"
    ),
    '"cuda_tile.module"() ({\n}) : () -> ()\n': "1:1 cuda_tile.module needs an attribute 'sym_name'",
    "module {\n  cuda_tile.module @m {\n  }\n  {-# x\n}\n": (
        "6:1 expected '#-}', found the end of the text"
    ),
}


@pytest.mark.parametrize("text", INSIDE, ids=lambda text: text.replace("\n", " ")[:60])
def test_an_error_in_an_operation(text: str) -> None:
    assert inside(text) == [INSIDE[text]]


@pytest.mark.parametrize("text", WHOLE, ids=lambda text: text.replace("\n", " ")[:60])
def test_an_error_around_operations(text: str) -> None:
    assert messages(text) == [WHOLE[text]]


def test_the_message_shows_the_line_and_a_caret() -> None:
    with pytest.raises(ParseError) as caught:
        parse_all("entry @k(%a: tile<i32>) {\n\t%0 = absi %zero : tile<i32>\n}\n", "dir/f.mlir")
    assert str(caught.value) == (
        "dir/f.mlir:2:12: error: %zero is not defined here\n"
        "  \t%0 = absi %zero : tile<i32>\n"
        "  \t          ^~~~~"
    )


def test_a_long_line_is_cut_around_the_caret() -> None:
    text = "entry @k(%a: tile<i32>) {" + " %0 = absi %a : tile<i32>" * 1000 + "}"
    first = diagnostics(text)[0]
    excerpt = first.render().splitlines()[1:]
    assert max(len(line) for line in excerpt) < 200
    assert excerpt[0][excerpt[1].index("^") :].startswith("%0 = absi")


def test_a_long_token_is_cut_in_the_message() -> None:
    (message,) = inside("@" + "x" * 5000)
    assert len(message) < 200


# -- several errors ---------------------------------------------------------------------------------


def test_independent_errors_are_all_reported() -> None:
    assert inside(
        "%0 = addi %a, %x : tile<i32>\n"
        "  %1 = exti %a : tile<i32> -> tile<i64>\n"
        "  loop {\n"
        "    %2 = iota : tile<4xi7>\n"
        "    break\n"
        "  }\n"
        "  %3 = absi %y : tile<i32>"
    ) == [
        "2:17 %x is not defined here",
        "3:16 expected one of unsigned, signed, found ':'",
        "5:24 expected an element type such as f32 or ptr<f32>, found i7",
        "8:13 %y is not defined here",
    ]


def test_errors_in_several_entries_and_modules() -> None:
    text = (
        "cuda_tile.module @m {\n  entry @a( {\n  }\n  entry @b() {\n    @\n    unknown ( @ )\n  }\n}\n"
        "// -----\nentry @c() {\n  @\n}\nentry @d(%a: tile<>) {\n}\n"
    )
    assert messages(text) == [
        "2:13 expected a name such as %arg0, found '{'",
        "5:5 expected an operation, found '@'",
        "11:3 expected an operation, found '@'",
        "13:19 expected an element type such as f32 or ptr<f32>, found '>'",
    ]


def test_both_operands_may_be_undefined() -> None:
    assert inside("%0 = addi %x, %y : tile<i32>") == [
        "2:13 %x is not defined here",
        "2:17 %y is not defined here",
    ]


def test_a_use_of_a_broken_definition_is_no_new_error() -> None:
    assert inside(
        "%0 = exti %a : tile<i32> -> tile<i64>\n"
        "  %1, %2:2 = addi %0, %0 : tile<i64>\n"
        "  for %i in (%a to %0, step %a) : tile<i32> {\n"
        "    %3 = addi %i, %i : tile<i32>\n"
        "  }\n"
        "  %4 = addi %1, %2#1 : tile<i64>"
    ) == ["2:16 expected one of unsigned, signed, found ':'"]


def test_other_operands_of_a_broken_use_are_still_checked() -> None:
    assert inside("%0 = exti %a : tile<i32> -> tile<i64>\n  %1 = addi %0, %y : tile<i64>") == [
        "2:16 expected one of unsigned, signed, found ':'",
        "3:17 %y is not defined here",
    ]


def test_a_second_definition_hides_what_the_first_one_said() -> None:
    assert inside(
        "%0 = absi %a : tile<i32>\n  %0 = negf %b : tile<4xf32>\n  %1 = negf %0 : tile<4xf32>"
    ) == ["3:3 %0 is already defined"]


def test_a_broken_definition_is_forgotten_where_its_region_ends() -> None:
    assert inside("loop {\n    %0 = iota : 5\n    break\n  }\n  %1 = absi %0 : tile<i32>") == [
        "3:17 expected a type, found '5'",
        "6:13 %0 is not defined here",
    ]


def test_reading_goes_on_where_an_operation_is_cut_short() -> None:
    assert inside("%0 = addi %a, %a\n  %1 = absi %a : tile<i32>\n  %2 = absi %1 : tile<i32>") == [
        "3:3 expected ':', found '%1'"
    ]


def test_reading_goes_on_behind_brackets_that_do_not_match() -> None:
    assert inside("%0 = foo (%a, [%a : tile<i32>\n  %1 = absi %x : tile<i32>\n  return {a = ]}")[
        -2:
    ] == [
        "3:13 %x is not defined here",
        "4:15 expected an attribute, found ']'",
    ]


def test_a_broken_alias_is_one_error_for_all_its_uses() -> None:
    text = "#loc1 = loc(x)\n#loc2 = loc(callsite(#loc1 at #loc1))\nentry @k() {\n"
    text += '  print_tko "" -> token loc(#loc1)\n  print_tko "" -> token loc(#loc2)\n' * 10 + "}\n"
    assert messages(text) == ["1:13 expected a location, found 'x'"]


def test_reading_stops_after_enough_errors() -> None:
    text = HEAD + "  %0 = absi %zz : tile<i32>\n" * 100 + "}\n"
    assert len(diagnostics(text)) == MAX_ERRORS


# -- input that is no text --------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.mlir"
    with pytest.raises(InputError) as caught:
        load(missing)
    assert str(caught.value) == f"{missing}: error: no such file"
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: error: this is a directory"
    with pytest.raises(InputError, match="cannot be read"):
        load("null\0byte")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", "empty", "f: error: the input is empty"),
        (b" \n\t\r\n ", "empty", "f: error: the input is empty"),
        ("", "empty", "f: error: the input is empty"),
        (gzip.compress(b""), "empty", "f: error: the input is empty"),
        (b"entry \0 @k", "binary", "(a zero byte at offset 6)"),
        ("entry @k() {\n}\0", "binary", "(a zero byte at offset 14)"),
        (b"\x7fELF\x02\x01\x01\0", "cubin", "an ELF file (a cubin or another compiled binary)"),
        (b"\x50\xed\x55\xba\x01\0", "fatbin", "a CUDA fat binary"),
        (b"BC\xc0\xde5\x14", "llvm-bitcode", "LLVM bitcode"),
        (b"ML\xefR\x06MLIR", "mlir-bytecode", "MLIR bytecode of another dialect"),
        (b"PK\x03\x04rest", "zip", "a zip archive"),
        (b"\x28\xb5\x2f\xfdrest", "zstd", "zstd-compressed data; decompress it first"),
        (
            "module {\n  tt.func public @k(%arg0: !tt.ptr<f32>) {\n    tt.return\n  }\n}\n",
            "triton",
            "Triton TTIR",
        ),
        (
            '#blocked = #ttg.blocked<{}>\nmodule attributes {ttg.target = "cuda:90"} {\n}\n',
            "triton",
            "Triton TTGIR",
        ),
        ("; ModuleID = 'k'\ndefine void @k() {\n  ret void\n}\n", "llvm-ir", "LLVM IR"),
        ('source_filename = "k"\ndeclare void @f()\n', "llvm-ir", "LLVM IR"),
        ("//\n.version 8.7\n.target sm_90\n.entry k() { ret; }\n", "ptx", "PTX"),
        (
            "def kernel(x: Tile[float32,(16,)]):\n    $1 = typed_const(value=0)\n",
            "cutile-python-ir",
            "cuTile's Python-level IR; dump Tile IR with CUDA_TILE_DUMP_TILEIR",
        ),
        ("\t.section .text.k\n        /*0000*/ MOV R1, c[0x0][0x28] ;\n", "sass", "SASS"),
        ("import cuda.tile as ct\n\n@ct.kernel\ndef k(x):\n    pass\n", "python", "Python source"),
        ("import tileir_tools as tt\n\nm = tt.load('k.mlir')\n", "python", "Python source"),
        (
            "# Kernels\n\nfrom cuTile:\n\n```python\nimport cuda.tile as ct\n```\n",
            "markdown",
            "Markdown",
        ),
        (
            "module {\n  func.func @f() {\n    return\n  }\n}\n",
            "mlir",
            "without cuda_tile operations",
        ),
        ('{"entries": []}\n', "json", "JSON"),
        ("hello world\n", "text", "no Tile IR here: neither an entry nor a cuda_tile.module"),
        ("// only a comment\n", "text", "no Tile IR here"),
        ("#loc1 = loc(unknown)\n", "text", "no Tile IR here"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_foreign_kinds_are_named(data: str | bytes, kind: str, message: str) -> None:
    with pytest.raises(ForeignFormatError) as caught:
        parse_all(data, "f")
    assert caught.value.kind == kind
    assert message in str(caught.value)
    assert str(caught.value).startswith("f: error: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"entry @k() {\n  // \xe9\n}\n",
            "f:2: error: this is no UTF-8 text: byte 0xe9 at offset 18",
        ),
        ("entry @k() {}".encode("utf-16"), "f: error: this is UTF-16 text; Tile IR text is UTF-8"),
        (b"\x1f\x8bgarbage", "f: error: broken gzip data"),
        (gzip.compress(b"entry @k() {}")[:-9], "f: error: broken gzip data"),
    ],
)
def test_encodings(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_all(data, "f")
    assert str(caught.value).startswith(message)


def test_llvm_ir_that_mentions_the_dialect_is_llvm_ir() -> None:
    with pytest.raises(ForeignFormatError, match=r"LLVM IR") as caught:
        parse_all('; ModuleID = "cuda_tile.module"\ndefine void @k() {\n  ret void\n}\n', "f")
    assert caught.value.kind == "llvm-ir"


# -- limits -----------------------------------------------------------------------------------------

DEEP = 100_000
NESTED = {
    "regions": ("entry @k() {\n" + "loop {\n" * DEEP, f"nested deeper than {MAX_REGION_DEPTH}"),
    "closed regions": (
        "entry @k() {\n" + "loop {" * DEEP + "}" * DEEP + "}",
        f"nested deeper than {MAX_REGION_DEPTH}",
    ),
    "unknown regions": ("entry @k() {\n" + "foo { bar {" * DEEP, "nested deeper than"),
    "modules": ("module {" * DEEP + "cuda_tile.module", "nested deeper than"),
    "generic regions": ("entry @k() {\n" + '"a.b"() ({' * DEEP, "nested deeper than"),
    "parentheses": (HEAD + "(" * DEEP, "expected an operation"),
    "brackets": (HEAD + "return {a = " + "[" * DEEP, "nested deeper than 64"),
    "closed brackets": (HEAD + "return {a = " + "[" * DEEP + "]" * DEEP, "nested deeper than 64"),
    "dictionaries": (HEAD + "return " + "{a = " * DEEP, "nested deeper than 64"),
    "types": (HEAD + "%0 = iota : " + "tile<" * DEEP, "nested deeper than 64"),
    "elements": (HEAD + "%0 = constant <i32: " + "[" * DEEP, "nested deeper than 64"),
    "locations": (HEAD + "return loc(" + "callsite(" * DEEP, "nested deeper than 64"),
    "function types": (HEAD + "return {a = " + "(" * DEEP, "nested deeper than 64"),
    "function results": (HEAD + "return {a = " + "() -> " * DEEP, "expected a type"),
    "sizes": (HEAD + "%0 = iota : tile<" + "1x" * DEEP + "f32>", "more than 64 dimensions"),
    "location aliases": (
        "".join(f"#a{i} = loc(callsite(#a{i + 1} at #a{i + 1}))\n" for i in range(2000))
        + "entry @k() {\n  return loc(#a0)\n}\n",
        "nested deeper than 64",
    ),
    "type aliases": (
        "".join(f"!a{i} = !a{i - 1}\n" for i in range(2000, 0, -1)) + "entry @k(%a: !a2000) {\n}\n",
        "nested deeper than 64",
    ),
    "attribute aliases": (
        "".join(f"#a{i} = [[[[[#a{i + 1}]]]]]\n" for i in range(2000))
        + "entry @k() {\n  return {a = #a0}\n}\n",
        "nested deeper than 64",
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_an_error_and_not_a_crash(name: str) -> None:
    text, message = NESTED[name]
    found = diagnostics(text)
    assert message in found[0].message
    # What follows from the limit is no new error, but for aliases that each are too deep.
    assert len(found) <= 2 or "alias" in name


def _at_depth(depth: int, text: str) -> list[str]:
    """What is wrong with a text, read by a function that is called deep in the stack."""
    return _at_depth(depth - 1, text) if depth else messages(text)


@pytest.mark.parametrize("depth", [100, 300, 500, 700, 800])
@pytest.mark.parametrize("name", ["regions", "unknown regions", "generic regions", "modules"])
def test_deep_nesting_deep_in_the_stack(depth: int, name: str) -> None:
    text, _ = NESTED[name]
    (message,) = _at_depth(depth, text)
    assert "nested deeper than" in message or "nested too deeply for the stack" in message


def test_the_deepest_allowed_nesting_is_read() -> None:
    levels = MAX_REGION_DEPTH - 1
    text = "entry @k() {" + "loop {" * levels + "break" + "}" * levels + "}"
    (module,) = parse_all(text)
    assert max(op.loop_depth for op in module.walk()) == levels


LARGE = 1_000_000
LINES = {
    "one long word": HEAD + "x" * LARGE,
    "one long value": HEAD + "%" + "x" * LARGE,
    "one long symbol": "entry @" + "x" * LARGE,
    "one long number": HEAD + "%0 = constant <i32: " + "1" * LARGE + "> : tile<i32>\n}",
    "one long decimal": HEAD + "%0 = constant <f32: 0." + "1" * LARGE + "> : tile<f32>\n}",
    "one long hexadecimal": HEAD + "%0 = constant <f32: 0x" + "1" * LARGE + "> : tile<f32>\n}",
    "one long string": HEAD + 'print_tko "' + "x" * LARGE,
    "escapes": HEAD + 'print_tko "' + "\\" * LARGE,
    "escaped quotes": HEAD + 'print_tko "' + '\\"' * (LARGE // 2),
    "quotes": HEAD + '"' * (LARGE + 1),
    "parentheses": HEAD + "(" * LARGE,
    "closing brackets": HEAD + ")]}>" * (LARGE // 4),
    "angles": HEAD + "%0 = iota : tile" + "<" * LARGE,
    "angles side by side": HEAD + "%0 = iota : tile<" + "a<b>" * (LARGE // 4),
    "angles with names": HEAD + "%0 = constant " + "<a:" * (LARGE // 3),
    "percent signs": HEAD + "%" * LARGE,
    "hashes": HEAD + "#" * LARGE,
    "slashes": HEAD + "/ " * (LARGE // 2),
    "comments": HEAD + "//" * (LARGE // 2),
    "lines of comments": HEAD + "// x\n" * (LARGE // 5),
    "spaces": HEAD + " " * LARGE,
    "line breaks before": "\n" * LARGE + "entry",
    "line breaks": HEAD + "\n" * LARGE,
    "returns": HEAD + "\r" * LARGE,
    "equals signs": "=" * LARGE + "x\n" + HEAD,
    "equals signs and spaces": "=== " + " " * LARGE + "x\n" + HEAD,
    "undefined values": HEAD + "%0 = addi %1, %1 : tile<i32> " * (LARGE // 29),
    "commas": HEAD + "%0 = addi " + "," * LARGE,
    "values": HEAD + "%0 = join_tokens " + "%t, " * (LARGE // 4),
    "an endless unknown operation": HEAD + "foo " * (LARGE // 4),
    "values of an unknown operation": HEAD + "%0 = foo " + "%t, " * (LARGE // 4),
    "values in parentheses": HEAD + "%0 = foo (" + "%t, " * (LARGE // 4),
    "unknown regions": HEAD + "foo { x { " * (LARGE // 10),
    "unknown operations": HEAD + "foo\n" * 30_000,
    "labels": HEAD + "^a: " * (LARGE // 4),
    "prose": "the entry point @ is <here>\n" * (LARGE // 28),
    "entries without names": "entry " * (LARGE // 6),
    "framing lines": "==== TILEIR ====\n" * (LARGE // 17),
    "letters of other alphabets": HEAD + "é" * LARGE,
}


@pytest.mark.parametrize("name", LINES)
def test_a_large_broken_input_gives_our_error(name: str) -> None:
    """Each of these once took time or memory that grew faster than the text, or crashed."""
    with pytest.raises(TileIRError) as caught:
        parse_all(LINES[name], "f")
    assert len(str(caught.value)) < 50_000


LARGE_AND_VALID = {
    "entries": "".join(f"entry @k{i}() {{ return }}\n" for i in range(5000)),
    "arguments": "entry @k(" + ", ".join(f"%a{i}: i32" for i in range(20_000)) + ") { return }",
    "one line": "entry @k(%a: tile<i32>) {"
    + " ".join(f"%{i} = absi %a : tile<i32>" for i in range(5000))
    + "}",
    "attributes": "entry @k() { return {" + ", ".join(f"a{i} = {i}" for i in range(20_000)) + "} }",
    "elements": f"entry @k() {{ %0 = constant <i8: [{', '.join('1' * 50_000)}]> : tile<50000xi8> }}",
    "hexadecimal elements": f'entry @k() {{ %0 = constant <i8: "0x{"01" * 100_000}"> : tile<100000xi8> }}',
    "aliases": "".join(f'#l{i} = loc("f":{i}:1)\n' for i in range(20_000)) + "entry @k() { }",
    "other dialects": "module {\n" + "foo.bar\n" * 20_000 + "cuda_tile.module @m { } }",
    "other dialects on one line": "module { " + "foo.bar " * 20_000 + "}\ncuda_tile.module @m { }",
    "modules": "cuda_tile.module @m { }\n// -----\n" * 2000,
}


@pytest.mark.parametrize("name", LARGE_AND_VALID)
def test_a_large_valid_input_is_read(name: str) -> None:
    """Each of these once took time that grew with the square of the text."""
    assert parse_all(LARGE_AND_VALID[name])


def test_a_broken_beginning_of_a_large_text_is_found_before_the_rest_is_read() -> None:
    line = "  %0 = absi %a : tile<i32>\n"
    text = HEAD + line + line * (9_000_000 // len(line))
    found = diagnostics(text)
    assert found[0].message == "%0 is already defined"
    assert len(found) == MAX_ERRORS


def test_a_large_text_with_an_error_at_its_end() -> None:
    blank = " " * 200 + "\n"
    text = HEAD + blank * (9_000_000 // len(blank)) + "  @\n}\n"
    assert messages(text) == [f"{9_000_000 // len(blank) + 2}:3 expected an operation, found '@'"]


def test_a_line_of_millions_of_tokens_is_refused() -> None:
    assert messages(HEAD + "  return {a = [" + "1," * 2_000_001 + "1]}\n}\n") == [
        "2:1 a line of more than 1500000 tokens is not read"
    ]


# -- several threads --------------------------------------------------------------------------------


def test_threads_do_not_disturb_each_other() -> None:
    texts = [f"!t = !cuda_tile.tile<{n}xf32>\nentry @k(%a: !t) {{ }}" for n in (4, 8, 16, 32)]
    wrong: list[str] = []

    def read(text: str, size: int) -> None:
        for _ in range(200):
            if str(parse_all(text)[0].entries[0].arguments[0].type) != f"tile<{size}xf32>":
                wrong.append(text)

    threads = [
        threading.Thread(target=read, args=(text, size))
        for text, size in zip(texts, (4, 8, 16, 32), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
