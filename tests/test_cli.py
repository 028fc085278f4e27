"""Commands as processes: output, exit codes, documents, wrong input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "kernels"
SCHEMAS = ROOT / "docs" / "schemas"
MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
OTHER = FIXTURES / "matmul__128x128x64-bfloat16__sm_100__bc13.3.mlir"
SOFTMAX = sorted(FIXTURES.glob("softmax__*13.4.mlir"))[0]


def tool(
    name: str, *arguments: object, stdin: bytes = b"", cwd: Path = SCHEMAS
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of the package in a process of its own."""
    code = f"import sys; sys.argv[0] = '{name}'; from tileir_tools.cli.{name} import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=cwd)


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


def test_verify_several_files(tmp_path: Path) -> None:
    broken = tmp_path / "k.mlir"
    broken.write_text("entry @k() {\n  %0 = iota : tile<6xi32>\n  return\n}\n")
    done = tool("tileir", "verify", broken, tmp_path / "absent", MATMUL)
    assert done.returncode == 3
    assert done.stderr.decode() == f"{tmp_path / 'absent'}: error: no such file\n"
    lines = done.stdout.decode().splitlines()
    assert lines[-1] == f"{MATMUL}: valid"
    assert f"{broken}: not valid, 1 error" in lines
    assert tool("tileir", "verify", broken, MATMUL).returncode == 1
    assert tool("tileir", "verify", MATMUL, OTHER).returncode == 0
    assert tool("tileir", "verify", MATMUL, OTHER, "--format", "json").returncode == 3
    assert tool("tileir", "verify").returncode == 3


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
    policy = tmp_path / "policy.toml"
    policy.write_text('severity.MEM007 = "info"')
    assert tool("diff", MATMUL, path, "--policy", policy).returncode == 2
    assert tool("diff", MATMUL, path, "--severity", "NOPE=WARN").returncode == 3
    assert tool("diff", MATMUL, path, "--severity", "MEM007").returncode == 3
    policy.write_text("[1")
    assert tool("diff", MATMUL, path, "--policy", policy).returncode == 3


def _without_padding(folder: Path) -> Path:
    path = folder / "edited.mlir"
    path.write_text(MATMUL.read_text().replace("padding_value = zero, ", ""))
    return path


def test_named_policies(tmp_path: Path) -> None:
    path = tmp_path / "edited.mlir"
    path.write_text(
        MATMUL.read_text().replace("assume div_by<16>, %arg1", "assume div_by<8>, %arg1")
    )
    assert tool("diff", MATMUL, path).returncode == 2
    assert tool("diff", MATMUL, path, "--policy", "strict").returncode == 1
    late = tmp_path / "late.mlir"
    hinted = "token = %0 optimization_hints = <default = {latency = 1}> : partition_view"
    late.write_text(MATMUL.read_text().replace("token = %0 : partition_view", hinted, 1))
    assert tool("diff", MATMUL, late).returncode == 1
    assert tool("diff", MATMUL, late, "--policy", "legacy").returncode == 2
    # What the script passes because it does not see it, the legacy policy does not pass.
    assert tool("diff", MATMUL, _without_padding(tmp_path), "--policy", "legacy").returncode == 1


def test_the_nearest_settings_hold(tmp_path: Path) -> None:
    path = _without_padding(tmp_path)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.tileir.ignore]]\nrule = "MEM007"\nentry = "matmul*"\nreason = "sizes are even"\n'
    )
    done = tool("diff", MATMUL, path, cwd=inner)
    assert done.returncode == 0
    assert b"ignored MEM007: padding_value of the view" in done.stdout
    assert b"[sizes are even]" in done.stdout
    assert done.stdout.endswith(b"PASS: 2 ignored; 1 entry compared\n")
    found = check(tool("diff", MATMUL, path, "--format", "json", cwd=inner).stdout)
    assert (found["verdict"], found["ignored"]) == ("PASS", 2)
    # A nearer file, and a choice on the command line, go before it.
    assert tool("diff", MATMUL, path, "--policy", "default", cwd=inner).returncode == 1
    (inner / "tileir.toml").write_text('severity = {MEM007 = "warn"}\n')
    assert tool("diff", MATMUL, path, cwd=inner).returncode == 2
    # A pyproject.toml that says nothing about us is passed over.
    (inner / "tileir.toml").unlink()
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert tool("diff", MATMUL, path, cwd=inner).returncode == 0


