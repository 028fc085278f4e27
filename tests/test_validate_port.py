"""`tileir validate diff-report` and `entry-pattern`: gates of the porting pipeline, and shims for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from samples import FIXTURES
from tileir_tools.validators.diff_report import validate_diff_report
from tileir_tools.validators.entry_pattern import validate_entry_pattern

from tileir_tools.diff import Policy, diff
from tileir_tools.diff.policy import Ignore
from tileir_tools.read import parse
from tileir_tools.report.agent_report import agent_report

MATMUL = (FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir").read_text()
OLD = (FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.1.mlir").read_text()
GENERATED = {
    "PASS": MATMUL,
    "PASS_WITH_NOTES": OLD,
    "FAIL_FIXABLE": MATMUL.replace("padding_value = zero, ", ""),
}
# A checkout of TileGym, whose own scripts are asked too.
TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPTS = Path(TILEGYM) / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts"


def report(generated: str, policy: Policy | None = None) -> str:
    left, right = parse(MATMUL, "ref.mlir"), parse(generated, "gen.mlir")
    answer = diff(left, right, policy=policy)
    return agent_report(answer, "matmul", [left], [right], ("ref.mlir", "gen.mlir"))


def write_report(root: Path, text: str) -> None:
    folder = root / "matmul" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "diff_report.md").write_text(text)
    logs = root / "matmul" / "reports" / "agent_logs"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "agent_c.md").write_text("log\n")


def levels(root: Path) -> list[tuple[str, str]]:
    return [(line.level, line.text) for line in validate_diff_report("matmul", str(root)).lines]


# -- the report -------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", GENERATED)
def test_our_report_passes_the_gate(verdict: str, tmp_path: Path) -> None:
    text = report(GENERATED[verdict])
    assert text.startswith(f"VERDICT: {verdict}\n\n# IR Diff Report: matmul\n")
    write_report(tmp_path, text)
    assert levels(tmp_path) == [("PASS", "diff_report.md of matmul is complete")]


@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="TILEGYM_PATH names no checkout of TileGym")
@pytest.mark.parametrize("verdict", GENERATED)
def test_our_report_passes_tilegyms_own_gate(verdict: str, tmp_path: Path) -> None:
    write_report(tmp_path, report(GENERATED[verdict]))
    script = SCRIPTS / "validate_diff_report.sh"
    done = subprocess.run(
        ["bash", script, "matmul"],
        env={
            **os.environ,
            "CUTILE_KERNEL_OUT_ROOT": str(tmp_path),
            "CUTILE_RS_ROOT": str(tmp_path),
        },
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"PASS")


def test_the_report_says_both_values_rule_owner_and_action() -> None:
    lines = report(GENERATED["FAIL_FIXABLE"]).splitlines()
    padding = next(line for line in lines if "| padding_value |" in line)
    assert padding.split(" | ")[2:6] == ["zero (x2)", "none", "DIFFERS", "CRITICAL"]
    assert "| `load_view_tko` | 2 | 2 | yes |" in lines
    assert "owner: kernel" in lines
    at = lines.index("### Action Items")
    assert lines[at + 2].startswith("1. MEM007 (kernel): Give the view, or the load, ")


def test_what_is_ignored_is_no_item() -> None:
    policy = Policy(ignores=(Ignore("MEM007", "*", "sizes are even", None),))
    text = report(GENERATED["FAIL_FIXABLE"], policy)
    assert text.startswith("VERDICT: PASS\n")
    assert "no differences, 2 ignored by policy" in text


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("## Verdict", "## End", ("FAIL", "section 'Verdict' is missing")),
        ("## Root Cause", "## Other", ("FAIL", "section 'Root Cause Analysis' is missing")),
        (
            "\nFAIL_FIXABLE\n",
            "\nUNSURE\n",
            ("FAIL", "'Verdict' names none of PASS, PASS_WITH_NOTES"),
        ),
        (
            "\nFAIL_FIXABLE\n",
            "\nPASS\n",
            ("FAIL", "the first line says FAIL_FIXABLE, 'Verdict' says PASS"),
        ),
        (
            "\nFAIL_FIXABLE\n",
            "\nPASS or FAIL_FIXABLE\n",
            ("FAIL", "'Verdict' names several verdicts"),
        ),
        ("### Action Items", "### Then", ("FAIL", "FAIL_FIXABLE without action items")),
        ("owner: kernel\n", "owner: wrapper\n", ("WARN", "FAIL_FIXABLE without 'owner: kernel'")),
    ],
)
def test_what_is_missing_is_named(
    old: str, new: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    text = report(GENERATED["FAIL_FIXABLE"])
    assert old in text
    write_report(tmp_path, text.replace(old, new))
    level, message = expected
    assert [t for lv, t in levels(tmp_path) if lv == level and t.startswith(message)]


def test_words_outside_of_their_section_do_not_count(tmp_path: Path) -> None:
    text = report(GENERATED["PASS"])
    for heading in ("## Checklist Diff", "## Impact Assessment"):
        text = text.replace(heading, "## Notes")
    write_report(tmp_path, text + "\n<!-- checklist, step 2, impact, step 4: MATCH CRITICAL -->\n")
    assert [t for lv, t in levels(tmp_path) if lv == "FAIL"] == [
        "section 'Checklist Diff' is missing",
        "section 'Impact Assessment' is missing",
    ]


def test_no_report(tmp_path: Path) -> None:
    outcome = validate_diff_report("matmul", str(tmp_path))
    assert outcome.exit_code == 1
    assert outcome.lines[0].text.startswith(f"diff_report.md not found at {tmp_path}")


# -- entry patterns ---------------------------------------------------------------------------------

_POINTERS = """entry @k(%p: tile<ptr<f32>>) {
  // load_view_tko store_view_tko
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %u = print_tko "load_view_tko" token=%t -> token
  return
}
"""
_TENSOR = "    pub unsafe fn {}<const BM: i32, E: ElementType>(a: &Tensor<E, {{[-1, -1]}}>, n: i32) {{ }}\n"
_POINTER = "    pub unsafe fn {}<E: ElementType>(a: *mut E, /* &Tensor<E> */ n: i32) {{ }}\n"
_HEAD = "    #[cutile::entry(unchecked_accesses = false, hints(sm_100 = (occupancy = 2,)))]\n"


def rust(*functions: tuple[str, str]) -> str:
    body = "".join(_HEAD + form.format(name) for name, form in functions)
    return f"// #[cutile::entry()]\n// fn old(a: *mut E)\nmod m {{\n{body}}}\n"


def pattern(root: Path, source: str, **references: str) -> tuple[int, list[str]]:
    folder = root / "k" / "reference"
    folder.mkdir(parents=True)
    (root / "k" / "kernel.rs").write_text(source)
    for name, text in references.items():
        (folder / f"{name}.mlir").write_text(text)
    outcome = validate_entry_pattern("k", str(root))
    return outcome.exit_code, [f"{line.level}: {line.text}" for line in outcome.lines]


def test_entries_that_fit(tmp_path: Path) -> None:
    assert pattern(tmp_path, rust(("k", _TENSOR)), reference=MATMUL) == (
        0,
        ["PASS: entry pattern matches structural reference IR"],
    )


def test_names_in_comments_and_strings_are_no_operations(tmp_path: Path) -> None:
    assert pattern(tmp_path, rust(("k", _POINTER)), reference=_POINTERS)[0] == 0


def test_an_entry_of_the_other_family(tmp_path: Path) -> None:
    code, lines = pattern(tmp_path, rust(("k", _POINTER)), reference=MATMUL)
    assert code == 1
    assert lines == [
        "FAIL: entry `k` takes ptr parameters, reference.mlir asks for tensor (views 3, pointers 0)"
    ]


def test_variants_are_matched_by_name(tmp_path: Path) -> None:
    source = rust(("k_non_persistent", _TENSOR), ("k_sp", _TENSOR))
    code, lines = pattern(
        tmp_path,
        source,
        reference_non_persistent=MATMUL,
        reference_non_persistent_f32=MATMUL,
        reference_static_persistent=_POINTERS,
        reference_split_k=MATMUL,
    )
    assert code == 1
    assert lines == [
        "FAIL: no entry matches variant split_k (reference_split_k.mlir)",
        "FAIL: entry `k_sp` takes tensor parameters, reference_static_persistent.mlir asks for ptr "
        "(views 0, pointers 1)",
        "WARN: reference_non_persistent_f32.mlir is a dtype supplement: not matched",
    ]


def test_declared_supplements_ask_for_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "k" / "reference"
    folder.mkdir(parents=True)
    declared = {"variants": [{"supplements": {"f32": "reference/reference_wide.mlir"}}]}
    (folder / "analysis.json").write_text(json.dumps(declared))
    (folder / "reference_main.mlir").write_text(MATMUL)
    (folder / "reference_wide.mlir").write_text(_POINTERS)
    (tmp_path / "k" / "kernel.rs").write_text(rust(("k_main", _TENSOR)))
    assert validate_entry_pattern("k", str(tmp_path)).exit_code == 0


@pytest.mark.parametrize(
    ("source", "references", "message"),
    [
        (
            "fn k(a: *mut E) {}",
            {"reference": MATMUL},
            "FAIL: no #[cutile::entry] function found in ",
        ),
        (rust(("k", _TENSOR)), {}, "FAIL: no structural reference IR (.mlir) found in "),
        (rust(("k", _TENSOR)), {"reference": "tt.func @k"}, "FAIL: "),
        (
            rust(("k", _TENSOR)),
            {"reference": "entry @k() { return }"},
            "WARN: reference.mlir asks for no",
        ),
        ("#[cutile::entry(", {"reference": MATMUL}, "FAIL: no #[cutile::entry] function found in "),
    ],
)
def test_what_cannot_be_checked(
    source: str, references: dict[str, str], message: str, tmp_path: Path
) -> None:
    _, lines = pattern(tmp_path, source, **references)
    assert lines[0].startswith(message)


# -- shims ------------------------------------------------------------------------------------------


def test_shims_take_the_place_of_the_scripts(tmp_path: Path) -> None:
    binaries, shims = tmp_path / "bin", tmp_path / "shims"
    binaries.mkdir()
    shims.mkdir()
    for name, module in (("tileir", "tileir"), ("tileir-diff", "diff")):
        code = f"from tileir_tools.cli.{module} import main; main()"
        (binaries / name).write_text(f'#!/bin/bash\nexec {sys.executable} -c "{code}" "$@"\n')
        (binaries / name).chmod(0o755)
    env = {"PATH": f"{binaries}:/usr/bin:/bin"}

    def call(*command: object) -> int:
        done = subprocess.run(
            [*map(str, command)], env=env, cwd=tmp_path, capture_output=True, check=False
        )
        return done.returncode

    assert call("tileir", "validate", "--install-shims", shims) == 0
    ref, gen = tmp_path / "ref.mlir", tmp_path / "gen.mlir"
    ref.write_text(MATMUL)
    for verdict, code in (("PASS", 0), ("FAIL_FIXABLE", 1), ("PASS_WITH_NOTES", 2)):
        gen.write_text(GENERATED[verdict])
        assert call(shims / "diff_ir.sh", ref, gen) == code
    # The scripts say 1 where a file is missing.
    assert call(shims / "diff_ir.sh", ref, tmp_path / "absent") == 1
    assert call(shims / "validate_ir.sh", ref, "matmul") == 0
    assert call(shims / "validate_ir.sh", ref, "absent") == 1
    assert call(shims / "validate_diff_report.sh", "k") == 1
    # No root is set: wrong usage, and 1 as of the script.
    assert call(shims / "validate_analysis.sh", "k") == 1
    env["CUTILE_KERNEL_OUT_ROOT"] = str(tmp_path)
    assert call(shims / "validate_analysis.sh", "k") == 1
    assert call(shims / "validate_analysis.sh", "../k") == 1
    (tmp_path / "k" / "reference").mkdir(parents=True)
    analysis = {
        **dict.fromkeys("kernel_name source launch_path pattern".split(), "k"),
        "ops_used": [],
        "test_perf_configs": [{"param_list": [[1]]}],
        "correctness_reference": {"function": "f"},
        "correctness_tolerance": {"f16": {"atol": 0, "rtol": 0}},
    }
    (tmp_path / "k" / "reference" / "analysis.json").write_text(json.dumps(analysis))
    assert call(shims / "validate_analysis.sh", "k") == 0
    log = tmp_path / "perf.txt"
    log.write_text("Performance Test Results\nmedian: 0.5 ms\nPASSED\n")
    assert call(shims / "validate_perf_log.sh", log, "baseline") == 0
    assert call(shims / "validate_perf_log.sh", tmp_path / "absent") == 1
    assert call(shims / "validate_agent_f.sh", "k") == 1
    logs = tmp_path / "k" / "reports" / "agent_logs"
    logs.mkdir(parents=True)
    (logs / "agent_f.md").write_text("log\n")
    (logs.parent / "perf_investigation_all_shapes.md").write_text("VERDICT: ALIGNED\n")
    assert call(shims / "validate_agent_f.sh", "k") == 0
    assert call("tileir", "validate", "--install-shims", log / "inside") == 3
