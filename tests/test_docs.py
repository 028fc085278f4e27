"""The documentation is true: examples print what the pages say, tables are fresh."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tileir_tools.cli.diff import command as diff_command
from tileir_tools.cli.tileir import command as tileir_command

from tileir_tools.diff import RULES

ROOT = Path(__file__).resolve().parent.parent


def test_readme_example_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(
        diff_command,
        ["examples/ir/matmul_reference.mlir", "examples/ir/matmul_generated.mlir"],
        standalone_mode=False,
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert result.output == shown[1]
    assert result.return_value == 1


def test_examples_of_variants_are_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    examples = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 4
    for command, shown in examples:
        _, *words = command.split()
        arguments = [str(p) for w in words for p in (sorted(Path().glob(w)) if "/" in w else [w])]
        result = CliRunner().invoke(tileir_command, arguments, standalone_mode=False)
        assert result.output == shown


def test_ci_runs_the_readme_test_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = next(line for line in readme.splitlines() if line.endswith("pytest -q"))
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_rules_table_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "make_rules.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_rule_is_reported_somewhere() -> None:
    source = "".join(p.read_text() for p in (ROOT / "tileir_tools" / "diff").glob("*.py"))
    source = source.replace((ROOT / "tileir_tools" / "diff" / "rules.py").read_text(), "")
    assert [code for code in RULES if f'"{code}"' not in source] == []


def test_schemas_are_json_with_an_id() -> None:
    for path in (ROOT / "docs" / "schemas").glob("*.json"):
        schema = json.loads(path.read_text())
        name, _, version = path.stem.rpartition("-")
        assert schema["$id"] == f"tileir-tools/{name}/{version}"


def test_no_path_of_a_machine_in_the_project() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    suspicious = re.compile(r"/(?:home|Users|root)/\w+|/work/")
    hits = []
    for name in tracked:
        if name.endswith(".tileirbc"):
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        if name != "tests/test_docs.py" and suspicious.search(text):
            hits.append(name)
    assert hits == []


def test_example_of_perf_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "tests" / "fixtures" / "perf")
    arguments = "perf junit_xunit1.xml --reference junit_xunit2.xml --direction forward".split()
    result = CliRunner().invoke(tileir_command, arguments, standalone_mode=False)
    page = (ROOT / "docs" / "perf.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    # The page leaves out what the files are and what was left out.
    assert [line for line in shown[1].splitlines() if line not in result.output.splitlines()] == []
