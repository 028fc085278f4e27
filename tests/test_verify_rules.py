"""Each rule family of the verifier: the place of what breaks it and what is said."""

from __future__ import annotations

import pytest

from tileir_tools import parse, verify
from tileir_tools.errors import UsageError

VIEW = "tensor_view<64x64xf32, strides=[64,1]>"
TILES = f"partition_view<tile=(8x16), {VIEW}>"
ROWS = f"gather_scatter_view<tile=(8x16), {VIEW}, sparse_dim=0>"

# What a test may use, one definition a line; the body of a test follows on line 18.
HEAD = f"""entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %i: tile<i32>, %l: tile<i64>, %b: tile<i1>) {{
  %f = constant <f32: 1.0> : tile<f32>
  %g = constant <f16: 1.0> : tile<f16>
  %d = constant <f64: 1.0> : tile<f64>
  %v = constant <f32: 1.0> : tile<8x16xf32>
  %w = constant <f16: 1.0> : tile<8x16xf16>
  %n = constant <i32: 1> : tile<8x16xi32>
  %s = constant <i8: 1> : tile<8x16xi8>
  %m = constant <i1: 1> : tile<8x16xi1>
  %r = iota : tile<8xi32>
  %q0 = reshape %p : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %q = broadcast %q0 : tile<1x1xptr<f32>> -> tile<8x16xptr<f32>>
  %t = make_token : token
  %tv = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : {VIEW}
  %tiles = make_partition_view %tv : {TILES}
  %rows = make_gather_scatter_view %tv : {ROWS}
  // the body
"""


def errors(body: str, **options: str) -> list[str]:
    """`line:column message` of each error; lines count from the first of the body."""
    first = HEAD.count("\n")
    found = verify(parse(f"{HEAD}{body}\n  return\n}}"), **options)  # type: ignore[arg-type]
    return [
        f"{d.span.line - first if d.span else 0}:{d.span.column if d.span else 0} {d.message}"
        for d in found
        if d.severity == "error"
    ]


def reduction(body: str, head: str = "reduce %v dim=0", results: str = "tile<16xf32>") -> str:
    return (
        f"{head} identities=[0.0 : f32] : tile<8x16xf32> -> {results}\n"
        f"(%x: tile<f32>, %y: tile<f32>) {{\n{body}\n}}"
    )


def test_the_head_is_valid() -> None:
    assert errors("") == []


ELEMENTS = {
    "%1 = addi %f, %f : tile<f32>": (
        "lhs and rhs must be a tile of i1 or i8 or i16 or i32 or i64, found tile<f32>"
    ),
    "%1 = addf %i, %i : tile<i32>": (
        "lhs and rhs must be a tile of f16 or bf16 or f32 or f64, found tile<i32>"
    ),
    "%1 = absf %n : tile<8x16xi32>": (
        "source must be a tile of f16 or bf16 or f32 or f64, found tile<8x16xi32>"
    ),
    "%1 = cmpf equal ordered %f, %f : tile<f32> -> tile<i32>": (
        "result must be a tile of i1, found tile<i32>"
    ),
    "%1 = cmpi equal %n, %n, signed : tile<8x16xi32> -> tile<16x8xi1>": (
        "lhs is tile<8x16xi32> and result is tile<16x8xi1>; they must have one shape"
    ),
    "%1 = select %b, %v, %v : tile<i1>, tile<8x16xf32>": (
        "cond is tile<i1> and val_if_true is tile<8x16xf32>; they must have one shape"
    ),
    "%1 = ptr_to_int %p : tile<ptr<f32>> -> tile<i32>": (
        "result must be a tile of i64, found tile<i32>"
    ),
    "%1 = offset %q, %i : tile<8x16xptr<f32>>, tile<i32> -> tile<8x16xptr<f32>>": (
        "ptr is tile<8x16xptr<f32>> and offset is tile<i32>; they must have one shape"
    ),
    "%1, %2, %3 = get_tile_block_id : tile<i64>": (
        "blockId_x and blockId_y and blockId_z must be a tile of one i32, found tile<i64>"
    ),
    "%1 = fpowi %f, %l : tile<f32>, tile<i64>": (
        "exponent must be a tile of i1 or i8 or i16 or i32, found tile<i64>"
    ),
}

