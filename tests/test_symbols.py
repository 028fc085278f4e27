"""Entry symbols: real ones with their values, cuTile's demangler as oracle, hostile text."""

from __future__ import annotations

import ast
import json
import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tileir_tools.analyze import symbols
from tileir_tools.analyze.symbols import Parameter, Symbol, demangle

SHARED = Path(__file__).resolve().parents[2] / "shared"
INDEX = SHARED / "corpus" / "index.jsonl"
SPELLINGS = SHARED / "spellings"

ARRAY = "A2f16_1v16l0_2t1_3i16_p16"
MATMUL = f"matmul_kernel_Kt1_{ARRAY}_{ARRAY}_{ARRAY}_I128_I128_I64"

# cuTile's names of number formats, and ours.
DTYPES = {
    "bool_": "i1",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "tfloat32": "tf32",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e8m0fnu": "f8E8M0FNU",
}


def only(text: str) -> Parameter:
    """The parameter of a symbol that has one."""
    symbol = demangle("f_" + text)
    assert len(symbol.parameters) == 1, symbol
    return symbol.parameters[0]


# --- real symbols -----------------------------------------------------------------------------

REAL = [
    # symbol, convention, function, constants, short form
    (
        MATMUL,
        "cutile_v1",
        "matmul_kernel",
        (128, 128, 64),
        "matmul_kernel(f16[2], f16[2], f16[2]; 128, 128, 64)",
    ),
    (
        "_mhc_sinkhorn_kernel_Kt1_A2f32_1v4l0_2i16t1_p16_I4",
        "cutile_v1",
        "_mhc_sinkhorn_kernel",
        (4,),
        "_mhc_sinkhorn_kernel(f32[2]; 4)",
    ),
    (
        "_group_gemm_kernel_Kt1_LiA2f16_1v8l0_2t1_3i16_p16_LiA2f16_1v8l0_2t1_3i16_p16"
        "_LiA2f16_1v8l0_2t1_3i16_p16_I128_I128_I128_I148_B1",
        "cutile_v1",
        "_group_gemm_kernel",
        (128, 128, 128, 148, True),
        "_group_gemm_kernel(list<f16[2]>, list<f16[2]>, list<f16[2]>; 128, 128, 128, 148, True)",
    ),
    (
        "_cross_entropy_backward_ct_Kt1_A2bf16_1v8l0_2t1_3i16_p16_A2bf16_1v8l0_2t1_3i16_p16"
        "_A1f32_1i16v4l0_p16i_A1f32_1i16t1_p16_A1i64_1i16t1_p16"
        "_I1024_I4096_I1_F403e000000000000_I0_F0000000000000000",
        "cutile_v1",
        "_cross_entropy_backward_ct",
        (1024, 4096, 1, 30.0, 0, 0.0),
        "_cross_entropy_backward_ct(bf16[2], bf16[2], f32[1], f32[1], i64[1];"
        " 1024, 4096, 1, 30.0, 0, 0.0)",
    ),
    (
        "_tv_distance_kernel_ct_Kt2_A2f32_1v4l0_2t1_3i16_p16_A2f32_1v4l0_2t1_3i16_p16"
        "_A1f32_1i16t1_p16_A2f32_1v4l0_2t1_3i16_p16_A1i64_1s1t1_p16"
        "_Sf32_I4096_I32000_I_100_I8192_I0_I3",
        "cutile_v2",
        "_tv_distance_kernel_ct",
        (4096, 32000, -100, 8192, 0, 3),
        "_tv_distance_kernel_ct(f32[2], f32[2], f32[1], f32[2], i64[1], f32;"
        " 4096, 32000, -100, 8192, 0, 3)",
    ),
    (
        "_rope_4d_ct_Kt1_A4f32_7v4l0_8i16t1_p16_A4f32_7v4l0_8i16t1_p16_A3f32_3v4l0_4i16t1_p16"
        "_A3f32_3v4l0_4i16t1_p16_I3_I7_Fbff0000000000000_I4_I4_I32",
        "cutile_v1",
        "_rope_4d_ct",
        (3, 7, -1.0, 4, 4, 32),
        "_rope_4d_ct(f32[4], f32[4], f32[3], f32[3]; 3, 7, -1.0, 4, 4, 32)",
    ),
    (
        "_layer_norm_fwd_kernel_Kt1_A2f16_1l0_2t1_p16_F3ee4f8b588e368f1",
        "cutile_v1",
        "_layer_norm_fwd_kernel",
        (1e-05,),
        "_layer_norm_fwd_kernel(f16[2]; 1e-05)",
    ),
    # Ends like Triton's old specialisation suffix, and holds `_1d`: a name all the same.
    (
        "_rms_layernorm_forward_ct_1d_Kt1_A2f16_1v8l0_2i16t1_p16_I256",
        "cutile_v1",
        "_rms_layernorm_forward_ct_1d",
        (256,),
        "_rms_layernorm_forward_ct_1d(f16[2]; 256)",
    ),
    # As cutile-rs tests expect them.
    (
        "type_alias_pointer_entry_kernel_entry",
        "cutile_rs",
        "type_alias_pointer_entry_kernel",
        (),
        "",
    ),
    ("add_entry", "cutile_rs", "add", (), ""),
    ("bmm_kernel_3f2a90c1d4e5b687", "cutile_rs", "bmm_kernel", (), ""),
    ("_bmm_kernel_memref_v2opt3_", "triton", "_bmm_kernel", (), ""),
    ("_bmm_kernel_memref_v2opt3_16x64", "triton", "_bmm_kernel", (), ""),
    # Plain: exported with a symbol of its own, Triton-to-tile-IR, the dialect's tests.
    ("add_kernel", "plain", "add_kernel", (), ""),
    ("bmm", "plain", "bmm", (), ""),
    ("add_kernel_1024", "plain", "add_kernel_1024", (), ""),
    ("_ZN5_K4copyEv", "plain", "_ZN5_K4copyEv", (), ""),
]


