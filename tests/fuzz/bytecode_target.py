"""Coverage-guided fuzzing of the bytecode reader.

    pip install atheris        (Python 3.11 to 3.13)
    python tests/fuzz/bytecode_target.py [--corpus DIR] -max_total_time=3600 -timeout=5 -rss_limit_mb=512

The corpus starts as our own fixtures up to 8 KiB, copied to DIR (default: `fuzz-corpus` in the
temporary folder), where new inputs are kept. A fault is any exception but our own errors, more than 5 s
for one input, or memory over the limit; its input is left as `crash-*`, `timeout-*` or `oom-*` in the
current folder. `python tests/fuzz/bytecode_target.py crash-...` runs that one input.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["tileir_tools"]):
    # Named one by one: the package imports them where they are needed, which is too late here.
    from broken import read_anyhow

    import tileir_tools.read.bytecode
    import tileir_tools.read.debug
    import tileir_tools.write  # noqa: F401

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "kernels"
_LARGEST_SEED = 8 << 10
_MAGIC = b"\x7fTileIR\x00"


def one_input(data: bytes) -> None:
    # Only bytecode: other bytes are refused before the reader sees them.
    read_anyhow(_MAGIC + data[len(_MAGIC) :])


def seed(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in FIXTURES.glob("*.tileirbc"):
        if path.stat().st_size <= _LARGEST_SEED:
            shutil.copy(path, folder / path.name)


def main() -> None:
    arguments = sys.argv
    folder = Path(tempfile.gettempdir()) / "fuzz-corpus"
    if "--corpus" in arguments:
        at = arguments.index("--corpus")
        folder = Path(arguments[at + 1])
        arguments = arguments[:at] + arguments[at + 2 :]
    if all(argument.startswith("-") for argument in arguments[1:]):
        seed(folder)
        arguments = [*arguments, str(folder)]
    atheris.Setup(arguments, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
