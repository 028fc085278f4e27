"""The documentation is whole: generated pages are fresh, rules are reported. What pages show: `test_pages`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tileir_tools.diff import RULES

ROOT = Path(__file__).resolve().parent.parent


def test_ci_runs_the_readme_test_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = next(line for line in readme.splitlines() if line.endswith("pytest -q"))
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", ["make_rules.py", "make_schemas.py"])
def test_generated_pages_are_fresh(script: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / script), "--check"],
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