ARITHMETIC = {
    "%1 = addf %g, %g flush_to_zero : tile<f16>": "flush_to_zero needs elements of f32, found f16",
    "%1 = divf %g, %g rounding<approx> : tile<f16>": (
        "rounding mode approx needs elements of f32, found f16"
    ),
    "%1 = divf %d, %d rounding<full> : tile<f64>": (
        "rounding mode full needs elements of f32, found f64"
    ),
    "%1 = exp %g rounding<approx> : tile<f16>": (
        "rounding mode approx needs elements of f32, found f16"
    ),
    "%1 = addf %f, %f rounding<full> : tile<f32>": (
        "rounding_mode must be one of nearest_even, zero, negative_inf, positive_inf, found full"
    ),
    "%1 = sqrt %f rounding<full> : tile<f32>": (
        "rounding_mode must be one of nearest_even, zero, negative_inf, positive_inf, approx, "
        "found full"
    ),
    "%1 = divi %i, %i unsigned rounding<negative_inf> : tile<i32>": (
        "rounding mode negative_inf needs signed operands"
    ),
    "%1 = negi %i overflow<no_unsigned_wrap> : tile<i32>": (
        "overflow must be one of none, no_signed_wrap, no_wrap, found no_unsigned_wrap"
    ),
    "%1 = exti %l signed : tile<i64> -> tile<i32>": ("cannot extend i64 to i32, which is no wider"),
    "%1 = trunci %i : tile<i32> -> tile<i64>": "cannot truncate i32 to i64, which is no narrower",
    "%1 = itof %i signed rounding<zero> : tile<i32> -> tile<f32>": (
        "rounding_mode must be one of nearest_even, found zero"
    ),
    "%1 = itof %i signed : tile<i32> -> tile<f8E8M0FNU>": (
        "cannot convert integers to f8E8M0FNU: convert to another float first"
    ),
    "%1 = ftof %f : tile<f32> -> tile<f32>": "converts f32 to itself",
    "%1 = ftof %f rounding<negative_inf> : tile<f32> -> tile<f16>": (
        "f32 is rounded to f16 by mode nearest_even or zero, found negative_inf"
    ),
    "%1 = ftof %f : tile<f32> -> tile<f8E8M0FNU>": (
        "f32 is rounded to f8E8M0FNU by mode zero or positive_inf, found nearest_even"
    ),
    "%1 = ftof %f rounding<zero> : tile<f32> -> tile<f8E4M3FN>": (
        "f32 is rounded to f8E4M3FN by mode nearest_even, found zero"
    ),
    "%1 = bitcast %f : tile<f32> -> tile<i64>": "f32 has 32 bits, i64 has 64",
}

SHAPES = {
    "%1 = broadcast %v : tile<8x16xf32> -> tile<16x16xf32>": (
        "cannot stretch 8x16 to 16x16: only dimensions of size 1 stretch"
    ),
    "%1 = broadcast %v : tile<8x16xf32> -> tile<8x16xf16>": (
        "source is tile<8x16xf32> and result is tile<8x16xf16>; they must have one element type"
    ),
    "%1 = broadcast %f : tile<f32> -> tile<8xf32>": (
        "source is tile<f32> and result is tile<8xf32>; they must have as many dimensions"
    ),
    "%1 = reshape %v : tile<8x16xf32> -> tile<64xf32>": (
        "tile<8x16xf32> has 128 elements, tile<64xf32> has 64"
    ),
    "%1 = permute %v [0, 0] : tile<8x16xf32> -> tile<8x16xf32>": (
        "[0, 0] must name each of the dimensions 0..1 once"
    ),
    "%1 = permute %v [1, 0] : tile<8x16xf32> -> tile<8x16xf32>": (
        "the result is tile<8x16xf32>, the permutation makes tile<16x8xf32>"
    ),
    "%1 = permute %r [0] : tile<8xi32> -> tile<8xi32>": (
        "needs at least 2 dimensions, found tile<8xi32>"
    ),
    "%1 = cat %v, %v dim = 2 : tile<8x16xf32>, tile<8x16xf32> -> tile<16x16xf32>": (
        "dim is 2, it must be in 0..1"
    ),
    "%1 = cat %v, %v dim = 0 : tile<8x16xf32>, tile<8x16xf32> -> tile<8x16xf32>": (
        "dimension 0 of the result is 8, those of lhs and rhs add up to 16"
    ),
    "%1 = cat %v, %v dim = 0 : tile<8x16xf32>, tile<8x16xf32> -> tile<16x32xf32>": (
        "dimension 1 is 16 in lhs, 16 in rhs, 32 in the result; only 0 may differ"
    ),
    "%1 = extract %v[%i] : tile<8x16xf32> -> tile<8x8xf32>": (
        "needs 2 indices, one for each dimension, found 1"
    ),
    "%1 = extract %v[%i, %i] : tile<8x16xf32> -> tile<16x8xf32>": (
        "dimension 0 of 8x16 is no multiple of that of 16x8"
    ),
    "%1 = insert %v, %w[%i, %i] : tile<8x16xf32>, tile<8x16xf16>": (
        "source is tile<8x16xf32> and destination is tile<8x16xf16>; they must have one element type"
    ),
    "%1 = pack %r : tile<8xi32> -> tile<8xi8>": "tile<8xi32> takes 256 bits, tile<8xi8> takes 64",
    "%1 = iota : tile<512xi8>": "i8 cannot count 512 elements",
    "%1 = iota : tile<8x8xi32>": "gives a tile of one dimension, found tile<8x8xi32>",
    "%1 = iota : tile<6xi32>": "the dimensions of tile<6xi32> must be powers of two",
    "%1 = iota : tile<33554432xi32>": "tile<33554432xi32> has more than 16777216 elements",
}

