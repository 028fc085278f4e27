"""`tileir validate analysis` beside TileGym's `validate_analysis.sh`: the same files are refused, with the same
words, and what differs on purpose; `analysis.json` as it is written and read."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import SCHEMAS, check, tool
from tileir_tools.validators.analysis import validate_analysis
from tileir_tools.validators.outcome import Outcome

from tileir_tools.agents import (
    BACKENDS,
    Analysis,
    Conversion,
    CorrectnessReference,
    EntrySymbolPolicy,
    MatrixProduct,
    PerfTest,
    Selection,
    Tolerance,
    Undecided,
    VariantEntry,
    VariantIR,
    read_analysis,
    to_json,
)
from tileir_tools.agents import analysis as analysis_module
from tileir_tools.errors import InputError, ParseError, UsageError

TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPT = (
    Path(TILEGYM)
    / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts/validate_analysis.sh"
)
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "tileir-analysis-1.json").read_text())
)

SUPPLEMENT = "reference/supplements/reference_flat_f32.mlir"
ANALYSIS = Analysis(
    kernel_name="k",
    source="src/tilegym/ops/cutile/k.py",
    launch_path="autotune",
    pattern="multi_variant",
    ops_used=("ct.load", "ct.mma"),
    selection=Selection("triton_tileir", {"cutile": 2.5, "triton_tileir": 2.0}),
    tests=("tests/ops/test_k.py::Test_K::test_perf",),
    test_perf_configs=(PerfTest("test_perf", ("m", "dtype"), ((256, "float16"), (512, None))),),
    variants=(
        VariantEntry(
            variant_name="flat",
            variant_type="schedule",
            kernel_function="k_flat",
            dispatch_condition="m < 512",
            reference_ir="reference/reference_flat.mlir",
            reference_backend="cutile",
            supplements={"f32": SUPPLEMENT, "bf16": None},
            constants=({"TM": 64},),
            autotune_configs=({"TILE_M": 64, "num_ctas": 1},),
            best_config={"TILE_M": 64, "num_ctas": 1},
            selection=Selection("cutile", {"cutile": 1.0}),
            ir=VariantIR(
                entry="k_flat_Kt1",
                file="reference/reference_flat.mlir",
                fingerprints={"names": "a" * 32},
                hints={"sm_100": {"occupancy": 2}},
                tile_shapes=((64, 64), ()),
                mma=(MatrixProduct("mmaf", "tile<2x2xf16>", "tile<2x2xf16>", "tile<2x2xf32>"),),
                ftof=(Conversion("f32", "tf32", None),),
                memory_ops={"load_view_tko": 2},
                ops={"mmaf": 1},
                evidence={"registers": 40},
            ),
        ),
        VariantEntry(
            variant_name="looped",
            variant_type="schedule",
            kernel_function="k_looped",
            dispatch_condition="otherwise",
            reference_ir="reference/reference_looped.mlir",
            reference_backend="triton_tileir",
            selection=Selection("triton", {"triton": 3.0, "cutile": 4.0}),
        ),
    ),
    config_to_variant={"m=512,dtype=None": "looped", "m=256,dtype=float16": "flat"},
    correctness_reference=CorrectnessReference("def reference(x):\n    return x", "test_k.py:7"),
    correctness_tolerance={"f32": Tolerance(1e-5, 1e-5), "f16": Tolerance(1e-3, 0.0)},
    tolerance_source="test_k.py:20",
    entry_symbol_policy=EntrySymbolPolicy(True, False, "k_flat"),
    autotune_backends=("cutile",),
    autotune_key=("M",),
    autotune_configs=({"TILE_M": 64},),
    undecided=(Undecided("a branch", "k.py:9", "depends on data"),),
)
VALID: dict[str, Any] = json.loads(to_json(ANALYSIS))


def place(root: Path, text: str | bytes) -> None:
    """A kernel's folder with two structural references, a supplement, and this `analysis.json`."""
    folder = root / "k" / "reference"
    (folder / "supplements").mkdir(parents=True)
    for name in ("reference_flat", "reference_looped", "supplements/reference_flat_f32"):
        (folder / f"{name}.mlir").write_text("entry @k() { return }\n")
    (folder / "analysis.json").write_bytes(text.encode() if isinstance(text, str) else text)


def edited(*path: str | int, to: object) -> str:
    """The valid file with one value replaced."""
    content: Any = copy.deepcopy(VALID)
    owner = content
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = to
    return json.dumps(content)


def without(*path: str | int) -> str:
    """The valid file with one value left out."""
    content: Any = copy.deepcopy(VALID)
    owner = content
    for step in path[:-1]:
        owner = owner[step]
    del owner[path[-1]]
    return json.dumps(content)