def test_an_expired_ignore_counts_again_and_says_so(tmp_path: Path) -> None:
    settings = tmp_path / "tileir.toml"
    row = '[[ignore]]\nrule = "MEM007"\nreason = "until the port is done"\nuntil = {}\n'
    path = _without_padding(tmp_path)
    settings.write_text(row.format("2020-02-29"))
    done = tool("diff", MATMUL, path, "--policy", settings)
    assert done.returncode == 1
    assert (
        b"note: MEM007 is no longer ignored since 2020-02-29 (until the port is done)"
        in done.stdout
    )
    settings.write_text(row.format("2999-12-31"))
    assert tool("diff", MATMUL, path, "--policy", settings).returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "polcy = 'strict'",
            "unknown key 'polcy'; known: policy, arch, severity, ignore, threshold",
        ),
        ("threshold = 3", "threshold: expected a table"),
        ("threshold.speed = 3", "threshold: unknown 'speed'; known: spills, shared, reuse"),
        ("threshold.spills = true", "threshold: spills: expected a number from 0 on"),
        ("threshold.reuse = -1", "threshold: reuse: expected a number from 0 on"),
        ("policy = 'lax'", "policy: 'lax' is none of default, strict, legacy"),
        ("severity.MEM999 = 'WARN'", "policy: unknown rule 'MEM999'"),
        ("severity.MEM007 = 3", "policy: MEM007: '3' is not CRITICAL, WARN or INFO"),
        ("severity = 1", "severity: expected a table of rules and severities"),
        ("ignore = [{rule = 'MEM007'}]", "ignore: needs a reason"),
        ("ignore = [{rule = 'MEM007', reason = ' '}]", "ignore: needs a reason"),
        ("ignore = [{rule = 'X', reason = 'r'}]", "policy: ignore: unknown rule 'X'"),
        ("ignore = [{rule = 'MEM007', reason = 'r', til = 1}]", "ignore: unknown key 'til'"),
        (
            "ignore = [{rule = 'MEM007', reason = 'r', until = 'May'}]",
            "ignore: until: expected a date",
        ),
        ("arch = 5", "arch: expected a list"),
        ("a = ", "no TOML: "),
    ],
)
def test_wrong_settings(text: str, message: str, tmp_path: Path) -> None:
    settings = tmp_path / "tileir.toml"
    settings.write_text(text)
    done = tool("diff", MATMUL, MATMUL, "--policy", settings)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode().startswith(f"{settings}: error: {message}")


def test_settings_name_targets(tmp_path: Path) -> None:
    settings = tmp_path / "tileir.toml"
    settings.write_text("arch = ['sm_90', 'sm_120']")
    found = check(tool("diff", MATMUL, OTHER, "--policy", settings, "--format", "json").stdout)
    assert found["arches"] == ["sm_90", "sm_120"]
    settings.write_text("arch = 'sm_1'")
    assert b"unknown arch 'sm_1'" in tool("diff", MATMUL, OTHER, "--policy", settings).stderr


def test_a_baseline_lets_only_new_findings_count(tmp_path: Path) -> None:
    path, baseline = _without_padding(tmp_path), tmp_path / "baseline.json"
    assert tool("diff", MATMUL, path, "--write-baseline", baseline).returncode == 1
    check(baseline.read_bytes())
    # Positions may move.
    path.write_text("// moved\n\n" + path.read_text())
    done = tool("diff", MATMUL, path, "--baseline", baseline)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        b"PASS: 2 ignored; 1 entry compared",
    )
    path.write_text(path.read_text().replace("ftof %for  :", "ftof %for rounding<zero> :"))
    done = tool("diff", MATMUL, path, "--baseline", baseline)
    assert done.returncode == 1
    assert b"CRITICAL CVT003" in done.stdout
    for wrong in ("[]", "{", '{"schema": "tileir-baseline/1"}', '{"schema": "other/1"}'):
        baseline.write_text(wrong)
        done = tool("diff", MATMUL, path, "--baseline", baseline)
        assert done.returncode == 3
        assert done.stderr.decode().startswith(f"{baseline}: error: ")


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


