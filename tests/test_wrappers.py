"""Wrappers of kernels in Rust: our own, each fault made by an edit, what is none, hostile input, TileGym's."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tileir_tools.cli.tileir import command as tileir_command

from tileir_tools.errors import InputError, ParseError, TileIRError
from tileir_tools.sources import Condition, Undecided, find_project, read_operation
from tileir_tools.wrappers import (
    WRAPPER_RULES,
    Wrapper,
    WrapperFinding,
    examine_wrapper,
    read_wrapper,
    undecided_of,
)
from tileir_tools.wrappers.ffi import entries_of, exports_of, option_order
from tileir_tools.wrappers.rust import RustFile

ROOT = Path(__file__).resolve().parents[1]
PROJECT = Path(__file__).parent / "fixtures" / "project"
WRAPPERS = "src/demo/ops/cutile_rs"
NAMES = ("row_scale", "gemm", "reduce_rows")
B200 = (10, 0)


class Edit(NamedTuple):
    """A replacement in a file below the folder of wrappers; what is replaced stands there once."""

    file: str
    old: str
    new: str


class Case(NamedTuple):
    """Edits of a wrapper; the code they must be told by, and what stands on the line that is named."""

    name: str
    code: str
    file: str
    line: str
    edits: tuple[Edit, ...]
    analysis: dict[str, Any] | None = None


def edited(folder: Path, edits: Sequence[Edit] = ()) -> Path:
    """A copy of our own project with edits."""
    shutil.copytree(PROJECT / "src", folder / "src")
    for edit in edits:
        path = folder / WRAPPERS / edit.file
        text = path.read_text()
        assert text.count(edit.old) == 1, f"{edit.old!r} stands {text.count(edit.old)} times"
        path.write_text(text.replace(edit.old, edit.new))
    return folder


def read(root: Path, name: str) -> tuple[Wrapper, Any]:
    project = find_project(root)
    wrapper = read_wrapper(project, name)
    path = project.operation_file(name)
    assert wrapper is not None
    assert path is not None
    return wrapper, read_operation(path, project.root, capability=B200)


def findings(root: Path, name: str, analysis: Any = None) -> tuple[WrapperFinding, ...]:
    return examine_wrapper(*read(root, name), analysis)


def line_of(path: Path, text: str) -> int:
    """The line that holds a text, the only one."""
    found = [n for n, line in enumerate(path.read_text().split("\n"), 1) if text in line]
    assert len(found) == 1, f"{text!r} stands on lines {found}"
    return found[0]


# -- our own wrappers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_correct_wrappers_have_no_fault(name: str) -> None:
    wrapper, reference = read(PROJECT, name)
    assert examine_wrapper(wrapper, reference) == ()
    assert undecided_of(wrapper, reference) == ()


def test_what_is_read_of_python() -> None:
    wrapper, _ = read(PROJECT, "gemm")
    assert [(r.name, r.backend) for r in wrapper.registrations] == [("gemm", "cutile-rs")]
    (call,) = wrapper.calls
    assert call.symbol == "demo_gemm"
    assert (call.step.root, call.step.function) == ("gemm", "_run")
    by_name = {a.parameter: a for a in call.arguments}
    assert list(by_name) == list(wrapper.exports[0].parameters)
    assert by_name["tk"].sources == ("cfg.TK",)
    assert by_name["occupancy"].constant == -1
    assert by_name["short"].meanings[-1] == ("not transpose_b and k <= SHORT", True)
    (search,) = wrapper.searches
    assert call.step.search == search.step.line
    assert search.key is not None
    assert [p.text for p in search.key] == [
        "m", "n", "k", "a.dtype", "str(a.device)", "transpose_b", "short",
    ]  # fmt: skip
    assert not isinstance(search.configs, Undecided)
    assert [(c.value, c.when) for c in search.configs] == [
        ({"TM": 64, "TN": 64, "TK": 64}, ("not transpose_b and k <= SHORT",)),
        ({"TM": 64, "TN": 64, "TK": 32}, ("not (not transpose_b and k <= SHORT)",)),
    ]
    assert [(w.work.kind, w.work.name, w.used) for w in wrapper.works] == [
        ("copy", "contiguous", True),
        ("copy", "contiguous", True),
        ("allocate", "torch.empty", True),
    ]
    assert wrapper.gates[0].dtypes == ("float16", "float32")


def test_what_is_read_of_rust() -> None:
    wrapper, _ = read(PROJECT, "gemm")
    short, deep = wrapper.entries
    assert (short.name, short.generics) == ("gemm_short_kernel", ("E", "TM", "TN", "TK"))
    assert deep.parameters == ("a", "b", "c", "depth")
    assert short.hints == {}
    assert deep.hints == {"sm_80": {"occupancy": "1"}, "sm_100": {"occupancy": "2"}}
    (export,) = wrapper.exports
    assert export.name == "demo_gemm"
    first, second = export.launches
    assert first.conditions == (Condition("short != 0", True, 36),)
    assert second.conditions == (Condition("short != 0", False, 36),)
    assert second.generics == ("$name", "tm", "tn", "tk", "transpose_b")
    assert second.grid == ("grid_m", "grid_n")
    assert second.hints == {"occupancy": "occupancy", "num_cta_in_cga": "num_cta_in_cga"}
    assert [(a.dtype, a.type) for a in export.dtypes] == [("f32", "f32"), ("f16", "f16")]


def test_no_such_wrapper() -> None:
    assert read_wrapper(find_project(PROJECT), "nothing") is None


# -- faults ------------------------------------------------------------------------------------------

ROW, GEMM, REDUCE = (f"{name}.py" for name in NAMES)
ROW_FFI, GEMM_FFI, REDUCE_FFI = (f"{name}_kernel/ffi.rs" for name in NAMES)
ROW_RS, GEMM_RS, REDUCE_RS = (f"{name}_kernel/kernel.rs" for name in NAMES)
_FOLD = "        return _run(x, y, cfg)\n"
_TILES = "tile_m.to_string(), tile_n.to_string()"
_KEY = "key=(m, n, x.dtype, str(x.device)),"
_EMPTY = "        y = torch.empty(m, dtype=x.dtype, device=x.device)\n"
_SEARCH = (
    "    return autotune_launch(\n        kernel_fn=kernel_fn,\n        configs=_configs(),\n"
    f'        {_KEY}\n        kernel_name="reduce_rows",\n    )\n'
)
_GEMM_SEARCH = "    return autotune_launch(\n        kernel_fn=kernel_fn,\n        configs=_short"
_CANARY = (
    "    warm = torch.empty((m, n), dtype=a.dtype, device=a.device)\n"
    "    _run(a, b, warm, _deep_configs()[0], transpose_b, short)\n"
)
_ROW_RUN = "    _run(x, scale, y, tile, rows)\n"
_SHORT_LAUNCH = "gemm_short_kernel(&*a_t, &*b_t, &*c_t)"
# The reference of `reduce_rows`.
THEIRS = "../cutile/reduce_rows.py"
_YIELDED = "TILE_N=tile_n, "
_HINTS = '{"occupancy": cfg.occupancy}'
_TWO_HINTS = '{"num_ctas": cfg.num_ctas, "occupancy": cfg.occupancy}'
_FLAGS = ", transpose_b, short),\n"
_SPACE = "        for tile_n in (256, 512)\n"

FAULTS = (
    Case("canary before the search", "WRP001", GEMM, "_run(a, b, warm",
         (Edit(GEMM, _GEMM_SEARCH, _CANARY + _GEMM_SEARCH),)),
    Case("canary after the search", "WRP001", REDUCE, "_run(x, x.new_empty",
         (Edit(REDUCE, _SEARCH, _SEARCH.replace("return", "found =")
               + "    _run(x, x.new_empty(m), _configs()[0])\n    return found\n"),)),
    Case("canary under a condition", "WRP001", GEMM, "_run(a, b, warm",
         (Edit(GEMM, _GEMM_SEARCH, "    if m > 16:\n" + _CANARY.replace("    ", "        ", 1)
               .replace("\n    _run", "\n        _run") + _GEMM_SEARCH),)),
    Case("two launches without a search", "WRP001", ROW, "_run(x, scale, y, 64, rows)",
         (Edit(ROW, _ROW_RUN, _ROW_RUN + "    _run(x, scale, y, 64, rows)\n"),)),
    Case("two launches in what is tried", "WRP002", REDUCE, "return _run(x, y, cfg)",
         (Edit(REDUCE, _FOLD, "        _run(x, y, cfg)\n" + _FOLD),)),
    Case("zeros in what is tried", "WRP003", REDUCE, "torch.zeros",
         (Edit(REDUCE, "torch.empty", "torch.zeros"),)),
    Case("ones in what is tried", "WRP003", REDUCE, "torch.ones",
         (Edit(REDUCE, "torch.empty", "torch.ones"),)),
    Case("clone in what is tried", "WRP003", REDUCE, "x.clone()",
         (Edit(REDUCE, _FOLD, "        return _run(x.clone(), y, cfg)\n"),)),
    Case("contiguous in what is tried", "WRP003", REDUCE, "_run(x.contiguous()",
         (Edit(REDUCE, _FOLD, "        return _run(x.contiguous(), y, cfg)\n"),)),
    Case("product in what is tried", "WRP003", GEMM, "check = a @ b",
         (Edit(GEMM, "        c = torch.empty", "        check = a @ b\n        c = torch.empty"),)),
    Case("PyTorch under a condition", "WRP004", ROW, "torch.mul(",
         (Edit(ROW, "    tile = 256", "    if columns > 4096:\n"
               "        return torch.mul(x, scale[:, None])\n    tile = 256"),)),
    Case("PyTorch after a failure", "WRP004", ROW, "torch.mul(",
         (Edit(ROW, _ROW_RUN, "    try:\n        _run(x, scale, y, tile, rows)\n    except RuntimeError:\n"
               "        return torch.mul(x, scale[:, None])\n"),)),
    Case("output filled", "WRP005", ROW, "torch.zeros_like(x)",
         (Edit(ROW, "torch.empty_like(x)", "torch.zeros_like(x)"),)),
    Case("input copied, the reference does not", "WRP006", ROW, "scale.contiguous()",
         (Edit(ROW, _ROW_RUN, "    scale = scale.contiguous()\n" + _ROW_RUN),)),
    Case("input cloned", "WRP006", ROW, "scale.clone()",
         (Edit(ROW, _ROW_RUN, "    scale = scale.clone()\n" + _ROW_RUN),)),
    Case("result of a search copied", "WRP007", REDUCE, "out.copy_(",
         (Edit(REDUCE, "def reduce_rows(x):", "def reduce_rows(x, out=None):"),
          Edit(REDUCE, "    return _reduce(x.contiguous())\n", "    result = _reduce(x.contiguous())\n"
               "    if out is not None:\n        out.copy_(result)\n        return out\n    return result\n"))),
    Case("result of a launch copied", "WRP007", ROW, "out.copy_(y)",
         (Edit(ROW, "def row_scale(x, scale):", "def row_scale(x, scale, out):"),
          Edit(ROW, _ROW_RUN, _ROW_RUN + "    out.copy_(y)\n"))),
    Case("output allocated twice", "WRP008", REDUCE, "out = torch.empty",
         (Edit(REDUCE, "    m, n = x.shape\n", "    m, n = x.shape\n"
               "    out = torch.empty(m, dtype=x.dtype, device=x.device)\n"),)),
    Case("no search", "WRP010", REDUCE, "lib.demo_reduce_rows(",
         (Edit(REDUCE, _SEARCH, "    return kernel_fn(_configs()[0])\n"),)),
    Case("key without a size", "WRP011", REDUCE, "key=(m, x.dtype",
         (Edit(REDUCE, _KEY, "key=(m, x.dtype, str(x.device)),"),)),
    Case("key without format", "WRP012", REDUCE, "key=(m, n, str",
         (Edit(REDUCE, _KEY, "key=(m, n, str(x.device)),"),)),
    Case("key without variant", "WRP013", GEMM, "key=(m, n, k,",
         (Edit(GEMM, _FLAGS, "),\n"),)),
    Case("key without device", "WRP014", REDUCE, "key=(m, n, x.dtype)",
         (Edit(REDUCE, _KEY, "key=(m, n, x.dtype),"),)),
    Case("configurations missing", "WRP015", REDUCE, "def _configs",
         (Edit(REDUCE, "(256, 512)", "(256,)"),)),
    Case("no configurations for a variant", "WRP015", GEMM, "configs=_short",
         (Edit(GEMM, "[SimpleNamespace(TM=64, TN=64, TK=SHORT)]", "[]"),)),
    Case("another hint in all of them", "WRP015", REDUCE, "def _configs",
         (Edit(REDUCE, "OCCUPANCY=4", "OCCUPANCY=2"),)),
    Case("knob missing", "WRP016", REDUCE, "def _configs",
         (Edit(REDUCE, "TILE_M=tile_m, ", ""), Edit(REDUCE, "        for tile_m in (1, 2)\n", ""),
          Edit(REDUCE, "int(cfg.TILE_M)", "1"), Edit(REDUCE, "-(-x.shape[0] // cfg.TILE_M)", "x.shape[0]"))),
    Case("knob missing: CTAs of a cluster", "WRP016", REDUCE, "def _configs",
         (Edit(THEIRS, _YIELDED, "TILE_N=tile_n, num_ctas=tile_m, "), Edit(THEIRS, _HINTS, _TWO_HINTS))),
    Case("knob missing: stages", "WRP016", REDUCE, "def _configs",
         (Edit(THEIRS, _YIELDED, "TILE_N=tile_n, num_stages=tile_m + 1, "),)),
    Case("best missing", "WRP017", REDUCE, "def _configs",
         (Edit(REDUCE, _SPACE, _SPACE + "        if (tile_m, tile_n) != (2, 512)\n"),),
         {"best_config": {"TILE_M": 2, "TILE_N": 512, "occupancy": 4}}),
    Case("variant of the other condition", "WRP020", GEMM_FFI, "if short == 0",
         (Edit(GEMM_FFI, "if short != 0", "if short == 0"),)),
    Case("flag negated in Python", "WRP020", GEMM_FFI, "if short != 0",
         (Edit(GEMM, "int(short)", "int(not short)"),)),
    Case("entries changed places", "WRP020", GEMM_FFI, "if short != 0",
         (Edit(GEMM_FFI, _SHORT_LAUNCH, "gemm_kernel(&*a_t, &*b_t, &*c_t, 0)"),
          Edit(GEMM_FFI, "gemm_kernel(&*a_t, &*b_t, &*c_t, depth)", _SHORT_LAUNCH),
          Edit(GEMM_FFI, "tn.to_string(), tk.to_string()]", "tn.to_string(), tk.to_string(), "
               "transpose_b.to_string()]"),
          Edit(GEMM_FFI, "                    transpose_b.to_string(),\n", ""))),
    Case("another bound", "WRP020", GEMM, "        int(short),",
         (Edit(GEMM, "k <= SHORT", "k < SHORT"),)),
    Case("variant missing", "WRP021", GEMM_FFI, "fn demo_gemm",
         (Edit(GEMM_FFI, _SHORT_LAUNCH, "gemm_kernel(&*a_t, &*b_t, &*c_t, 0)"),
          Edit(GEMM_FFI, "tn.to_string(), tk.to_string()]", "tn.to_string(), tk.to_string(), "
               "transpose_b.to_string()]"))),
    Case("format without an arm", "WRP022", ROW, "if x.dtype not in _DTYPES",
         (Edit(ROW_FFI, '        "f16" => launch!(f16),\n', ""),)),
    Case("format without a name in the list", "WRP022", REDUCE, "if x.dtype not in _DTYPES",
         (Edit(REDUCE_FFI, "dispatch, f32, f16)", "dispatch, f32)"),)),
    Case("format let through too", "WRP022", REDUCE, "if x.dtype not in _DTYPES",
         (Edit(REDUCE, "torch.float16)", "torch.float16, torch.bfloat16)"),)),
    Case("format to another type", "WRP023", ROW_FFI, "launch!(f64)",
         (Edit(ROW_FFI, "launch!(f16)", "launch!(f64)"),)),
    Case("code to another type", "WRP023", GEMM_FFI, '1 => launch!(f32, "f16")',
         (Edit(GEMM_FFI, 'launch!(f16, "f16")', 'launch!(f32, "f16")'),)),
    Case("arguments changed places", "WRP024", GEMM, "int(tn),",
         (Edit(GEMM, "        int(tm),\n        int(tn),", "        int(tn),\n        int(tm),"),)),
    Case("hints changed places", "WRP024", REDUCE, "int(occupancy),",
         (Edit(REDUCE, "        _AUTO,\n        int(occupancy),", "        int(occupancy),\n        _AUTO,"),)),
    Case("tensors changed places", "WRP024", ROW, "lib.demo_row_scale(",
         (Edit(ROW, "xd, sd, yd, int(tile)", "xd, yd, sd, int(tile)"),)),
    Case("number with a point for an integer", "WRP024", GEMM, "float(m)",
         (Edit(GEMM, "        int(grid_m),", "        float(m),"), Edit(GEMM, "cfg, transpose_b, short):",
               "cfg, transpose_b, short, m=1):"))),
    Case("argument missing", "WRP024", REDUCE, "lib.demo_reduce_rows(",
         (Edit(REDUCE, "        int(blocks),\n", ""),)),
    Case("declaration in another order", "WRP024", REDUCE, "int32_t demo_reduce_rows",
         (Edit(REDUCE, "int32_t tile_m, int32_t tile_n", "int32_t tile_n, int32_t tile_m"),)),
    Case("declaration without a parameter", "WRP024", ROW, "int32_t demo_row_scale",
         (Edit(ROW, "int32_t rows, ", ""),)),
    Case("generics changed places", "WRP025", REDUCE_FFI, "fold_kernel(&*x_t",
         (Edit(REDUCE_FFI, _TILES, "tile_n.to_string(), tile_m.to_string()"),)),
    Case("generic missing", "WRP025", GEMM_FFI, "gemm_kernel(&*a_t, &*b_t, &*c_t, depth)",
         (Edit(GEMM_FFI, "                    transpose_b.to_string(),\n", ""),)),
    Case("hint not handed on", "WRP030", REDUCE, "        -1,",
         (Edit(REDUCE, "int(occupancy),", "-1,"),)),
    Case("hint of every configuration not handed on", "WRP030", REDUCE, "        _AUTO,",
         (Edit(THEIRS, _YIELDED, "TILE_N=tile_n, num_ctas=1, "), Edit(THEIRS, _HINTS, _TWO_HINTS))),
    Case("hint fixed", "WRP030", REDUCE, "        2,",
         (Edit(REDUCE, "int(occupancy),", "2,"),)),
    Case("options not given a hint", "WRP031", ROW_FFI, "let mut opts",
         (Edit(ROW_FFI, "opts = opts.occupancy(occupancy);", ""),)),
    Case("options in another order", "WRP031", REDUCE_FFI, "compile_options!",
         (Edit(REDUCE_FFI, "(occupancy, num_cta_in_cga)", "(num_cta_in_cga, occupancy)"),)),
    Case("hint of the kernel lost", "WRP032", ROW_RS, "fn row_scale_kernel",
         (Edit(ROW_RS, "sm_100 = (occupancy = 4,),", ""),)),
    Case("hint of the kernel another", "WRP032", ROW_RS, "fn row_scale_kernel",
         (Edit(ROW_RS, "occupancy = 4", "occupancy = 2"),)),
    Case("hint another on one target", "WRP032", GEMM_RS, "fn gemm_kernel",
         (Edit(GEMM_RS, "sm_80 = (occupancy = 1,)", "sm_80 = (occupancy = 2,)"),)),
    Case("another hint passed", "WRP032", ROW, "lib.demo_row_scale(",
         (Edit(ROW, "_AUTO, _AUTO, stream", "_AUTO, 2, stream"),)),
    Case("hint forced by an argument", "WRP033", REDUCE, "        1,",
         (Edit(REDUCE, "        _AUTO,\n", "        1,\n"),)),
    Case("hint forced in the entry", "WRP033", REDUCE_RS, "fn fold_kernel",
         (Edit(REDUCE_RS, "entry()", "entry(optimization_hints = (sm_100 = (num_cta_in_cga = 2,),))"),)),
    Case("grid of a hint", "WRP034", REDUCE_FFI, "fold_kernel(&*x_t",
         (Edit(REDUCE_FFI, "(blocks as u32, 1, 1)", "(occupancy as u32, 1, 1)"),)),
    Case("grid times a hint", "WRP034", REDUCE, "int(blocks),",
         (Edit(REDUCE, "// cfg.TILE_M)", "// cfg.TILE_M) * cfg.OCCUPANCY"),)),
    Case("grid capped by multiprocessors", "WRP034", ROW, "lib.demo_row_scale(",
         (Edit(ROW, "import bind,", "import get_num_sm, bind,"),
          Edit(ROW, "tile, rows)\n    return", "tile, min(rows, 4 * get_num_sm()))\n    return"))),
)  # fmt: skip


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.name)
def test_fault(case: Case, tmp_path: Path) -> None:
    root = edited(tmp_path, case.edits)
    name = next(name for name in NAMES if case.file.startswith(name))
    found = findings(root, name, case.analysis)
    line = line_of(root / WRAPPERS / case.file, case.line)
    assert [(f.code, f.where) for f in found] == [(case.code, f"{WRAPPERS}/{case.file}:{line}")]
    (finding,) = found
    rule = WRAPPER_RULES[case.code]
    assert case.line.strip() in finding.excerpt
    assert finding[1:2] + finding[5:7] == (rule.title, rule.consequence, rule.action)
    assert finding.about == rule.about
    assert finding.confidence in ("high", "medium", "low")


def test_every_rule_has_a_fault() -> None:
    assert {case.code for case in FAULTS} == set(WRAPPER_RULES)


def test_options_left_out(tmp_path: Path) -> None:
    """No hint has an effect then; that is said once."""
    root = edited(tmp_path, [Edit(REDUCE_FFI, "\n                .compile_options(opts)", "")])
    found = findings(root, "reduce_rows")
    assert [f.code for f in found] == ["WRP031"]
    assert "without compile_options" in found[0].message


def test_messages_name_both_sides(tmp_path: Path) -> None:
    root = edited(tmp_path, [Edit(REDUCE, "(256, 512)", "(256,)")])
    (finding,) = findings(root, "reduce_rows")
    assert finding.message == (
        "2 of 4 configurations that the reference tries for _fold_kernel are not tried: "
        "(tile_m 1, tile_n 512, occupancy 4); (tile_m 2, tile_n 512, occupancy 4)"
    )
    (tmp_path / "b").mkdir()
    root = edited(tmp_path / "b", [Edit(GEMM_FFI, "if short != 0", "if short == 0")])
    (finding,) = findings(root, "gemm")
    assert finding.message == (
        "gemm_short_kernel is launched where not (not transpose_b and k <= SHORT); the reference "
        "launches _gemm_short_kernel where not transpose_b and k <= SHORT"
    )


# -- what is no fault --------------------------------------------------------------------------------

_HELPER = "\n\ndef _warm(x):\n    return torch.zeros(4), x.clone(), torch.mm(x, x)\n"
_REGISTER = '\n\n@register_impl("row_scale", backend="cutile-rs")\n'

FAULTLESS: tuple[tuple[str, str, tuple[Edit, ...]], ...] = (
    ("work that no call comes to", "row_scale", (Edit(ROW, _REGISTER, _HELPER + _REGISTER),)),
    ("work of the module itself", "row_scale",
     (Edit(ROW, "_AUTO = -1\n", "_AUTO = -1\n_EMPTY = torch.zeros(1)\n"),)),
    ("a copy that the reference makes, under a condition", "row_scale",
     (Edit(ROW, "    x = x.contiguous()\n", "    if not x.is_contiguous():\n        x = x.contiguous()\n"),)),
    ("a copy that the reference makes, elsewhere", "reduce_rows",
     (Edit(REDUCE, "_reduce(x.contiguous())", "_reduce(x)"),
      Edit(REDUCE, "    m, n = x.shape\n", "    x = x.contiguous()\n    m, n = x.shape\n"))),
    ("a canary that nothing calls", "reduce_rows",
     (Edit(REDUCE, "\n\ndef _reduce(x):", "\n\ndef canary(x, y):\n    return _run(x, y, _configs()[0])\n\n\n"
           "def _reduce(x):"),)),
    ("a canary once", "gemm",
     (Edit(GEMM, _GEMM_SEARCH, "    if (m, n) not in _WARMED:\n        _WARMED.add((m, n))\n"
           + _CANARY.replace("    ", "        ", 1).replace("\n    _run", "\n        _run") + _GEMM_SEARCH),
      Edit(GEMM, "_AUTO = -1\n", "_AUTO = -1\n_WARMED = set()\n"))),
    ("a canary once, by a flag", "reduce_rows",
     (Edit(REDUCE, "    m, n = x.shape\n", "    global _warm\n    m, n = x.shape\n    if not _warm:\n"
           "        _warm = True\n        _run(x, x.new_empty(m), _configs()[0])\n"),
      Edit(REDUCE, "_AUTO = -1\n", "_AUTO = -1\n_warm = False\n"))),
    ("a launch in place of the search", "reduce_rows",
     (Edit(REDUCE, _SEARCH, "    if n < 16:\n        return kernel_fn(_configs()[0])\n" + _SEARCH),)),
    ("another launch after a failure", "row_scale",
     (Edit(ROW, _ROW_RUN, "    try:\n        _run(x, scale, y, tile, rows)\n    except RuntimeError:\n"
           "        _run(x, scale, y, 64, rows)\n"),)),
    ("launches that exclude each other", "row_scale",
     (Edit(ROW, _ROW_RUN, "    if columns > 64:\n        _run(x, scale, y, 256, rows)\n    else:\n"
           "        _run(x, scale, y, 64, rows)\n"),)),
    ("an output for what needs no launch", "reduce_rows",
     (Edit(REDUCE, "    m, n = x.shape\n", "    m, n = x.shape\n    if n == 0:\n"
           "        return torch.empty(m, dtype=x.dtype, device=x.device)\n"),)),
    ("a launch in a function of its own", "reduce_rows",
     (Edit(REDUCE_FFI, "    macro_rules! dispatch {\n        ($E:ty) => {{",
           "    fn launch<E: DType>(name: &str, m: i32, n: i32, width: i32, blocks: i32,\n"
           "        occupancy: i32, ctas: i32) -> i32 {"),
      Edit(REDUCE_FFI, "        }};\n    }\n", "    }\n"),
      Edit(REDUCE_FFI, f"dty.to_string(), {_TILES}", "name.to_string(), m.to_string(), n.to_string()"),
      Edit(REDUCE_FFI, "(occupancy, num_cta_in_cga);", "(occupancy, ctas);"),
      Edit(REDUCE_FFI, "    crate::dispatch_by_dtype!(dty, dispatch, f32, f16)\n",
           "    match dty {\n"
           '        "f32" => launch::<f32>(dty, tile_m, tile_n, width, blocks, occupancy, num_cta_in_cga),\n'
           '        "f16" => launch::<f16>(dty, tile_m, tile_n, width, blocks, occupancy, num_cta_in_cga),\n'
           "        _ => -2,\n    }\n"))),
    ("variants by a match", "gemm",
     (Edit(GEMM_FFI, "let done = if short != 0 {", "let done = match short { 1 => {"),
      Edit(GEMM_FFI, "            } else {\n                let generics = vec![",
           "            }\n            _ => {\n                let generics = vec!["),
      Edit(GEMM_FFI, "            };\n            if done", "            }};\n            if done"))),
    ("a key by name", "reduce_rows",
     (Edit(REDUCE, _SEARCH, f"    {_KEY[:-1].replace('=', ' = ')}\n" + _SEARCH.replace(_KEY, "key=key,")),)),
    ("a key by a function", "reduce_rows",
     (Edit(REDUCE, _KEY, "key=_key(x, m, n),"),
      Edit(REDUCE, "\n\ndef _reduce(x):", "\n\ndef _key(x, a, b):\n    return (a, b, x.dtype, x.device)\n\n\n"
           "def _reduce(x):"))),
    ("sizes of other names", "reduce_rows",
     (Edit(REDUCE, "    m, n = x.shape\n", "    m, width = x.shape\n"),
      Edit(REDUCE, _KEY, "key=(m, width, x.dtype, str(x.device)),"))),
    ("a format by name", "reduce_rows",
     (Edit(REDUCE, "    m, n = x.shape\n", "    m, n = x.shape\n    kind = x.dtype\n"),
      Edit(REDUCE, _KEY, "key=(m, n, kind, str(x.device)),"))),
    ("a flag that other parts of the key decide", "gemm",
     (Edit(GEMM, _FLAGS, ", transpose_b),\n"),)),
    ("a flag by what it is made of", "gemm",
     (Edit(GEMM, _FLAGS, ", not transpose_b and k <= SHORT),\n"),)),
    ("a function that is a lambda", "reduce_rows",
     (Edit(REDUCE, "kernel_fn=kernel_fn", "kernel_fn=lambda config: kernel_fn(config)"),)),
    ("fields of other names", "reduce_rows",
     (Edit(REDUCE, "TILE_M=tile_m, TILE_N=tile_n", "BM=tile_m, BLOCK_N=tile_n"),
      Edit(REDUCE, "int(cfg.TILE_M)", "int(cfg.BM)"), Edit(REDUCE, "int(cfg.TILE_N)", "int(cfg.BLOCK_N)"),
      Edit(REDUCE, "// cfg.TILE_M", "// cfg.BM"))),
    ("a field that the reference does not vary", "reduce_rows",
     (Edit(THEIRS, _YIELDED, "TILE_N=tile_n, LOAD_LATENCY=-1, "),)),
    ("more configurations, in another order", "reduce_rows",
     (Edit(REDUCE, "(256, 512)", "(1024, 512, 256)"),)),
    ("a field by getattr", "reduce_rows",
     (Edit(REDUCE, "cfg.OCCUPANCY if cfg.OCCUPANCY is not None else _AUTO",
           'getattr(cfg, "OCCUPANCY", _AUTO)'),)),
    ("fewer formats than are dispatched", "row_scale",
     (Edit(ROW, "(torch.float32, torch.float16)", "(torch.float32,)"),)),
    ("a kernel's hint passed as it is", "row_scale",
     (Edit(ROW_RS, "sm_100 = (occupancy = 4,),", ""), Edit(ROW, "_AUTO, _AUTO, stream", "_AUTO, 4, stream"))),
    ("a flag negated on both sides", "gemm",
     (Edit(GEMM, "int(short)", "int(not short)"), Edit(GEMM_FFI, "if short != 0", "if short == 0"))),
    ("a flag as 1 and 0", "gemm", (Edit(GEMM, "int(short)", "1 if short else 0"),)),
    ("options made at once", "row_scale",
     (Edit(ROW_FFI, "CompileOptions::default();", "CompileOptions::default().occupancy(occupancy);"),
      Edit(ROW_FFI, "opts = opts.occupancy(occupancy);", ""))),
    ("Rust that only comments hold", "reduce_rows",
     (Edit(REDUCE_FFI, "    let width",
           "    // launch!(f32) fold_kernel(1) { ( if short {\n    /* /* } */ ) */\n"
           '    let text = r#"fold_kernel(" { "#;\n    let width'),)),
)  # fmt: skip


@pytest.mark.parametrize(("what", "name", "edits"), FAULTLESS, ids=[case[0] for case in FAULTLESS])
def test_no_fault(what: str, name: str, edits: tuple[Edit, ...], tmp_path: Path) -> None:
    wrapper, reference = read(edited(tmp_path, edits), name)
    assert [(f.code, f.where, f.message) for f in examine_wrapper(wrapper, reference)] == []
    assert undecided_of(wrapper, reference) == ()


# -- what is not decided -----------------------------------------------------------------------------


def open_points(root: Path, name: str) -> list[tuple[str, str, str]]:
    wrapper, reference = read(root, name)
    assert examine_wrapper(wrapper, reference) == ()
    found = undecided_of(wrapper, reference)
    return [(f"{path.removeprefix(WRAPPERS)[1:]}:{u.line}", u.text, u.why) for path, u in found]


UNDECIDED: tuple[tuple[str, str, str, str, str, tuple[Edit, ...]], ...] = (
    ("a variant by a code", "gemm", GEMM_FFI, "short == 7",
     "when gemm_short_kernel is launched is not understood",
     (Edit(GEMM_FFI, "short != 0", "short == 7"),)),
    ("a flag of other names", "gemm", GEMM, "int(m > 128),", "the reference has no condition on the same names",
     (Edit(GEMM, "        int(short),", "        int(m > 128),"),
      Edit(GEMM, "cfg, transpose_b, short):", "cfg, transpose_b, m):"),
      Edit(GEMM, "cfg, transpose_b, short)\n        return", "cfg, transpose_b, m)\n        return"))),
    ("generics by a function", "reduce_rows", REDUCE_FFI, "let op = unsafe { fold_kernel",
     "the generics of this launch are not understood",
     (Edit(REDUCE_FFI, f"vec![dty.to_string(), {_TILES}]", "generics_of(dty, tile_m, tile_n)"),)),
    ("configurations from elsewhere", "reduce_rows", REDUCE, "configs=CONFIGS[0],",
     "the name is not bound to a constant in this file",
     (Edit(REDUCE, "configs=_configs()", "configs=CONFIGS[0]"),)),
    ("arguments by a list", "row_scale", ROW, "rc = lib.demo_row_scale(", "unpacked arguments have no places",
     (Edit(ROW, "(xd, sd, yd, int(tile), int(rows), _AUTO, _AUTO, stream_of(x))", "(*everything)"),)),
    ("a search of a function from elsewhere", "reduce_rows", REDUCE, "return autotune_launch(",
     "the function that the search tries is not in this file",
     (Edit(REDUCE, "kernel_fn=kernel_fn", "kernel_fn=demo.kernel_fn"),)),
)  # fmt: skip


@pytest.mark.parametrize("case", UNDECIDED, ids=lambda case: case[0])
def test_undecided(case: tuple[str, str, str, str, str, tuple[Edit, ...]], tmp_path: Path) -> None:
    _, name, file, marker, why, edits = case
    root = edited(tmp_path, edits)
    line = line_of(root / WRAPPERS / file, marker)
    found = open_points(root, name)
    assert [place for place, _, said in found if why in said] == [f"{file}:{line}"]


def test_a_launch_in_a_function_is_in_the_names_of_the_export(tmp_path: Path) -> None:
    edits = next(
        edits for what, _, edits in FAULTLESS if what == "a launch in a function of its own"
    )
    wrapper, _ = read(edited(tmp_path, edits), "reduce_rows")
    (launch,) = wrapper.exports[0].launches
    assert launch.generics == ("dty", "tile_m", "tile_n")
    assert launch.grid == ("blocks",)
    assert launch.hints == {"occupancy": "occupancy", "num_cta_in_cga": "num_cta_in_cga"}
    assert launch.conditions == ()
    assert [(a.dtype, a.type) for a in wrapper.exports[0].dtypes] == [
        ("f32", "f32"),
        ("f16", "f16"),
    ]


def test_one_entry_for_two_kernels(tmp_path: Path) -> None:
    """Which of them it is meant for is open: nothing is said of its hints."""
    (case,) = (case for case in FAULTS if case.name == "variant missing")
    wrapper, reference = read(
        edited(tmp_path, [*case.edits, Edit(GEMM_RS, "sm_80 = (occupancy = 1,)", "")]), "gemm"
    )
    (finding,) = examine_wrapper(wrapper, reference)
    assert finding.message == (
        "no launch stands for _gemm_short_kernel (line 52) of the reference; "
        "gemm_kernel is taken for _gemm_kernel"
    )
    ((_, undecided),) = undecided_of(wrapper, reference)
    assert undecided.why == "whether it stands for _gemm_kernel, or for _gemm_short_kernel"


def test_only_what_the_wrapper_registers_is_asked_for(tmp_path: Path) -> None:
    root = edited(tmp_path)
    path = root / "src/demo/ops/cutile/row_scale.py"
    other = "\n\n@ct.kernel\ndef _other_kernel(x):\n    pass\n" + (
        '\n\n@register_impl("other", backend="cutile")\ndef other(x):\n'
        "    ct.launch(torch.cuda.current_stream(), (1,), _other_kernel, (x,))\n"
    )
    path.write_text(path.read_text() + other)
    assert findings(root, "row_scale") == ()
    path.write_text(path.read_text().replace('"other"', '"row_scale"'))
    assert [f.code for f in findings(root, "row_scale")] == ["WRP021"]


@pytest.mark.parametrize("file", ["kernel.rs", "ffi.rs"])
def test_a_file_that_is_not_there(file: str, tmp_path: Path) -> None:
    root = edited(tmp_path)
    (root / WRAPPERS / "row_scale_kernel" / file).unlink()
    wrapper, reference = read(root, "row_scale")
    assert examine_wrapper(wrapper, reference) == ()
    said = [(u.text, u.why) for _, u in undecided_of(wrapper, reference)]
    assert (file, "there is no such file beside the wrapper") in said


def test_configurations_by_device(tmp_path: Path) -> None:
    """Without a device the reference's space is not decided; an analysis says what it was."""
    root = edited(tmp_path, [Edit(REDUCE, "(256, 512)", "(256,)")])
    project = find_project(root)
    wrapper = read_wrapper(project, "reduce_rows")
    assert wrapper is not None
    reference = read_operation("src/demo/ops/cutile/reduce_rows.py", project.root)
    assert examine_wrapper(wrapper, reference) == ()
    ((_, undecided),) = undecided_of(wrapper, reference)
    assert undecided.why == "what the reference tries is not decided without its device"
    path = PROJECT.parent / "agent_a" / "reduce_rows" / "reference" / "analysis.json"
    analysis = json.loads(path.read_text())
    assert [f.code for f in examine_wrapper(wrapper, reference, analysis)] == ["WRP015"]
    assert undecided_of(wrapper, reference, analysis) == ()