MATRICES = {
    "%1 = mmaf %w, %w, %v : tile<8x16xf16>, tile<8x16xf16>, tile<8x16xf32>": (
        "k differs: 16 in lhs (8x16), 8 in rhs (8x16)"
    ),
    "%1 = mmaf %v, %w, %v : tile<8x16xf32>, tile<8x16xf16>, tile<8x16xf32>": (
        "lhs is tile<8x16xf32> and rhs is tile<8x16xf16>; they must have one element type"
    ),
    "%1 = mmai %n, %n, %n signed signed : tile<8x16xi32>, tile<8x16xi32>, tile<8x16xi32>": (
        "lhs and rhs must be a tile of i8, found tile<8x16xi32>"
    ),
}

MEMORY = {
    "%1, %2 = load_ptr_tko weak device %p : tile<ptr<f32>> -> tile<f32>, token": (
        "is weak, so it takes no memory scope, found device"
    ),
    "%1, %2 = load_ptr_tko relaxed %p : tile<ptr<f32>> -> tile<f32>, token": (
        "is relaxed, so it needs a memory scope"
    ),
    "%1, %2 = load_ptr_tko release device %p : tile<ptr<f32>> -> tile<f32>, token": (
        "memory_ordering_semantics must be one of weak, relaxed, acquire, found release"
    ),
    "%1 = store_ptr_tko acquire device %p, %f : tile<ptr<f32>>, tile<f32> -> token": (
        "memory_ordering_semantics must be one of weak, relaxed, release, found acquire"
    ),
    "%1, %2 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f16>, token": (
        "source is tile<ptr<f32>> and result is tile<f16>; "
        "they must have one element type, that of what is pointed to"
    ),
    "%1 = store_ptr_tko weak %q, %f : tile<8x16xptr<f32>>, tile<f32> -> token": (
        "destination is tile<8x16xptr<f32>> and value is tile<f32>; they must have one shape"
    ),
    "%1, %2 = atomic_rmw_tko relaxed device %p, add, %f : tile<ptr<f32>>, tile<f32> -> tile<f32>, token": (
        "mode add takes elements of i32 or i64, found f32"
    ),
    "%1, %2 = atomic_rmw_tko relaxed device %h, xchg, %g : tile<ptr<f16>>, tile<f16> -> tile<f16>, token": (
        "mode xchg takes elements of 32 or 64 bits, found f16"
    ),
    "%1, %2 = atomic_cas_tko relaxed device %h, %g, %g : tile<ptr<f16>>, tile<f16> -> tile<f16>, token": (
        "compares elements of 32 or 64 bits, found f16"
    ),
    "%1, %2 = atomic_rmw_tko weak device %p, addf, %f : tile<ptr<f32>>, tile<f32> -> tile<f32>, token": (
        "memory_ordering_semantics must be one of relaxed, acquire, release, acq_rel, found weak"
    ),
    "%1 = join_tokens %t : token": "joins two or more tokens, found 1",
    "%1 = alloca num_elem = 4, alignment = 3 : tile<ptr<f32>>": (
        "alignment is 3, it must be a power of two"
    ),
    "%1 = alloca num_elem = 4, alignment = 2 : tile<ptr<f32>>": (
        "alignment is 2, one f32 takes 4 bytes"
    ),
    "%1 = alloca num_elem = -1, alignment = 4 : tile<ptr<f32>>": (
        "num_elem is -1, it cannot be negative"
    ),
}

