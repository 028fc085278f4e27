"""The grammars and the reader agree: on texts made from the grammars, on real texts, on wrong ones."""

from __future__ import annotations

import itertools
import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from lark.exceptions import LarkError
from tileir_tools.grammars import NAMES, grammar_text

from tileir_tools.errors import TileIRError
from tileir_tools.model import Module
from tileir_tools.read import attribute_values, parse_all, state, types
from tileir_tools.read.literals import LiteralError

FIXTURES = Path(__file__).parent / "fixtures"
# Files whose texts are wrong on purpose, or hold what no grammar describes.
FILES = [
    *(FIXTURES / "text").rglob("*.mlir"),
    *sorted((FIXTURES / "kernels").glob("*__bc13.4*.mlir")),
]


@cache
def grammar(name: str, start: str) -> Lark:
    return Lark.open_from_package(
        "tileir_tools.grammars", f"{name}.lark", start=start, parser="lalr"
    )


def accepted(name: str, start: str, text: str) -> bool:
    try:
        grammar(name, start).parse(text)
    except LarkError:
        return False
    return True


# A text of each start rule, inside of something that the reader reads.
AROUND = {
    "type": "entry @k(%a: {}) {{}}",
    "attribute": "entry @k() {{ return {{a = {}}} }}",
    "predicate": "entry @k(%a: tile<i32>) {{ %0 = assume {}, %a : tile<i32> }}",
    "hints": "entry @k() optimization_hints = {} {{}}",
    "constant": "entry @k() {{ %0 = constant {} }}",
    "location": '#loc1 = loc("f":1:1)\n#di = #cuda_tile.di_file<"a" in "b">\n'
    "#unit = #cuda_tile.di_compile_unit<file = #di>\nentry @k() {{ return {} }}",
    "symbol": "entry {}() {{}}",
}
STARTS = {
    "type": "types",
    "attribute": "attributes",
    "predicate": "attributes",
    "hints": "hints",
    "constant": "constants",
    "location": "locations",
    "symbol": "symbols",
}


def reads(start: str, text: str) -> bool:
    try:
        parse_all(AROUND[start].format(text))
    except TileIRError:
        return False
    return True


# -- the grammars themselves ------------------------------------------------------------------------


def test_the_text_of_a_grammar() -> None:
    for name in NAMES:
        assert grammar_text(name).startswith("// ")
    with pytest.raises(ValueError, match="no grammar 'ops'; there are symbols, types"):
        grammar_text("ops")


@pytest.mark.parametrize("start", STARTS)
def test_the_examples_at_the_head_of_a_grammar(start: str) -> None:
    head = grammar_text(STARTS[start]).split("\n\n")[0]
    shown = [line[2:].strip() for line in head.splitlines() if line.startswith("//   ")]
    examples = [e for line in shown for e in re.split(r"   ", line) if ".." not in e]
    assert examples
    if start != "predicate":
        assert [e for e in examples if not accepted(STARTS[start], start, e)] == []


# -- texts made from the grammars -------------------------------------------------------------------

_numbers = itertools.count()

# Words stand apart in a text, attributes have names of their own, numbers fit whatever type is near.
TERMINALS: dict[str, st.SearchStrategy[str]] = {
    "NAME": st.builds(lambda: f"n{next(_numbers)}"),
    "INTEGER": st.sampled_from(["0", "1", "-1"]),
    "HEX": st.sampled_from(["0x0", "0x1", "0xA"]),
    # What a string of bytes means depends on the tile: a list stands in for it.
    "HEX_STRING": st.just("[1]"),
    "EVERY": st.just(" every "),
    "ALONG": st.just(" along "),
    "TO": st.just(" to "),
    "AT": st.just(" at "),
    "IN": st.just(" in "),
    "SIZE": st.integers(0, 4096).map(str),
    "LINE": st.integers(0, 10**6).map(str),
    "COMMENT": st.just("// } ) > [ ->\n"),
    "LOCATION_ALIAS": st.just("#loc1"),
    "SCOPE_ALIAS": st.just("#di"),
    "FILE_ALIAS": st.just("#di"),
    "UNIT_ALIAS": st.just("#unit"),
    "DECIMAL": st.sampled_from(["0.0", "-1.5", "1.", "1.5e+3", "2.0E-5"]),
}