# -- Rust --------------------------------------------------------------------------------------------


def rust(text: str) -> RustFile:
    return RustFile(text, "any.rs")


def test_tokens() -> None:
    file = rust('a /* b /* c */ d */ \'x\' \'\\n\' \'life r#"} " "# b"\\"(" 1.5f32 0..n x.0 // end')
    assert [t.kind for t in file.tokens] == [
        "name", "char", "char", "lifetime", "string", "string", "number", "number", "punct", "name",
        "name", "punct", "number",
    ]  # fmt: skip
    assert file.tokens[4].text == 'r#"} " "#'


def test_functions() -> None:
    file = rust(
        '#[a(b = [1])]\n#[c]\npub(crate) unsafe extern "C" fn f<\'a, T: X<Y>, const N: i32>(\n'
        "    mut p: &'a [T; 3], q: Tile<T, { [N, 1] }>,\n) -> Result<Tile<T, { [N] }>, ()> where T: Z { p }\n"
        "fn g();"
    )
    first, second = file.functions
    assert (first.name, first.line, first.abi) == ("f", 3, "C")
    assert first.attributes == ("a(b = [1])", "c")
    assert first.generics == {"'a": None, "T": None, "N": "i32"}
    assert first.parameters == {"p": "&'a [T; 3]", "q": "Tile<T, { [N, 1] }>"}
    assert file.slice(first.body) == "p"
    assert (second.name, second.parameters, file.slice(second.body)) == ("g", {}, "")