VIEWS = {
    "%1 = make_partition_view %tv : partition_view<tile=(8x16), tensor_view<64x64xf32, strides=[1,64]>>": (
        "the result looks into tensor_view<64x64xf32, strides=[1,64]>, "
        "the operand is tensor_view<64x64xf32, strides=[64,1]>"
    ),
    "%1 = make_tensor_view %h, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>": (
        "base points to f16, the view is of f32"
    ),
    f"%1, %2 = load_view_tko weak %tiles[%i] : {TILES}, tile<i32> -> tile<8x16xf32>, token": (
        f"{TILES} takes 2 indices, found 1"
    ),
    f"%1, %2 = load_view_tko weak %tiles[%i, %i] : {TILES}, tile<i32> -> tile<16x8xf32>, token": (
        "tile is tile<16x8xf32>, the view has tiles of tile<8x16xf32>"
    ),
    f"%1, %2 = load_view_tko weak %tiles[%i, %l] : {TILES}, tile<i32>, tile<i64> -> tile<8x16xf32>, token": (
        "index 0 is tile<i32> and index 1 is tile<i64>; they must have one type"
    ),
    f"%1, %2 = load_view_tko weak %rows[%i, %i] : {ROWS}, tile<i32> -> tile<8x16xf32>, token": (
        "index 0 must be a tile of 8 integers, one for each row, found tile<i32>"
    ),
    f"%1 = store_view_tko weak %w, %tiles[%i, %i] : tile<8x16xf16>, {TILES}, tile<i32> -> token": (
        "tile is tile<8x16xf16>, the view has tiles of tile<8x16xf32>"
    ),
    f"%1 = atomic_red_view_tko relaxed sys %tiles[%i, %i], addf, %v : tile<8x16xf32>, {TILES}, tile<i32> "
    "-> token": "memory_scope must be one of tl_blk, device, found sys",
    f"%1 = atomic_red_view_tko relaxed device %tiles[%i, %i], add, %v : tile<8x16xf32>, {TILES}, tile<i32> "
    "-> token": "mode add takes elements of i32 or i64, found f32",
    f"%1 = atomic_red_view_tko relaxed device %rows[%r, %i], addf, %v : tile<8x16xf32>, {ROWS}, tile<8xi32>, "
    "tile<i32> -> token": "cannot reduce into a gather_scatter_view",
    f"%1, %2 = multimem_load_reduce_view_tko weak %tiles[%i, %i] : {TILES}, tile<i32> -> tile<8x16xf32>, "
    "token": f"needs a view through a multicast pointer, found {VIEW}",
    f"%1 = make_partition_view %tv : partition_view<tile=(8x12), {VIEW}>": (
        f"the dimensions of the tile of partition_view<tile=(8x12), {VIEW}> must be powers of two"
    ),
    f"%1 = make_partition_view %tv : partition_view<tile=(8x8), {VIEW}, dim_map=[0, 0]>": (
        f"dim_map of partition_view<tile=(8x8), {VIEW}, dim_map=[0, 0]> must name each of the "
        "dimensions 0..1 once"
    ),
    f"%1 = make_gather_scatter_view %tv : gather_scatter_view<tile=(8x8), {VIEW}, sparse_dim=2>": (
        f"sparse_dim of gather_scatter_view<tile=(8x8), {VIEW}, sparse_dim=2> is 2, "
        "it must be in 0..1"
    ),
}

PREDICATES = {
    "%1 = assume div_by<12>, %i : tile<i32>": (
        "the divisor of div_by must be a power of two, found 12"
    ),
    "%1 = assume div_by<16>, %f : tile<f32>": (
        "div_by is about integers, pointers or a tensor_view, found tile<f32>"
    ),
    "%1 = assume div_by<2, every 4 along 1>, %r : tile<8xi32>": (
        "'along' of div_by is 1, which is no dimension of tile<8xi32>"
    ),
    "%1 = assume div_by<2, every 16 along 0>, %r : tile<8xi32>": (
        "'every' of div_by is 16, dimension 0 of tile<8xi32> has 8 elements"
    ),
    "%1 = assume same_elements<[2]>, %n : tile<8x16xi32>": (
        "same_elements<[2]> has 1 sizes, tile<8x16xi32> has 2 dimensions"
    ),
    "%1 = assume bounded<0, 300>, %s : tile<8x16xi8>": (
        "the upper bound 300 is none of i8, which holds -128..127"
    ),
    "%1 = assume bounded<4, 3>, %i : tile<i32>": "the lower bound 4 is above the upper bound 3",
}