@pytest.mark.parametrize(("text", "convention", "function", "constants", "short"), REAL)
def test_real_symbol(
    text: str, convention: str, function: str, constants: tuple[object, ...], short: str
) -> None:
    symbol = demangle(text)
    assert (symbol.convention, symbol.function) == (convention, function)
    assert symbol.constants == constants
    assert [type(value) for value in symbol.constants] == [type(value) for value in constants]
    assert str(symbol) == (short or function)
    assert symbol.function + symbol.suffix == symbol.raw == text
    assert symbol.op is symbol.alias_of is None
    assert symbol.real_function == function


def test_array_facts() -> None:
    assert demangle(MATMUL).parameters[0] == Parameter(
        kind="array",
        text=ARRAY,
        dtype="f16",
        rank=2,
        index_dtype="i32",
        shape=(None, None),
        strides=(None, 1),
        shape_divisibility=(16, 16),
        stride_divisibility=(16, 1),
        stride_lower_bounds=(0, None),
        alignment=16,
    )


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        # A constant size; the mask's bit 0 is the first dimension.
        ("Kt2_A3bf16_1s1v8_2i16_3l0_4t1_p16", {"shape": (1, None, None), "rank": 3}),
        ("Kt2_A3bf16_1s1v8_2i16_3l0_4t1_p16", {"stride_divisibility": (8, 1, 1)}),
        ("Kt2_A3bf16_1s1v8_2i16_3l0_4t1_p16", {"stride_lower_bounds": (0, 0, None)}),
        ("Kt2_A3bf16_1s1v8_2i16_3l0_4t1_p16", {"shape_divisibility": (1, 16, 1)}),
        # A size that is known to be 16 is divisible by 16: nothing is added, nothing contradicts.
        ("Kt2_A1f32_1s16i16", {"shape": (16,), "shape_divisibility": (1,)}),
        # Masks of two digits: five dimensions.
        ("Kt1_A5bf16_fv8l0_10t1_18i16_p16", {"strides": (None, None, None, None, 1)}),
        ("Kt1_A5bf16_fv8l0_10t1_18i16_p16", {"shape_divisibility": (1, 1, 1, 16, 16)}),
        ("Kt1_A0f32", {"rank": 0, "strides": (), "alignment": 1, "index_dtype": "i32"}),
        ("Kt1_A1f32_1t_1", {"strides": (-1,)}),
        ("Kt1_A1f32_1l_5_p256g0iw", {"stride_lower_bounds": (-5,), "alignment": 256}),
        ("Kt1_A1f32_1l_5_p256g0iw", {"alias_groups": (0,), "may_alias_internally": True}),
        ("Kt1_A1f32_1l_5_p256g0iw", {"index_dtype": "i64"}),
        ("Kt1_A1u32_u", {"index_dtype": "u32", "dtype": "u32"}),
        ("Kt1_A1b8", {"dtype": "i1"}),
        ("Kt1_A1f8m0fnu", {"dtype": "f8E8M0FNU"}),
        ("Kt1_Sf8m2", {"kind": "scalar", "dtype": "f8E5M2", "rank": None, "alignment": None}),
        ("Kt1_I_1", {"kind": "constant", "dtype": "int", "value": -1}),
        ("Kt1_B0", {"kind": "constant", "dtype": "bool", "value": False}),
        ("Kt1_F7ff0000000000000", {"dtype": "float", "value": math.inf}),
        ("Kt1_F0000000000000001", {"value": 5e-324}),
        ("Kt1_F000fffffffffffff", {"value": 2.225073858507201e-308}),
        ("Kt1_F7fefffffffffffff", {"value": 1.7976931348623157e308}),
        ("Kt2_T3I5B1F3ff0000000000000", {"kind": "tuple", "value": (5, True, 1.0)}),
        ("Kt2_T0", {"kind": "tuple", "value": (), "is_constant": True}),
        ("Kt2_T2I5Sf32", {"value": None, "is_constant": False}),
        # A newer cuTile: another number format, another convention number.
        ("Kt1_A1f4m2fn", {"dtype": "f4m2fn"}),
        ("Kt9_Sf6m3fn", {"kind": "scalar", "dtype": "f6m3fn"}),
        # The third convention, switched off in 1.7.0.
        ("Kt3_Pf16", {"kind": "pointer", "dtype": "f16"}),
        ("Kt3_M", {"kind": "tensor_map"}),
        ("Kt3_R", {"kind": "stream"}),
        ("Kt3_Cn_", {"dtype": "none", "value": None, "is_constant": True}),
        ("Kt3_Cs_a__b_2d_k_u20ac_w0001f600_z", {"dtype": "str", "value": "a_b-K\u20ac\U0001f600"}),
        ("Kt3_Cs__z", {"value": ""}),
        ("Kt3_Cs_A__B__I5_z", {"value": "A_B_I5"}),
        ("Kt3_Cd_f8m3fn", {"dtype": "dtype", "value": "f8E4M3FN"}),
        ("Kt3_Ce_m_2en_zMode_zFAST_z", {"dtype": "enum", "value": "m.n.Mode.FAST"}),
        ("Kt3_Dm_zCfg_z2I5A1f16", {"kind": "dataclass", "name": "m.Cfg", "value": None}),
        ("Kt3_Dm_zCfg_z1I5", {"kind": "dataclass", "value": (5,)}),
    ],
)
def test_parameter_facts(text: str, facts: dict[str, object]) -> None:
    parameter = only(text)
    assert {name: getattr(parameter, name) for name in facts} == facts
    assert parameter.text == text.partition("_")[2]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Kt1", "f()"),
        ("Kt1_Sf32", "f(f32)"),
        ("Kt1_I5", "f(; 5)"),
        ("Kt2_T2A1f16I5_T2I5I6_T1B1", "f((f16[1], 5); (5, 6), (True))"),
        ("Kt3_Cs_f16_z_Cd_f16_Cn_", "f(; 'f16', f16, None)"),
        (
            "Kt3_Ce_m_zMode_zFAST_z_Dm_zCfg_z1I5_Pf16_M",
            "f(ptr<f16>, tensor_map; m.Mode.FAST, m.Cfg(5))",
        ),
    ],
)
def test_short_form(text: str, short: str) -> None:
    assert str(demangle("f_" + text)) == short