def test_conditions_of_launches() -> None:
    kernel = rust("#[cutile::entry()] fn k<E: T>() {}")
    file = rust(
        'extern "C" fn f(v: i32, w: i32) -> i32 {\n'
        "  if v == 1 { unsafe { k() }.generics(vec![d]).grid((1, 1, 1)); }\n"
        "  else if w > 0 { let op = unsafe { k() }; op.generics(vec![d]).grid((v, 1, 1)); }\n"
        "  else { match w { 3 => k().generics(g).grid((w, 1, 1)), _ => 0 } }\n}"
    )
    (export,) = exports_of(file, entries_of(kernel), option_order(None))
    assert [[(c.text, c.holds) for c in x.conditions] for x in export.launches] == [
        [("v == 1", True)],
        [("v == 1", False), ("w > 0", True)],
        [("v == 1", False), ("w > 0", False), ("w == 3", True)],
    ]
    assert [x.generics for x in export.launches] == [("d",), ("d",), None]
    assert [x.grid for x in export.launches] == [(), ("v",), ("w",)]
    assert [x.hints for x in export.launches] == [None, None, None]
    assert [(u.text, u.line) for u in export.undecided] == [("k", 4)]


def test_order_of_options_is_that_of_the_macro() -> None:
    assert option_order(None) == ("occupancy", "num_cta_in_cga")
    text = "macro_rules! compile_options { ($num_cta_in_cga:expr, $occupancy:expr) => {{ }}; }"
    assert option_order(rust(text)) == ("num_cta_in_cga", "occupancy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn f() {\n  (\n}", "any.rs:3:1: error: no Rust: '}' closes nothing"),
        ("fn f() {", "any.rs:1:8: error: no Rust: '{' is closed nowhere"),
        ("/* /* */", "any.rs:1:1: error: no Rust: a comment that ends nowhere"),
        ('\n"open', "any.rs:2:1: error: no Rust: '\"open' ends nowhere"),
    ],
)
def test_no_rust(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        rust(text)
    assert str(caught.value).split("\n")[0] == message


_WORDS = (
    'fn f extern "C" #[cutile::entry()] < > ( ) { } [ ] , ; : -> => = if else match let macro_rules ! $ \'a '
    "// /* */ \n k vec compile_options dispatch_by_dtype ."
)


@given(st.lists(st.sampled_from(_WORDS.split(" ")), max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_rust_is_read_or_refused(words: list[str]) -> None:
    said = refusal(lambda: _exports(rust(" ".join(words))))
    assert said is None or "any.rs:" in said


def _exports(file: RustFile) -> object:
    return exports_of(file, entries_of(file), option_order(file))


def refusal(work: Callable[[], object]) -> str | None:
    """What an error says that is raised on purpose."""
    try:
        work()
    except TileIRError as error:
        return str(error)
    return None


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_wrappers_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(NAMES))
    file = data.draw(
        st.sampled_from([f"{name}.py", f"{name}_kernel/ffi.rs", f"{name}_kernel/kernel.rs"])
    )
    root = edited(tmp_path_factory.mktemp("damaged"))
    path = root / WRAPPERS / file
    lines = path.read_text().split("\n")
    start = data.draw(st.integers(0, len(lines)))
    del lines[start : start + data.draw(st.integers(1, 6))]
    path.write_text("\n".join(lines))
    said = refusal(lambda: _everything(root, name))
    assert said is None or file in said


def _everything(root: Path, name: str) -> object:
    wrapper, reference = read(root, name)
    return examine_wrapper(wrapper, reference), undecided_of(wrapper, reference)


def test_nested_too_deeply(tmp_path: Path) -> None:
    root = edited(tmp_path)
    path = root / WRAPPERS / ROW_FFI
    deep = "if rows > 0 {" * 3000 + "}" * 3000
    path.write_text(path.read_text().replace("    macro_rules!", f"    {deep}\n    macro_rules!"))
    # Deep modules that were read before have made more room for calls.
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        with pytest.raises(InputError) as caught:
            read(root, "row_scale")
    finally:
        sys.setrecursionlimit(limit)
    assert str(caught.value) == f"{WRAPPERS}/{ROW_FFI}:1: error: expressions are nested too deeply"


def test_calls_that_double(tmp_path: Path) -> None:
    root = edited(tmp_path)
    path = root / WRAPPERS / ROW
    doubling = "".join(f"\n\ndef f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n" for n in range(25))
    path.write_text(path.read_text().replace(_ROW_RUN, _ROW_RUN + "    f0(x)\n") + doubling)
    wrapper, reference = read(root, "row_scale")
    assert examine_wrapper(wrapper, reference) == ()
    ((_, undecided),) = undecided_of(wrapper, reference)
    assert undecided.why == "it comes to more calls than are followed"


# -- the command -------------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(
        tileir_command, ["wrapper", *map(str, arguments)], standalone_mode=False
    )
    if isinstance(done.exception, TileIRError):
        raise done.exception
    return int(done.return_value), done.output


def test_command_says_what_it_found(tmp_path: Path) -> None:
    root = edited(tmp_path, [Edit(REDUCE, "torch.empty", "torch.zeros")])
    code, text = run("reduce_rows", "--project", root)
    line = line_of(root / WRAPPERS / REDUCE, "torch.zeros")
    assert code == 1
    assert text.split("\n") == [
        f"{WRAPPERS}/{REDUCE}:{line}: WRP003 kernel of PyTorch in the function that is tried: torch.zeros(m, "
        "dtype=x.dtype, device=x.device) runs for every configuration that is tried, and on every call",
        "    y = torch.zeros(m, dtype=x.dtype, device=x.device)",
        "    extra launch (high confidence): Allocate with `torch.empty` in `kernel_fn`; do everything else "
        "before the search, once.",
        f"{WRAPPERS}/{REDUCE}: 1 finding, 0 not decided; read: 1 call through the boundary, 1 launch in "
        "ffi.rs, 1 search",
        "",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_json_keeps_its_schema(name: str) -> None:
    code, text = run(name, "--project", PROJECT, "--format", "json")
    document = json.loads(text)
    assert code == 0
    assert document["schema"] == "tileir-wrapper/1"
    schema = json.loads((ROOT / "docs" / "schemas" / "tileir-wrapper-1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)


def test_json_of_faults_keeps_its_schema(tmp_path: Path) -> None:
    root = edited(
        tmp_path,
        [Edit(GEMM_FFI, "short != 0", "short == 7"), Edit(GEMM, "torch.empty", "torch.ones")],
    )
    code, text = run("gemm", "--project", root, "--format", "json")
    document = json.loads(text)
    schema = json.loads((ROOT / "docs" / "schemas" / "tileir-wrapper-1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert code == 1
    assert [f["code"] for f in document["findings"]] == ["WRP003"]
    assert [u["text"] for u in document["undecided"]] == ["short == 7"]


def test_analysis_of_a_file(tmp_path: Path) -> None:
    root = edited(tmp_path, [Edit(REDUCE, "(256, 512)", "(512,)")])
    analysis = tmp_path / "analysis.json"
    analysis.write_text('{"best_config": {"TILE_M": 1, "TILE_N": 256, "occupancy": 4}}')
    code, text = run("reduce_rows", "--project", root, "--analysis", analysis, "--format", "json")
    assert code == 1
    assert [f["code"] for f in json.loads(text)["findings"]] == ["WRP015", "WRP017"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "has no wrapper nothing: expected src/*/ops/cutile_rs/nothing.py"),
        (("../x",), "is no name of an operation"),
        (("gemm", "--arch", "sm_1"), "no device is known for sm_1"),
        (("gemm", "--analysis", "absent.json"), "absent.json"),
    ],
)
def test_command_that_cannot_run(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(TileIRError) as caught:
        run(*arguments, "--project", PROJECT)
    assert message in str(caught.value)


# -- TileGym -----------------------------------------------------------------------------------------

_TILEGYM = os.environ.get("TILEGYM_PATH")
# All that is said of them, on sm_100; each statement was checked by reading the files (docs/wrappers.md).
TILEGYM = {
    "attention_sink": [
        ("WRP015", "attention_sink.py:53", "high"),
        ("WRP030", "attention_sink.py:112", "low"),
        ("WRP006", "attention_sink.py:157", "low"),
    ],
    "bmm": [
        ("WRP006", "bmm.py:150", "low"),
        ("WRP006", "bmm.py:151", "low"),
        ("WRP014", "bmm.py:172", "low"),
    ],
    "matmul": [
        ("WRP015", "matmul.py:70", "high"),
        ("WRP006", "matmul.py:134", "low"),
        ("WRP006", "matmul.py:135", "low"),
        ("WRP014", "matmul.py:181", "low"),
    ],
    "silu_and_mul": [("WRP007", "silu_and_mul.py:119", "medium")],
    "swiglu": [("WRP006", "swiglu.py:49", "low"), ("WRP006", "swiglu.py:50", "low")],
}


@pytest.mark.skipif(not _TILEGYM, reason="TILEGYM_PATH names no checkout")
@pytest.mark.parametrize("name", TILEGYM)
def test_tilegym(name: str) -> None:
    assert _TILEGYM is not None
    wrapper, reference = read(Path(_TILEGYM), name)
    found = examine_wrapper(wrapper, reference)
    assert [(f.code, f.where.rpartition("/")[2], f.confidence) for f in found] == TILEGYM[name]
    assert undecided_of(wrapper, reference) == ()
