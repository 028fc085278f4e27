"""Progress of agents and scans on a terminal, with rich and without."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from agent_runs import PROJECT

STEP = "read      src/demo/ops/cutile/row_scale.py: _row_scale_kernel"
RUN = "from tileir_tools.cli.tileir import main; main()"


AGENT = ["agent", "a", "row_scale", "--until", "read", "--project", str(PROJECT), "--out", "."]
SCAN = ["scan", str(PROJECT.parent / "text"), "-o", "out", "--format", "json"]


def _on_a_terminal(out: Path, before: str, words: list[str] = AGENT) -> tuple[str, str]:
    """What a command writes to a terminal that is its standard error, and to its standard output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", before + RUN, *words]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, cwd=out, env=environment
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    stdout, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    return said.decode(), stdout.decode()


def test_each_step_is_a_line_without_rich(tmp_path: Path) -> None:
    said, printed = _on_a_terminal(tmp_path, "import sys; sys.modules['rich'] = None; ")
    assert printed == ""
    assert STEP in said
    assert "\x1b" not in said


def test_each_step_is_a_line_under_a_spinner(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    said, printed = _on_a_terminal(tmp_path, "")
    assert printed == ""
    assert STEP in said
    assert "\x1b[?25h" in said  # the cursor is back


def test_a_scan_has_a_bar(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    pytest.importorskip("pyarrow")
    said, printed = _on_a_terminal(tmp_path, "", SCAN)
    assert json.loads(printed)["complete"]
    assert "files" in said
    assert "100%" in said
    assert "\x1b[?25h" in said  # the cursor is back


def test_a_scan_says_nothing_without_rich(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    said, printed = _on_a_terminal(tmp_path, "import sys; sys.modules['rich'] = None; ", SCAN)
    assert json.loads(printed)["complete"]
    assert said == ""
