"""Commands as processes: output, exit codes, documents, wrong input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "kernels"
SCHEMAS = ROOT / "docs" / "schemas"
MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
OTHER = FIXTURES / "matmul__128x128x64-bfloat16__sm_100__bc13.3.mlir"
SOFTMAX = sorted(FIXTURES.glob("softmax__*13.4.mlir"))[0]


def tool(name: str, *arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command of the package in a process of its own."""
    code = f"import sys; sys.argv[0] = '{name}'; from tileir_tools.cli.{name} import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=SCHEMAS)


def check(document: bytes) -> dict[str, object]:
    """The JSON document, valid by the schema that it names."""
    found = json.loads(document)
    schema = json.loads((SCHEMAS / f"{found['schema'].replace('/', '-')}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found  # type: ignore[no-any-return]


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = MATMUL.read_text()
    assert old in text
    path = tmp_path / "edited.mlir"
    path.write_text(text.replace(old, new, 1))
    return path


# -- tileir verify ----------------------------------------------------------------------------------


def test_verify_a_valid_file() -> None:
    done = tool("tileir", "verify", MATMUL)
    assert done.returncode == 0
    assert done.stdout == f"{MATMUL}: valid\n".encode()
    assert done.stderr == b""


def test_verify_reports_every_error(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(
        "entry @k(%i: tile<i32>) optimization_hints=<sm_1 = {}> {\n"
        "  %0 = iota : tile<6xi32>\n"
        "  %1 = negi %i overflow<no_unsigned_wrap> : tile<i32>\n"
        "  return\n}\n"
    )
    done = tool("tileir", "verify", path)
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(f"{path}:1:1: warning: hints name 'sm_1', which is no target")
    assert f"{path}:2:3: error: iota: the dimensions of tile<6xi32> must be powers of two" in lines
    assert lines[-1] == f"{path}: not valid, 2 errors, 1 warning"
    document = check(tool("tileir", "verify", path, "--strict-hints", "--format", "json").stdout)
    assert (document["valid"], document["errors"], document["warnings"]) == (False, 3, 0)
    assert document["diagnostics"][2] == {  # type: ignore[index]
        "severity": "error",
        "message": "negi: overflow must be one of none, no_signed_wrap, no_wrap, "
        "found no_unsigned_wrap",
        "line": 3,
        "column": 3,
    }


def test_verify_what_does_not_parse(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n  %0 = negi %2 : tile<i32>\n}\n")
    done = tool("tileir", "verify", path, "--format", "json")
    assert done.returncode == 1
    assert check(done.stdout)["diagnostics"] == [
        {"severity": "error", "message": "%2 is not defined here", "line": 2, "column": 13}
    ]


def test_verify_bytecode(tmp_path: Path) -> None:
    binary = MATMUL.with_suffix(".tileirbc")
    assert tool("tileir", "verify", binary).returncode == 0
    path = tmp_path / "k.tileirbc"
    path.write_bytes(binary.read_bytes()[:-40])
    done = tool("tileir", "verify", path, "--format", "json")
    assert done.returncode == 1
    (found,) = check(done.stdout)["diagnostics"]  # type: ignore[misc]
    assert "(byte " in found["message"]
    assert found["line"] is None
    old = tool("tileir", "verify", binary, "--bytecode-version", "13.1")
    assert old.returncode in (0, 1)


def test_verify_what_is_something_else(tmp_path: Path) -> None:
    assert tool("tileir", "verify", tmp_path / "missing.mlir").returncode == 3
    path = tmp_path / "k.mlir"
    path.write_text("tt.func @k() {}\n")
    assert tool("tileir", "verify", path).returncode == 3
    done = tool("tileir", "verify", MATMUL, "--bytecode-version", "12")
    assert done.returncode == 3
    assert done.stderr == (
        b"error: unknown bytecode version '12'; known: 13.1, 13.2, 13.3, 13.4, 13.5\n"
    )
    assert tool("tileir", "verify", MATMUL, "--arch", "sm_1").returncode == 3


# -- tileir-diff ------------------------------------------------------------------------------------


def test_equal_files_pass() -> None:
    done = tool("diff", MATMUL, MATMUL)
    assert done.returncode == 0
    assert done.stdout.endswith(b"PASS: no differences; 1 entry compared\n")
    assert done.stderr == b""


def test_a_critical_difference_fails(tmp_path: Path) -> None:
    done = tool("diff", MATMUL, edited(tmp_path, "padding_value = zero, ", ""))
    # The load names the view's type too: an edit of one of them is no valid file.
    assert done.returncode == 3
    assert b"error: %pview" in done.stderr
    path = tmp_path / "edited.mlir"
    path.write_text(MATMUL.read_text().replace("padding_value = zero, ", ""))
    done = tool("diff", MATMUL, path)
    assert done.returncode == 1
    assert b"CRITICAL MEM007 DIFFERS: padding_value of the view is zero" in done.stdout


def test_a_warning_passes_with_notes(tmp_path: Path) -> None:
    path = edited(tmp_path, "assume div_by<16>, %arg0", "assume div_by<1>, %arg0")
    done = tool("diff", MATMUL, path)
    assert (done.returncode, b"PASS_WITH_NOTES: 1 WARN" in done.stdout) == (2, True)


def test_quiet_prints_one_line() -> None:
    assert tool("diff", "-q", MATMUL, OTHER).stdout.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [(), ("--arch", "sm_100")])
def test_json_keeps_its_schema(arguments: tuple[str, ...]) -> None:
    done = tool("diff", MATMUL, SOFTMAX, "--format", "json", *arguments)
    document = check(done.stdout)
    assert document["verdict"] == "FAIL_FIXABLE"
    assert document["exit_code"] == done.returncode == 1


def test_blocked_json_keeps_its_schema() -> None:
    done = tool("diff", MATMUL, "nowhere.mlir", "--format", "json")
    document = check(done.stdout)
    assert document["verdict"] == "BLOCKED"
    assert document["error"] == "nowhere.mlir: error: no such file"
    assert done.returncode == 3


def test_markdown_escapes_bars(tmp_path: Path) -> None:
    done = tool("diff", MATMUL, OTHER, "--format", "markdown")
    assert done.stdout.startswith(b"# FAIL_FIXABLE\n")
    rows = [line for line in done.stdout.decode().splitlines() if line.startswith("| CRITICAL")]
    assert rows
    assert all(row.replace("\\|", "").count("|") == 8 for row in rows)


def test_severities_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "edited.mlir"
    path.write_text(MATMUL.read_text().replace("padding_value = zero, ", ""))
    assert tool("diff", MATMUL, path, "--severity", "MEM007=WARN").returncode == 2
    policy = tmp_path / "policy.json"
    policy.write_text('{"MEM007": "info"}')
    assert tool("diff", MATMUL, path, "--policy", policy).returncode == 2
    assert tool("diff", MATMUL, path, "--severity", "NOPE=WARN").returncode == 3
    assert tool("diff", MATMUL, path, "--severity", "MEM007").returncode == 3
    policy.write_text("[1]")
    assert tool("diff", MATMUL, path, "--policy", policy).returncode == 3


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("one",),
        ("--nope",),
        ("-", "-"),
        (MATMUL, MATMUL, "--arch", "sm_1"),
        (MATMUL, MATMUL, "--entry", "nothing"),
        (MATMUL, MATMUL, "--format", "yaml"),
        (MATMUL, "."),
    ],
)
def test_wrong_use_is_blocked(arguments: tuple[object, ...]) -> None:
    done = tool("diff", *arguments)
    assert done.returncode == 3
    assert b"rror" in done.stderr
    assert b"Traceback" not in done.stderr