def plain(**more: object) -> str:
    """A file with what the script asks for and no more."""
    content: dict[str, object] = {
        "kernel_name": "k",
        "source": "k.py",
        "launch_path": "direct",
        "pattern": "single",
        "ops_used": [],
        "test_perf_configs": {"test_perf": {"shapes": [[1]]}},
        "correctness_reference": {"function": "f"},
        "correctness_tolerance": {"f16": {"atol": 0, "rtol": 0}},
    }
    return json.dumps({**content, **more})


FIRST = ("kernel_variants", 0)
TUNED = "autotune detected (launch_path=autotune or autotune_backends set) but no autotune_configs"

# Name -> file, level of the line, how it begins. "PASS" is of a file without a complaint; what is "BREACH" is a
# warning, and an error where `strict`. The script says the same, except of breaches, which it does not see.
SAME: dict[str, tuple[str | bytes, str, str]] = {
    "what we write": (json.dumps(VALID), "PASS", "analysis.json has all required fields"),
    "the least": (plain(), "WARN", "Missing reference_backend — should be"),
    "indented, with other fields": (
        json.dumps({**VALID, "known_gaps": [{"a": None}]}, indent=4),
        "PASS",
        "analysis.json has",
    ),
    "nested as deeply as nobody writes": (
        plain(known_gaps=json.loads("[" * 300 + "]" * 300)),
        "WARN",
        "Missing reference_backend",
    ),
    "configurations by name": (
        edited("test_perf_configs", to={"test_perf": {"shapes": [[1]]}, "other": {}}),
        "PASS",
        "analysis.json has",
    ),
    "the other spelling only": (
        edited("reference_backend_selection", to={"winner": "cutile", "cutile_geo_mean_ms": 1}),
        "WARN",
        "reference_backend_selection missing per_variant",
    ),
    "a selection of nothing": (
        edited("reference_backend_selection", to={}),
        "WARN",
        'reference_backend_selection missing "winner" field',
    ),
    "a selection without times": (
        edited("reference_backend_selection", to={"winner": "cutile"}),
        "WARN",
        "reference_backend_selection has no perf data (need cutile_geo_mean_ms or per_variant)",
    ),
    "no selection": (
        without("reference_backend_selection"),
        "WARN",
        "Missing reference_backend_selection — Agent A should compare",
    ),
    "a variant that was not compared": (
        without("reference_backend_selection", "per_variant", "looped"),
        "WARN",
        'reference_backend_selection.per_variant missing entry for "looped"',
    ),
    "a variant's backend": (
        without(*FIRST, "reference_backend"),
        "WARN",
        "kernel_variants[0] (flat) missing reference_backend",
    ),
    "no condition": (
        without(*FIRST, "dispatch_condition"),
        "WARN",
        "kernel_variants[0] (flat) missing dispatch_condition",
    ),
    "no variants at all": (edited("kernel_variants", to=[]), "WARN", "kernel_variants is empty"),
    "no mapping": (
        without("config_to_variant"),
        "WARN",
        "kernel_variants exist but config_to_variant is missing",
    ),
    "an empty mapping": (edited("config_to_variant", to={}), "WARN", "config_to_variant is empty"),
    "where the tolerance is from": (
        without("correctness_tolerance", "source"),
        "WARN",
        "correctness_tolerance missing source",
    ),
    "where the reference is from": (
        without("correctness_reference", "source"),
        "WARN",
        "correctness_reference missing source",
    ),
    "tuned without a key": (without("autotune_key"), "WARN", "autotune_key missing"),
    "tuned without backends": (without("autotune_backends"), "WARN", "autotune_backends missing"),
    "backends that are none, tuned": (
        edited("autotune_backends", to=None),
        "WARN",
        "autotune_backends missing",
    ),
    "odd tuning": (
        edited("autotune_configs", to=[{"warps": 4}]),
        "WARN",
        "autotune_configs[0] has no BLOCK_*/TILE_* fields: ['warps']",
    ),
    "odd tuning of a variant": (
        edited(*FIRST, "autotune_configs", to=[{"warps": 4}]),
        "WARN",
        "kernel_variants[0].autotune_configs[0] has no BLOCK_*/TILE_* fields",
    ),
    **{
        f"no {field}": (without(field), "ERROR", f"Missing required field: {field}")
        for field in "kernel_name source launch_path pattern ops_used test_perf_configs".split()
    },
    "an unknown backend": (
        edited("reference_backend", to="cuda"),
        "ERROR",
        'reference_backend must be "cutile" or "triton", got "cuda"',
    ),
    "an unknown backend of a variant": (
        edited(*FIRST, "reference_backend", to="cuda"),
        "ERROR",
        'kernel_variants[0] (flat) reference_backend must be "cutile" or "triton", got "cuda"',
    ),
    "no configurations": (
        edited("test_perf_configs", to=[]),
        "ERROR",
        "test_perf_configs has 0 shapes",
    ),
    "configurations of null": (
        edited("test_perf_configs", to=None),
        "ERROR",
        "test_perf_configs has 0 shapes",
    ),
    "a list with shapes": (
        edited("test_perf_configs", to=[{"shapes": [[1]]}]),
        "ERROR",
        "test_perf_configs has 0 shapes",
    ),
    "by name with param_list": (
        edited("test_perf_configs", to={"test_perf": {"param_list": [[1]]}}),
        "ERROR",
        "test_perf_configs has 0 shapes",
    ),
    "variants by name": (
        edited("kernel_variants", to={"flat": {}}),
        "ERROR",
        "kernel_variants must be a list of variant dicts",
    ),
    "a variant that is text": (
        edited("kernel_variants", to=["flat"]),
        "ERROR",
        "kernel_variants[0] must be a dict",
    ),
    **{
        f"a variant without {field}": (
            without(*FIRST, field),
            "ERROR",
            f"kernel_variants[0] ({'variant_0' if field == 'variant_name' else 'flat'}) missing {field}",
        )
        for field in ("variant_name", "kernel_function", "reference_ir")
    },
    "IR that is not there": (
        edited(*FIRST, "reference_ir", to="reference/other.mlir"),
        "ERROR",
        "kernel_variants[0] (flat) reference_ir file not found: reference/other.mlir (resolved: ",
    ),
    "IR with a NUL in its name": (
        edited(*FIRST, "reference_ir", to="reference/\0"),
        "ERROR",
        "kernel_variants[0] (flat) reference_ir file not found: reference/\\x00 (resolved: ",
    ),
    "no reference": (without("correctness_reference"), "ERROR", "Missing correctness_reference"),
    "a reference that is text": (
        edited("correctness_reference", to="f"),
        "ERROR",
        "correctness_reference must be a dict with function and source keys",
    ),
    "an empty reference": (
        edited("correctness_reference", "function", to=""),
        "ERROR",
        "correctness_reference.function is empty",
    ),
    "no tolerance": (without("correctness_tolerance"), "ERROR", "Missing correctness_tolerance"),
    "a tolerance that is a number": (
        edited("correctness_tolerance", to=0.1),
        "ERROR",
        "correctness_tolerance must be a dict with dtype keys",
    ),
    "a tolerance of notes": (
        edited("correctness_tolerance", to={"source": "a", "notes": "b"}),
        "ERROR",
        "correctness_tolerance has no dtype entries (need f32/f16/bf16)",
    ),
    "a note among the dtypes": (
        edited("correctness_tolerance", "comment", to="as the test has it"),
        "ERROR",
        "correctness_tolerance[comment] must have atol and rtol",
    ),
    "no atol": (
        without("correctness_tolerance", "f16", "atol"),
        "ERROR",
        "correctness_tolerance[f16] missing atol",
    ),
    "no rtol": (
        without("correctness_tolerance", "f16", "rtol"),
        "ERROR",
        "correctness_tolerance[f16] missing rtol",
    ),
    "autotune without configurations": (plain(launch_path="autotune"), "ERROR", TUNED),
    "backends without configurations": (plain(autotune_backends=["cutile"]), "ERROR", TUNED),
    "tuning that is text": (
        edited("autotune_configs", to=["a"]),
        "ERROR",
        "autotune_configs[0] must be a dict",
    ),
    "tuning of a variant that is text": (
        edited(*FIRST, "autotune_configs", to=["a"]),
        "ERROR",
        "kernel_variants[0].autotune_configs[0] must be a dict",
    ),
    # -- no JSON
    "empty": ("", "FAIL", "{path} is empty"),
    "white space": (" \n", "FAIL", "{path} is not valid JSON"),
    "half a file": (json.dumps(VALID)[:500], "FAIL", "{path} is not valid JSON"),
    "two documents": (plain() + plain(), "FAIL", "{path} is not valid JSON"),
    "a comma too many": (plain()[:-1] + ",}", "FAIL", "{path} is not valid JSON"),
    "Latin-1": (plain(note="é").encode().replace(b"\\u00e9", b"\xe9"), "FAIL", "{path} is not"),
    "a byte order mark": (b"\xef\xbb\xbf" + plain().encode(), "FAIL", "{path} is not valid JSON"),
    "nested too deeply": ("[" * 100_000, "FAIL", "{path} is not valid JSON"),
    "a number of 5000 digits": (plain()[:-1] + ', "n": ' + "1" * 5000 + "}", "FAIL", "{path} is"),
    # -- where the script stops with a traceback
    "a list": (json.dumps([VALID]), "FAIL", "{path}: error: expected an object, found a list"),
    "a number": ("7", "FAIL", "{path}: error: expected an object, found a number"),
    "null": ("null", "FAIL", "{path}: error: expected an object, found null"),
    "configurations that are numbers": (
        edited("test_perf_configs", to=[7]),
        "ERROR",
        "test_perf_configs[0] must be a dict",
    ),
    "configurations by name that are lists": (
        edited("test_perf_configs", to={"test_perf": [[1]]}),
        "ERROR",
        "test_perf_configs[test_perf] must be a dict",
    ),
    "a param_list that is a number": (
        edited("test_perf_configs", 0, "param_list", to=7),
        "ERROR",
        "test_perf_configs[0] param_list must be a list",
    ),
    "shapes that are null": (
        edited("test_perf_configs", to={"t": {"shapes": None}}),
        "ERROR",
        "test_perf_configs[t] shapes must be a list",
    ),
    "IR that is a list": (
        edited(*FIRST, "reference_ir", to=["a"]),
        "ERROR",
        "kernel_variants[0] (flat) reference_ir must be text, got ['a']",
    ),
    "a name that is a list": (
        edited(*FIRST, "variant_name", to=["flat"]),
        "ERROR",
        "kernel_variants[0] variant_name must be text",
    ),
    "a function that is a number": (
        edited("correctness_reference", "function", to=7),
        "ERROR",
        "correctness_reference.function must be text",
    ),
    "backends that are a number": (
        plain(autotune_backends=2),
        "ERROR",
        "autotune_backends must be a list, got 2",
    ),
    "backends that are null": (
        plain(autotune_backends=None),
        "ERROR",
        "autotune_backends must be a list, got None",
    ),
    "half of a surrogate pair": (
        edited("kernel_name", to="\ud800"),
        "ERROR",
        "a name holds half of a surrogate pair",
    ),
    # -- what the contract asks for and the script does not
    "a number for text": (edited("source", to=7), "BREACH", "source must be text"),
    "text for a list": (edited("ops_used", to="ct.load"), "BREACH", "ops_used must be a list of"),
    "text for a number": (
        edited("correctness_tolerance", "f16", "atol", to="1e-3"),
        "BREACH",
        "correctness_tolerance[f16].atol must be a number, not negative",
    ),
    "a negative tolerance": (
        edited("correctness_tolerance", "f16", "rtol", to=-1),
        "BREACH",
        "correctness_tolerance[f16].rtol must be a number, not negative",
    ),
    "param_list that is text": (
        edited("test_perf_configs", 0, "param_list", to="abc"),
        "BREACH",
        "test_perf_configs[0].param_list must be a list",
    ),
    "an unknown dtype": (
        edited("correctness_tolerance", "f17", to={"atol": 1, "rtol": 1}),
        "BREACH",
        "correctness_tolerance[f17] is no dtype that is known",
    ),
    "half of a surrogate pair in a dtype": (
        edited("correctness_tolerance", "\ud800", to={"atol": 1, "rtol": 1}),
        "BREACH",
        "correctness_tolerance[\\ud800] is no dtype that is known",
    ),
    "a number too large": (
        plain(known_gaps=[0]).replace("[0]", "[1e999]"),
        "BREACH",
        "known_gaps[0] is larger than",
    ),
    "a key twice": (
        plain()[:-1] + ', "kernel_name": "k"}',
        "BREACH",
        'key "kernel_name" stands twice in an object',
    ),
    "another kernel's name": (
        edited("kernel_name", to="other"),
        "BREACH",
        "kernel_name is 'other' in the folder 'k'",
    ),
    "spellings that differ": (
        edited("reference_backend_selection", "cutile_geo_mean_ms", to=7),
        "BREACH",
        "reference_backend_selection: cutile_geomean_ms and cutile_geo_mean_ms differ",
    ),
    "a supplement elsewhere": (
        edited(*FIRST, "reference_ir_f32_supplement", to="reference/reference_looped.mlir"),
        "BREACH",
        "kernel_variants[0].reference_ir_f32_supplement 'reference/reference_looped.mlir' is not below",
    ),
    "a supplement that leaves": (
        edited(
            *FIRST,
            "reference_ir_f32_supplement",
            to="reference/supplements/../reference_looped.mlir",
        ),
        "BREACH",
        "kernel_variants[0].reference_ir_f32_supplement",
    ),
    "a supplement that is not there": (
        edited(*FIRST, "supplements", to={"bf16": "reference/supplements/a.mlir"}),
        "BREACH",
        "kernel_variants[0].supplements[bf16] 'reference/supplements/a.mlir' is not there",
    ),
    "IR outside of the folder": (
        edited(*FIRST, "reference_ir", to="../k/reference/reference_flat.mlir"),
        "BREACH",
        "kernel_variants[0].reference_ir '../k/reference/reference_flat.mlir' is outside of the",
    ),
    "a supplement as a variant": (
        edited(*FIRST, "reference_ir", to=SUPPLEMENT),
        "BREACH",
        f"kernel_variants[0].reference_ir '{SUPPLEMENT}' is a supplement, of which no variant",
    ),
    "IR of no name": (
        edited(*FIRST, "reference_ir", to=""),
        "BREACH",
        "kernel_variants[0].reference_ir '' is empty",
    ),
    "IR of no variant": (
        edited(*FIRST, "reference_ir", to="reference/reference_looped.mlir"),
        "BREACH",
        "reference/reference_flat.mlir is the IR of no variant",
    ),
    "two variants of one name": (
        edited(*FIRST, "variant_name", to="looped"),
        "BREACH",
        "variant 'looped' stands twice",
    ),
    "a mapping to nothing": (
        edited("config_to_variant", "m=1", to="other"),
        "BREACH",
        "config_to_variant[m=1] is an unknown variant: 'other'",
    ),
    "a mapping to a supplement": (
        edited("config_to_variant", "m=1", to="flat_f32"),
        "BREACH",
        "config_to_variant[m=1] is a supplement: 'flat_f32'",
    ),
    "a selection for nothing": (
        edited("reference_backend_selection", "per_variant", "other", to={}),
        "BREACH",
        "reference_backend_selection.per_variant names an unknown variant: 'other'",
    ),
    "an unknown winner": (
        edited("reference_backend_selection", "winner", to="cuda"),
        "BREACH",
        "reference_backend_selection.winner must be one of cutile, triton, triton_tileir",
    ),
    "a question of nothing": (
        edited("undecided", to=[{"what": "a", "where": "b"}]),
        "BREACH",
        "undecided[0].why is missing",
    ),
    "IR facts that are text": (
        edited(*FIRST, "ir", "mma", to="none"),
        "BREACH",
        "kernel_variants[0].ir.mma must be a list of objects",
    ),
}
# Name -> file, exit code of the script, ours, how our line begins.
DIFFERENT: dict[str, tuple[str, int, int, str]] = {
    "agent A's name of Triton": (edited("reference_backend", to="triton_tileir"), 1, 0, "PASS: "),
    "agent A's name of Triton, of a variant": (
        edited(*FIRST, "reference_backend", to="triton_tileir"),
        1,
        0,
        "PASS: ",
    ),
    "NaN": (
        edited("correctness_tolerance", "f16", "atol", to=math.nan),
        0,
        1,
        "FAIL: {path} is not valid JSON",
    ),
    "Infinity": (
        edited("known_gaps", to=-math.inf),
        0,
        1,
        "FAIL: {path} is not valid JSON",
    ),
}


