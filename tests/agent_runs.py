"""Agent A on the project in `fixtures/project`, with performance records taken on an NVIDIA H200.

    python tests/agent_runs.py

writes `fixtures/agent_a` anew: what `test_agent_a` expects. It needs cuda-tile and PyTorch (a CPU build).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tileir_tools.agents.a import Request
from tileir_tools.agents.a.pipeline import Answer, run_agent_a
from tileir_tools.agents.workspace import open_workspace
from tileir_tools.sources import find_project

FIXTURES = Path(__file__).parent / "fixtures"
PROJECT = FIXTURES / "project"
EXPECTED = FIXTURES / "agent_a"
OPERATIONS = ("row_scale", "gemm", "reduce_rows")

# What a run leaves that is the same everywhere.
_ARTIFACTS = (
    "*.txt",
    "reference/analysis.json",
    "reference/*.mlir",
    "reference/*.bak",
    "reference/supplements/*",
    "reports/agent_a.md",
)


def logs_of(operation: str) -> dict[str, tuple[str, ...]]:
    """The records of an operation: backend -> files."""
    files = {b: PROJECT / "logs" / f"{operation}_{b}.xml" for b in ("cutile", "pytorch")}
    return {backend: (str(file),) for backend, file in files.items() if file.is_file()}


def request(operation: str, out: Path, *, with_logs: bool = True) -> Request:
    """A request that asks for nothing which depends on the machine."""
    return Request(
        open_workspace(str(out), operation),
        find_project(PROJECT),
        arch="sm_100",
        logs=logs_of(operation) if with_logs else {},
        evidence=False,
    )


def run(operation: str, out: Path) -> Answer:
    return run_agent_a(request(operation, out))


def artifacts(folder: Path) -> dict[str, str]:
    """Name -> text of what a run left, without places of this machine."""
    found = {}
    for pattern in _ARTIFACTS:
        for path in sorted(folder.glob(pattern)):
            text = path.read_text("utf-8").replace(str(folder.parent), "OUT")
            found[path.relative_to(folder).as_posix()] = text.replace(str(PROJECT), "PROJECT")
    return found


def _write() -> None:
    shutil.rmtree(EXPECTED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as out:
        for operation in OPERATIONS:
            print(operation, run(operation, Path(out)).verdict)
            for name, text in artifacts(Path(out) / operation).items():
                path = EXPECTED / operation / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")


if __name__ == "__main__":
    _write()