def test_lists_and_alias_groups() -> None:
    symbol = demangle("f_Kt1_Lg0iA1f32_g1_Lg0A1f32_g1_A2f16_p16g1")
    first, second, third = symbol.parameters
    assert (first.alias_groups, first.may_alias_internally) == ((0,), True)
    assert (second.alias_groups, second.may_alias_internally) == ((0,), False)
    assert first.items[0].alias_groups == third.alias_groups == (1,)
    assert first.items[0].text == "A1f32_g1"


def test_alias_groups_that_cutile_itself_refuses_to_read() -> None:
    # cuda-tile 1.7.0 forgets the largest group at a parameter with a smaller one, so that it cannot
    # even mangle this legal signature: (a, b), (a, c), (b, c).
    symbol = demangle("f_Kt1_A2f16_g0g1_A2f16_g0g2_A2f16_g1g2")
    assert [p.alias_groups for p in symbol.parameters] == [(0, 1), (0, 2), (1, 2)]


def test_equality_sees_what_python_values_hide() -> None:
    one, true, real = (only(f"Kt1_{text}") for text in ("I1", "B1", "F3ff0000000000000"))
    assert one.value == true.value == real.value
    assert len({one, true, real}) == 3
    assert only("Kt1_F8000000000000000") != only("Kt1_F0000000000000000")
    quiet, other = "f_Kt1_F7ff8000000000000", "f_Kt1_F7ff8000000000001"
    assert demangle(quiet) == demangle(quiet) != demangle(other)