def said(outcome: Outcome) -> list[str]:
    return [f"{line.level}: {line.text}" for line in outcome.lines]


def script(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["bash", SCRIPT, "k"],
        env={**os.environ, "CUTILE_KERNEL_OUT_ROOT": str(root), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


needs_tilegym = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="TILEGYM_PATH names no checkout of TileGym"
)


@pytest.mark.parametrize("name", SAME)
def test_what_is_said(name: str, tmp_path: Path) -> None:
    text, level, message = SAME[name]
    place(tmp_path, text)
    message = message.format(path=tmp_path / "k" / "reference" / "analysis.json")
    outcome = validate_analysis("k", str(tmp_path))
    level_here = "WARN" if level == "BREACH" else level
    assert [t for t in said(outcome) if t.startswith(f"{level_here}: {message}")]
    assert outcome.exit_code == (level in ("ERROR", "FAIL"))
    assert len(outcome.lines) == 1 or level != "PASS"
    last = "FAIL: " if outcome.exit_code else "PASS: analysis.json has all required fields"
    assert said(outcome)[-1].startswith(last)
    strict = validate_analysis("k", str(tmp_path), strict=True)
    if level == "BREACH":
        assert [t for t in said(strict) if t.startswith(f"ERROR: {message}")]
    assert level != "PASS" or strict == outcome
    assert strict.exit_code == 1 or level in ("PASS", "WARN")


@needs_tilegym
@pytest.mark.parametrize("name", SAME)
def test_the_script_says_the_same(name: str, tmp_path: Path) -> None:
    place(tmp_path, SAME[name][0])
    outcome = validate_analysis("k", str(tmp_path))
    code, lines = script(tmp_path)
    assert code == outcome.exit_code
    found = [line for line in lines if line.startswith(("ERROR: ", "WARN: ", "PASS: ", "FAIL: "))]
    ours = iter(said(outcome))
    # Each of its lines is one of ours, in its order; it prints NUL as it is.
    missed = [line for line in found if line.replace("\0", "\\x00") not in ours]
    spelling = "WARN: reference_backend_selection has no perf data"
    assert [line for line in missed if not line.startswith(spelling)] == []


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_on_purpose(name: str, tmp_path: Path) -> None:
    text, theirs, ours, line = DIFFERENT[name]
    place(tmp_path, text)
    outcome = validate_analysis("k", str(tmp_path))
    path = tmp_path / "k" / "reference" / "analysis.json"
    assert outcome.exit_code == ours
    assert said(outcome)[-1].startswith(line.format(path=path))
    if SCRIPT.is_file():
        assert script(tmp_path)[0] == theirs


def test_the_page_says_how_many_agree() -> None:
    page = (SCHEMAS.parent / "analysis.md").read_text(encoding="utf-8")
    assert f"{len(SAME) + len(DIFFERENT)} files, {len(SAME)} agree" in page


def test_one_spelling_of_the_mean_is_enough(tmp_path: Path) -> None:
    place(
        tmp_path,
        edited("reference_backend_selection", to={"winner": "cutile", "cutile_geomean_ms": 1}),
    )
    lines = said(validate_analysis("k", str(tmp_path)))
    assert not [line for line in lines if "no perf data" in line]


# -- what surrounds the file ------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    path = tmp_path / "k" / "reference" / "analysis.json"
    assert said(validate_analysis("k", str(tmp_path))) == [f"FAIL: {path} not found"]
    path.mkdir(parents=True)
    assert said(validate_analysis("k", str(tmp_path))) == [f"FAIL: {path} not found"]


@pytest.mark.parametrize("kernel", ["", ".", "..", "../k", "k/../k", "/k", "k\0", "k\n", "a\\b"])
def test_names_that_are_none(kernel: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no name of a kernel"):
        validate_analysis(kernel, str(tmp_path))


def test_links_and_absolute_paths_are_breaches(tmp_path: Path) -> None:
    real = tmp_path / "real.mlir"
    real.write_text("entry @k() { return }\n")
    place(tmp_path, edited(*FIRST, "reference_ir", to=str(real)))
    assert f"WARN: kernel_variants[0].reference_ir '{real}' is absolute" in said(
        validate_analysis("k", str(tmp_path))
    )
    folder = tmp_path / "k" / "reference"
    (folder / "reference_flat.mlir").unlink()
    (folder / "reference_flat.mlir").symlink_to(real)
    (folder / "analysis.json").write_text(json.dumps(VALID))
    outcome = validate_analysis("k", str(tmp_path))
    assert said(outcome) == [
        "WARN: kernel_variants[0].reference_ir 'reference/reference_flat.mlir' leads through a "
        "symbolic link",
        "PASS: analysis.json has all required fields",
    ]
    assert validate_analysis("k", str(tmp_path), strict=True).exit_code == 1


def test_a_root_behind_a_link_is_no_breach(tmp_path: Path) -> None:
    place(tmp_path / "real", json.dumps(VALID))
    (tmp_path / "root").symlink_to(tmp_path / "real")
    assert len(validate_analysis("k", str(tmp_path / "root")).lines) == 1


def test_a_dtype_among_the_structural_references(tmp_path: Path) -> None:
    place(tmp_path, json.dumps(VALID))
    (tmp_path / "k" / "reference" / "reference_flat_f32.mlir").write_text("")
    assert said(validate_analysis("k", str(tmp_path)))[0] == (
        "WARN: reference/reference_flat_f32.mlir is the IR of no variant: a dtype belongs in "
        "reference/supplements/"
    )


def test_text_of_the_file_passes_for_no_line(tmp_path: Path) -> None:
    place(tmp_path, edited("kernel_name", to="k\nFAIL: \x1b[31m"))
    outcome = validate_analysis("k", str(tmp_path))
    assert outcome.heading.splitlines()[0] == "kernel: k\\nFAIL: \\x1b[31m"
    assert "\x1b" not in outcome.text()


def test_the_heading_sums_up(tmp_path: Path) -> None:
    place(tmp_path, json.dumps(VALID))
    assert validate_analysis("k", str(tmp_path)).heading.splitlines() == [
        "kernel: k",
        "shapes: 2",
        "variants: 2 ['flat', 'looped']",
        "reference: def reference(x):\\n    return x",
        "tolerance: ['f16', 'f32']",
        "autotune: yes backends=['cutile'] top_configs=1 variant_configs=1",
        "errors: 0, warnings: 0",
    ]


def test_what_is_nested_is_cut_short(tmp_path: Path) -> None:
    place(tmp_path, edited("reference_backend", to=json.loads("[" * 300 + "]" * 300)))
    assert said(validate_analysis("k", str(tmp_path)))[0] == (
        'ERROR: reference_backend must be "cutile" or "triton", got "[[[[[[[...]]]]]]]"'
    )


def test_many_values_below_a_long_key(tmp_path: Path) -> None:
    """20 GB of paths, were each spelled out."""
    many = 20_000
    gaps = {"x" * 1_000_000: [0.5] * many}
    place(tmp_path, edited("config_to_variant", to=dict.fromkeys(map(str, range(many)), "flat")))
    file = tmp_path / "k" / "reference" / "analysis.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "known_gaps": gaps}))
    assert len(validate_analysis("k", str(tmp_path)).lines) == 1


def test_a_file_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, json.dumps(VALID))
    monkeypatch.setattr(analysis_module, "MAX_BYTES", 1 << 10)
    path = tmp_path / "k" / "reference" / "analysis.json"
    assert said(validate_analysis("k", str(tmp_path))) == [
        f"FAIL: {path}: error: larger than 0 MiB"
    ]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, edited("source", to=7))
    monkeypatch.delenv("CUTILE_KERNEL_OUT_ROOT", raising=False)
    done = tool("tileir", "validate", "analysis", "k")
    assert (done.returncode, done.stdout) == (3, b"")
    monkeypatch.setenv("CUTILE_KERNEL_OUT_ROOT", str(tmp_path))
    done = tool("tileir", "validate", "analysis", "k")
    assert done.returncode == 0
    assert done.stdout.endswith(
        b"WARN: source must be text\nPASS: analysis.json has all required fields\n"
    )
    done = tool("tileir", "validate", "analysis", "k", "--strict", "--format", "json")
    assert done.returncode == 1
    assert check(done.stdout)["lines"] == [
        {"level": "ERROR", "text": "source must be text", "detail": []},
        {
            "level": "FAIL",
            "text": "analysis.json validation failed. Re-run Agent A.",
            "detail": [],
        },
    ]
    assert tool("tileir", "validate", "analysis", "../k").returncode == 3
    assert tool("tileir", "validate", "analysis", "other").returncode == 1


