"""Bridges out of a module: graph, drawings, lexer, Jupyter."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import networkx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
    _TokenType,
)
from samples import CORPUS, ROOT, corpus_kernels, fixture_kernels
from tileir_tools.cli.tileir import command

import tileir_tools as tt
from tileir_tools.bridges import dot_text, operation_graph, svg_text
from tileir_tools.bridges.documents import graph_json, graphml_text
from tileir_tools.bridges.drawing import FILLS, GREY, TEXT
from tileir_tools.bridges.lexer import CudaTileLexer

TEXTS = sorted((ROOT / "tests" / "fixtures" / "text").rglob("*.mlir"))
MATMUL = ROOT / "examples" / "ir" / "matmul_reference.mlir"
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "tileir-graph-1.json").read_text())

# A loop that carries a sum and a token, a branch, a reduction, a global.
KERNEL = """\
cuda_tile.module @m {
  global @table <i32: [1, 2]> : tile<2xi32>
  entry @k(%p: tile<ptr<f32>>, %c: tile<i1>, %n: tile<i32>) optimization_hints=<sm_100 = {occupancy = 2}> {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = constant <f32: 0.0> : tile<f32>
    %t0 = make_token : token
    %g = get_global @table : tile<ptr<i32>>
    %sum, %t = for %i in (%zero to %n, step %one) : tile<i32>
        iter_values(%acc = %start, %tok = %t0) -> (tile<f32>, token) {
      %v, %t1 = load_ptr_tko weak %p token=%tok optimization_hints = <sm_100 = {latency = 4}>
        : tile<ptr<f32>> -> tile<f32>, token
      %s = addf %acc, %v : tile<f32>
      continue %s, %t1 : tile<f32>, token
    }
    %r = if %c -> (tile<f32>) {
      yield %sum : tile<f32>
    } else {
      yield %start : tile<f32>
    }
    %t2 = store_ptr_tko weak %p, %r token=%t : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


def by_name(graph: networkx.MultiDiGraph[str]) -> dict[str, str]:
    """Mnemonic -> id, the last one where there are several."""
    return {data["name"]: node for node, data in graph.nodes(data=True)}


def between(graph: networkx.MultiDiGraph[str], source: str, target: str) -> list[tuple[str, ...]]:
    """Kind, value, operand and type of the edges between two mnemonics."""
    ids = by_name(graph)
    return [
        tuple(data[key] for key in ("kind", "value", "operand", "type"))
        for data in (graph.get_edge_data(ids[source], ids[target]) or {}).values()
    ]


# -- networkx ---------------------------------------------------------------------------------------


def test_nodes_are_the_operations_in_text_order() -> None:
    module = tt.parse(KERNEL)
    graph = module.to_networkx()
    assert list(graph)[:4] == ["table/0", "k/0", "k/1", "k/2"]
    assert [graph.nodes[node]["name"] for node in graph] == [op.name for op in module.walk()]
    assert graph.graph == {"name": "m"}


def test_a_node_says_what_the_operation_is() -> None:
    graph = tt.parse(KERNEL).to_networkx()
    load = graph.nodes[by_name(graph)["load_ptr_tko"]]
    assert load == {
        "name": "load_ptr_tko",
        "text": "%result, %result_token = load_ptr_tko weak %arg0 token=%iterArg1 "
        "optimization_hints = <sm_100 = {latency = 4}> : tile<ptr<f32>> -> tile<f32>, token",
        "line": 11,
        "entry": "k",
        "loop_depth": 1,
        "results": "%result; %result_token",
        "tiles": "tile<f32>",
        "attr.memory_ordering_semantics": "weak",
        "attr.optimization_hints": "<sm_100 = {latency = 4}>",
    }
    # Defaults are there too, what is inside is not part of the text, a global is in no entry.
    assert graph.nodes[by_name(graph)["addf"]]["attr.rounding_mode"] == "rounding<nearest_even>"
    assert graph.nodes["k/0"]["text"].endswith("optimization_hints=<sm_100 = {occupancy = 2}>")
    assert graph.nodes["k/0"]["results"] == "%arg0; %arg1; %arg2"
    assert graph.nodes["table/0"]["entry"] == ""


def test_edges_say_what_runs_where() -> None:
    graph = tt.parse(KERNEL).to_networkx()
    assert between(graph, "entry", "load_ptr_tko") == [
        ("data", "%arg0", "source", "tile<ptr<f32>>")
    ]
    assert between(graph, "for", "load_ptr_tko") == [
        ("region", "", "region", ""),
        ("token", "%iterArg1", "token", "token"),
    ]
    assert between(graph, "load_ptr_tko", "addf") == [("data", "%result", "rhs", "tile<f32>")]
    assert between(graph, "continue", "for") == [
        ("carried", "%4", "%iterArg0", "tile<f32>"),
        ("carried", "%result_token", "%iterArg1", "token"),
    ]
    assert between(graph, "make_token", "for") == [("token", "%0", "initValues[1]", "token")]
    assert between(graph, "if", "yield") == [("region", "", "elseRegion", "")]
    assert between(graph, "yield", "if") == [("result", "%cst_0_f32", "%2", "tile<f32>")]
    assert between(graph, "for", "store_ptr_tko") == [("token", "%for#1", "token", "token")]
    assert between(graph, "global", "get_global") == [("data", "@table", "name", "tile<ptr<i32>>")]


def test_break_gives_the_results_of_its_loop() -> None:
    graph = tt.parse(
        "entry @k(%a: tile<i32>, %c: tile<i1>) {\n  %r = loop iter_values(%x = %a) : tile<i32> -> tile<i32> {\n"
        "    if %c {\n      break %x : tile<i32>\n    }\n    continue %x : tile<i32>\n  }\n  return\n}\n"
    ).to_networkx()
    assert between(graph, "break", "loop") == [("result", "%arg2", "%0", "tile<i32>")]
    assert between(graph, "continue", "loop") == [("carried", "%arg2", "%arg2", "tile<i32>")]


def test_without_tokens() -> None:
    graph = tt.parse(KERNEL).to_networkx(tokens=False)
    assert "token" not in {data["type"] for *_, data in graph.edges(data=True)}
    assert between(graph, "continue", "for") == [("carried", "%4", "%iterArg0", "tile<f32>")]
    assert len(graph) == len(tt.parse(KERNEL).to_networkx())


def test_entries_by_a_part_of_their_symbol() -> None:
    module = tt.parse(
        "global @g <i32: 1> : tile<1xi32>\nentry @matmul() {return}\nentry @softmax() {return}"
    )
    assert list(module.to_networkx(entry="soft")) == ["g/0", "softmax/0", "softmax/1"]
    with pytest.raises(tt.UsageError, match="'relu'; there are: matmul, softmax"):
        module.to_networkx(entry="relu")


@pytest.mark.parametrize("path", [*fixture_kernels(), *TEXTS], ids=lambda p: p.name)
def test_every_kernel_has_a_graph(path: Path) -> None:
    try:
        modules = tt.load_all(path)
    except tt.TileIRError:
        pytest.skip("not meant to be read")
    for module in modules:
        graph = module.to_networkx()
        assert len(graph) == len(list(module.walk()))
        kinds = {
            kind: [(a, b) for a, b, k in graph.edges(data="kind") if k == kind]
            for kind in ("data", "token", "region")
        }
        # Values flow forwards, but for what loops carry; what is inside what is a forest.
        flow = networkx.MultiDiGraph([*kinds["data"], *kinds["token"]])
        assert networkx.is_directed_acyclic_graph(flow)
        inside = networkx.DiGraph(kinds["region"])
        assert not inside or networkx.is_forest(inside)
        assert len(inside) == 0 or max(degree for _, degree in inside.in_degree()) == 1


def test_unknown_operations_beside_entries_are_nodes() -> None:
    inner = (
        '"cuda_tile.frobnicate"() ({ "cuda_tile.yield"() : () -> () }) : () -> !cuda_tile.tile<i32>'
    )
    graph = tt.parse(
        f"cuda_tile.module @m {{ {inner}\n {inner} entry @k() {{return}} }}"
    ).to_networkx()
    ids = ["frobnicate/0", "frobnicate/1", "frobnicate_/0", "frobnicate_/1", "k/0", "k/1"]
    assert list(graph) == ids
    assert graph.nodes["frobnicate/0"]["results"] == ""


def test_texts_are_as_printed_on_one_line() -> None:
    module = tt.parse(
        'entry @k(%a: tile<i32>) {\n  %0 = print_tko "a  b" -> token\n'
        "  %1 = frobnicate %a,\n      %a : tile<i32>\n  return\n}"
    )
    texts = [text for _, text in module.to_networkx().nodes(data="text")]
    assert texts[1] == '%0 = print_tko "a  b" -> token'
    assert texts[2] == "%1 = frobnicate %arg0, %arg0 : tile<i32>"


def test_bytecode_gives_the_same_graph_without_lines(tmp_path: Path) -> None:
    module = tt.load(MATMUL)
    path = tmp_path / "matmul.tileirbc"
    path.write_bytes(module.to_bytecode())
    text, bytecode = module.to_networkx(), tt.load(path).to_networkx()
    assert set(networkx.get_node_attributes(bytecode, "line").values()) == {0}
    networkx.set_node_attributes(text, 0, "line")
    assert networkx.utils.graphs_equal(text, bytecode)


def test_without_networkx_the_command_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(tt.UsageError, match=re.escape("pip install 'tileir-tools[graph]'")):
        tt.parse(KERNEL).to_networkx()


def test_example_of_the_page_prints_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert example is not None
    exec(example[1], {})
    assert capsys.readouterr().out == example[2]


# -- documents --------------------------------------------------------------------------------------


def test_json_keeps_its_schema_and_reads_back() -> None:
    for path in (MATMUL, *TEXTS[:8]):
        for module in tt.load_all(path):
            found = json.loads(graph_json(module, path.name))
            jsonschema.Draft202012Validator(SCHEMA).validate(found)
            read = networkx.node_link_graph(found, edges="edges")
            assert networkx.utils.graphs_equal(read, module.to_networkx())


def test_graphml_reads_back() -> None:
    module = tt.parse(KERNEL)
    read = networkx.parse_graphml(graphml_text(module), force_multigraph=True)
    graph = module.to_networkx()
    assert list(read) == list(graph)
    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    assert [(a, b, d["value"]) for a, b, d in read.edges(data=True)] == [
        (a, b, d["value"]) for a, b, d in graph.edges(data=True)
    ]


HOSTILE = (
    'entry @"</node><x a=\\22&\\0A\\\\"(%a: tile<i32>) {\n'
    '  %0 = frobnicate %a {t = "\x01 </data> & \\" \\N {x}"} : tile<i32>\n'
    '  %1 = "cuda_tile.<b>\\22"(%a) : (tile<i32>) -> tile<i32>\n  return\n}\n'
)


def test_hostile_names_do_no_harm() -> None:
    module = tt.parse(HOSTILE)
    (symbol,) = {node.entry for node in operation_graph(module).nodes}
    assert symbol == '"</node><x a=\\22&\\0A\\\\"'
    ElementTree.fromstring(graphml_text(module))
    assert networkx.parse_graphml(graphml_text(module)).nodes[f"{symbol}/1"]["text"] == (
        '%0 = frobnicate %arg0 {t = "\ufffd </data> & \\" \\N {x}"} : tile<i32>'
    )
    assert "<x" not in module._repr_html_()
    assert_balanced(dot_text(operation_graph(module)))


# -- drawings ---------------------------------------------------------------------------------------


def assert_balanced(dot: str) -> None:
    """Quotes and braces of a DOT text, read as its grammar reads them, come in pairs."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    assert '"' not in bare
    assert re.fullmatch(r"[\w\s{}\[\];=,>-]*", bare)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0


def test_dot_has_clusters_labels_and_hints() -> None:
    dot = dot_text(operation_graph(tt.parse(KERNEL)))
    assert_balanced(dot)
    # The load is in the cluster of the loop, which is in that of the entry.
    assert re.search(
        r'cluster_1 \{\n +label="@k";.*cluster_\d+ \{\n +label="for at line 9";.*load_ptr_tko',
        dot,
        re.S,
    )
    assert 'label="load_ptr_tko\\nf32\\nlatency 4 (sm_100)"' in dot
    assert 'label="entry\\noccupancy 2 (sm_100)"' in dot
    assert 'label="store_ptr_tko\\nf32"' in dot
    assert re.search(r'n\d+ -> n\d+ \[label="%4", .*style=bold, constraint=false\];', dot)
    assert "newrank=true" in dot
    plain = dot_text(operation_graph(tt.load(MATMUL)))
    assert 'label="mmaf\\n128x128 f32"' in plain
    assert 'label="make_partition_view\\ntiles of 64x128 f16"' in plain


@pytest.mark.parametrize("path", [*fixture_kernels(), *TEXTS], ids=lambda p: p.name)
def test_every_kernel_is_drawn(path: Path) -> None:
    try:
        modules = tt.load_all(path)
    except tt.TileIRError:
        pytest.skip("not meant to be read")
    for module in modules:
        graph = operation_graph(module)
        dot = dot_text(graph)
        assert_balanced(dot)
        assert len(re.findall(r"^ *n\d+ \[label", dot, re.M)) == len(graph.nodes)
        drawn = sum(edge.kind != "region" for edge in graph.edges)
        assert len(re.findall(r"^ *n\d+ -> n\d+ \[", dot, re.M)) == drawn


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_in_both_themes() -> None:
    assert min(contrast(GREY, "#ffffff"), contrast(GREY, "#000000")) >= 4.5
    assert min(contrast(TEXT, fill) for fill in FILLS.values()) >= 7


def fake_dot(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_svg_is_what_graphviz_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, '[ "$1" = -Tsvg ] && echo "<svg>$(grep -c digraph "$2")</svg>"', monkeypatch)
    assert svg_text(operation_graph(tt.parse(KERNEL))) == "<svg>1</svg>\n"


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("echo 'Error: no memory' >&2; exit 1", "failed", "dot: failed: Error: no memory"),
        ("exit 3", "failed", "dot: failed: exit 3"),
        ("echo nothing", "garbage", "dot: wrote no SVG"),
        ("kill -SEGV $$", "crashed", "dot: crashed: SIGSEGV"),
    ],
)
def test_graphviz_that_does_not_do_its_work(
    script: str, kind: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dot(tmp_path, script, monkeypatch)
    with pytest.raises(tt.ToolError) as error:
        svg_text(operation_graph(tt.parse(KERNEL)))
    assert (error.value.kind, str(error.value)) == (kind, message)


def test_without_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tt.ToolError, match=r"dot: not installed.*--format dot") as error:
        svg_text(operation_graph(tt.parse(KERNEL)))
    assert error.value.kind == "missing"


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
@pytest.mark.parametrize("text", [KERNEL, HOSTILE], ids=["kernel", "hostile"])
def test_graphviz_draws_it(text: str) -> None:
    svg = ElementTree.fromstring(svg_text(operation_graph(tt.parse(text))))
    words = [
        "".join(element.itertext()) for element in svg.iter("{http://www.w3.org/2000/svg}text")
    ]
    if text == KERNEL:
        assert {"load_ptr_tko", "latency 4 (sm_100)", "@k", "for at line 9"} <= set(words)
    else:
        # Neither entities nor escapes of Graphviz change what a name says.
        assert '@"</node><x a=\\22&\\0A\\\\"' in words


# -- the command ------------------------------------------------------------------------------------


def run(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(command, ["graph", *arguments], input=stdin, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_command_writes_every_format(tmp_path: Path) -> None:
    module = tt.load(MATMUL)
    assert run(str(MATMUL)) == dot_text(operation_graph(module))
    assert run(str(MATMUL), "--format", "graphml", "--no-tokens") == graphml_text(
        module, tokens=False
    )
    found = json.loads(run("-", "--format", "json", stdin=KERNEL))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found["file"] == "-"
    out = tmp_path / "out.dot"
    assert run(str(MATMUL), "--entry", "matmul", "-o", str(out)) == ""
    assert out.read_text() == dot_text(operation_graph(module))


def test_command_takes_one_module(tmp_path: Path) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(
        "cuda_tile.module @a {entry @x() {return}}\n// -----\ncuda_tile.module @b {entry @y() {return}}"
    )
    with pytest.raises(tt.UsageError, match="holds 2 modules; --entry NAME picks one"):
        run(str(path))
    assert '"b"' in run(str(path), "--entry", "y")
    with pytest.raises(tt.UsageError, match="holds 2 modules"):
        run(str(path), "--entry", "z")


def test_output_does_not_depend_on_the_process() -> None:
    code = (
        "import sys, tileir_tools as tt\nfrom tileir_tools.bridges.documents import *\n"
        "m = tt.load(sys.argv[1])\nprint(graphml_text(m), graph_json(m, 'f'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(MATMUL)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


# -- lexer ------------------------------------------------------------------------------------------


def lexed(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, word) for _, kind, word in CudaTileLexer().get_tokens_unprocessed(text)]


def kinds(text: str) -> dict[str, _TokenType]:
    return {word: kind for kind, word in lexed(text) if kind is not Whitespace}


def test_pygments_finds_the_lexer() -> None:
    for alias in ("tileir", "cuda_tile"):
        assert isinstance(get_lexer_by_name(alias), CudaTileLexer)
    assert find_lexer_class_for_filename("matmul.cuda_tile.mlir") is CudaTileLexer
    assert CudaTileLexer.name == "CUDA Tile IR"


def test_words_have_their_colours() -> None:
    found = kinds(
        "%1:2 = load_view_tko weak %pview[%x] token = %0 : "
        "partition_view<tile=(128x64), padding_value = zero, tensor_view<?x8xf16, strides=[?,1]>> "
        "-> tile<128x64xf8E4M3FN>, token loc(#loc1)  // why"
    )
    expected = {
        "%1": Name.Variable,
        "load_view_tko": Name.Builtin,
        "weak": Keyword.Constant,
        "%pview": Name.Variable,
        "partition_view": Keyword.Type,
        "padding_value": Name.Attribute,
        "zero": Keyword.Constant,
        "strides": Name.Attribute,
        "f16": Keyword.Type,
        "f8E4M3FN": Keyword.Type,
        "128": Number.Integer,
        "x": Operator,
        "token": Keyword.Type,
        "loc": Keyword.Pseudo,
        "#loc1": Name.Label,
        "// why": Comment.Single,
        "]": Punctuation,
    }
    assert {word: found[word] for word in expected} == expected


@pytest.mark.parametrize(
    ("text", "word", "kind"),
    [
        ("entry @k() {", "entry", Keyword),
        ("entry @k() {", "@k", Name.Function),
        ('entry @"a \\22b"() {', '@"a \\22b"', Name.Function),
        ("cuda_tile.for %i in (%a to %b, step %c)", "cuda_tile.for", Keyword),
        ("%r = if %c -> (tile<f32>) {", "if", Keyword),
        ("cuda_tile.addf %a, %b", "cuda_tile.addf", Name.Builtin),
        ("%0 = frobnicate %a", "frobnicate", Name.Builtin),
        ('"cuda_tile.addf"(%a)', '"cuda_tile.addf"', Name.Builtin),
        ("#hints = #cuda_tile.optimization_hints<>", "#hints", Name.Decorator),
        ("!vec = !cuda_tile.tile<8xf32>", "!cuda_tile.tile", Keyword.Type),
        ("optimization_hints=<sm_100 = {latency = 4}>", "sm_100", Name.Attribute),
        ("rounding<approx>", "rounding", Name.Attribute),
        ("token=%t", "token", Name.Attribute),
        ("^bb0(%a: tile<i32>):", "^bb0", Name.Label),
        ("<f32: 0xFF800000>", "0xFF800000", Number.Hex),
        ("<f32: -1.5e+00>", "-1.5e+00", Number.Float),
        ("%1#1", "%1#1", Name.Variable),
        ('print_tko "a\\0Ab"', "\\0A", String.Escape),
        ("==== TILEIR MLIR module ====", "==== TILEIR MLIR module ====", Comment.Special),
    ],
)
def test_a_word_has_its_colour(text: str, word: str, kind: _TokenType) -> None:
    assert kinds(text)[word] is kind


TEXT_FILES = sorted(
    path
    for path in (ROOT / "tests" / "fixtures" / "text").rglob("*")
    if path.suffix in (".mlir", ".txt")
)


@pytest.mark.parametrize("path", [*TEXT_FILES, *corpus_kernels()], ids=lambda p: p.name)
def test_real_texts_have_no_errors(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = lexed(text)
    assert "".join(word for _, word in tokens) == text
    assert [word for kind, word in tokens if kind is Error] == []


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus beside the repository")
def test_the_whole_corpus_has_no_errors() -> None:
    for path in sorted(CORPUS.rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        tokens = lexed(text)
        assert "".join(word for _, word in tokens) == text
        assert [word for kind, word in tokens if kind is Error] == [], path


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet='%@#!^"\\<>(){}=:x12?. \ntileconstafor'))
def test_tokens_give_back_the_text(text: str) -> None:
    assert "".join(word for _, word in lexed(text)) == text


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from(['"', "\\", "<", "%", "é", "\0"]))
def test_damaged_lines_give_back_their_text(at: int, length: int, inserted: str) -> None:
    text = KERNEL[: 200 + at] + inserted + KERNEL[200 + at + length :]
    assert "".join(word for _, word in lexed(text)) == text


# -- Jupyter ----------------------------------------------------------------------------------------


class _Words(HTMLParser):
    """The tags and words of an HTML text."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_module_in_jupyter() -> None:
    shown = _Words(tt.parse(KERNEL)._repr_html_())
    assert shown.open == []
    assert not {"script", "link", "img", "style"} & set(shown.tags)
    assert "Module @m" in shown.words
    row = shown.words.index("@k")
    assert shown.words[row + 1 : row + 4] == [
        "tile<ptr<f32>> ×1, tile<i1> ×1, tile<i32> ×1",
        "for ×1, if ×1, load_ptr_tko ×1, store_ptr_tko ×1",
        "14",
    ]
    assert tt.parse(KERNEL).to_text().rstrip("\n") in shown.words


def test_large_modules_are_cut_with_a_note() -> None:
    lines = "\n".join(f"  %{k} = constant <i32: {k}> : tile<i32>" for k in range(1000))
    entries = "\n".join(f"entry @k{k}() {{return}}" for k in range(60))
    shown = _Words(tt.parse(f"entry @k() {{\n{lines}\n  return\n}}\n{entries}")._repr_html_())
    assert "and 11 more entries: module.entries" in shown.words
    total = next(word for word in shown.words if word.startswith("text, "))
    count = int(re.sub(r"\D", "", total))
    assert f"and {count - 300} more lines: print(module.to_text())" in shown.words
    numbers = ", ".join(map(str, range(99)))
    wide = tt.parse(f"entry @k() {{\n%0 = constant <i32: [{numbers}]> : tile<99xi32>\nreturn\n}}")
    line = wide.to_text().splitlines()[1]
    assert f"{line[:299]}\u2026" in _Words(wide._repr_html_()).words[-1].splitlines()


def test_a_comparison_in_jupyter() -> None:
    generated = MATMUL.with_name("matmul_generated.mlir")
    answer = tt.diff(tt.load(MATMUL), tt.load(generated), arch="sm_100")
    shown = _Words(answer._repr_html_())
    assert shown.open == []
    assert "FAIL_FIXABLE" in shown.words
    assert " 1 entry compared; hints for sm_100" in shown.words
    for finding in answer.findings:
        row = shown.words.index(finding.code)
        assert shown.words[row - 1 : row + 3] == [
            finding.severity,
            finding.code,
            finding.status,
            finding.message,
        ]
        assert finding.generated is not None
        assert f"{generated}:{finding.generated.line}" in shown.words
    same = tt.diff(tt.load(MATMUL), tt.load(MATMUL))
    assert "No findings." in _Words(same._repr_html_()).words
    many = answer._replace(entries=answer.entries * 20)
    left_out = len(many.findings) - 50
    assert f"and {left_out} more findings: diff.findings" in _Words(many._repr_html_()).words


def test_nothing_of_it_is_imported_at_the_start(tmp_path: Path) -> None:
    code = (
        "import sys, tileir_tools, tileir_tools.cli.tileir\n"
        "print([m for m in sys.modules if 'bridges' in m or m in ('networkx', 'pygments')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
