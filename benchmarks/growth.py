"""Modules of up to a million operations: what time and memory do as they grow.

    python benchmarks/growth.py [--most 1000000]

Each size runs in a process of its own. The module is what generators of kernels make of unrolled loops: blocks
of ten operations that load, compute, store, and hand on a token.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)
VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
PART = f"partition_view<tile=(16x16), {VIEW}>"
STORED = f"tile<16x16xf32>, {PART}, tile<i32>"
HEAD = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
%t000000 = make_token : token
%v = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> {VIEW}
%w = make_partition_view %v : {PART}
"""


def block(k: int) -> str:
    """Ten operations. Names are of one length, so that ten times the operations are ten times the text."""
    n, after = f"{k:06}", f"{k + 1:06}"
    return f"""%c{n} = constant <i32: {k}> : tile<i32>
%i{n} = addi %c{n}, %n : tile<i32>
%j{n} = muli %i{n}, %c{n} : tile<i32>
%l{n}, %a{n} = load_view_tko weak %w[%i{n}, %j{n}] token = %t{n} : {PART}, tile<i32> -> tile<16x16xf32>, token
%m{n} = mulf %l{n}, %l{n} : tile<16x16xf32>
%e{n} = exp %m{n} : tile<16x16xf32>
%f{n} = addf %e{n}, %m{n} : tile<16x16xf32>
%g{n} = addf %f{n}, %l{n} : tile<16x16xf32>
%h{n} = negf %g{n} : tile<16x16xf32>
%t{after} = store_view_tko weak %h{n}, %w[%j{n}, %i{n}] token = %a{n} : {STORED} -> token
"""


def module_text(operations: int) -> str:
    return HEAD + "".join(block(k) for k in range(operations // 10)) + "return\n}\n"


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    # Not ru_maxrss: a process begins with that of the one that started it.
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def measure(operations: int) -> dict[str, float]:
    """Seconds of each step; "module" and "all" in bytes of memory."""
    import tileir_tools as tt

    # What the first use of each part imports and compiles is not of this module.
    small = tt.parse(module_text(10))
    tt.diff(small, tt.parse(small.to_bytecode()))
    tt.verify(small)
    tt.analyze(small)
    tt.fingerprints(small)
    text = module_text(operations)
    before, found = peak(), {}

    def timed(name: str, act: Callable[[], object]) -> object:
        # The collector does not walk what the steps before have left.
        gc.collect()
        gc.freeze()
        start = time.process_time()
        result = act()
        found[name] = time.process_time() - start
        return result

    module = tt.parse("entry @none() {\n  return\n}\n")

    def read() -> None:
        nonlocal module
        module = tt.parse(text)

    timed("text -> Module", read)
    found["module"] = peak() - before
    data = timed("Module -> bytecode", module.to_bytecode)
    assert isinstance(data, bytes)
    other = tt.parse("entry @none() {\n  return\n}\n")

    def read_back() -> None:
        nonlocal other
        other = tt.parse(data)

    timed("bytecode -> Module", read_back)
    timed("Module -> text", module.to_text)
    timed("verify", lambda: tt.verify(module))
    timed("facts", lambda: tt.analyze(module))
    timed("fingerprints", lambda: tt.fingerprints(module))
    timed("diff", lambda: tt.diff(module, other))
    found["all"] = peak() - before
    return found


def measured(operations: int) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", str(operations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="operations of the largest")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    sizes = [size for size in SIZES if size <= options.most]
    columns = {size: measured(size) for size in sizes}
    heads = " | ".join(f"{size:,} operations" for size in sizes)
    print(f"| what | {heads} | of each, ten times the one before |")
    print("| --- |" + " ---: |" * (len(sizes) + 1))
    for name in columns[sizes[0]]:
        values = [columns[size][name] for size in sizes]
        if name in ("module", "all"):
            shown = [f"{value / size:,.0f} bytes each" for value, size in zip(values, sizes)]
            name = f"memory: {name}"
        else:
            shown = [f"{value:.2f} s" for value in values]
        ratios = ", ".join(f"{b / a:.1f}x" for a, b in pairwise(values))
        print(f"| {name} | {' | '.join(shown)} | {ratios} |")


if __name__ == "__main__":
    main()