# --- aliases ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "op", "real"),
    [
        (f"gemm__{MATMUL}", "gemm", "matmul_kernel"),
        # The kernel's own name opens with an underscore: three in a row.
        ("bmm___static_persistent_bmm_kernel_Kt1_I1", "bmm", "_static_persistent_bmm_kernel"),
        ("silu_and_mul__row_kernel_Kt2_I1", "silu_and_mul", "row_kernel"),
        ("gemm__matmul_kernel", "gemm", "matmul_kernel"),
        ("gemm__matmul_entry", "gemm", "matmul"),
    ],
)
def test_alias(text: str, op: str, real: str) -> None:
    symbol = demangle(text)
    assert (symbol.op, symbol.alias_of, symbol.real_function) == (op, real, real)
    assert symbol.function == f"{op}__{real}"


@pytest.mark.parametrize(
    "text", ["__kernel_Kt1_I1", "_f__g_Kt1_I1", "f___Kt1_I1", "f__", "__", "_"]
)
def test_underscores_that_make_no_alias(text: str) -> None:
    symbol = demangle(text)
    assert symbol.op is symbol.alias_of is None


def test_alias_has_the_mangling_of_its_kernel() -> None:
    alias, real = demangle(f"gemm__{MATMUL}"), demangle(MATMUL)
    assert (alias.suffix, alias.parameters) == (real.suffix, real.parameters)
    assert str(alias) == "gemm__matmul_kernel(f16[2], f16[2], f16[2]; 128, 128, 64)"