OTHERS = {
    '%1 = print_tko "%d %f", %i : tile<i32> -> token': (
        "the format has 2 conversions, found 1 values"
    ),
    '%1 = print_tko "%", %i : tile<i32> -> token': (
        "the format ends inside a conversion that '%' begins"
    ),
    reduction("yield %x : tile<f32>", head="%1 = reduce %v dim=2"): (
        "dim is 2, tile<8x16xf32> has 2 dimensions"
    ),
    reduction("yield %x : tile<f32>", head="%1 = reduce %v dim=0", results="tile<8xf32>"): (
        "result 0 is tile<8xf32>, operand 0 makes it tile<16xf32>"
    ),
    reduction("yield %x : tile<f32>", head="%1 = scan %v dim=0 reverse=false"): (
        "result 0 is tile<16xf32>, operand 0 makes it tile<8x16xf32>"
    ),
    "%1 = reduce %n dim=0 identities=[0.0 : f32] : tile<8x16xi32> -> tile<16xi32>\n"
    "(%x: tile<i32>, %y: tile<i32>) {\nyield %x : tile<i32>\n}": (
        "identity 0 is of f32, operand 0 has elements of i32"
    ),
}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pair
        for family in (ELEMENTS, ARITHMETIC, SHAPES, MATRICES, MEMORY, VIEWS, PREDICATES, OTHERS)
        for pair in family.items()
    ],
)
def test_one_operation(body: str, message: str) -> None:
    mnemonic = body.split(" = ")[1].split()[0]
    assert errors(f"  {body}") == [f"1:3 {mnemonic}: {message}"]


CONTROL = {
    "if %b {\ncontinue\n}": [
        "2:1 continue leaves for or loop through if only, entry is in between"
    ],
    "loop {\nfor %k in (%i to %i, step %i) : tile<i32> {\nif %b {\nbreak\n}\ncontinue\n}\nbreak\n}": [
        "4:1 break leaves loop through if only, for is in between"
    ],
    "loop {\nif %b {\nreturn\n}\nbreak\n}": [],
    "for %k in (%i to %i, step %i) : tile<i32> {\nif %b {\nreturn\n}\ncontinue\n}": [
        "3:1 return leaves entry or testing$func through if and loop only, for is in between"
    ],
    f"%1 = loop : {VIEW} {{\nbreak %tv : {VIEW}\n}}": [
        f"1:1 result 0 of loop is {VIEW}: views cannot be carried or returned"
    ],
    "%1 = if %b -> (tile<f32>) {\nyield %d : tile<f64>\n} else {\nyield %f : tile<f32>\n}": [
        "1:1 yield gives tile<f64> for value 0, if wants tile<f32> (then branch)"
    ],
    reduction('assert %b, "x" : tile<i1>\nyield %x : tile<f32>', head="%1 = reduce %v dim=0"): [
        "3:1 assert has effects: it cannot stand in the body of reduce"
    ],
    reduction(
        "%z = if %b -> (tile<f32>) {\nyield %x : tile<f32>\n} else {\nyield %y : tile<f32>\n}\n"
        "yield %z : tile<f32>",
        head="%1 = reduce %v dim=0",
    ): [],
    reduction(
        "%z = ftof %x : tile<f32> -> tile<f16>\nyield %z : tile<f16>", "%1 = reduce %v dim=0"
    ): ["1:1 the body of reduce yields tile<f16> for operand 0, wanted tile<f32>"],
}


@pytest.mark.parametrize(("body", "found"), CONTROL.items())
def test_regions(body: str, found: list[str]) -> None:
    assert errors(body) == found