@cache
def texts(start: str) -> st.SearchStrategy[str]:
    """Texts that a grammar allows."""
    made = grammar(STARTS[start], start)
    explicit = {
        terminal.name: TERMINALS[terminal.name.split("__")[-1]]
        for terminal in made.terminals
        if terminal.name.split("__")[-1] in TERMINALS
        # lark calls the word `name` NAME as well.
        and terminal.pattern.value != "name"
    }
    alphabet = st.characters(codec="utf-8", exclude_characters="\0")
    return from_lark(made, start=start, explicit=explicit, alphabet=alphabet)


def _count_of_dimensions_fits(text: str) -> bool:
    """A view needs as many strides as sizes, which no grammar can say."""
    for view in re.finditer(r"tensor_view\s*<", text):
        inside = text[view.end() :]
        sizes = re.match(r"[\s\dx?]*", inside)
        strides = re.search(r"strides\s*=\s*\[([^\]]*)\]", inside)
        shape = sizes[0].count("x") if sizes else 0
        given_strides = len([s for s in strides[1].split(",") if s.strip()]) if strides else 0
        if shape and shape != given_strides:
            return False
    return True


@settings(max_examples=100, deadline=None)
@given(st.data())
@pytest.mark.parametrize("start", ["type", "attribute", "predicate", "hints", "symbol"])
def test_the_reader_accepts_what_the_grammar_makes(start: str, data: st.DataObject) -> None:
    text = data.draw(texts(start))
    assume("//" not in text or '"' not in text)
    plain = re.sub(r"//[^\n]*\n", "", text)
    # Strides are as many as sizes, lists of elements are not ragged; strings in dictionaries may name
    # one key twice.
    assume(_count_of_dimensions_fits(plain))
    assume(plain.count('"') <= 2 or "{" not in plain)
    assume(not re.search(r"dense\s*<\s*\[", plain))
    parse_all(AROUND[start].format(text))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_reader_accepts_locations_that_the_grammar_makes(data: st.DataObject) -> None:
    parse_all(AROUND["location"].format(data.draw(texts("location"))))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_reader_accepts_constants_that_the_grammar_makes(data: st.DataObject) -> None:
    text = re.sub(r"//[^\n]*\n|\s", "", data.draw(texts("constant")))
    elements = text.partition(">")[0]
    shape = _shape(elements.partition(":")[2])
    assume(shape is not None)
    element = text.partition("<")[2].partition(":")[0]
    tile = f"tile<{''.join(f'{n}x' for n in shape or (4,))}{element}>"
    parse_all(AROUND["constant"].format(f"{elements}> : {tile}"))


def _shape(text: str) -> tuple[int, ...] | None:
    """The shape of nested lists; None where they are ragged."""
    return _shape_of(json.loads(re.sub(r"[^\[\],]+", "1", text)))


def _shape_of(nested: object) -> tuple[int, ...] | None:
    if not isinstance(nested, list):
        return ()
    inner = {_shape_of(item) for item in nested}
    if len(inner) != 1 or None in inner:
        return None
    return (len(nested), *(inner.pop() or ()))


# -- real texts -------------------------------------------------------------------------------------