def test_standard_input_and_gzip(tmp_path: Path) -> None:
    packed = tmp_path / "k.mlir.gz"
    packed.write_bytes(gzip.compress(MATMUL.read_bytes()))
    assert tool("diff", "-", packed, stdin=MATMUL.read_bytes()).returncode == 0


def test_unknown_operations_warn_and_strict_refuses(tmp_path: Path) -> None:
    path = edited(tmp_path, "  return\n", "  brand_new_op %arg1 : tile<i32>\n  return\n")
    done = tool("diff", path, path)
    assert done.returncode == 2
    assert b"warning: operation 'brand_new_op' is unknown" in done.stderr
    assert b"WARN OPQ001" in done.stdout
    assert tool("diff", "--strict", path, path).returncode == 3


def test_output_goes_to_a_file_whole(tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    done = tool("diff", MATMUL, MATMUL, "--format", "json", "-o", out)
    assert (done.returncode, done.stdout) == (0, b"")
    check(out.read_bytes())
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]
    done = tool("diff", MATMUL, MATMUL, "-o", tmp_path / "no" / "answer.json")
    assert done.returncode == 3
    assert b"cannot be written" in done.stderr


def test_a_closed_pipe_is_no_error() -> None:
    code = "from tileir_tools.cli.tileir import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    large = sorted(FIXTURES.glob("*.mlir"), key=lambda p: p.stat().st_size)[-1]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "print", str(large)],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=SCHEMAS,
    )
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert errors == b""
    assert process.returncode == 0