def test_all_errors_of_a_file_come_in_order() -> None:
    body = (
        "  %1 = addi %f, %f : tile<f32>\n"
        "  %2 = iota : tile<6xi32>\n"
        "  %3 = addf %g, %g flush_to_zero : tile<f16>\n"
        "  for %k in (%i to %i, step %i) : tile<i32> {\n"
        "    %4 = permute %v [2, 0] : tile<8x16xf32> -> tile<16x8xf32>\n"
        "    continue %i : tile<i32>\n"
        "  }"
    )
    assert errors(body) == [
        "1:3 addi: lhs and rhs must be a tile of i1 or i8 or i16 or i32 or i64, found tile<f32>",
        "2:3 iota: the dimensions of tile<6xi32> must be powers of two",
        "3:3 addf: flush_to_zero needs elements of f32, found f16",
        "5:5 permute: [2, 0] must name each of the dimensions 0..1 once",
        "6:5 continue gives 1 values, for wants 0",
    ]


def test_one_operation_can_break_several_rules() -> None:
    body = "  %1, %2 = atomic_rmw_tko weak device %h, add, %g : tile<ptr<f16>>, tile<f16> -> tile<f16>, token"
    assert errors(body) == [
        "1:3 atomic_rmw_tko: memory_ordering_semantics must be one of relaxed, acquire, release, "
        "acq_rel, found weak",
        "1:3 atomic_rmw_tko: mode add takes elements of i32 or i64, found f16",
    ]


# -- symbols, entries, globals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "entry @k(%a: tile<4xf32>) { return }",
            "1:1 argument 0 of an entry must be a scalar, found tile<4xf32>",
        ),
        ("entry @k() -> tile<i32> { return }", "1:1 an entry returns nothing, found 1 results"),
        ("global @g <i32: 1> : tile<i32>", "1:1 a global has one dimension, found tile<i32>"),
        (
            "global @g <i32: 1> : tile<3xi32>",
            "1:1 global: the dimensions of tile<3xi32> must be powers of two",
        ),
        (
            "global @g <f16: 1.0> : tile<1xf16>\nentry @k() {\n%0 = get_global @g : tile<ptr<f32>>\nreturn }",
            "3:1 the result points to f32, @g has elements of f16",
        ),
        (
            "entry @k(%a: tile<f4E2M1FN>) { return }",
            "1:1 entry: tile<f4E2M1FN> must have an even number of elements",
        ),
    ],
)
def test_module_level(text: str, found: str) -> None:
    shown = [
        f"{d.span.line}:{d.span.column} {d.message}"
        for d in verify(parse(text))
        if d.span is not None
    ]
    assert found in shown


# -- debug information ------------------------------------------------------------------------------

DEBUG = """#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#own = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#other = #cuda_tile.di_subprogram<file = #file, line = 9, name = "o", linkageName = "o", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #own, file = #file, line = 2>
#in_own = #cuda_tile.di_loc<loc("k.py":2:1) in #own>
#in_block = #cuda_tile.di_loc<loc("k.py":3:1) in #block>
#in_other = #cuda_tile.di_loc<loc("k.py":9:1) in #other>
"""


@pytest.mark.parametrize(
    ("inner", "entry", "found"),
    [
        ("#in_own", "#in_own", []),
        ("#in_block", "#in_own", []),
        ("#in_other", "#in_own", ['10:3 return has the debug-info scope "o", its entry has "k"']),
        ("#in_own", "unknown", ['10:3 return has a debug-info scope, "k"; its entry has none']),
        (
            '"x"(#in_other)',
            '"y"(#in_own)',
            ['10:3 return has the debug-info scope "o", its entry has "k"'],
        ),
        ("#in_own", "#in_block", ["9:1 the debug-info scope of an entry must be a di_subprogram"]),
        ("unknown", "#in_other", ['9:1 the debug-info scope of @k has the linkage name "o"']),
        ("unknown", 'callsite("a" at "b")', ["9:1 the location of an entry cannot be a call site"]),
    ],
)
def test_debug_info(inner: str, entry: str, found: list[str]) -> None:
    text = f"{DEBUG}entry @k() {{\n  return loc({inner})\n}} loc({entry})\n"
    assert [f"{d.span.where()[9:]} {d.message}" for d in verify(parse(text)) if d.span] == found


def test_debug_info_of_globals_and_of_several_entries() -> None:
    text = (
        f"{DEBUG}entry @k() {{\n  return loc(#in_own)\n}} loc(#in_own)\n"
        "global @g <i32: 1> : tile<1xi32> loc(#in_own)\n"
        "entry @o() {\n  return loc(#in_own)\n} loc(#in_other)\n"
    )
    assert [f"{d.span.line} {d.message}" for d in verify(parse(text)) if d.span] == [
        "12 global has a debug-info scope; only entries and what is in them do",
        '14 return has the debug-info scope "k", its entry has "o"',
    ]


