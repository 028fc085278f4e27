"""`tileir validate ir`: what validate_ir.sh was for, decided on the parsed module."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tileir_tools.validators.ir import validate_ir

ROOT = Path(__file__).resolve().parent.parent
MATMUL = ROOT / "tests/fixtures/kernels/matmul__128x128x64-float16__sm_100__bc13.4.mlir"


def write(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "k.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_dump_without_wrapper_passes() -> None:
    outcome = validate_ir(str(MATMUL), "matmul")
    assert outcome.exit_code == 0
    assert outcome.lines[-1].level == "PASS"
    assert "Valid MLIR IR matched entry @matmul_Kt1_" in outcome.lines[-1].text
    assert outcome.lines[-1].text.endswith(" key ops)")


def test_missing_hints_are_a_warning(tmp_path: Path) -> None:
    outcome = validate_ir(write(tmp_path, "entry @k() { return }"), "k")
    assert outcome.passed
    texts = [line.text for line in outcome.lines if line.level == "WARN"]
    assert texts == [
        "Missing 'optimization_hints' in entry",
        "No recognized ops found (load/store/mma/reduce/partition)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "entry @other() { return } // entry @wanted()",
        'entry @other() { %t = print_tko "entry @wanted" -> token return }',
        "global @wanted <i32: 1> : tile<1xi32>\nentry @other() { return }",
    ],
)
def test_the_name_must_be_an_entrys(tmp_path: Path, text: str) -> None:
    outcome = validate_ir(write(tmp_path, text), "wanted")
    assert outcome.exit_code == 1
    failure = next(line for line in outcome.lines if line.level == "FAIL")
    assert failure.text == "No entry symbol contains 'wanted' as substring"
    assert failure.detail == ("Found entries:", "  entry @other")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"", "empty"),
        (b"module { tt.func public @k() { tt.return } }", "Triton TTIR"),
        (b"; ModuleID = 'x'\ndefine void @k() { ret void }", "LLVM IR"),
        (b".version 8.3\n.target sm_90\n", "PTX"),
        (b"\x7fELF\x02\x01\x01", "cubin"),
        (b"fn(x: Tile[float32]):\n  $1 = typed_const(3)", "Python-level IR"),
        (b"\x7fTileIR\x00\x0d\x01\x00\x00", "byte 12, section header"),
        (b"\x1f\x8bgarbage", "gzip"),
        (b"\xff\xfee\x00n\x00", "UTF-16"),
    ],
)
def test_foreign_kinds_are_named(tmp_path: Path, text: bytes, named: str) -> None:
    outcome = validate_ir(write(tmp_path, text), "k")
    assert outcome.exit_code == 1
    assert named in outcome.lines[0].text


def test_every_error_is_a_line_with_its_place(tmp_path: Path) -> None:
    text = (
        "entry @k(%a: tile<i32>) {\n  %b = addi %a, %x : tile<i32>\n"
        "  %c = negi %y : tile<i32>\n  return\n}\n"
    )
    outcome = validate_ir(write(tmp_path, text), "k")
    failures = [line.text for line in outcome.lines if line.level == "FAIL"]
    assert [f.split(": ", 1)[0].rsplit("/", 1)[-1] for f in failures] == [
        "k.mlir:2:17",
        "k.mlir:3:13",
    ]
    assert outcome.text().endswith("FAIL: 2 error(s) in IR validation")


def test_what_reads_but_breaks_a_rule_fails(tmp_path: Path) -> None:
    text = "entry @k(%a: tile<i1>) {\n  if %a {\n    break\n    yield\n  }\n  return\n}\n"
    outcome = validate_ir(write(tmp_path, text), "k")
    assert outcome.exit_code == 1
    assert "break must be the last operation of its block" in outcome.lines[0].text


def test_missing_file_is_a_failure_as_in_the_script() -> None:
    outcome = validate_ir("nowhere.mlir", "k")
    assert outcome.exit_code == 1
    assert outcome.text().splitlines()[0] == "FAIL: nowhere.mlir: error: no such file"


def test_json(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "docs/schemas/tileir-validate-1.json").read_text())
    for kernel in ("matmul", "other"):
        document = json.loads(validate_ir(str(MATMUL), kernel).json())
        jsonschema.Draft202012Validator(schema).validate(document)
        assert document["passed"] is (kernel == "matmul")
