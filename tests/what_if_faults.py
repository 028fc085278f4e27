"""Faults put into kernels of our own, one at a time, and whether `what-if` proves the cause by time.

    tileir dump --call benchmarks/launches.py -o DUMPS     # on a machine with a GPU
    python tests/what_if_faults.py DUMPS [--arch sm_90] [--static]

prints a table: the time of the kernel as it was, of the kernel with the fault, and of the faulty kernel with
each difference taken over from the kernel as it was. A cause is proven where taking it over gives the time
back and nothing else does. `--static` compiles without launching.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ir_faults import Edit, on_entry, on_loads, without_alignment

from tileir_tools import load
from tileir_tools.diff.whatif import Trial, WhatIf, what_if
from tileir_tools.model import (
    I64,
    BoolAttr,
    IntegerAttr,
    Module,
)
from tileir_tools.read import parse
from tileir_tools.toolchain.dump_folder import read_manifest
from tileir_tools.toolchain.timing import Compiled, Timing, launch_of, time_kernels


class Fault(NamedTuple):
    """A fault, the kernel that it is put into, and how the edit that takes it back begins."""

    name: str
    kernel: str
    inject: Edit
    cause: str


def _ordered(module: Module) -> None:
    """Loads that every other thread's stores are ordered with."""
    text = module.to_text().replace("load_view_tko weak", "load_view_tko acquire sys")
    module.operations[:] = parse(text).operations


FAULTS: tuple[Fault, ...] = (
    Fault(
        "latency = 1 on both loads",
        "matmul",
        on_loads("latency", IntegerAttr(1, I64)),
        "hints of load",
    ),
    Fault(
        "allow_tma = false on both loads",
        "matmul",
        on_loads("allow_tma", BoolAttr(False)),
        "hints of load",
    ),
    Fault("occupancy = 4", "matmul", on_entry("occupancy", 4), "hints of the entry"),
    Fault("num_cta_in_cga = 2", "matmul", on_entry("num_cta_in_cga", 2), "hints of the entry"),
    Fault("alignment of the pointers not promised", "matmul", without_alignment, "assume div_by"),
    Fault("loads acquire from the system", "softmax", _ordered, "ordering of load"),
    Fault("occupancy = 1 for 4", "softmax", on_entry("occupancy", 1), "hints of the entry"),
    Fault("occupancy = 1 for 4", "rms_norm", on_entry("occupancy", 1), "hints of the entry"),
    Fault("alignment of the pointers not promised", "rms_norm", without_alignment, "assume div_by"),
)


def tried(fault: Fault, folder: Path, arch: str, launch: bool) -> tuple[WhatIf, dict[str, str]]:
    """What taking each difference over changes, and the machine that said so."""
    manifest = read_manifest(str(folder))
    rows = manifest["kernels"]
    assert isinstance(rows, list)
    row = next(r for r in rows if r["kernel"] == fault.kernel)
    reference, faulty = (load(folder / row["bytecode"]) for _ in range(2))
    fault.inject(faulty)
    machine: dict[str, str] = {}

    def timer(code: Sequence[Compiled]) -> Sequence[Timing]:
        timings, found = time_kernels(launch_of(manifest, fault.kernel), code)
        machine.update(found)
        return timings

    return what_if(reference, faulty, arch, timer=timer if launch else None), machine


def _cell(trial: Trial) -> str:
    if trial.timing is not None:
        return f"{trial.timing.median:.0f}{'' if trial.timing.same else ' (other result)'}"
    return "-" if trial.side is None else ", ".join(c.name for c in trial.causes) or "no cause"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dumps", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--static", action="store_true", help="launch nothing")
    options = parser.parse_args()
    print(
        "| kernel | fault | as it was | with the fault | taken over: time |\n| --- | --- | ---: | ---: | --- |"
    )
    machine: dict[str, str] = {}
    for fault in FAULTS:
        found, machine = tried(fault, options.dumps, options.arch, not options.static)
        nothing, *others = found.trials
        # The cause first.
        others.sort(key=lambda t: (not t.name.startswith(fault.cause), t.name == "everything"))
        cells = "; ".join(f"{t.name}: {_cell(t)}" for t in others)
        before = f"{found.timing.median:.0f} ± {found.timing.spread:.0f}" if found.timing else "-"
        after = _cell(nothing)
        if nothing.timing is not None:
            after += f" ± {nothing.timing.spread:.0f}"
        print(f"| {fault.kernel} | {fault.name} | {before} | {after} | {cells} |", flush=True)
    print(f"\n{machine}")


if __name__ == "__main__":
    main()