# -- versions and targets ---------------------------------------------------------------------------

VERSIONS = {
    ("%1 = atan2 %f, %f : tile<f32>", "13.1"): (
        "operation atan2 needs bytecode 13.2, the version is 13.1"
    ),
    ("%1 = tanh %f rounding<approx> : tile<f32>", "13.1"): (
        "attribute rounding_mode of tanh needs bytecode 13.2, the version is 13.1"
    ),
    ("%1 = ftof %f rounding<zero> : tile<f32> -> tile<f16>", "13.3"): (
        "ftof: rounding mode zero needs bytecode 13.4, the version is 13.3"
    ),
    ("%1 = ftof %f rounding<nearest_away> : tile<f32> -> tile<tf32>", "13.3"): (
        "rounding_mode nearest_away of ftof needs bytecode 13.4, the version is 13.3"
    ),
    ("%1 = constant <f4E2M1FN: 1.0> : tile<8xf4E2M1FN>", "13.2"): (
        "tile<8xf4E2M1FN> needs bytecode 13.3, the version is 13.2"
    ),
    ("%1 = alloca num_elem = 1, alignment = 4 : tile<ptr<f32, <multicast>>>", "13.4"): (
        "tile<ptr<f32, <multicast>>> needs bytecode 13.5, the version is 13.4"
    ),
    ("loop {\n  return\n}", "13.3"): (
        "return: leaving an entry out of a loop needs bytecode 13.4, the version is 13.3"
    ),
}


@pytest.mark.parametrize(("body", "version"), VERSIONS)
def test_versions(body: str, version: str) -> None:
    module = parse(f"entry @k(%f: tile<f32>) {{\n{body}\nreturn\n}}")
    assert VERSIONS[body, version] in [d.message for d in module.verify(bytecode_version=version)]
    assert module.verify(bytecode_version="13.5") == module.verify() == []


def test_tanh_is_a_warning_without_a_version() -> None:
    text = "entry @k(%f: tile<f32>) {\n%1 = tanh %f rounding<zero> : tile<f32>\nreturn }"
    (found,) = verify(parse(text))
    assert found.severity == "warning"
    assert found.message == "tanh: rounding_mode zero is ignored up to 13.3, later an error"


def test_tanh_is_an_error_of_a_late_version() -> None:
    module = parse("entry @k(%f: tile<f32>) {\n%1 = tanh %f rounding<zero> : tile<f32>\nreturn }")
    assert [d.message for d in module.verify(bytecode_version="13.4")] == [
        "tanh: rounding_mode must be approx or full, found zero"
    ]


def test_targets() -> None:
    body = (
        "%1 = constant <f8E4M3FN: 1.0> : tile<8xf8E4M3FN>\n"
        "%2 = constant <f4E2M1FN: 1.0> : tile<8xf4E2M1FN>"
    )
    assert errors(body, arch="sm_80") == [
        "1:1 constant: f8E4M3FN needs sm_90 or later, the target is sm_80",
        "2:1 constant: f4E2M1FN needs sm_100 or later, the target is sm_80",
    ]
    assert errors(body, arch="sm_100") == []


def test_wrong_requests() -> None:
    module = parse("entry @k() { return }")
    with pytest.raises(UsageError, match=r"unknown bytecode version '14'; known: 13\.1"):
        module.verify(bytecode_version="14")
    with pytest.raises(UsageError, match="unknown arch 'gfx90'; known: sm_80"):
        module.verify(arch="gfx90")


# -- bytecode ---------------------------------------------------------------------------------------


def test_errors_in_bytecode_say_where_they_belong() -> None:
    text = (
        f"{DEBUG}entry @k(%i: tile<i32>) {{\n"
        "  %0 = addi %i, %i : tile<i32> loc(#in_own)\n"
        "  %1 = iota : tile<6xi32> loc(#in_block)\n"
        "  return loc(#in_own)\n} loc(#in_own)\n"
    )
    module = parse(parse(text).to_bytecode("13.3"))
    assert [(d.message, d.span) for d in module.verify()] == [
        (
            "iota: the dimensions of tile<6xi32> must be powers of two (operation 2 of @k, k.py:3)",
            None,
        )
    ]
