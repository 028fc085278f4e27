"""Sources of operations and tests: our own project, what is undecided, hostile input, TileGym."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tileir_tools.cli.tileir import command as tileir_command

from tileir_tools.errors import InputError, ParseError, TileIRError, UsageError
from tileir_tools.sources import (
    BACKWARD,
    Conditional,
    Either,
    ReadSource,
    Undecided,
    as_json,
    find_project,
    parse_python,
    read_operation,
    read_source,
    read_tests,
)
from tileir_tools.sources.bodies import module_scope
from tileir_tools.sources.literals import evaluate

ROOT = Path(__file__).resolve().parents[1]
PROJECT = Path(__file__).parent / "fixtures" / "project"
B200 = (10, 0)


def ours(name: str, **known: Any) -> ReadSource:
    return read_source(find_project(PROJECT), name, **known)


def value_of(text: str, before: str = "", capability: tuple[int, int] | None = None) -> object:
    """What `text` is after the statements `before`."""
    head = "import torch, pytest, math, itertools\nfrom types import SimpleNamespace\n"
    scope = module_scope(ast.parse(head + before), capability)
    return evaluate(ast.parse(text, mode="eval").body, scope)


# -- our own project: the operation -----------------------------------------------------------------


def test_registration_and_kernel() -> None:
    operation = ours("row_scale").operation
    (registration,) = operation.registrations
    assert registration == (
        "row_scale",
        "cutile",
        "row_scale",
        "row_scale(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor",
        19,
    )
    (kernel,) = operation.kernels
    assert kernel.name == "_row_scale_kernel"
    assert kernel.options == {"occupancy": "4"}
    assert kernel.parameters == ("x", "scale", "y", "TILE")
    assert kernel.constants == {"TILE": "int"}
    assert kernel.ops == ("bid", "load", "num_tiles", "astype", "reshape", "store")
    assert operation.path == "src/demo/ops/cutile/row_scale.py"


def test_direct_launch() -> None:
    operation = ours("row_scale").operation
    (launch,) = operation.launches
    assert launch.kernels == ("_row_scale_kernel",)
    assert launch.grid == ("(m, 1, 1)",)
    assert [a.text for a in launch.arguments] == ["x", "scale", "y", "TILE"]
    assert [a.parameter for a in launch.arguments if a.constant] == ["TILE"]
    assert launch.sizes["TILE"] == ("256 if n >= 256 else 64",)
    assert launch.sizes["m"] == ("x.shape[0]",)
    assert launch.chains == ((("row_scale",), ()),)
    assert not launch.autotuned
    assert [r.text for r in operation.layouts] == ["x.contiguous()"]


def test_dispatch_by_shape() -> None:
    operation = ours("gemm").operation
    short, deep = operation.launches
    condition = "not transpose_b and k <= SHORT"
    assert short.kernels == ("_gemm_short_kernel",)
    assert short.chains[0].functions == ("gemm", "_launch_short")
    assert [c[:2] for c in short.chains[0].conditions] == [(condition, True)]
    assert short.conditions == ()
    assert deep.kernels == ("_gemm_kernel",)
    # What returned before it is the condition that does not hold.
    assert [c[:2] for c in deep.conditions] == [(condition, False)]
    assert deep.sizes["TM"] == ("64",)
    assert deep.sizes["TK"] == ("32",)


def test_branches_on_constants() -> None:
    kernel = next(k for k in ours("gemm").operation.kernels if k.name == "_gemm_kernel")
    assert kernel.options == {"occupancy": "ct.ByTarget(sm_80=1, default=2)"}
    format_branch, layout_branch = kernel.branches
    assert format_branch.parameters == ("a.dtype",)
    assert not format_branch.differs
    assert layout_branch.condition == "TRANSPOSE_B"
    assert layout_branch.then_ops == ("load", "transpose")
    assert layout_branch.else_ops == ("load",)
    assert layout_branch.differs


def test_ways_to_a_launch(tmp_path: Path) -> None:
    (tmp_path / "any.py").write_text(
        "import cuda.tile as ct\n"
        "@ct.kernel\ndef _k(x): pass\n"
        "def _launch(x, kernel):\n"
        "    if x.a:\n        return 1\n"
        "    elif x.b:\n        return 2\n"
        "    ct.launch(0, (1,), kernel, (x,))\n"
        "one = two\ntwo = one\nalias = _launch\n"
        "@register_impl('any', backend='cutile')\n"
        "def any_op(x):\n"
        "    if x.c:\n        one(x)\n"
        "    else:\n        alias(x, _k) if x.d else _launch(x, _k)\n"
    )
    (launch,) = read_operation("any.py", str(tmp_path)).launches
    assert launch.kernels == ("_k",)
    left = [("x.a", False), ("x.b", False)]
    assert [c[:2] for c in launch.conditions] == left
    assert [[c[:2] for c in chain.conditions] for chain in launch.chains] == [
        [("x.c", False), ("x.d", True), *left],
        [("x.c", False), ("x.d", False), *left],
    ]


def test_format_gates() -> None:
    gates = ours("gemm").operation.dtype_gates
    assert [(g.text, g.function) for g in gates] == [
        ("a.dtype == ct.float32", "_gemm_short_kernel"),
        ("a.dtype == ct.float32", "_gemm_kernel"),
        ("a.dtype not in (torch.float16, torch.float32)", "gemm"),
    ]


def test_search() -> None:
    operation = ours("reduce_rows").operation
    (search,) = operation.autotunes
    assert search.function == "_tuned_fold"
    assert search.kernels == ("_fold_kernel",)
    assert search.cache == "_tune_cache"
    assert search.key == ("m", "n", "x.dtype", "str(x.device)")
    assert search.grid == ("(ct.cdiv(m, cfg.TILE_M), 1, 1)",)
    assert search.hints == ("{'occupancy': cfg.occupancy}",)
    assert not isinstance(search.configs, Undecided)
    older = ("torch.cuda.get_device_capability()[0] < 9",)
    assert search.configs[0] == ({"TILE_M": 1, "TILE_N": 256, "occupancy": 2}, older)
    assert [c.value["TILE_N"] for c in search.configs] == [256, 256, 256, 256, 512, 256, 512]  # type: ignore[index]
    (launch,) = operation.launches
    assert launch.kernels == ("_fold_kernel",)
    assert launch.autotuned
    assert launch.chains[0].functions == ("reduce_rows", "_ReduceRows.forward", "_tuned_fold")


def test_search_for_a_device() -> None:
    configs = ours("reduce_rows", capability=(12, 0)).operation.autotunes[0].configs
    assert configs == (
        ({"TILE_M": 2, "TILE_N": 256, "occupancy": 2}, ()),
        ({"TILE_M": 2, "TILE_N": 256, "occupancy": 4}, ()),
    )


# -- our own project: the tests ---------------------------------------------------------------------


def test_configurations_in_the_order_of_pytest() -> None:
    tests = ours("gemm").tests
    assert tests is not None
    assert tests.op is not None
    # The nearest decorator varies slowest.
    assert tests.op.parameters == ("backend", "shape", "dtype", "layout")
    assert [tuple(c.values.values()) for c in tests.op.configs[:3]] == [
        ("cutile", (128, 128, 32), "float16", "plain"),
        ("cutile", (128, 128, 32), "float16", "transposed"),
        ("cutile", (128, 128, 32), "float32", "plain"),
    ]
    assert len(tests.op.configs) == 12
    assert tests.op.ids == {"layout": "['nn', 'nt']"}


def test_skips() -> None:
    tests = ours("gemm").tests
    assert tests is not None
    assert tests.op is not None
    assert tests.perf is not None
    skipped = [c for c in tests.op.configs if c.skipped is not None]
    assert [(c.values["shape"], c.values["layout"]) for c in skipped] == [
        ((128, 128, 32), "transposed")
    ] * 2
    # `pytest.param(.., marks=pytest.mark.skip(..))`
    skips = [c.skipped for c in tests.perf.configs]
    assert [s.reason if s else None for s in skips] == [None, None, "'too small to time'"] * 2


def test_what_may_be_skipped() -> None:
    tests = ours("row_scale").tests
    assert tests is not None
    assert tests.op is not None
    first = tests.op.configs[0]
    assert first.skipped is None
    (skip,) = first.may_skip
    assert skip.reason == "f'Backend {backend} is not available'"
    assert skip.when == ("not (demo.is_backend_available('cutile'))",)
    known = ours("row_scale", capability=(8, 0), backends={"cutile"}).tests
    assert known is not None
    assert known.op is not None
    assert [c.skipped is not None for c in known.op.configs] == [False, False, True]
    assert [c.may_skip for c in known.op.configs] == [()] * 3


def test_lists_of_backends_keep_their_conditions() -> None:
    tests = ours("row_scale").tests
    assert tests is not None
    condition = ("is_backend_available('tilecpp')",)
    assert tests.choices == (
        ("_backends", (("cutile", ()), ("tilecpp", condition))),
        ("_perf_backends", (("cutile", ()), ("tilecpp", condition), ("pytorch", ()))),
    )
    assert tests.perf is not None
    assert len(tests.perf.configs) == 4 * 2 * 3
    assert [c.when for c in tests.perf.configs[7:9]] == [(), condition]


def test_tolerances() -> None:
    found = {}
    for name in ("row_scale", "gemm", "reduce_rows"):
        tests = ours(name).tests
        assert tests is not None
        found[name] = [(t.test, t.dtype, t.rtol, t.atol, t.source) for t in tests.tolerances]
    assert found["row_scale"] == [
        ("test_op", "float32", 1e-6, 1e-7, "stated"),
        ("test_op", "float16", 1e-2, 1e-3, "stated"),
        ("test_op", "bfloat16", 1e-2, 1e-3, "stated"),
    ]
    table = "tests/common.py:10"
    assert found["gemm"] == [
        ("test_op", "float16", 1e-2, 1e-3, "stated"),
        ("test_op", "float32", 5e-3, 1e-6, table),
        ("test_perf", "float16", 1e-2, 1e-2, "stated"),
        ("test_perf", "float32", 1e-2, 1e-1, "stated"),
    ]
    assert found["reduce_rows"] == [
        ("test_op", "float16", 1e-3, 2e-3, table),
        ("test_op", "float32", 1e-5, 1e-6, table),
    ]


def test_references() -> None:
    tests = ours("gemm").tests
    assert tests is not None
    (reference,) = tests.references
    assert reference.text.splitlines() == [
        "@staticmethod",
        "def reference(a, b, transpose_b=False):",
        "    return _product(a, b.t() if transpose_b else b).to(a.dtype)",
    ]
    assert [h.name for h in reference.helpers] == ["_product"]
    lines = (PROJECT / reference.file).read_text().splitlines()
    assert lines[reference.line - 1].strip() == "@staticmethod"
    rows = ours("reduce_rows").tests
    assert rows is not None
    assert [(r.name, r.text) for r in rows.references] == [
        ("reference", "reference = staticmethod(_reference)")
    ]
    assert rows.references[0].helpers[0].text.startswith("def _reference(x):\n")


def test_json_follows_its_schema() -> None:
    schema = json.loads((ROOT / "docs/schemas/tileir-source-1.json").read_text())
    names = ["gemm", "reduce_rows", "row_scale"]
    arguments = ["source", *names, "--project", str(PROJECT), "--format", "json"]
    result = CliRunner().invoke(tileir_command, arguments, standalone_mode=False)
    document = json.loads(result.output)
    jsonschema.validate(document, schema)
    assert [o["name"] for o in document["operations"]] == names


def test_text_and_table() -> None:
    run = CliRunner().invoke
    arguments = ["source", "gemm", "--project", str(PROJECT), "--arch", "sm_100"]
    text = run(tileir_command, arguments, standalone_mode=False).output
    assert "gemm > _launch_short if not transpose_b and k <= SHORT" in text
    assert "39: if TRANSPOSE_B: the sides differ" in text
    table = run(tileir_command, ["source", "--project", str(PROJECT)], standalone_mode=False).output
    assert table.splitlines()[-1] == (
        "| row_scale | row_scale | 1 | 1 | 6 | 24 | float32 1e-06/1e-07, float16 0.01/0.001, "
        "bfloat16 0.01/0.001 | - | 0 |"
    )


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../gemm", "gemm/..", "", "*", "a b", "/etc/passwd"])
def test_names_are_plain(name: str) -> None:
    project = find_project(PROJECT)
    for look in (project.operation_file, project.triton_file, project.test_file):
        with pytest.raises(UsageError, match="no name of an operation"):
            look(name)


def test_paths_stay_in_the_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is outside of"):
        read_operation("../test_sources.py", str(PROJECT))
    folder = tmp_path / "src/demo/ops/cutile"
    folder.mkdir(parents=True)
    (folder / "gemm.py").symlink_to(PROJECT / "src/demo/ops/cutile/gemm.py")
    assert find_project(tmp_path).operation_file("gemm") is None


def test_what_is_not_there() -> None:
    with pytest.raises(UsageError, match="has no operation conv; it has: gemm, reduce_rows"):
        ours("conv")
    with pytest.raises(InputError, match="expected src/\\*/ops/cutile"):
        find_project(PROJECT / "tests")
    assert find_project(PROJECT).triton_file("gemm") is None


def test_several_files_of_one_name(tmp_path: Path) -> None:
    for folder in ("src/demo/ops/cutile", "src/demo/ops/cutile/more"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "gemm.py").write_text("")
    with pytest.raises(UsageError, match="several files"):
        find_project(tmp_path).operation_file("gemm")


def test_no_python() -> None:
    with pytest.raises(ParseError) as caught:
        parse_python("a = 1\nb = (2,\n", "gemm.py")
    assert str(caught.value).startswith("gemm.py:2:5: error: no Python: ")
    with pytest.raises(TileIRError, match=r"gemm\.py:1.*: error: no Python"):
        parse_python("a\0b", "gemm.py")


@pytest.mark.parametrize(
    "text", ["a = " + "(" * 90 + ")" * 90, "a = " + "-" * 9000 + "1", "a" + ".b" * 9000]
)
def test_deep_files(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "src/demo/ops/cutile"
    folder.mkdir(parents=True)
    (folder / "deep.py").write_text(text)
    try:
        found = read_operation("src/demo/ops/cutile/deep.py", str(tmp_path)).kernels
    except TileIRError:
        # How deep Python itself goes differs by its version.
        found = ()
    assert found == ()


# -- values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024 * 32", 32768),
        ("[2**i for i in range(5, 8)] + [7]", [32, 64, 128, 7]),
        ("list(itertools.product([1, 2], 'ab'))", [(1, "a"), (1, "b"), (2, "a"), (2, "b")]),
        ("(torch.float16, torch.half, torch.int)", ("float16", "float16", "int32")),
        ("torch.float16 == 'float16'", False),
        ("[x for x in [1, 2, 3] if x != 2]", [1, 3]),
        ("{'a': 1}['a']", 1),
        ("(1, *[2, 3])", (1, 2, 3)),
        ("f'{2}x{torch.float16}'", "2xtorch.float16"),
        ("SimpleNamespace(a=1).a", 1),
        ("sorted({3, 1, 2})", [1, 2, 3]),
        ("False and unknown()", False),
        ("unknown() and False", False),
        ("-math.inf", float("-inf")),
    ],
)
def test_decided(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("unknown", "not bound"),
        ("unknown()", "not in this file"),
        ("open('x')", "not in this file"),
        ("[unknown][0]", "not bound"),
        ("unknown or 1", "not bound"),
        ("1 / 0", "ZeroDivisionError"),
        ("10 ** 10 ** 10", "bits"),
        ("1 << 99999", "bits"),
        ("'a' * 10**9", "elements"),
        ("[0] * 10**9", "elements"),
        ("range(10**12)", "elements"),
        ("int('9' * 5000)", "a long number"),
        ("math.prod([2] * 100000)", "no small number"),
        ("list({1, 2})", "no order"),
        ("b'x'", "another kind"),
    ],
)
def test_undecided(text: str, why: str) -> None:
    found = value_of(text)
    assert isinstance(found, Undecided)
    assert why in found.why


def test_undecided_elements_stay_in_their_place() -> None:
    found = value_of("[(1, unknown), (2, 3)]")
    assert isinstance(found, list)
    assert found[1] == (2, 3)
    assert found[0][0] == 1
    assert found[0][1].text == "unknown"


@pytest.mark.parametrize(
    "before",
    [
        "f = lambda f: f(f)\na = f(f)",
        "a = [[0] * 1000]\n" + "a = [a, a]\n" * 60,
        "a = [0]\n" + "a = a + a\n" * 60,
        "def f(n):\n    return f(n + 1)\na = f(0)",
        "a = [x for x in range(200000) for y in range(200000)]",
        "a = 0\nfor i in range(200000):\n    for j in range(200000):\n        a = a + 1",
    ],
)
def test_hostile_values_end(before: str) -> None:
    assert isinstance(value_of("a", before), Undecided)


def test_conditions_are_kept() -> None:
    before = "a = [1]\nif cond():\n    a = a + [2]\nelse:\n    a.append(3)\nb = a + [4]\n"
    assert value_of("b", before) == [
        1,
        Conditional(2, ("cond()",)),
        Conditional(3, ("not (cond())",)),
        4,
    ]
    assert value_of("[x * 2 for x in b]", before) == [
        2,
        Conditional(4, ("cond()",)),
        Conditional(6, ("not (cond())",)),
        8,
    ]
    both = (Conditional(1, ("cond()",)), Conditional(2, ("not (cond())",)))
    assert value_of("1 if cond() else 2") == Either(both)


def test_places_behind_a_condition_are_not_guessed() -> None:
    before = "a = [1] if cond() else []\na = a + [2]\n"
    assert isinstance(value_of("a[0]", before), Undecided)
    assert isinstance(value_of("len(a)", before), Undecided)


def test_names_that_change_are_not_guessed() -> None:
    assert isinstance(value_of("a", "a = 1\ndef f():\n    global a\n    a = 2\n"), Undecided)
    assert isinstance(value_of("a", "a = {}\ndef f():\n    a[1] = 2\n"), Undecided)
    assert isinstance(value_of("b", "a = [1]\nb = a\na.sort()\n"), Undecided)
    assert value_of("b", "a = [1]\nb = a\na.append(2)\n") == [1, 2]
    assert isinstance(value_of("a", "a = 1\nfor i in unknown():\n    a = 2\n"), Undecided)
    assert isinstance(value_of("a", "a = 1\nwhile unknown():\n    a += 1\n"), Undecided)
    assert isinstance(value_of("a", "if unknown():\n    a = 1\n"), Undecided)


def test_methods_do_not_see_the_names_of_their_class(tmp_path: Path) -> None:
    (tmp_path / "test_any.py").write_text(
        "import pytest, torch\nLIMIT = 1\n"
        "class Test_Any:\n    LIMIT = 2\n"
        "    @pytest.mark.parametrize('dtype', [torch.float16])\n"
        "    def test_op(self, dtype):\n"
        "        self.assertCorrectness(f, g, {}, rtol=LIMIT, atol=self.LIMIT)\n"
    )
    (tolerance,) = read_tests("test_any.py", "any", str(tmp_path)).tolerances
    assert (tolerance.rtol, tolerance.atol) == (1, 2)


def test_generators_with_conditions() -> None:
    before = """
