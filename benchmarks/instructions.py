"""Instructions that the hot paths execute, counted by valgrind: what no other load on the machine changes.

    python benchmarks/instructions.py            beside the counts that are kept
    python benchmarks/instructions.py --keep     keeps the counts of now

Each path runs in a process of its own over the same fixtures, once after a warm-up and three times after one:
half of the difference is what one run costs. Counts are kept for a version of Python, in `instructions.json`;
the same source gives the same count within about one in a thousand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "tests" / "fixtures" / "kernels"
KEPT = HERE / "instructions.json"

# Above this a path has become slower, or below its inverse faster: more than counting varies.
TOLERANCE = 1.01


def _texts() -> list[str]:
    return [path.read_text() for path in sorted(FIXTURES.glob("*.mlir"))[::6]]


def read_text() -> Callable[[], object]:
    from tileir_tools import parse_all

    texts = _texts()
    return lambda: [parse_all(text) for text in texts]


def read_bytecode() -> Callable[[], object]:
    from tileir_tools import parse_all

    binaries = [path.read_bytes() for path in sorted(FIXTURES.glob("*.tileirbc"))[::6]]
    return lambda: [parse_all(data) for data in binaries]


def write_text() -> Callable[[], object]:
    from tileir_tools import parse_all

    modules = [module for text in _texts() for module in parse_all(text)]
    return lambda: [module.to_text() for module in modules]


def verify() -> Callable[[], object]:
    from tileir_tools import parse_all, verify

    modules = [module for text in _texts() for module in parse_all(text)]
    return lambda: [verify(module) for module in modules]


def facts() -> Callable[[], object]:
    from tileir_tools import analyze, parse_all

    modules = [module for text in _texts() for module in parse_all(text)]
    return lambda: [analyze(module) for module in modules]


def diff() -> Callable[[], object]:
    from tileir_tools import diff, parse_all

    # What is compared is read anew, so that nothing is remembered about it.
    texts = _texts()[::3]
    return lambda: [diff(*parse_all(text), *parse_all(text)) for text in texts]


PATHS = {
    path.__name__: path for path in (read_text, read_bytecode, write_text, verify, facts, diff)
}


def count(name: str) -> int:
    """Instructions of one run of a path."""
    once, thrice = (_counted(name, runs) for runs in (1, 3))
    return (thrice - once) // 2


def _counted(name: str, runs: int) -> int:
    """Instructions of a process that runs a path once to warm up, and then so often."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, str(Path(__file__).resolve()), "--run", name, str(runs)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        sys.exit(f"valgrind counted nothing:\n{done.stderr}")
    return int(found[1])


def run(name: str, runs: int) -> None:
    import gc

    act = PATHS[name]()
    act()
    act()
    gc.collect()
    gc.disable()
    for _ in range(runs):
        act()


def compare(keep: bool, names: list[str]) -> bool:
    """Print the counts beside those that are kept; whether none has grown."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    everything = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept = everything.setdefault(version, {})
    print("| path | million instructions | kept | ratio |\n| --- | ---: | ---: | ---: |")
    grown = False
    for name in names:
        now, before = count(name), kept.get(name)
        ratio = "" if before is None else f"{now / before:.3f}"
        shown = "" if before is None else f"{before / 1e6:.1f}"
        print(f"| {name} | {now / 1e6:.1f} | {shown} | {ratio} |", flush=True)
        grown = grown or (before is not None and now > before * TOLERANCE)
        if keep:
            kept[name] = now
    if keep:
        KEPT.write_text(json.dumps(everything, indent=2) + "\n")
    return not grown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", choices=[*PATHS, []], help="default: all")
    parser.add_argument("--keep", action="store_true", help="keep the counts for later")
    parser.add_argument("--run", nargs=2, metavar=("PATH", "RUNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run[0], int(options.run[1]))
        return
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    if not compare(options.keep, options.paths or list(PATHS)):
        sys.exit(1)


if __name__ == "__main__":
    main()
