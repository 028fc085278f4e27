"""The GitHub Action and the pre-commit hooks, run as their hosts run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from samples import FIXTURES, ROOT

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
OLD = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.1.mlir"


@pytest.fixture
def binaries(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in (("tileir", "tileir"), ("tileir-diff", "diff")):
        code = f"from tileir_tools.cli.{module} import main; main()"
        (folder / name).write_text(f'#!/bin/bash\nexec {sys.executable} -c "{code}" "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def step(tmp_path: Path, binaries: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Run the action's step: exit code, what it prints, the files it wrote for GitHub."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    compare = action["runs"]["steps"][1]
    given = {name: str(spec.get("default", "")) for name, spec in action["inputs"].items()} | inputs
    variables = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in compare["env"].items()
    }
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", compare["run"]],
        env={
            "PATH": f"{binaries}:{os.environ['PATH']}",
            **variables,
            **{name: str(path) for name, path in files.items()},
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    written = {name: path.read_text() for name, path in files.items() if path.exists()}
    return done.returncode, done.stdout, written


def test_the_action_passes_equal_kernels(tmp_path: Path, binaries: Path) -> None:
    code, shown, written = step(tmp_path, binaries, reference=str(MATMUL), generated=str(MATMUL))
    assert (code, shown) == (0, "tileir-diff: PASS\n")
    assert written["GITHUB_OUTPUT"] == "verdict=PASS\n"
    assert written["GITHUB_STEP_SUMMARY"].startswith("# PASS\n")


def test_the_action_fails_and_annotates(tmp_path: Path, binaries: Path) -> None:
    generated = tmp_path / "gen one.mlir"
    generated.write_text(MATMUL.read_text().replace("padding_value = zero, ", ""))
    code, shown, written = step(
        tmp_path,
        binaries,
        reference=str(MATMUL),
        generated="gen one.mlir",
        arguments="--arch sm_100",
        sarif="out.sarif",
    )
    assert code == 1
    assert shown.startswith("::error file=gen one.mlir,line=40,col=3,title=MEM007 DIFFERS::")
    assert written["GITHUB_OUTPUT"] == "verdict=FAIL_FIXABLE\n"
    assert '"ruleId": "MEM007"' in (tmp_path / "out.sarif").read_text()


def test_the_action_and_notes(tmp_path: Path, binaries: Path) -> None:
    sides = {"reference": str(MATMUL), "generated": str(OLD)}
    code, _, written = step(tmp_path, binaries, **sides)
    assert (code, written["GITHUB_OUTPUT"]) == (0, "verdict=PASS_WITH_NOTES\n")
    assert step(tmp_path, binaries, **sides, **{"fail-on-notes": "true"})[0] == 2


def test_inputs_are_no_script(tmp_path: Path, binaries: Path) -> None:
    nasty = "$(touch owned); touch owned"
    code, _, written = step(tmp_path, binaries, reference=nasty, generated=nasty, arguments=nasty)
    assert code == 3
    assert written == {"GITHUB_OUTPUT": "verdict=BLOCKED\n", "GITHUB_STEP_SUMMARY": ""}
    assert not (tmp_path / "owned").exists()


def test_what_cannot_be_read_is_said_everywhere(tmp_path: Path, binaries: Path) -> None:
    log = tmp_path / "log.sarif"
    log.write_text("of a run before")
    code, shown, written = step(
        tmp_path, binaries, reference=str(MATMUL), generated="nowhere.mlir", sarif=str(log)
    )
    assert code == 3
    assert shown.startswith("::error title=BLOCKED::nowhere.mlir: error: no such file\n")
    assert written["GITHUB_STEP_SUMMARY"].startswith("# BLOCKED\n")
    invocation = json.loads(log.read_text())["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False


def test_the_hooks_call_commands_that_exist(tmp_path: Path, binaries: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["tileir-verify", "tileir-diff"]
    for hook in hooks:
        command = [str(binaries / hook["entry"].split()[0]), *hook["entry"].split()[1:], "--help"]
        # Not in the root of the repository, whose folders stand before the installed package.
        done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
        assert done.returncode == 0
