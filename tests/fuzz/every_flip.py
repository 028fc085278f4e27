"""Every truncation and every single-bit flip, and every byte set to 0 and 255, of bytecode files.

    python tests/fuzz/every_flip.py [FILE ...]

Default: the 20 smallest of our own fixtures. Prints how many damaged inputs gave a module, how many an
error, the slowest input and the most memory; exits 1 at the first other exception, with its input.
"""

from __future__ import annotations

import collections
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from broken import read_anyhow

from tileir_tools.model import Module

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "kernels"


def damaged(data: bytes) -> Iterator[bytes]:
    for size in range(len(data)):
        yield data[:size]
    for at, byte in enumerate(data):
        for changed in {*(byte ^ (1 << bit) for bit in range(8)), 0, 255} - {byte}:
            yield data[:at] + bytes([changed]) + data[at + 1 :]


def main() -> int:
    files = [Path(name) for name in sys.argv[1:]]
    if not files:
        files = sorted(FIXTURES.glob("*.tileirbc"), key=lambda p: (p.stat().st_size, p.name))[:20]
    counts: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    for path in files:
        for data in damaged(path.read_bytes()):
            start = time.perf_counter()
            try:
                outcome = read_anyhow(data)
            except BaseException:
                Path("failed.tileirbc").write_bytes(data)
                print(f"{path.name}: the input is in failed.tileirbc")
                raise
            slowest = max(slowest, time.perf_counter() - start)
            counts["module" if isinstance(outcome, Module) else "error"] += 1
    # In KiB on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{len(files)} files: {counts['module']} modules, {counts['error']} errors; "
        f"slowest {slowest:.3f} s, the process took at most {peak / 1e3:.0f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