# -- tileir -----------------------------------------------------------------------------------------


def test_help_lists_the_commands() -> None:
    done = tool("tileir", "--help")
    for name in (b"diff", b"print", b"rules", b"show", b"validate"):
        assert name in done.stdout


def test_version() -> None:
    assert b"0.1.0" in tool("tileir", "--version").stdout
    assert b"0.1.0" in tool("diff", "--version").stdout


def test_print_gives_the_bytes_back() -> None:
    assert tool("tileir", "print", MATMUL).stdout == MATMUL.read_bytes()
    debug = MATMUL.with_name(MATMUL.name.replace(".mlir", ".g.mlir"))
    assert tool("tileir", "print", "-g", debug).stdout == debug.read_bytes()
    assert tool("tileir", "print", debug).stdout == MATMUL.read_bytes()
    wrapped = tool("tileir", "print", "--wrap", MATMUL).stdout
    assert tool("tileir", "print", "--no-wrap", "-", stdin=wrapped).stdout == MATMUL.read_bytes()
    generic = tool("tileir", "print", "--generic", MATMUL).stdout
    assert generic.startswith(b'"cuda_tile.module"() <{sym_name = "kernels"}> ({\n')
    assert tool("tileir", "print", "--no-wrap", "-", stdin=generic).stdout == MATMUL.read_bytes()


def test_show_text_and_json() -> None:
    text = tool("tileir", "show", MATMUL, "--arch", "sm_100").stdout.decode()
    assert "mmaf tile<128x64xf16> x tile<64x128xf16> -> tile<128x128xf32>" in text
    assert "accumulator carried by the loop" in text
    for path in sorted(FIXTURES.glob("*13.4.mlir"))[::4]:
        check(tool("tileir", "show", path, "--format", "json", "--arch", "sm_100").stdout)


def test_rules() -> None:
    assert b"MEM013  CRITICAL" in tool("tileir", "rules").stdout
    assert b"Thread the token" in tool("tileir", "rules", "mem013").stdout
    check(tool("tileir", "rules", "--format", "json").stdout)
    assert tool("tileir", "rules", "XXX999").returncode == 3
    assert tool("tileir", "nonsense").returncode == 3


def test_diff_is_also_a_command_of_tileir() -> None:
    assert tool("tileir", "diff", MATMUL, MATMUL).returncode == 0


# -- tileir info, tileir as -------------------------------------------------------------------------


def test_info_of_bytecode() -> None:
    path = MATMUL.with_suffix(".tileirbc")
    found = check(tool("tileir", "info", path, "--format", "json").stdout)
    assert found["kind"] == "bytecode"
    assert found["version"] == "13.4"
    assert found["size"] == path.stat().st_size
    assert {s["name"] for s in found["sections"]} >= {"String", "Type", "Func"}  # type: ignore[attr-defined]
    ops = found["operations"]
    assert (
        ops == json.loads(tool("tileir", "info", MATMUL, "--format", "json").stdout)["operations"]
    )
    shown = tool("tileir", "info", path)
    assert shown.returncode == 0
    assert b"13.4" in shown.stdout


def test_as_writes_bytecode_that_reads_back(tmp_path: Path) -> None:
    out = tmp_path / "out.tileirbc"
    done = tool("tileir", "as", MATMUL, "-o", out, "--bytecode-version", "13.4")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert tool("tileir", "print", out).stdout == MATMUL.read_bytes()
    assert tool("tileir", "as", out, "-o", "-").stdout == out.read_bytes()


def test_as_leaves_nothing_behind_where_a_version_cannot_say_it(tmp_path: Path) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(
        "entry @k(%a: tile<4xf32>) {\n  %0 = tanh %a rounding<approx> : tile<4xf32>\n  return\n}\n"
    )
    out = tmp_path / "out.tileirbc"
    done = tool("tileir", "as", source, "-o", out, "--bytecode-version", "13.1")
    assert done.returncode == 3
    assert b"tanh" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not out.exists()


def test_broken_bytecode_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "half.tileirbc"
    path.write_bytes(MATMUL.with_suffix(".tileirbc").read_bytes()[:400])
    done = tool("diff", path, MATMUL)
    assert done.returncode == 3
    assert b"half.tileirbc: error: " in done.stderr
    assert b"(byte " in done.stderr
    assert b"Traceback" not in done.stderr