# -- the schema -------------------------------------------------------------------------------------


def paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every value in a JSON document."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    found = [path] if path else []
    return found + [p for step, item in inner for p in paths(item, (*path, step))]


def test_schema_and_validator_ask_for_the_same_types(tmp_path: Path) -> None:
    place(tmp_path, "")
    file = tmp_path / "k" / "reference" / "analysis.json"
    apart = []
    for path in paths(VALID):
        for value in (None, -1, 0.5, 3, "x", True, [], [7], ["x"], [{}], {}, {"x": 7}):
            text = edited(*path, to=value)
            file.write_text(text)
            outcome = validate_analysis("k", str(tmp_path), strict=True)
            keeps = SCHEMA.is_valid(json.loads(text))
            typed = [line for line in said(outcome) if " must be " in line]
            if (not keeps and outcome.exit_code == 0) or (typed and keeps):
                apart.append((path, value, typed))
    assert apart == []


# -- writing and reading ----------------------------------------------------------------------------

NUMBERS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=8)
DTYPES = st.sampled_from(
    ["f16", "bf16", "f32", "tf32", "torch.float16", "fp8", "f8E4M3FN", "float8_e5m2", "int8", "i1"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
FINITE = SCALARS.filter(lambda v: not isinstance(v, float) or math.isfinite(v))
CONFIG = st.dictionaries(TEXT, FINITE, max_size=2)
SELECTIONS = st.builds(
    Selection,
    st.sampled_from(BACKENDS),
    st.dictionaries(st.sampled_from(["cutile", "triton_tileir"]), NUMBERS)
    | st.dictionaries(st.just("triton"), NUMBERS),
    TEXT,
)


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=2).map(tuple)


IRS = st.builds(
    VariantIR,
    entry=TEXT,
    file=TEXT,
    fingerprints=st.dictionaries(TEXT, TEXT, max_size=2),
    hints=st.dictionaries(TEXT, CONFIG, max_size=2),
    tile_shapes=tuples(tuples(st.integers(0, 1 << 40))),
    mma=tuples(st.builds(MatrixProduct, TEXT, TEXT, TEXT, TEXT)),
    ftof=tuples(st.builds(Conversion, TEXT, TEXT, st.none() | TEXT)),
    memory_ops=st.dictionaries(TEXT, st.integers(0), max_size=2),
    ops=st.dictionaries(TEXT, st.integers(0), max_size=2),
    evidence=st.none() | CONFIG,
)
VARIANTS = st.builds(
    VariantEntry,
    variant_name=TEXT,
    variant_type=TEXT,
    kernel_function=TEXT,
    dispatch_condition=TEXT,
    reference_ir=TEXT,
    reference_backend=st.sampled_from(BACKENDS),
    supplements=st.dictionaries(DTYPES, st.none() | TEXT.map("reference/supplements/{}".format)),
    constants=tuples(CONFIG),
    autotune_configs=st.none() | tuples(CONFIG),
    best_config=st.none() | CONFIG,
    selection=st.none() | SELECTIONS,
    ir=st.none() | IRS,
)
ANALYSES = st.builds(
    Analysis,
    kernel_name=TEXT,
    source=TEXT,
    launch_path=TEXT,
    pattern=TEXT,
    ops_used=tuples(TEXT),
    selection=SELECTIONS,
    test_perf_configs=tuples(st.builds(PerfTest, TEXT, tuples(TEXT), tuples(tuples(FINITE)))),
    variants=tuples(VARIANTS),
    config_to_variant=st.dictionaries(TEXT, TEXT, max_size=2),
    correctness_reference=st.builds(CorrectnessReference, TEXT, TEXT),
    correctness_tolerance=st.dictionaries(DTYPES, st.builds(Tolerance, NUMBERS, NUMBERS)),
    tolerance_source=TEXT,
    entry_symbol_policy=st.builds(EntrySymbolPolicy, st.booleans(), st.booleans(), TEXT),
    tests=tuples(TEXT),
    autotune_backends=tuples(TEXT),
    autotune_key=tuples(TEXT),
    autotune_configs=st.none() | tuples(CONFIG),
    undecided=tuples(st.builds(Undecided, TEXT, TEXT, TEXT)),
)


@settings(deadline=None)
@given(ANALYSES)
def test_what_is_written_keeps_the_schema_and_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, analysis: Analysis
) -> None:
    path = tmp_path_factory.mktemp("written") / "analysis.json"
    path.write_text(to_json(analysis), encoding="utf-8")
    content: Any = read_analysis(str(path))
    SCHEMA.validate(content)
    assert content["kernel_name"] == analysis.kernel_name
    assert content["config_to_variant"] == analysis.config_to_variant
    tolerance = {k: v for k, v in content["correctness_tolerance"].items() if k != "source"}
    assert tolerance == {k: v._asdict() for k, v in analysis.correctness_tolerance.items()}
    rows = [tuple(map(tuple, t["param_list"])) for t in content["test_perf_configs"]]
    assert rows == [t.param_list for t in analysis.test_perf_configs]
    for entry, variant in zip(content["kernel_variants"], analysis.variants):
        assert entry["reference_ir"] == variant.reference_ir
        given_paths = {d: p for d, p in variant.supplements.items() if p is not None}
        fields = {f"reference_ir_{d}_supplement": p for d, p in given_paths.items()}
        assert {k: v for k, v in entry.items() if k.endswith("_supplement")} == fields
        assert ("ir" in entry) == (variant.ir is not None)
        if variant.ir is not None:
            assert entry["ir"]["ops"] == variant.ir.ops
            assert [row["acc"] for row in entry["ir"]["mma"]] == [m.acc for m in variant.ir.mma]


