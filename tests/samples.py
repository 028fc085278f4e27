"""The kernels that tests of the differ run on.

Our own fixtures are always there; the corpus (`../shared/corpus` beside the repository) where
somebody put it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "kernels"
HANDMADE = ROOT / "tests" / "fixtures" / "diff"
CORPUS = ROOT.parent / "shared" / "corpus"

_NVIDIA_BIN = next(
    (str(p) for p in Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*/bin")), ""
)

# Larger files say nothing that smaller ones do not say.
_LARGEST = 13_000


def nvidia_tool(name: str) -> str | None:
    """A tool of NVIDIA's: on the path, or where pip puts it; None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=_NVIDIA_BIN)


def fixture_kernels() -> list[Path]:
    """One text of each of our own kernels, at the newest version, and the hand-made ones."""
    newest: dict[str, Path] = {}
    for path in sorted(FIXTURES.glob("*.mlir")):
        if not path.name.endswith(".g.mlir"):
            newest[path.name.split("__")[0]] = path
    return [*newest.values(), *sorted(HANDMADE.glob("*.mlir"))]


def corpus_kernels() -> list[Path]:
    """The smallest text of every kernel of the corpus; none without corpus, none that is large."""
    index = CORPUS / "index.jsonl"
    if not index.exists():
        return []
    smallest: dict[tuple[str, str], tuple[int, Path]] = {}
    for line in index.read_text().splitlines():
        row = json.loads(line)
        path = CORPUS / f"{row['path']}.mlir"
        size = path.stat().st_size
        key = (row["source_file"], row["kernel"])
        if size <= _LARGEST and (key not in smallest or size < smallest[key][0]):
            smallest[key] = (size, path)
    return [path for _, (_, path) in sorted(smallest.items())]


def fixture_versions() -> dict[str, list[Path]]:
    """Kernel, variant and arch -> its texts, oldest bytecode version first."""
    found: dict[str, list[Path]] = {}
    for path in sorted(FIXTURES.glob("*.mlir")):
        if not path.name.endswith(".g.mlir"):
            found.setdefault(path.name.rsplit("__", 1)[0], []).append(path)
    return found
