"""What TileGym's shell script `diff_ir.sh` says about pairs of kernels whose answer is known.

The tables of the mutation test and of the equivalence test show it in a column where they are given the path of
the script. It takes about 0.3 s a pair, so of each kind only the first `MOST` pairs are asked about,
of kernels that it does not fail against themselves: of the others it says the same whatever is changed.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# Pairs of one kind that the script is asked about.
MOST = 10
_FAILS = 1
_LIMIT = 60


class Beside(NamedTuple):
    """How many pairs the script was asked about, and of how many it said what is so."""

    asked: int
    right: int

    @classmethod
    def of(
        cls, script: Path, pairs: Sequence[tuple[tuple[str, str], bool]], most: int = MOST
    ) -> Beside:
        """Ask about ((reference, generated), whether that has to fail)."""
        asked = pairs[:most]
        right = sum(_fails(script, *texts) == wanted for texts, wanted in asked)
        return cls(len(asked), right)


def usable(script: Path, kernels: Iterable[tuple[str, str]]) -> set[str]:
    """The names of the kernels (name, text) that the script does not fail against themselves."""
    return {name for name, text in kernels if not _fails(script, text, text)}


def _fails(script: Path, reference: str, generated: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="tileir-beside-") as folder:
        paths = [Path(folder) / name for name in ("reference.mlir", "generated.mlir")]
        for path, text in zip(paths, (reference, generated), strict=True):
            path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["bash", script, *paths], capture_output=True, timeout=_LIMIT, check=False
        )
    return done.returncode == _FAILS


def column_of(found: Mapping[str, Beside], name: str) -> str:
    """One more cell of a table: of a kind, of all kinds, or of the head; nothing without the script."""
    if not found:
        return ""
    if name == "all":
        asked, right = (sum(column) for column in zip(*found.values(), strict=True))
        return f" **{right} of {asked}** |"
    if name not in found:
        return f" {name} |"
    one = found[name]
    return f" {one.right} of {one.asked} |" if one.asked else " - |"
