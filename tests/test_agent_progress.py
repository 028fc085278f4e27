"""Progress of agents on a terminal, with rich and without."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from agent_runs import PROJECT

STEP = "read      src/demo/ops/cutile/row_scale.py: _row_scale_kernel"
RUN = "from tileir_tools.cli.tileir import main; main()"


def _on_a_terminal(out: Path, before: str) -> str:
    """What a run of one step writes to a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", before + RUN, "agent", "a", "row_scale", "--until", "read"]
    command += ["--project", str(PROJECT), "--out", str(out)]
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
    assert (process.returncode, stdout) == (0, b"")
    return said.decode()


def test_each_step_is_a_line_without_rich(tmp_path: Path) -> None:
    said = _on_a_terminal(tmp_path, "import sys; sys.modules['rich'] = None; ")
    assert STEP in said
    assert "\x1b" not in said


def test_each_step_is_a_line_under_a_spinner(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    said = _on_a_terminal(tmp_path, "")
    assert STEP in said
    assert "\x1b[?25h" in said  # the cursor is back