def test_side_by_side_shows_what_differs_in_long_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    done = tool("diff", MATMUL, _without_padding(tmp_path), "--side-by-side")
    rows = [line for line in done.stdout.decode().splitlines() if " | " in line]
    left, right = rows[0].split(" | ")
    assert left.strip() == "40 ...ion_view<tile=(128x64), padding_value = zero, ..."
    assert right.strip() == "40 ...ion_view<tile=(128x64), tensor_view<?x?xf16, s..."
    assert max(map(len, rows)) <= 120


def test_side_by_side_aligns_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "edited.mlir"
    moved = "// one line more\n" + MATMUL.read_text().replace(
        "ftof %for  :", "ftof %for rounding<zero> :"
    )
    path.write_text(moved)
    done = tool("diff", MATMUL, path, "-y")
    assert done.returncode == 1
    rows = [line for line in done.stdout.decode().splitlines() if " | " in line]
    (row,) = rows
    left, right = row.split(" | ")
    assert left.split() == "48 %2 = ftof %for : tile<128x128xf32> -> tile<128x128xf16>".split()
    assert right.split()[:5] == ["49", "%2", "=", "ftof", "%for"]
    # Bytecode stands there as `tileir print` prints it.
    binary = tool("diff", MATMUL.with_suffix(".tileirbc"), path, "-y").stdout.decode()
    assert row in binary.splitlines()


def test_stat_counts_by_rule(tmp_path: Path) -> None:
    done = tool("diff", MATMUL, _without_padding(tmp_path), "--stat")
    assert done.stdout == (
        b"    2  CRITICAL  MEM007  padding differs\nFAIL_FIXABLE: 2 CRITICAL; 1 entry compared\n"
    )


def test_colour_only_on_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    path = _without_padding(tmp_path)
    assert b"\x1b[" not in tool("diff", MATMUL, path).stdout
    code = "from tileir_tools.cli.diff import main; main()"
    for variables, expected in (
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ):
        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | variables
        subprocess.run(
            [sys.executable, "-c", code, MATMUL, path, "-q"],
            stdout=theirs,
            check=False,
            cwd=SCHEMAS,
            env=environment,
        )
        os.close(theirs)
        shown = os.read(ours, 4096)
        os.close(ours)
        assert (b"\x1b[31mFAIL_FIXABLE\x1b[0m" in shown) is expected


def test_why_says_where_the_values_go(tmp_path: Path) -> None:
    path = _without_padding(tmp_path)
    done = tool("diff", MATMUL, path, "--why", "mem007")
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "MEM007 (CRITICAL, kernel): padding differs"
    assert "In cuTile: padding_mode=ct.PaddingMode.ZERO and the like" in lines
    at = lines.index("    make_partition_view (line 40)")
    assert lines[at + 1 : at + 6] == [
        "    -> load_view_tko (line 43, in for of line 42)",
        "    -> mmaf (line 45, in for of line 42)",
        "    -> carried round the loop (line 46, in for of line 42)",
        "    -> ftof f16 (line 48)",
        "    -> store_view_tko (line 50)",
    ]
    assert tool("diff", MATMUL, path, "--why", "NOPE").returncode == 3
    quiet = tool("diff", MATMUL, path, "--why", "HNT004").stdout.decode()
    assert "why it matters" not in quiet


# -- tileir -----------------------------------------------------------------------------------------


def test_help_lists_the_commands() -> None:
    done = tool("tileir", "--help")
    for name in (
        b"alias",
        b"diff",
        b"equal",
        b"opt",
        b"print",
        b"rules",
        b"show",
        b"validate",
        b"variants",
    ):
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


# -- tileir opt -------------------------------------------------------------------------------------

_TWO_STEPS = b"""entry @k(%x: tile<f32>, %y: tile<f32>, %z: tile<f32>) {
  %a = mulf %x, %y : tile<f32>
  %b = mulf %x, %y : tile<f32>
  %c = addf %z, %a : tile<f32>
  %d = addf %c, %b : tile<f32>
  %t = print_tko "%f", %d : tile<f32> -> token
  return
}
"""


def _opt(*arguments: object) -> list[str]:
    done = tool("tileir", "opt", "-", *arguments, stdin=_TWO_STEPS)
    assert (done.returncode, done.stderr) == (0, b"")
    return [line.split(" = ")[-1].split()[0] for line in done.stdout.decode().splitlines()[1:-1]]