@pytest.fixture
def read_texts(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Every type, attribute, hint, constant and location that reading all fixtures comes across."""
    found: dict[str, set[str]] = {start: set() for start in STARTS}

    def note(start: str, name: str) -> None:
        read = getattr(state, name)

        def noting(text: str, *rest: object) -> object:
            found[start].add(text)
            return read(text, *rest)

        monkeypatch.setattr(state, name, noting)

    note("type", "parse_type")
    note("attribute", "parse_attribute")
    note("hints", "parse_hints")
    note("location", "parse_location")
    for memory in (state.known_types, state._attributes, state._hints, state._dense):
        memory.clear()
    for path in FILES:
        for module in parse_all(path.read_text(encoding="utf-8")):
            found["symbol"] |= _symbols(module)
    found["constant"] = {f"{elements} : {tile}" for elements, tile in state._dense}
    return found


def _symbols(module: Module) -> set[str]:
    return {
        f"@{entry.symbol}"
        for entry in module.entries
        if re.fullmatch(r"[\w$.]+", entry.symbol, re.ASCII)
    }


# Aliases, what other dialects say, spellings of the cutile-rs printer: read, but not written down.
OUTSIDE = {
    ("type", "!vec"),
    ("type", "!view"),
    ("type", "tensor_view<xf32, strides=[]>"),
    (
        "type",
        "strided_view<tile=(2x4), padding_value = zero, traversal_strides=[4,1], "
        "tensor_view<?x8xf32, strides=[8,1]>, dim_map=[1,0]>",
    ),
    ("attribute", "#sixteen"),
    ("hints", "#hints"),
    ("constant", "<f32: -inf> : tile<f32>"),
    ("constant", "<f32: inf> : tile<f32>"),
    ("constant", "<f32: nan> : tile<f32>"),
    ("constant", "<f8e4m3fn: 60> : tile<f8e4m3fn>"),
    ("constant", "<i32: 1, 2, 3, 4> : tile<4xi32>"),
    ("location", 'loc(#foreign.location<"x", [1]>)'),
}


def test_the_grammars_accept_every_text_in_the_fixtures(read_texts: dict[str, set[str]]) -> None:
    counts = {start: len(found) for start, found in read_texts.items()}
    assert counts["type"] > 100
    assert counts["location"] > 100
    assert counts["constant"] > 20
    rejected = {
        (start, text)
        for start, found in read_texts.items()
        for text in found
        if not accepted(STARTS[start], start, text)
    }
    assert rejected == OUTSIDE


# -- wrong texts ------------------------------------------------------------------------------------

WRONG = {
    "type": [
        "",
        "tile",
        "tile<>",
        "tile<4>",
        "tile<4x>",
        "tile<x4xf32>",
        "tile<-4xf32>",
        "tile<4xf32",
        "tile<4xf32>>",
        "tile<4xtile<f32>>",
        "tile<4xi7>",
        "tile<4xF32>",
        "tile<4xf8e4M3fn>",
        "ptr<ptr<f32>>",
        "ptr<f32, <near>>",
        "tensor<4xf32>",
        "!tile<f32>",
        "cuda_tile.tile<f32",
        "tensor_view<4xf32>",
        "tensor_view<4xf32, strides=1>",
        "tensor_view<4xf32, strides=[1,]>",
        "tensor_view<4xf32, stride=[1]>",
        "partition_view<tensor_view<f32>>",
        "partition_view<tile=4, tensor_view<f32>>",
        "partition_view<tile=(4x), tensor_view<f32>>",
        "partition_view<tile=(?), tensor_view<f32>>",
        "partition_view<tile=(4), padding_value = one, tensor_view<f32>>",
        "partition_view<tile=(4), tile<f32>>",
        "strided_view<tile=(4), tensor_view<f32>>",
        "gather_scatter_view<tile=(4), tensor_view<f32>>",
        "(tile<i32>)",
        "(tile<i32>) ->",
        "() -> () -> ()",
        "token<>",
    ],
    "attribute": [
        "",
        "[",
        "[1,, 2]",
        "[1 2]",
        "{a = }",
        "{= 1}",
        "{1 = 2}",
        "1.5 : i32",
        "0x12 : ",
        "- 1",
        "@",
        '"open',
        "div_by<>",
        "div_by<16, every 4>",
        "div_by<16, along 4>",
        "bounded<0>",
        "bounded<0, ?",
        "same_elements<4>",
        "same_elements<[4>",
        "rounding<up>",
        "rounding<>",
        "signedness<maybe>",
        "array<4>",
        "array<i32: 1.5>",
        "dense<1>",
    ],
    "predicate": ["16", "div_by", "rounding<zero>", '"x"', "[1]"],
    "hints": [
        "",
        "sm_100",
        "<sm_100>",
        "<sm_100 = >",
        "<sm_100 = 4>",
        "<sm_100 = {latency}, >",
        "<sm_100 = {latency = }>",
        "<100 = {}>",
        "{sm_100 = {}}",
    ],
    "constant": [
        "",
        "1 : tile<i32>",
        "<1> : tile<i32>",
        "<i32> : tile<i32>",
        "<i32: > : tile<i32>",
        "<i32: 1>",
        "<i32: 1> tile<i32>",
        "<i32: 1> : i32",
        "<i32: 1.5> : tile<i32>",
        "<i32: []> : tile<i32>",
        "<i32: [1,]> : tile<1xi32>",
        '<i16: "0x1"> : tile<i16>',
        '<i16: "01"> : tile<i16>',
        "<i7: 1> : tile<i7>",
    ],
    "location": [
        "loc",
        "loc()",
        "loc(somewhere)",
        'loc("f":1)',
        'loc("f":1:)',
        'loc("f":1:2 to 3)',
        'loc("f"(unknown)',
        "loc(callsite(unknown))",
        "loc(callsite(unknown at))",
        "loc(fused[unknown)",
        "loc(fused unknown)",
        "loc(unknown unknown)",
        "loc(#cuda_tile.di_loc<unknown>)",
        "loc(#cuda_tile.di_loc<unknown in unknown>)",
        'loc(#cuda_tile.di_loc<unknown in #cuda_tile.di_file<"a">>)',
        "loc(#cuda_tile.di_loc<unknown in #cuda_tile.di_compile_unit<>>)",
    ],
    "symbol": ["", "@", "name", '@"open', "@ name", "@a b", "@a:b", "@é"],
}


@pytest.mark.parametrize(("start", "text"), [(s, t) for s, found in WRONG.items() for t in found])
def test_wrong_texts_are_rejected_by_both(start: str, text: str) -> None:
    assert not accepted(STARTS[start], start, text)
    assert not reads(start, text)


def test_what_the_reader_takes_beyond_the_grammar() -> None:
    """Spellings of the cutile-rs printer, which no other tool should write."""
    beyond = [
        ("type", "tensor_view<xf32, strides=[]>"),
        (
            "type",
            "strided_view<tile=(4), padding_value = zero, traversal_strides=[1], tensor_view<f32>>",
        ),
        ("constant", "<f32: -inf> : tile<f32>"),
        ("constant", "<i32: 1, 2> : tile<2xi32>"),
    ]
    for start, text in beyond:
        assert reads(start, text)
        assert not accepted(STARTS[start], start, text)


def test_a_literal_error_has_a_place_in_its_text() -> None:
    for text in WRONG["type"]:
        with pytest.raises(LiteralError) as caught:
            types.parse_type(text)
        assert 0 <= caught.value.offset <= len(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='tile<>x4?f32,=[]() "\\0', max_size=30))
def test_literals_of_any_characters_give_literal_errors(text: str) -> None:
    for read in (types.parse_type, attribute_values.parse_attribute, attribute_values.parse_hints):
        try:
            read(text)
        except LiteralError:
            continue
    try:
        parse_all(f"entry @k(%a: {text}) {{}}")
    except TileIRError:
        return


def test_brackets_that_begin_with_a_key_and_a_new_line() -> None:
    text = "entry @k() { return {a = #cuda_tile.optimization_hints<sm_90\n={occupancy = 2}>} }"
    (module,) = parse_all(text)
    (operation,) = module.entries[0].body.operations
    assert reads("attribute", "#cuda_tile.optimization_hints<sm_90\n={occupancy = 2}>")
    assert type(operation.attributes["a"]).__name__ == "OptimizationHintsAttr"