def test_contested_fields_are_written_in_both_spellings() -> None:
    selection = VALID["reference_backend_selection"]
    assert VALID["reference_backend"] == selection["winner"] == "triton"
    assert selection["cutile_geomean_ms"] == selection["cutile_geo_mean_ms"] == 2.5
    assert selection["triton_tileir_geomean_ms"] == selection["triton_geo_mean_ms"] == 2.0
    assert list(selection["per_variant"]) == ["flat", "looped"]
    assert VALID["kernel_variants"][1]["reference_backend"] == "triton"
    assert VALID["kernel_variants"][0]["reference_ir_f32_supplement"] == SUPPLEMENT
    assert "reference_ir_bf16_supplement" not in VALID["kernel_variants"][0]


def test_equal_analyses_are_equal_texts() -> None:
    turned = dict(reversed(ANALYSIS.config_to_variant.items()))
    assert to_json(ANALYSIS._replace(config_to_variant=turned)) == to_json(ANALYSIS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a._replace(selection=Selection("cuda", {})), "unknown reference backend 'cuda'"),
        (
            lambda a: a._replace(selection=Selection("cutile", {"cutile": math.nan})),
            "cutile_geomean_ms' is nan",
        ),
        (
            lambda a: a._replace(selection=Selection("cutile", {"triton": 1, "triton_tileir": 2})),
            "one backend twice",
        ),
        (lambda a: a._replace(correctness_tolerance={"f17": Tolerance(0, 0)}), "unknown dtype"),
        (lambda a: a._replace(pattern="\ud800"), "half of a surrogate pair"),
        (
            lambda a: a._replace(
                variants=(a.variants[0]._replace(supplements={"f32": "reference/a.mlir"}),)
            ),
            "is not below reference/supplements/",
        ),
    ],
)
def test_what_is_not_written(change: Callable[[Analysis], Analysis], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        to_json(change(ANALYSIS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{\n "a": NaN}', ":2:7: error: not JSON: NaN is no number"),
        (b'{"NaN": "\\"NaN",\n\n"b": -Infinity}', ":3:6: error: not JSON: -Infinity is no number"),
        (b'{"a" 1}', ":1:6: error: not JSON: Expecting ':' delimiter"),
        (b'{"\xc3\xa9": "\xe9"}', ":1:8: error: not UTF-8"),
        (b'{"a": ' * 100_000, ":1:1: error: nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", ":1:1: error: not JSON: Exceeds the limit"),
    ],
)
def test_where_a_file_is_broken(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "analysis.json"
    path.write_bytes(text)
    with pytest.raises(ParseError) as caught:
        read_analysis(str(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", "\0"):
        with pytest.raises(InputError, match="cannot be read"):
            read_analysis(str(path))
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(InputError, match="expected an object, found a list"):
        read_analysis(str(tmp_path / "a.json"))
