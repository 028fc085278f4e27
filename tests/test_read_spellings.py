"""One kernel in every spelling gives one module; what stands around the IR is told apart from it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from shape import shape

from tileir_tools.errors import ForeignFormatError, UsageError
from tileir_tools.model import DILoc, Module, NameLoc, SymbolRefAttr
from tileir_tools.read import load, load_all, parse, parse_all

TEXTS = Path(__file__).parent / "fixtures" / "text"
SCALE = TEXTS / "scale"
BARE = (SCALE / "bare.mlir").read_text(encoding="utf-8")
SPELLINGS = sorted(SCALE.iterdir(), key=lambda path: path.name)


@pytest.mark.parametrize("path", SPELLINGS, ids=lambda path: path.name)
def test_a_kernel_is_the_same_module_in_every_spelling(path: Path) -> None:
    assert shape(load(path)) == shape(parse(BARE))


def test_the_spellings_are_all_here() -> None:
    assert len(SPELLINGS) == 16


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda text: text.replace("\n", "\r\n"), "line ends of DOS"),
        (lambda text: text.replace("  ", "\t"), "tabs"),
        (lambda text: "\ufeff" + text, "byte order mark"),
        (lambda text: text.removesuffix("\n"), "no line end at the end"),
        (lambda text: "\n\n// head\n" + text + "// tail", "comments around it"),
        (lambda text: text.replace("\n", "  // } -> {\n"), "a comment behind every line"),
        (lambda text: text.replace(", ", " ,\n"), "a line break at every comma"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_white_space_and_comments_mean_nothing(change: Callable[[str], str], name: str) -> None:
    assert shape(parse(change(BARE))) == shape(parse(BARE)), name


def test_all_on_one_line() -> None:
    assert shape(parse(" ".join(BARE.split("\n")))) == shape(parse(BARE))


def test_bytes_and_gzip_read_like_text(tmp_path: Path) -> None:
    packed = tmp_path / "kernel.mlir.gz"
    packed.write_bytes(gzip.compress(BARE.encode()))
    expected = shape(parse(BARE))
    assert shape(load(packed)) == expected
    assert shape(parse(BARE.encode())) == expected
    assert shape(parse(b"\xef\xbb\xbf" + BARE.encode())) == expected


def test_locations_are_the_same_before_after_and_at_their_use() -> None:
    before, after, inline = (
        load(SCALE / f"locations_{where}.mlir") for where in ("before_use", "after_use", "inline")
    )
    assert shape(before, locations=True) == shape(after, locations=True)
    assert shape(inline, locations=True) == shape(after, locations=True)
    token = next(after.find("make_token"))
    assert isinstance(token.location, DILoc)
    assert token.location.file_line == ("/src/scale.py", 4)


# -- wrappers and several modules -------------------------------------------------------------------


def test_the_name_of_the_wrapper_is_kept() -> None:
    assert parse(BARE).name is None
    assert load(SCALE / "module_wrapper.mlir").name == "kernels"
    assert load(SCALE / "generic_form.mlir").name == "kernels"
    assert load(SCALE / "builtin_module_beside_other_dialects.mlir").name == "kernels"


def test_other_dialects_beside_the_module_are_named_in_warnings() -> None:
    module = load(SCALE / "builtin_module_beside_other_dialects.mlir")
    assert [(w.severity, w.message, w.span and w.span.line) for w in module.warnings] == [
        ("warning", "'llvm.func' is no Tile IR and was passed over", 5),
        ("warning", "'func.func' is no Tile IR and was passed over", 6),
        ("warning", "'gpu.module' is no Tile IR and was passed over", 44),
    ]


def test_several_modules(text_modules: Callable[[str], list[Module]]) -> None:
    modules = text_modules("several_modules")
    assert [m.name for m in modules] == ["first", None, "third", "fourth"]
    assert [[e.symbol for e in m.entries] for m in modules] == [["k"], ["k"], [], []]
    assert modules[2].producer == 'a "tool"'
    assert list(modules[2].attributes) == ["other"]
    # Lines count through the whole file, whatever part a module comes from.
    assert modules[1].entries[0].span is not None
    assert modules[1].entries[0].span.line == 10


def test_one_module_is_asked_for_but_there_are_several() -> None:
    with pytest.raises(UsageError, match=r"4 modules in one input; use load_all or parse_all"):
        load(TEXTS / "several_modules.mlir")


def test_entries_outside_of_a_module_come_before_those_inside() -> None:
    modules = parse_all("cuda_tile.module @m { entry @b() {} }\nentry @a() {}\nmodule { }")
    assert [(m.name, [e.symbol for e in m.entries]) for m in modules] == [
        (None, ["a"]),
        ("m", ["b"]),
    ]


def test_the_same_symbol_may_occur_in_two_modules() -> None:
    text = "cuda_tile.module @a { entry @k() {} }\ncuda_tile.module @b { entry @k() {} }"
    assert len(parse_all(text)) == 2


def test_resources_and_unused_aliases_of_other_dialects_are_passed_over() -> None:
    text = (
        "#map = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 4)>\n"
        "#set = affine_set<(d0) : (d0 - 10 >= 0)>\n"
        '#blocked = #ttg.blocked<{sizePerThread = [1, "x"]}>\n'
        "!t = !llvm.struct<packed (i8, ptr)>\n"
        "module attributes {a = #blocked} {\n"
        "  cuda_tile.module @m { entry @k() {} }\n"
        "}\n"
        '{-# dialect_resources: { builtin: { blob: "0x08000000" } } #-}\n'
    )
    assert [m.name for m in parse_all(text)] == ["m"]


# -- logs -------------------------------------------------------------------------------------------


def test_several_dumps_in_one_log() -> None:
    log = (
        "first\n==== TILEIR ====\nentry @a() {\n}\nnoise {x}\n"
        "==== CuTile IR ====\nnot ( read\n"
        "=== CUTILE DUMP: ir (m::b) ===\ncuda_tile.module @m {\n  entry @b() {\n  }\n}\n"
        "=== END ir ===\nentry @no() { this is not read either\n"
    )
    assert [[e.symbol for e in m.entries] for m in parse_all(log)] == [["a"], ["b"]]


def test_text_before_the_first_entry_is_passed_over_with_a_warning() -> None:
    module = parse("Compiling kernel..\nwarning: { slow\n\nentry @k() {\n  return\n}\n")
    assert [e.symbol for e in module.entries] == ["k"]
    assert [w.message for w in module.warnings] == [
        "the text before the first entry is no Tile IR and was passed over"
    ]


def test_aliases_before_a_dump_in_a_log_belong_to_it() -> None:
    module = parse('note\n#loc1 = loc("a.py":1:2)\nentry @k() {\n  return loc(#loc1)\n}\n')
    assert module.entries[0].body.operations[0].location.file_line == ("a.py", 1)


# -- names ------------------------------------------------------------------------------------------


def test_symbols(text_module: Callable[[str], Module]) -> None:
    module = text_module("symbols")
    assert module.name == "my module"
    assert [e.symbol for e in module.entries] == [
        "a.b$c-d",
        'with space "and quotes"',
        "_",
        "0digit",
    ]
    assert [g.symbol for g in module.globals] == ["table$1.x", "two_spaces", "quoted name"]
    quoted = module.globals[2]
    assert quoted.keyword("symbol_visibility") == "private"
    assert quoted.has("constant")
    assert [op.attributes["name"] for op in module.find("get_global")] == [
        SymbolRefAttr("table$1.x"),
        SymbolRefAttr("quoted name"),
    ]


def test_symbols_of_500_characters() -> None:
    name = "kernel_Kt1_" + "A2f16_1v16l0_2t1_3i16_p16_" * 19
    assert parse(f"entry @{name}() {{}}").entries[0].symbol == name


def test_values_are_named_as_the_text_names_them() -> None:
    module = parse("entry @k(%x: tile<i32>) {%a:2, %b = foo : (i1, i2, i3) -> (i1, i2, i3)}")
    op = module.entries[0].body.operations[0]
    assert [v.name for v in op.results] == ["%a#0", "%a#1", "%b"]
    assert module.entries[0].arguments[0].name == "%x"


def test_aliases_of_types_and_attributes(text_module: Callable[[str], Module]) -> None:
    module = text_module("type_and_attribute_aliases")
    (entry,) = module.entries
    assert [str(v.type) for v in entry.arguments] == [
        "tile<8xf32>",
        "tensor_view<8xf32, strides=[1]>",
    ]
    assert str(next(module.find("assume")).attribute("predicate")) == "div_by<16>"
    assert entry.hints is not None


def test_an_alias_means_something_else_in_another_text() -> None:
    for size in (8, 16):
        alias = f"!t = !cuda_tile.tile<{size}xf32>\n#p = #cuda_tile.div_by<{size}>\n"
        body = "%0 = assume #p, %a : !t %1 = constant <f32: 1.0> : !t"
        module = parse(f"{alias}entry @k(%a: !t) {{ {body} }}")
        assert [str(op.result.type) for op in module.find("assume", "constant")] == [
            f"tile<{size}xf32>"
        ] * 2
        assert str(next(module.find("assume")).attribute("predicate")) == f"div_by<{size}>"
    with pytest.raises(Exception, match="expected a type, or an alias that the text defines"):
        parse("entry @k(%a: !t) {}")


def test_locations(text_module: Callable[[str], Module]) -> None:
    module = text_module("locations_of_every_kind")
    (entry,) = module.entries
    assert repr(entry.location) == "FileLineColLoc('entry.py', 5, 6, None)"
    assert [repr(op.location) for op in entry.body.operations] == [
        "UnknownLoc()",
        "FileLineColLoc('file with \"quotes\".py', 10, 20, None)",
        "FileLineColLoc('f.py', 1, 2, (3, 4))",
        "FileLineColLoc('f.py', 1, 2, (1, 9))",
        "NameLoc('name', UnknownLoc())",
        "NameLoc('name', FileLineColLoc('f.py', 1, 2, None))",
        "CallSiteLoc(NameLoc('callee', FileLineColLoc('f.py', 1, 2, None)), "
        "FileLineColLoc('g.py', 3, 4, None))",
        "FusedLoc((FileLineColLoc('f.py', 1, 2, None), FileLineColLoc('g.py', 3, 4, None)), None)",
        "FusedLoc((FileLineColLoc('f.py', 1, 2, None), CallSiteLoc(FileLineColLoc('a.py', 1, 2, "
        "None), FileLineColLoc('a.py', 1, 2, None))), '\"pass\"')",
        "FileLineColLoc('a.py', 1, 2, None)",
        "CallSiteLoc(FileLineColLoc('a.py', 1, 2, None), FileLineColLoc('late.py', 8, 9, None))",
        "FileLineColLoc('if.py', 7, 7, None)",
        "OpaqueLoc('#foreign.location<\"x\", [1]>')",
    ]
    assert entry.body.operations[5].location.file_line == ("f.py", 1)
    assert isinstance(entry.body.operations[4].location, NameLoc)


def test_debug_info(text_module: Callable[[str], Module]) -> None:
    (entry,) = text_module("debug_info").entries
    assert isinstance(entry.location, DILoc)
    scope = entry.location.scope
    assert repr(scope) == (
        "DISubprogram(DIFile('kernel.py', '/src'), 3, 'f', 'f_Kt1', "
        "DICompileUnit(DIFile('kernel.py', '/src')), 4)"
    )
    inner = entry.body.operations[0].location
    assert isinstance(inner, DILoc)
    assert repr(inner.scope) == f"DILexicalBlock({scope!r}, DIFile('kernel.py', '/src'), 5, 6)"
    assert inner.file_line == ("kernel.py", 7)


def test_brackets_may_stand_apart_from_a_type_or_attribute() -> None:
    together = "{a = partition_view<tile=(4), tensor_view<i1>>, b = div_by<8>, c = array<i32: 1>}"
    apart = "{a = partition_view <tile=(4),tensor_view<i1>>, b = div_by <8>, c = array <i32: 1>}"
    one, other = (parse(f"entry @k() {{ return {text} }}") for text in (together, apart))
    assert one.to_text() == other.to_text()


# -- the whole corpus -------------------------------------------------------------------------------


def test_the_corpus_reads_without_a_warning(shared: Path) -> None:
    files = sorted((shared / "corpus").rglob("*.mlir"))
    assert len(files) >= 645
    warned = [p.name for p in files for m in load_all(p) if m.warnings]
    assert warned == []


def test_small_files_of_other_printers_read(shared: Path) -> None:
    for path in sorted((shared / "spellings").glob("*.*")):
        if path.suffix != ".md":
            assert load_all(path), path.name


def test_no_tile_ir_in_a_frame() -> None:
    with pytest.raises(ForeignFormatError, match="no Tile IR"):
        parse("==== TILEIR ====\n\n==== end ====\n")