def test_opt_runs_passes_in_the_order_given() -> None:
    assert _opt() == ["mulf", "mulf", "addf", "addf", "print_tko", "return"]
    assert _opt("--cse") == ["mulf", "addf", "addf", "print_tko", "return"]
    # Two products with one reader each fuse; one product with two readers does not.
    assert _opt("--fuse-fma", "--cse") == ["fma", "fma", "print_tko", "return"]
    assert _opt("--cse", "--fuse-fma") == ["mulf", "addf", "addf", "print_tko", "return"]


def test_opt_renames_entries() -> None:
    symbol = MATMUL.read_text().partition("@")[2].partition("(")[0]
    suffix = symbol.removeprefix("matmul")

    def named(*arguments: object) -> str:
        done = tool("tileir", "opt", MATMUL, *arguments)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().partition("@")[2].partition("(")[0]

    assert named("--rename-entry", "matmul=bmm__matmul") == f"bmm__matmul{suffix}"
    assert named("--rename-entry", f"{symbol}=k") == "k"
    assert named("--strip-mangling") == "matmul"
    assert named("--rename-entry", "matmul=op__matmul", "--strip-mangling") == "op__matmul"
    for wrong in ("matmul", "absent=k", "matmul="):
        done = tool("tileir", "opt", MATMUL, "--rename-entry", wrong)
        assert (done.returncode, done.stdout) == (3, b"")


def test_opt_writes_bytecode_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "k.tileirbc"
    done = tool("tileir", "opt", "-", "--cse", "--bytecode", "-o", out, stdin=_TWO_STEPS)
    assert (done.returncode, done.stdout) == (0, b"")
    again = tool("tileir", "opt", out)
    assert again.stdout == tool("tileir", "opt", "-", "--cse", stdin=_TWO_STEPS).stdout
    for wrong in (["--bytecode"], ["--bytecode-version", "13.1"], ["--split-threshold", "-1"]):
        done = tool("tileir", "opt", "-", *wrong, stdin=_TWO_STEPS)
        assert (done.returncode, done.stdout) == (3, b"")
        assert done.stderr
    done = tool("tileir", "opt", "-", "--cse", "-o", tmp_path / "t", stdin=_TWO_STEPS + b"}")
    assert done.returncode == 3
    assert b"<stdin>:9:1: error: " in done.stderr
    assert list(tmp_path.iterdir()) == [out]


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


# -- tileir equal, tileir variants, tileir alias ----------------------------------------------------

VARIANTS = FIXTURES.parent / "variants"


def test_equal_says_yes_or_why_not() -> None:
    done = tool("tileir", "equal", MATMUL, MATMUL.with_suffix(".tileirbc"))
    assert (done.returncode, done.stdout) == (0, b"yes: equal, operation by operation\n")
    done = tool("tileir", "equal", MATMUL, OTHER)
    assert done.returncode == 1
    assert done.stdout == (
        b"no: ABI001: parameter 0 is tile<ptr<f16>> in the reference and tile<ptr<bf16>> in the "
        b"generated kernel (and 2 more differ) (equal modulo dtype)\n"
    )
    assert (
        tool("tileir", "equal", MATMUL, OTHER, "--level", "dtype").stdout
        == b"yes: equal modulo dtype\n"
    )
    done = tool("tileir", "equal", MATMUL, SOFTMAX)
    assert done.returncode == 1
    assert done.stdout.endswith(b"(not even one structure)\n")


@pytest.mark.parametrize("other", [MATMUL, OTHER, SOFTMAX])
def test_equal_as_json(other: Path) -> None:
    done = tool("tileir", "equal", MATMUL, other, "--format", "json", "--arch", "sm_100")
    found = check(done.stdout)
    assert found["equal"] is (done.returncode == 0)
    assert bool(found["reason"]) is not found["equal"]


