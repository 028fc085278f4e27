"""Ratios of time and memory, measured in one run: `python benchmarks/run.py [--diff-ir-sh PATH]`.

Each row sets this project beside what a user would otherwise run, or beside itself; absolute times depend
on the machine, ratios hardly do. Peers that are not installed are skipped with a word: TileGym's diff_ir.sh
(`--diff-ir-sh`), MLIR's bindings (extra `mlir`), tileirdisasm (`cutile`). Inputs are the committed fixtures,
or the files given with `--corpus DIR`. Install a wheel: an editable install starts slower. `growth.py` and
`instructions.py` beside this file go further.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

from growth import SIZES, measured

from tileir_tools.read import state

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "kernels"


def median_time(action: Callable[[], object], runs: int) -> float:
    """Median seconds of an action, after one run that does not count."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def paired_times(
    one: Callable[[], object], other: Callable[[], object], runs: int
) -> tuple[float, float, float]:
    """Median seconds of both, run in turn, and the median of the ratios pair by pair."""
    one(), other()
    pairs = []
    for _ in range(runs):
        start = time.perf_counter()
        one()
        middle = time.perf_counter()
        other()
        pairs.append((middle - start, time.perf_counter() - middle))
    ratios = [a / b for a, b in pairs]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(ratios),
    )


def process(command: list[str]) -> Callable[[], object]:
    # Not in the repository: what is installed is meant, not the folder of that name here.
    folder = tempfile.gettempdir()
    return lambda: subprocess.run(command, capture_output=True, check=False, cwd=folder)


def row(what: str, result: str, goal: str) -> None:
    print(f"| {what} | {result} | {goal} |", flush=True)


def inputs(corpus: Path | None) -> list[Path]:
    root = corpus or FIXTURES
    return sorted(p for p in root.rglob("*.mlir") if not p.name.endswith(".g.mlir"))


def bench_diff(files: list[Path], script: str | None, runs: int) -> None:
    """A whole process of tileir-diff beside one of the shell script that it replaces."""
    name = "`tileir-diff a a`, whole process"
    sizes = sorted(files, key=lambda p: abs(p.stat().st_size - 9_000))
    file = str(sizes[0].resolve())
    ours = process([str(Path(sys.executable).with_name("tileir-diff")), file, file])
    if script is None:
        seconds = median_time(ours, runs)
        row(name, f"{seconds * 1000:.0f} ms; diff_ir.sh not given (--diff-ir-sh)", "<= 0.35x")
        return
    a, b, ratio = paired_times(ours, process(["bash", script, file, file]), runs)
    row(name, f"{a * 1000:.0f} ms beside {b * 1000:.0f} ms of diff_ir.sh: {ratio:.2f}x", "<= 0.35x")


def read_each(texts: Sequence[str]) -> None:
    """Read texts as a program does that is done with one before it reads the next."""
    from tileir_tools import parse_all

    for text in texts:
        parse_all(text)


def bench_read(files: list[Path], runs: int) -> None:
    """Text to Module in process."""
    texts = [p.read_text() for p in files]
    size = sum(len(t) for t in texts)
    seconds = median_time(lambda: read_each(texts), runs)
    row("text -> Module", f"{size / seconds / 1e6:.2f} MB/s over {size / 1e6:.1f} MB", ">= 5 MB/s")


def reading_time(inputs: Sequence[str | bytes]) -> float:
    """Seconds that reading takes, without those that freeing the modules read before takes."""
    from tileir_tools import parse_all

    # What lives already is not walked again by every collection, which would empty the processor's caches.
    gc.collect()
    gc.freeze()
    total = 0.0
    for data in inputs:
        gc.collect()
        start = time.perf_counter()
        parse_all(data)
        total += time.perf_counter() - start
    gc.unfreeze()
    return total


