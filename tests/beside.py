"""What TileGym's shell script `diff_ir.sh` says about pairs of kernels whose answer is known.

The tables of the mutation test and of the equivalence test show it in a column where they are given the path of
the script. It fails every kernel that has an `assume div_by` on a scalar, whatever it is compared with, and
nearly every kernel of cuTile-Python has one. To learn something from it, it is asked about kernels from which
these promises were taken out before anything was changed. It takes about 0.3 s a pair, so of each kind only
the first `MOST` pairs are asked about.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tileir_tools.model import DivByAttr, Operation, PointerType, TileType
from tileir_tools.read import parse_all

# (reference, generated), and whether that has to fail.
Pair = tuple[tuple[str, str], bool]

# Pairs of one kind that the script is asked about.
MOST = 10
_FAILS = 1
_LIMIT = 60


class Beside(NamedTuple):
    """How many pairs the script was asked about, and of how many it said what is so."""

    asked: int
    right: int

    @classmethod
    def of(cls, script: Path, pairs: Sequence[Pair], most: int = MOST) -> Beside:
        """Ask about ((reference, generated), whether that has to fail)."""
        asked = pairs[:most]
        right = sum(_fails(script, *texts) == wanted for texts, wanted in asked)
        return cls(len(asked), right)


def without_scalar_promises(text: str) -> str:
    """The text of a kernel without promises about the divisors of scalars."""
    module = parse_all(text)[0]
    for op in [op for op in module.find("assume") if _is_of_a_scalar(op)]:
        op.result.replace_all_uses_with(op.operands[0])
        op.erase()
    return module.to_text()


def _is_of_a_scalar(op: Operation) -> bool:
    type = op.result.type
    plain = (
        isinstance(type, TileType) and not type.shape and not isinstance(type.element, PointerType)
    )
    return plain and isinstance(op.attributes["predicate"], DivByAttr)


def passing(script: Path, texts: Iterable[str]) -> int:
    """How many kernels, as they are, the script does not fail against themselves."""
    return sum(not _fails(script, text, text) for text in texts)


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