# --- what follows no convention ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "_",
        "_K",
        "_Kt1",  # no name
        "_Kt1_I1",
        "f_K",
        "f_Kt",
        "f_Kt0_I1",
        "f_Kt01_I1",
        "f_Kx1_I1",
        "f_Kt1_",
        "f_Kt1I1",
        "f_Kt1_I1_",
        "f_Kt1_I1 ",
        "f_Kt1_I1\n",
        "f_Kt1_I",
        "f_Kt1_I\u0661",  # a digit, but not an ASCII one
        "f_Kt1_B2",
        "f_Kt1_F3ff",
        "f_Kt1_Sx",
        "f_Kt1_X1",
        "f_Kt1_A2f16_0t1",  # empty mask
        "f_Kt1_A2f16_4t1",  # a dimension it does not have
        "f_Kt1_A2f16_1t1_1t2",  # one fact twice
        "f_Kt1_A2f16_1t1v8",  # a constant stride and a factor of it
        "f_Kt1_A2f16_1t1_1l0",
        "f_Kt1_A2f16_1i1",  # a factor that says nothing
        "f_Kt1_A2f16_p_16",
        "f_Kt1_A2f16_g00",
        "f_Kt1_A2f16_g1",  # group 0 first
        "f_Kt1_A2f16_g0g0",
        "f_Kt1_A2f16_3v",  # a name that CUPTI cut at 100 characters
        "f_Kt1_A65f16",
        "f_Kt1_LSf32",
        "f_Kt1_LLA1f16",
        "f_Kt1_A1f32_1s4",  # v1 has no static shapes,
        "f_Kt1_T1I5",  # no tuples,
        "f_Kt2_Pf16",  # and v2 none of these
        "f_Kt2_M",
        "f_Kt2_R",
        "f_Kt2_Dm_zC_z1I5",
        "f_Kt2_A1f32_1s_4",
        "f_Kt2_A1f32_1s5i2",
        "f_Kt2_T2I5",
        "f_Kt2_T",
        "f_Kt3_C",
        "f_Kt3_Cs_abc",
        "f_Kt3_Cs_aKb_z",
        "f_Kt3_Cs__wffffffff_z",  # no such character
        "memref_v2opt3_x",
        "f_memref_v2",
        "f_kernel_12345",
        "f_kernel_3f2a90c1d4e5b68g",
        "_entry",
        "entry",
        "void f<4>(int)_entry",
    ],
)
def test_plain(text: str) -> None:
    symbol = demangle(text)
    assert symbol._replace(op=None, alias_of=None) == Symbol(raw=text, function=text)
    assert str(symbol) == text


@pytest.mark.parametrize(
    "text",
    [
        "f_Kt2_" + "T1" * 100_000 + "I1",
        "f_Kt1_A999999999f16",
        "f_Kt2_T999999",
        "f_Kt1_I" + "1" * 5_000 + "x",
        "f_Kt1_A1f16_" + "f" * 100_000,
        "f_Kt3_Cs_" + "a" * 100_000,
        "f_Kt1" + "_I1" * 50_000 + "_",
        "_" * 100_000,
        "a__" * 50_000,
        "a_entry" * 20_000 + "_",
        "_kernel_01234567" * 20_000 + "_",
        "a" + "_memref_v2opt" * 10_000 + "x",
    ],
    ids=lambda text: f"{text[:16]}..{len(text)}",
)
def test_hostile_text_is_plain(text: str) -> None:
    assert demangle(text).convention == "plain"


def test_memory_of_parameters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_KNOWN", {})
    monkeypatch.setattr(symbols, "_KNOWN_LIMIT", 8)
    assert [demangle(f"f_Kt1_I{i}").constants for i in range(50)] == [(i,) for i in range(50)]
    assert len(symbols._KNOWN) <= 8


def test_memory_of_parameters_forgets_neither_convention_nor_neighbours() -> None:
    assert demangle("f_Kt2_A1f32_1s4").convention == "cutile_v2"
    assert demangle("f_Kt1_A1f32_1s4").convention == "plain"
    assert demangle("f_Kt1_A1f32_g0_A1f32_g0").convention == "cutile_v1"
    assert demangle("f_Kt1_A1f32_g1").convention == "plain"
    # `Cs_a__z` is a whole string, and here the start of a longer one.
    assert only("Kt3_Cs_a_z").value == "a"
    assert only("Kt3_Cs_a__Z_z").value == "a_Z"