def bench_bytecode(files: list[Path], runs: int) -> None:
    """Bytecode to Module beside text to Module of the same kernels, and beside tileirdisasm."""
    pairs = [(p, p.with_suffix(".tileirbc")) for p in files if p.with_suffix(".tileirbc").exists()]
    texts = [text.read_text() for text, _ in pairs]
    binaries = [binary.read_bytes() for _, binary in pairs]

    rounds = [(reading_time(binaries), reading_time(texts)) for _ in range(runs)]
    a, b = (statistics.median(times) for times in zip(*rounds))
    ratio = statistics.median(one / other for one, other in rounds)
    each = a / len(pairs)
    row(
        "bytecode -> Module beside text -> Module",
        f"{ratio:.2f}x ({a:.2f} s, {b:.2f} s)",
        "<= 0.6x",
    )
    name = "bytecode -> Module beside a tileirdisasm process, per kernel"
    disassembler = find_tool("tileirdisasm")
    if disassembler is None:
        row(name, "skipped: tileirdisasm is not installed", "< 1x")
        return
    some = [str(binary) for _, binary in pairs[:: max(1, len(pairs) // 20)]]
    theirs = median_time(lambda: [process([disassembler, path])() for path in some], 3) / len(some)
    row(name, f"{each * 1000:.1f} ms beside {theirs * 1000:.1f} ms: {each / theirs:.2f}x", "< 1x")


def find_tool(name: str) -> str | None:
    """A tool of NVIDIA's: on the path, or where pip puts it."""
    found = shutil.which(name)
    if found is None:
        places = Path(sys.prefix).glob(f"lib/python*/site-packages/nvidia/cu*/bin/{name}")
        found = next((str(p) for p in places), None)
    return found


def bench_verify(files: list[Path], runs: int) -> None:
    """Verifying a module beside reading it, kernel by kernel."""
    from tileir_tools import parse_all, verify

    def both(text: str) -> float:
        gc.collect()
        start = time.perf_counter()
        modules = parse_all(text)
        middle = time.perf_counter()
        for module in modules:
            verify(module)
        return (time.perf_counter() - middle) / (middle - start)

    texts = [p.read_text() for p in files]
    gc.collect()
    gc.freeze()
    ratios = [statistics.median(both(text) for _ in range(runs)) for text in texts]
    gc.unfreeze()
    slow = statistics.quantiles(ratios, n=10)[-1]
    result = f"{statistics.median(ratios):.2f}x, {slow:.2f}x for the slowest tenth"
    row("verify beside text -> Module, median of kernels", result, "<= 1x")


def bench_write(files: list[Path], runs: int) -> None:
    """Module to text in process, beside reading."""
    from tileir_tools import parse_all

    texts = [p.read_text() for p in files]
    modules = [m for t in texts for m in parse_all(t)]
    write = lambda: [m.to_text() for m in modules]  # noqa: E731
    read = lambda: [parse_all(t) for t in texts]  # noqa: E731
    a, b, ratio = paired_times(write, read, runs)
    row("Module -> text", f"{ratio:.2f}x the time of reading ({a:.2f} s, {b:.2f} s)", "-")


def bench_passes(files: list[Path]) -> None:
    """Canonicalising beside reading, module by module."""
    from tileir_tools import parse_all
    from tileir_tools.transform import canonicalize, cse

    ratios = []
    for path in files:
        text = path.read_text()
        gc.collect()
        start = time.perf_counter()
        modules = parse_all(text)
        middle = time.perf_counter()
        gc.disable()
        for module in modules:
            canonicalize(module)
            cse(module)
        gc.enable()
        ratios.append((time.perf_counter() - middle) / (middle - start))
    row(
        "canonicalize and cse beside text -> Module",
        f"{statistics.median(ratios):.2f}x, worst of {len(ratios)} modules {max(ratios):.2f}x",
        "<= 1x",
    )


def bench_mlir(files: list[Path], runs: int) -> None:
    """The C++ parser of MLIR's bindings on the generic form of the same modules."""
    name = "text -> Module beside C++ MLIR on the generic form, of the same pretty text"
    try:
        from mlir import ir
    except ImportError:
        row(name, "skipped: MLIR's bindings are not installed", "<= 1x")
        return
    from tileir_tools import parse_all
    from tileir_tools.mlir import mlir_text

    pretty = [p.read_text() for p in files]
    generic = [mlir_text(m, debug_info=False) for t in pretty for m in parse_all(t)]

    def theirs() -> None:
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            for text in generic:
                ir.Module.parse(text)

    a, b, ratio = paired_times(lambda: read_each(pretty), theirs, runs)
    size = sum(map(len, pretty)) / 1e6
    row(name, f"{size / a:.1f} beside {size / b:.1f} MB/s: {ratio:.2f}x the time", "<= 1x")


def bench_growth(most: int) -> None:
    """Ten times the operations, to a million: time and memory of fresh processes."""
    sizes = [size for size in SIZES if size <= most]
    columns = [measured(size) for size in sizes]
    for name in ("text -> Module", "bytecode -> Module", "facts", "diff", "module"):
        values = [column[name] for column in columns]
        ratios = ", ".join(f"{b / a:.1f}x" for a, b in pairwise(values))
        unit = f"{values[-1] / sizes[-1]:,.0f} bytes each"
        last = unit if name == "module" else f"{values[-1] / sizes[-1] * 1e6:.1f} us each"
        what = "memory of a Module" if name == "module" else name
        row(f"10x the ops, {sizes[0]:,} to {sizes[-1]:,}: {what}", f"{ratios}; {last}", "<= 11x")


def _analyze_file(path: str) -> int:
    from tileir_tools import analyze, load

    return len(analyze(load(path)).entries)


def bench_folder(files: list[Path]) -> None:
    """A folder of dumps with two processes beside one."""
    paths = [str(p) for p in files] * max(1, 400 // len(files))

    def serial() -> None:
        for path in paths:
            _analyze_file(path)

    def parallel() -> None:
        with ProcessPoolExecutor(2) as pool:
            list(pool.map(_analyze_file, paths, chunksize=16))

    a, b, ratio = paired_times(serial, parallel, 3)
    row(
        f"{len(paths)} dumps, 2 processes",
        f"{ratio:.2f}x as fast ({a:.1f} s, {b:.1f} s)",
        ">= 1.8x",
    )


def bench_import(runs: int) -> None:
    """`import tileir_tools` beside an idle interpreter."""
    ours = process([sys.executable, "-c", "import tileir_tools"])
    idle = process([sys.executable, "-c", "pass"])
    a, b, _ = paired_times(ours, idle, runs)
    row("`import tileir_tools`", f"+{(a - b) * 1000:.0f} ms over {b * 1000:.0f} ms", "<= +40 ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--diff-ir-sh", metavar="PATH", help="TileGym's diff_ir.sh to compare with")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="more inputs than the fixtures")
    parser.add_argument("--runs", type=int, default=7, help="runs per measurement (default 7)")
    parser.add_argument(
        "--most", type=int, default=SIZES[-1], help="operations of the largest module"
    )
    options = parser.parse_args()
    files = inputs(options.corpus)
    if not files:
        sys.exit(f"no .mlir files in {options.corpus or FIXTURES}")
    readers = "plain" if str(state.__file__).endswith(".py") else "compiled"
    print(f"Python {sys.version.split()[0]}, readers {readers}, {len(files)} files\n")
    print("| what | measured | goal |\n| --- | --- | --- |")
    bench_diff(files, options.diff_ir_sh, options.runs)
    bench_read(files, max(3, options.runs // 2))
    bench_bytecode(files, 3)
    bench_verify(files, 3)
    bench_write(files, 3)
    bench_passes(files)
    bench_mlir(files, options.runs)
    bench_folder(files)
    bench_import(options.runs)
    bench_growth(options.most)


if __name__ == "__main__":
    main()