def configs(n):
    if torch.cuda.get_device_capability() == (9, 0):
        yield 1
        return
    for i in (2, 4):
        if n % i != 0:
            continue
        yield i
"""
    device = "torch.cuda.get_device_capability() == (9, 0)"
    rest = f"not ({device})"
    assert value_of("list(configs(8))", before) == [
        Conditional(1, (device,)),
        Conditional(2, (rest,)),
        Conditional(4, (rest,)),
    ]
    assert value_of("list(configs(8))", before, (10, 0)) == [2, 4]
    assert value_of("list(configs(unknown))", before, (10, 0)) == [
        Conditional(2, ("not (n % 2 != 0)",)),
        Conditional(4, ("not (n % 4 != 0)",)),
    ]


def test_tables_asked_by_an_unknown_key() -> None:
    before = "t = {64: ([1], [2]), 128: ([3], [4])}\ndef f(d):\n    a, b = t.get(d, ([5], [6]))\n"
    before += "    return [(x, y) for x in a for y in b]\n"
    assert value_of("f(unknown)", before) == [
        Conditional((1, 2), ("d == 64",)),
        Conditional((3, 4), ("d == 128",)),
        Conditional((5, 6), ("not (d == 64)", "not (d == 128)")),
    ]


_NUMBERS = st.integers(-9, 9).map(str)
_EXPRESSIONS = st.recursive(
    _NUMBERS | st.sampled_from(["True", "None", "'x'", "1.5"]),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from("+ - * / // % ** << | & < == and or in".split()), inner
        ).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.lists(inner, max_size=3).map(lambda xs: f"[{', '.join(xs)}]"),
        st.lists(inner, max_size=3).map(lambda xs: f"({''.join(x + ', ' for x in xs)})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]} for v in {t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"len({t})"),
    ),
    max_leaves=12,
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(_EXPRESSIONS)
@settings(max_examples=400)
def test_a_decided_value_is_that_of_python(text: str) -> None:
    found = value_of(text)
    try:
        expected = eval(text)
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError):
        return
    # The nearest wrong value would be an equal one of another type.
    if "undecided" not in json.dumps(as_json(found)):
        assert repr(found) == repr(expected)


@given(
    st.text(alphabet="ab=[](){},:.*+-<>0123456789'\"\n ifelsforinyieldreturndefclass@", max_size=80)
)
@settings(max_examples=300)
def test_any_text_ends_in_values_or_one_of_our_errors(text: str) -> None:
    try:
        file = parse_python(text, "any.py")
    except TileIRError:
        return
    json.dumps(as_json(dict(module_scope(file.tree).names)))


# -- TileGym ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tilegym() -> str:
    path = os.environ.get("TILEGYM_PATH", "")
    if not os.path.isdir(path):
        pytest.skip("TILEGYM_PATH names no checkout of TileGym")
    return path


def theirs(tilegym: str, name: str) -> ReadSource:
    return read_source(find_project(tilegym), name, capability=B200, backends={"cutile"})


def counts(source: ReadSource) -> tuple[int | None, int | None]:
    """Configurations of `test_op` and of `test_perf`."""
    assert source.tests is not None
    tests = (source.tests.op, source.tests.perf)
    return tests[0] and len(tests[0].configs), tests[1] and len(tests[1].configs)  # type: ignore[return-value]


def limits(source: ReadSource, test: str) -> dict[str | None, tuple[object, object]]:
    assert source.tests is not None
    return {t.dtype: (t.rtol, t.atol) for t in source.tests.tolerances if t.test == test}


def test_tilegym_softmax(tilegym: str) -> None:
    source = theirs(tilegym, "softmax")
    # 7 shapes and formats, one backend, 4 modes.
    assert counts(source) == (28, None)
    assert source.tests is not None
    assert source.tests.configurations is source.tests.op
    assert limits(source, "test_op") == {"float32": (1e-5, 1e-7), "float16": (1e-3, 1e-5)}
    assert source.tests.references[0].text == (
        "@staticmethod\ndef reference(x):\n    return torch.nn.functional.softmax(x, dim=-1)"
    )
    assert source.tests.extra_kwargs == {n: n for n in ("use_tma", "use_chunked", "use_multi_wave")}
    launches = source.operation.launches
    assert [launch.kernels for launch in launches] == [
        ("_softmax_kernel",),
        ("_softmax_kernel_multi_wave_full_row_reg_cached_ldg",),
        ("_softmax_kernel_tma",),
        ("_softmax_kernel_chunked",),
    ]
    tma = launches[2].chains[0]
    assert tma.functions == ("softmax", "_Softmax.forward", "_launch_softmax_kernel_tma")
    assert [c[:2] for c in tma.conditions] == [
        ("use_multi_wave", False),
        ("use_chunked", False),
        ("use_tma", True),
    ]
    assert launches[2].sizes["TILE_SIZE"] == ("next_power_of_2(n_cols)",)


def test_tilegym_matmul(tilegym: str) -> None:
    source = theirs(tilegym, "matmul")
    # 7 sizes of 3 formats, 2 x 2 transpositions, 2 schedules, cutile and pytorch.
    assert counts(source) == (10, 7 * 3 * 2 * 2 * 2 * 2)
    assert source.tests is not None
    assert source.tests.perf is not None
    assert source.tests.perf.configs[0].values == {
        "backend": "cutile",
        "use_tma": True,
        "static_persistent": False,
        "transpose_b": False,
        "transpose_a": False,
        "m": 2048,
        "n": 2048,
        "k": 2048,
        "offset_a": 0,
        "offset_b": 0,
        "dtype": "float16",
    }
    measured = [
        c.values
        for c in source.tests.perf.configs
        if c.skipped is None and c.values["backend"] == "cutile"
    ]
    # cutile transposes `a` only with the persistent schedule, and never `b`.
    assert {(v["static_persistent"], v["transpose_a"], v["transpose_b"]) for v in measured} == {
        (False, False, False),
        (True, False, False),
        (True, True, False),
    }
    assert limits(source, "test_perf")["float8_e4m3fn"] == (1, 1)
    first, second = source.operation.autotunes
    assert not isinstance(first.configs, Undecided)
    assert [tuple(c.value.values()) for c in first.configs] == [  # type: ignore[attr-defined]
        (128, 128, 32, 1, 1),
        (256, 256, 64, 2, 1),
        (256, 256, 64, 4, 1),
        (512, 256, 64, 2, 1),
    ]
    assert first.key == ("M", "N", "K", "a.dtype", "str(a.device)")
    assert second.cache == "_static_persistent_matmul_tune_cache"
    assert len(second.configs) == 5
    persistent = source.operation.kernels[1]
    assert {b.condition for b in persistent.branches if b.differs} == {"TRANSPOSE_A", "TRANSPOSE_B"}
    assert [c[:2] for c in source.operation.launches[0].chains[0].conditions] == [
        ("static_persistent", False)
    ]


def test_tilegym_bmm(tilegym: str) -> None:
    source = theirs(tilegym, "bmm")
    (search,) = source.operation.autotunes
    assert not isinstance(search.configs, Undecided)
    assert [c.value["TILE_M"] for c in search.configs] == [128, 256]  # type: ignore[index]
    anywhere = read_source(find_project(tilegym), "bmm").operation.autotunes[0].configs
    assert not isinstance(anywhere, Undecided)
    assert len(anywhere) == 2 * 2 * 2 * 3 + 2 * 2 * 3 * 2 + 3 * 3 * 1 * 2 + 2
    assert limits(source, "test_op") == {"float16": (1e-3, 1e-8)}
    assert [launch.autotuned for launch in source.operation.launches] == [True, False]


def test_tilegym_rms_norm(tilegym: str) -> None:
    source = theirs(tilegym, "rms_norm")
    # cutile, triton and pytorch; 5 sizes, 2 modes.
    assert counts(source)[1] == 5 * 2 * 3
    assert source.triton is not None
    assert source.triton.registrations[0].backend == "triton"
    backward = source.operation.launches[0]
    assert backward.kernels == ("_rms_bwd_kernel",)
    assert (BACKWARD, True) in [c[:2] for c in backward.chains[0].conditions]


def test_tilegym_rope(tilegym: str) -> None:
    source = theirs(tilegym, "rope")
    assert [r.name for r in source.operation.registrations] == [
        "apply_rope_base",
        "get_apply_rope_func",
    ]
    assert source.operation.autotunes[0].cache == "_ROPE_TUNE_CACHE"
    assert source.tests is not None
    assert source.tests.op is not None
    marked = [c.skipped for c in source.tests.op.configs if c.skipped is not None]
    assert {s.reason for s in marked} >= {"'only support atol 1e-1'"}
    # Stated by a decorator that gives format and tolerances together.
    assert limits(source, "test_op_backward") == {"float32": (1e-5, 1e-5), "float16": (2e-2, 2e-2)}


def test_tilegym_silu_and_mul(tilegym: str) -> None:
    launches = theirs(tilegym, "silu_and_mul").operation.launches
    forward = [launch for launch in launches if "backward" not in launch.kernels[0]]
    assert [[c[:2] for c in launch.chains[0].conditions] for launch in forward] == [
        [("input.requires_grad", True)],
        [("input.requires_grad", False)],
    ]


def test_tilegym_mla_decoding(tilegym: str) -> None:
    source = theirs(tilegym, "mla_decoding")
    # The test looks its formats up by name.
    assert counts(source)[1] == 4 * 2 * 3 * 3 * 2
    assert limits(source, "test_op") == {"float16": (0.01, 0.01)}


def test_tilegym_splitk_reduce(tilegym: str) -> None:
    source = theirs(tilegym, "splitk_reduce")
    assert counts(source) == (2 * 2 * 1 * 4 * 2, 1 * 2 * 1 * 4 * 1 * 2)
    (kernel,) = source.operation.kernels
    assert kernel.options == {"occupancy": "ct.ByTarget(sm_80=2, default=4)"}


def test_tilegym_moe(tilegym: str) -> None:
    source = theirs(tilegym, "moe")
    assert source.operation.registrations[0].name == "invoke_fused_moe_kernel"
    # The one test of a format that cutile does not have is skipped, its tolerance is none of ours.
    assert limits(source, "test_op") == {"bfloat16": (1e-1, 1e-1)}


def test_tilegym_mhc_reads_the_table_of_the_harness(tilegym: str) -> None:
    source = theirs(tilegym, "mhc")
    assert limits(source, "test_op_mhc_sinkhorn") == {"float32": (1e-5, 1e-8)}


def test_tilegym_says_what_it_does_not_decide(tilegym: str) -> None:
    (search,) = theirs(tilegym, "recurrent_gated_delta_rule").operation.autotunes
    assert isinstance(search.configs, Undecided)
    assert search.configs.text == "candidate.configs"
    assert len(search.kernels) == 3


@pytest.mark.parametrize("name", ["gelu", "relu"])
def test_tilegym_without_test_perf(tilegym: str, name: str) -> None:
    assert counts(theirs(tilegym, name)) == (4, None)


def test_tilegym_is_as_the_documentation_says(tilegym: str) -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    arguments = ["source", "--project", tilegym, "--arch", "sm_100", "--backend", "cutile"]
    result = CliRunner().invoke(tileir_command, arguments, standalone_mode=False)
    assert result.output in page


def test_tilegym_follows_the_schema(tilegym: str) -> None:
    schema = json.loads((ROOT / "docs/schemas/tileir-source-1.json").read_text())
    project = find_project(tilegym)
    validator = jsonschema.Draft202012Validator(schema)
    sources = [read_source(project, name) for name in project.operations()]
    document = {"schema": "tileir-source/1", "operations": as_json(sources)}
    assert [e.message for e in validator.iter_errors(document)] == []
