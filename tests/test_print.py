"""Printing: what tileirdisasm prints, the wrapped form, the generic form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shape import shape

from tileir_tools import load, parse, parse_all
from tileir_tools.model.floats import (
    FLOAT_FORMATS,
    decode,
    encode_decimal,
    encode_ratio,
    to_float,
)
from tileir_tools.read.literals import unescape
from tileir_tools.write.literals import float_text, string_text
from tileir_tools.write.marked import marked_lines, place_in_text

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = sorted((ROOT / "tests" / "fixtures" / "kernels").glob("*.mlir"))
CORPUS = ROOT.parent / "shared" / "corpus"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_fixture_prints_the_same_bytes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    debug = path.name.endswith(".g.mlir")
    assert "".join(m.to_text(debug_info=debug) for m in parse_all(text)) == text


@pytest.mark.parametrize("path", FIXTURES[::7], ids=lambda p: p.name)
def test_generic_form_reads_back_equal(path: Path) -> None:
    debug = path.name.endswith(".g.mlir")
    module = parse(path.read_text(encoding="utf-8"))
    again = parse(module.to_text(generic=True, debug_info=debug))
    assert shape(again, debug) == shape(module, debug)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus")
def test_corpus_prints_the_same_bytes_and_generic_reads_back() -> None:
    files = sorted(CORPUS.rglob("*.mlir"))
    assert len(files) > 600
    for path in files:
        text = path.read_text(encoding="utf-8")
        debug = path.name.endswith(".g.mlir")
        modules = parse_all(text, str(path))
        assert [w for m in modules for w in m.warnings] == [], path
        assert "".join(m.to_text(debug_info=debug) for m in modules) == text, path
        for module in modules:
            again = parse(module.to_text(generic=True, debug_info=debug), str(path))
            assert shape(again, debug) == shape(module, debug), path


def test_wrapping() -> None:
    module = parse("entry @k() {\n  return\n}\n")
    assert module.to_text(wrap=True) == (
        "cuda_tile.module @kernels {\n  entry @k() {\n    return\n  }\n}\n\n"
    )
    wrapped = parse('cuda_tile.module @m attributes {producer = "p"} { entry @k() {} }')
    assert wrapped.to_text().startswith('cuda_tile.module @m attributes {producer = "p"} {\n')
    assert wrapped.to_text(wrap=False) == "entry @k() {\n  return\n}\n"


@pytest.mark.parametrize(
    ("bits", "element", "text"),
    [
        (0x3F800000, "f32", "1.000000e+00"),
        (0x80000000, "f32", "-0.000000e+00"),
        (0x7F800000, "f32", "0x7F800000"),
        (0x7FC00000, "f32", "0x7FC00000"),
        (0x358637BD, "f32", "9.99999997E-7"),
        (0x3EAAAAAB, "f32", "0.333333343"),
        (0x4640E420, "f32", "12345.0313"),
        (0x4996B438, "f32", "0x4996B438"),
        (0x4B800000, "f32", "0x4B800000"),
        (0x3FD5555555555555, "f64", "0.33333333333333331"),
        (0xFC00, "f16", "0xFC00"),
        (0x3EAB, "bf16", "3.339840e-01"),
    ],
)
def test_floats_print_as_the_disassembler_prints_them(bits: int, element: str, text: str) -> None:
    assert float_text(bits, element) == text


@given(st.sampled_from(sorted(FLOAT_FORMATS)), st.integers(0, 2**64 - 1))
def test_finite_floats_read_back(element: str, number: int) -> None:
    form = FLOAT_FORMATS[element]
    bits = number & ((1 << form.width) - 1)
    text = float_text(bits, element)
    if text.startswith("0x"):
        assert int(text, 16) == bits
    elif len(text.partition("e")[2]) and "e" in text:
        # Six digits are printed only where they give the number back.
        assert encode_decimal(text, form) == bits
    assert decode(bits, form).kind in ("finite", "inf", "nan")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_f32_agrees_with_the_machine(value: float) -> None:
    form = FLOAT_FORMATS["f32"]
    ratio = value.as_integer_ratio()
    bits = encode_ratio(*ratio, form)
    if value == 0:
        assert bits & 0x7FFFFFFF == 0
    else:
        assert to_float(bits, form) == value


@given(st.text())
def test_strings_read_back(text: str) -> None:
    quoted = string_text(text.encode("utf-8", "replace").decode("utf-8"))
    assert quoted.isascii()
    assert unescape(quoted[1:-1]) == text.encode("utf-8", "replace").decode("utf-8")


def test_symbols_are_quoted_when_they_must_be() -> None:
    module = parse('entry @"a-b c"() { return }\nentry @x.y$z() { return }')
    assert module.to_text() == 'entry @"a-b c"() {\n  return\n}\nentry @x.y$z() {\n  return\n}\n'


def test_unknown_operations_print_their_text_with_the_present_names() -> None:
    text = (
        "entry @k(%x: tile<i32>) {\n"
        "  %a = addi %x, %x : tile<i32>\n"
        "  %b = brand_new_op %a, [%x] {mode = 3} : tile<i32> -> tile<i32>\n"
        "  %c = addi %b, %b : tile<i32>\n"
        "  return\n}\n"
    )
    module = parse(text)
    assert (
        "  %1 = brand_new_op %0, [%arg0] {mode = 3} : tile<i32> -> tile<i32>\n" in module.to_text()
    )
    assert "  %2 = addi %1, %1 : tile<i32>\n" in module.to_text()
    assert len(module.warnings) == 1


def test_the_generic_form_keeps_the_text_of_unknown_operations() -> None:
    text = (
        "entry @k(%arg0: tile<4xf32>) {\n"
        "  %0 = futureop %arg0, mode = fast {\n"
        "    %2 = addf %arg0, %arg0  : tile<4xf32>\n"
        "    yield %2 : tile<4xf32>\n"
        "  } : tile<4xf32> -> tile<4xf32>\n"
        "  %1 = addf %0, %arg0  : tile<4xf32>\n"
        "  return\n}\n"
    )
    module = parse(text)
    generic = module.to_text(generic=True)
    assert "%0 = cuda_tile.futureop %arg0, mode = fast {" in generic
    assert "} : tile<4xf32> -> tile<4xf32>" in generic
    assert parse(generic).to_text(wrap=False).split() == text.split()


# -- marked lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FIXTURES[::5], ids=lambda p: p.name)
def test_marked_lines_say_the_same_and_define_each_value_once(path: Path) -> None:
    module = parse(path.read_text(encoding="utf-8"))
    lines = [line for op in module.operations for line in marked_lines(op)]
    assert "".join(f"{line.text}\n" for line in lines) == module.to_text(wrap=False)
    defined = []
    for piece in (piece for line in lines for piece in line.pieces):
        if piece.defines:
            defined += piece.values
        else:
            assert set(piece.values) <= set(defined)
    values = [v for op in module.walk() for v in op.results]
    assert len(defined) == len(set(defined))
    assert set(values) <= set(defined)


def test_marked_lines_of_unknown_operations_and_of_several_results() -> None:
    module = parse(
        "entry @k(%a: tile<i32>) {\n  %r:2 = mystery %a, %a {x = 1} : tile<i32> -> tile<i32>, tile<i32>\n"
        "  %x, %y, %z = get_tile_block_id : tile<i32>\n  %s = addi %r#1, %y : tile<i32>\n  return\n}\n"
    )
    lines = marked_lines(module.entries[0])
    assert [(p.text, len(p.values)) for p in lines[1].pieces if p.values] == [
        ("%0:2", 2),
        ("%arg0", 1),
        ("%arg0", 1),
    ]
    assert [p.text for p in lines[2].pieces if p.defines] == [
        "%blockId_x",
        "%blockId_y",
        "%blockId_z",
    ]
    assert [p.text for p in lines[3].pieces if p.values] == ["%1", "%0#1", "%blockId_y"]


def test_bytecode_gets_places_in_its_text() -> None:
    path = next(p for p in FIXTURES if p.with_suffix(".tileirbc").exists())
    module = load(path.with_suffix(".tileirbc"))
    place_in_text(module, "k")
    assert module.source is not None
    assert module.source.text == module.to_text(wrap=False)
    spans = [op.span for op in module.walk() if op.span is not None]
    assert all(span.text.startswith(span.source_line()[:3]) for span in spans)
    loops = [op for op in module.walk() if op.name == "for"]
    assert all(op.span is not None and op.span.text.rstrip().endswith("}") for op in loops)
    # A text keeps its own places.
    text = parse("entry @k() {\n\n  return\n}\n", "here")
    place_in_text(text, "there")
    assert text.source is not None
    assert text.source.name == "here"