def test_imports_only_re_and_typing() -> None:
    tree = ast.parse(Path(symbols.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert imported == {"__future__", "re", "typing"}


@given(st.text() | st.from_regex(r"[a-zA-Z_0-9]*_Kt[12](_[A-Z][a-z0-9_]*)*", fullmatch=True))
@example("f_Kt1_I" + "9" * 10_000)
def test_arbitrary_text_never_raises_and_loses_nothing(text: str) -> None:
    symbol = demangle(text)
    assert symbol.raw == text == symbol.function + symbol.suffix
    assert isinstance(str(symbol), str)
    assert (symbol.convention == "plain") == (symbol.suffix == "")
    if symbol.alias_of is not None:
        assert symbol.function == f"{symbol.op}__{symbol.alias_of}"
    if symbol.convention.startswith("cutile_v"):
        number = symbol.convention.removeprefix("cutile_v")
        texts = "".join("_" + parameter.text for parameter in symbol.parameters)
        assert symbol.suffix == f"_Kt{number}{texts}"


# --- the corpus -------------------------------------------------------------------------------

needs_corpus = pytest.mark.skipif(
    not INDEX.is_file(), reason="the corpus is not beside the repository (../shared/corpus)"
)
needs_spellings = pytest.mark.skipif(
    not SPELLINGS.is_dir(),
    reason="the spellings are not beside the repository (../shared/spellings)",
)


def corpus() -> list[dict[str, Any]]:
    lines = INDEX.read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert len(rows) > 250
    return rows


def index_spelling(parameter: Parameter) -> str:
    """A parameter as the corpus index writes it."""
    names = {ours: cutile.rstrip("_") for cutile, ours in DTYPES.items()}
    if parameter.kind == "constant":
        return f"const<{parameter.value!r}>"
    if parameter.kind == "list":
        return f"list<{index_spelling(parameter.items[0])}>"
    assert parameter.dtype is not None
    if parameter.kind == "scalar":
        return f"scalar<{names[parameter.dtype]}>"
    assert parameter.kind == "array"
    assert parameter.index_dtype is not None
    return (
        f"array<{names[parameter.dtype]},nd={parameter.rank},idx={names[parameter.index_dtype]},"
        f"stride={parameter.strides},sdiv={parameter.stride_divisibility},"
        f"shdiv={parameter.shape_divisibility},pdiv={parameter.alignment}>"
    )


@needs_corpus
def test_corpus_agrees_with_its_index() -> None:
    for row in corpus():
        found = [demangle(entry) for entry in row["entries"]]
        # Of a module with many entries, the index describes the first.
        assert [index_spelling(p) for p in found[0].parameters] == row["params"], row["path"]
        for symbol in found:
            assert symbol.function == row["kernel"]
            assert symbol.convention in ("cutile_v1", "cutile_v2")
            assert symbol.alias_of is None
            assert len(symbol.parameters) == len(row["params"])


@needs_spellings
def test_spellings_alias_pair() -> None:
    entries = []
    for name in ("34_alias_pair_old.mlir", "35_alias_pair_new_hints_lost.mlir"):
        match = re.search(r"entry @(\w+)", (SPELLINGS / name).read_text(encoding="utf-8"))
        assert match is not None
        entries.append(demangle(match[1]))
    old, new = entries
    assert (old.alias_of, new.op, new.alias_of) == (None, "gemm", "matmul_kernel")
    assert old.real_function == new.real_function
    assert old.parameters == new.parameters


# --- cuTile's own mangling --------------------------------------------------------------------


@pytest.fixture(scope="module")
def cutile() -> Any:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    return pytest.importorskip("cuda.tile.compilation")


def facts_of(constraint: Any) -> dict[str, object]:
    """What cuTile says of a parameter, under our names."""
    kind = type(constraint).__name__.removesuffix("Constraint").lower()
    facts: dict[str, object] = {"kind": kind}
    if kind == "array":
        facts |= {
            "dtype": dtype_name(constraint.dtype),
            "rank": constraint.ndim,
            "index_dtype": dtype_name(constraint.index_dtype),
            "shape": constraint.shape_constant,
            "strides": constraint.stride_constant,
            "shape_divisibility": constraint.shape_divisible_by,
            "stride_divisibility": constraint.stride_divisible_by,
            "stride_lower_bounds": constraint.stride_lower_bound_incl,
            "alignment": constraint.base_addr_divisible_by,
            "alias_groups": tuple(int(g.removeprefix("group")) for g in constraint.alias_groups),
            "may_alias_internally": constraint.may_alias_internally,
        }
    elif kind == "scalar":
        facts["dtype"] = dtype_name(constraint.dtype)
    elif kind == "list":
        facts |= {
            "alias_groups": tuple(int(g.removeprefix("group")) for g in constraint.alias_groups),
            "may_alias_internally": constraint.elements_may_alias,
            "items": [facts_of(constraint.element)],
        }
    elif kind == "tuple":
        facts["items"] = [facts_of(item) for item in constraint.items]
    else:
        assert kind == "constant"
        # repr tells apart 1, 1.0, True, 0.0, -0.0, and makes NaN equal itself.
        facts["value"] = repr(constraint.value)
    return facts


def dtype_name(dtype: object) -> str:
    ct = import_module("cuda.tile")
    return next(ours for name, ours in DTYPES.items() if getattr(ct, name) == dtype)


def our_facts(parameter: Parameter) -> dict[str, object]:
    """The same facts of our reading."""
    names = {
        "array": (
            "dtype rank index_dtype shape strides shape_divisibility stride_divisibility"
            " stride_lower_bounds alignment alias_groups may_alias_internally"
        ),
        "scalar": "dtype",
        "list": "alias_groups may_alias_internally",
    }
    facts: dict[str, object] = {"kind": parameter.kind}
    for name in names.get(parameter.kind, "").split():
        facts[name] = getattr(parameter, name)
    if parameter.kind in ("list", "tuple"):
        facts["items"] = [our_facts(item) for item in parameter.items]
    if parameter.kind == "constant":
        facts["value"] = repr(parameter.value)
    return facts


def assert_agreement(text: str, function: str, signature: Any) -> None:
    symbol = demangle(text)
    version = signature.calling_convention.version
    assert (symbol.function, symbol.convention) == (function, f"cutile_v{version}")
    assert [our_facts(p) for p in symbol.parameters] == [facts_of(c) for c in signature.parameters]


@needs_corpus
def test_agreement_with_cutile_on_the_corpus(cutile: Any) -> None:
    for entry in sorted({entry for row in corpus() for entry in row["entries"]}):
        assert_agreement(entry, *cutile.demangle_kernel_name(entry))


def optional(values: st.SearchStrategy[int]) -> st.SearchStrategy[int | None]:
    return st.none() | values


@st.composite
def arrays(draw: st.DrawFn, static: bool, groups: list[str]) -> Any:
    ct = import_module("cuda.tile")
    rank = draw(st.integers(0, 9))

    def column(values: st.SearchStrategy[Any]) -> Any:
        return draw(st.lists(values, min_size=rank, max_size=rank))

    factors = st.sampled_from([1, 1, 2, 8, 16])
    shape = column(optional(st.integers(0, 2**33))) if static else [None] * rank
    strides = column(optional(st.integers(-3, 2**40)))
    return import_module("cuda.tile.compilation").ArrayConstraint(
        getattr(ct, draw(st.sampled_from(sorted(DTYPES)))),
        rank,
        index_dtype=draw(st.sampled_from([ct.int32, ct.uint32, ct.int64])),
        stride_lower_bound_incl=[
            None if stride is not None else bound
            for stride, bound in zip(strides, column(optional(st.integers(-8, 8))), strict=True)
        ],
        alias_groups=groups,
        may_alias_internally=draw(st.booleans()),
        stride_constant=strides,
        shape_constant=shape,
        stride_divisible_by=[
            1 if stride is not None else factor
            for stride, factor in zip(strides, column(factors), strict=True)
        ],
        shape_divisible_by=[
            1 if size is not None else factor
            for size, factor in zip(shape, column(factors), strict=True)
        ],
        base_addr_divisible_by=draw(st.sampled_from([1, 4, 16, 256])),
    )


@st.composite
def parameters(draw: st.DrawFn, version: int, groups: list[str], depth: int = 0) -> Any:
    """A parameter. Its arrays are all in `groups`: cuTile wants each group used twice."""
    ct, compilation = import_module("cuda.tile"), import_module("cuda.tile.compilation")
    kinds = ["array", "scalar", "int", "float", "bool", "list"]
    kind = draw(st.sampled_from(kinds + ["tuple"] * (version > 1 and depth < 3)))
    if kind == "array":
        return draw(arrays(version > 1, groups))
    if kind == "scalar":
        return compilation.ScalarConstraint(getattr(ct, draw(st.sampled_from(sorted(DTYPES)))))
    if kind == "list":
        return compilation.ListConstraint(
            draw(arrays(version > 1, groups)),
            alias_groups=[],
            elements_may_alias=draw(st.booleans()),
        )
    if kind == "tuple":
        return compilation.TupleConstraint(
            draw(st.lists(parameters(version, groups, depth + 1), max_size=4)),
        )
    values: dict[str, st.SearchStrategy[Any]] = {
        "int": st.integers(),
        "float": st.floats(),
        "bool": st.booleans(),
    }
    return compilation.ConstantConstraint(draw(values[kind]))


FUNCTION_NAMES = st.sampled_from(["f", "_bmm_kernel", "my_Kernel", "f_Kt1", "op__real", "x_K"])


@pytest.mark.parametrize("version", [1, 2])
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_round_trip_through_cutile(cutile: Any, version: int, data: st.DataObject) -> None:
    groups = data.draw(st.sampled_from([[], ["group0"], ["group0", "group1"]]))
    drawn = data.draw(st.lists(parameters(version, groups), max_size=8))
    if groups:  # cuTile refuses a group that only one array is in
        drawn += [data.draw(arrays(version > 1, groups)) for _ in range(2)]
    convention = getattr(cutile.CallingConvention, f"cutile_python_v{version}")()
    signature = cutile.KernelSignature(drawn, convention)
    function = data.draw(FUNCTION_NAMES)
    assert_agreement(cutile.mangle_kernel_name(function, signature), function, signature)


MUTABLE = [
    MATMUL,
    "f_Kt2_A3bf16_1s1v8_2i16_3l0_4t1_p16_Sf32_I_1_F3ee4f8b588e368f1_B1",
    "f_Kt2_T3I5A2f32_1t_1_2v4l0_p16iwT1Sf32_LiA2f16_1v8l0_2t1_3i16_p16_T0",
    "f_Kt1_A1f32_g0g1_p16_Lg2A1f32_g0_Lg2iA1f32_g1u",
]
# Where this demangler goes on and cuTile's does not: how often a group is used is not its business
# (and cuTile loses count of them); number formats and conventions to come are read.
LENIENT = re.compile("[Aa]lias group|Unknown dtype|Unexpected constraint code|Unknown calling conv")


@given(
    text=st.sampled_from(MUTABLE),
    edits=st.lists(
        st.tuples(
            st.integers(0, 200),
            st.integers(0, 2),
            st.text("_0123456789abcfgilpstuvwABFILST", max_size=3),
        ),
        max_size=3,
    ),
)
@settings(max_examples=500, deadline=None)
def test_agreement_with_cutile_on_damaged_symbols(
    cutile: Any, text: str, edits: list[tuple[int, int, str]]
) -> None:
    for at, drop, insert in edits:
        at %= len(text) + 1
        text = text[:at] + insert + text[at + drop :]
    symbol = demangle(text)
    ranks = map(int, re.findall("A0*([0-9]{1,9})", text))
    assume(all(rank <= symbols._MAX_RANK for rank in ranks))  # cuTile has no limit
    theirs = read_by_cutile(cutile, text)
    if isinstance(theirs, Exception):
        if not LENIENT.search(str(theirs)):
            assert not symbol.convention.startswith("cutile_v"), theirs
    elif theirs[0]:  # we take a symbol without a name for a plain one
        assert_agreement(text, *theirs)


def read_by_cutile(cutile: Any, text: str) -> Any:
    try:
        return cutile.demangle_kernel_name(text)
    except (ValueError, TypeError) as error:
        return error