def test_variants_as_text_and_json(tmp_path: Path) -> None:
    done = tool("tileir", "variants", VARIANTS, "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"6 structural variants, 6 dtype supplements" in done.stdout
    found = check(tool("tileir", "variants", VARIANTS, "--format", "json").stdout)
    assert len(found["variants"]) == 6  # type: ignore[arg-type]
    bad = tmp_path / "bad.mlir"
    bad.write_text("entry @k(")
    done = tool("tileir", "variants", VARIANTS, bad, "--format", "json")
    assert done.returncode == 1
    assert b"bad.mlir:1:10: error: " in done.stderr
    assert len(check(done.stdout)["unread"]) == 1  # type: ignore[arg-type]
    assert tool("tileir", "variants", bad).returncode == 3
    assert tool("tileir", "variants", tmp_path / "absent").returncode == 3


def test_alias_is_proven_or_not(tmp_path: Path) -> None:
    alias = tmp_path / "alias.mlir"
    alias.write_text(MATMUL.read_text().replace("@matmul_", "@gemm__matmul_"))
    done = tool("tileir", "alias", MATMUL, alias, "--kernel", "matmul", "--op", "gemm")
    assert done.returncode == 0
    assert done.stdout.startswith(b"proven: @gemm__matmul_Kt1_")
    arguments = ("alias", MATMUL, alias, "--kernel", "matmul", "--format", "json")
    assert check(tool("tileir", *arguments).stdout)["proven"] is True
    alias.write_text(alias.read_text().replace("step %cst_1_i32_28", "step %1#1"))
    done = tool("tileir", "alias", MATMUL, alias, "--kernel", "matmul")
    assert done.returncode == 1
    assert b"operand 2 of for is another value" in done.stdout
    assert b"alias.mlir:42:3: %for = for" in done.stdout
    assert check(tool("tileir", *arguments).stdout)["body"] == "different"


@pytest.mark.parametrize(
    "arguments",
    [
        ("equal", MATMUL),
        ("equal", MATMUL, MATMUL, "--level", "nothing"),
        ("equal", MATMUL, "absent.mlir"),
        ("equal", "-", "-"),
        ("equal", MATMUL, MATMUL, "--entry", "nothing"),
        ("variants",),
        ("variants", VARIANTS, "--arch", "sm_1"),
        ("variants", VARIANTS, "--jobs", "0"),
        ("alias", MATMUL, MATMUL),
        ("alias", MATMUL, MATMUL, "--kernel", "matmul"),
        ("alias", MATMUL, "absent.mlir", "--kernel", "matmul"),
        ("alias", "-", "-", "--kernel", "matmul"),
    ],
)
def test_wrong_use_of_equal_variants_and_alias(arguments: tuple[object, ...]) -> None:
    done = tool("tileir", *arguments)
    assert done.returncode == 3
    assert b"rror" in done.stderr
    assert b"Traceback" not in done.stderr


def test_workers_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\n"
        "from tileir_tools.processes import process_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = process_pool(2)\n"
        "    print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    script = tmp_path / "pool.py"
    script.write_text(code)
    # Everybody who has the streams is waited for: workers that stayed would make this time out.
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == -9
    assert done.stdout.split()


# -- outputs that are no new files -------------------------------------------------------------------


def test_links_keep_pointing_and_files_keep_their_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("of before")
    real.chmod(0o600)
    link.symlink_to(real)
    assert tool("diff", MATMUL, MATMUL, "-o", link).returncode == 0
    assert link.is_symlink()
    assert real.read_text().endswith("PASS: no differences; 1 entry compared\n")
    assert real.stat().st_mode & 0o777 == 0o600


def test_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        done = tool("diff", MATMUL, MATMUL, "-q", "-o", pipe)
        assert reader.communicate()[0] == b"PASS: no differences; 1 entry compared\n"
    assert done.returncode == 0
    assert pipe.is_fifo()


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    done = tool("diff", MATMUL, MATMUL, "-o", tmp_path)
    assert done.returncode == 3
    assert b"cannot be written: Is a directory" in done.stderr


@pytest.mark.parametrize("arguments", [["diff", MATMUL, MATMUL], ["verify", MATMUL], ["--help"]])
def test_a_full_disk_is_an_error_and_no_traceback(arguments: list[object]) -> None:
    command = [sys.executable, "-c", "from tileir_tools.cli.tileir import main; main()"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, *map(str, arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd=SCHEMAS,
        )
    assert (done.returncode, done.stderr) == (3, b"error: No space left on device\n")


def test_closed_streams_are_no_traceback() -> None:
    code = f"{sys.executable} -c 'from tileir_tools.cli.diff import main; main()' {MATMUL} {MATMUL}"
    done = subprocess.run(
        ["bash", "-c", f"{code} >&-"], capture_output=True, check=False, cwd=SCHEMAS
    )
    assert (done.returncode, done.stderr) == (0, b"")


# -- blocked, and other words ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github", "markdown", "html"])
def test_a_blocked_run_replaces_the_report_of_the_run_before(tmp_path: Path, form: str) -> None:
    report = tmp_path / "report"
    assert tool("diff", MATMUL, MATMUL, "--format", form, "-o", report).returncode == 0
    assert "BLOCKED" not in report.read_text()
    assert tool("diff", MATMUL, "nowhere", "--format", form, "-o", report).returncode == 3
    assert "BLOCKED" in report.read_text()


def test_a_folder_with_a_broken_file_is_blocked_in_every_format(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "good.mlir").write_text(MATMUL.read_text())
        (tmp_path / side / "bad.mlir").write_text("")
    sides = (tmp_path / "a", tmp_path / "b")
    document = json.loads(tool("diff", *sides, "--format", "json").stdout)
    assert (document["verdict"], document["exit_code"]) == ("BLOCKED", 3)
    assert [error.partition(": ")[2] for error in document["errors"]] == [
        "error: the input is empty"
    ] * 2
    assert [entry["verdict"] for entry in document["entries"]] == ["PASS"]
    shown = tool("diff", *sides).stdout.decode().splitlines()[-1]
    assert shown == "BLOCKED: no differences; 1 entry compared, 2 inputs not read"
    suite = ElementTree.fromstring(tool("diff", *sides, "--format", "junit").stdout)[0]
    assert [suite.get(n) for n in ("tests", "failures", "errors")] == ["3", "0", "2"]


def test_only_one_option_shapes_the_answer() -> None:
    done = tool("diff", MATMUL, MATMUL, "--stat", "--format", "json")
    assert done.returncode == 3
    assert b"--format and --stat: only one of them can shape the answer" in done.stdout


def test_a_rule_that_finds_nothing_says_so() -> None:
    done = tool("diff", MATMUL, MATMUL, "--why", "MEM007")
    assert done.stdout.decode().splitlines()[-1] == "Here it finds nothing."


def test_several_targets(tmp_path: Path) -> None:
    done = tool("diff", MATMUL, MATMUL, "-q", "--arch", "sm_100", "--arch", "sm_90")
    assert done.stdout.decode().endswith("hints for sm_100, sm_90\n")


def test_notes_may_pass(tmp_path: Path) -> None:
    path = tmp_path / "noted.mlir"
    path.write_text(MATMUL.read_text().replace("ftof %for  :", "ftof %for rounding<zero> :"))
    noted = ("diff", MATMUL, path, "-q", "--severity", "CVT003=WARN")
    assert tool(*noted).returncode == 2
    assert tool(*noted, "--notes-pass").returncode == 0
    assert tool("diff", MATMUL, path, "-q", "--notes-pass").returncode == 1


def test_findings_in_bytecode_have_the_lines_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "edited.mlir"
    path.write_text(MATMUL.read_text().replace("ftof %for  :", "ftof %for rounding<zero> :"))
    binary = MATMUL.with_suffix(".tileirbc")
    finding = json.loads(tool("diff", binary, path, "--format", "json").stdout)["entries"][0][
        "findings"
    ][0]
    assert finding["reference"]["file"] == str(binary)
    assert finding["reference"]["line"] == finding["generated"]["line"] == 48


def test_an_unknown_operation_may_be_a_misspelt_one(tmp_path: Path) -> None:
    path = tmp_path / "misspelt.mlir"
    text = "entry @k(%a: tile<f32>) {\n  %0 = subff %a, %a : tile<f32>\n  return\n}\n"
    path.write_text(text)
    done = tool("tileir", "verify", path)
    assert done.returncode == 0
    assert b"operation 'subff' is unknown: kept as text, not understood; did you mean subf?" in (
        done.stdout
    )
    assert tool("tileir", "verify", path, "--strict").returncode == 1
    path.write_text(
        "entry @k(%a: tile<f32>, %b: tile<f64>) {\n  %0 = mmaff %a, %b : tile<f32>, tile<f64>\n"
        "  %1 = ftof %0 : tile<f32> -> tile<f16>\n  return\n}\n"
    )
    message = tool("tileir", "verify", path).stdout.decode()
    assert (
        f"{path}:3:18: error: the type of %0 is not known: 'mmaff' is no known operation" in message
    )
