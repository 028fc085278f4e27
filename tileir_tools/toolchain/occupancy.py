"""How many blocks of a kernel a multiprocessor can hold at a time, and what limits them.

Place in the flow: toolchain facts -> facts; imports `devices`, `machine_code`. The rules are those of the CUDA
programming guide: registers are given to warps in units of 256, warps to the four parts of a multiprocessor
evenly, shared memory to blocks together with 1 KiB for the system.
"""

from __future__ import annotations

from typing import NamedTuple

from .devices import PARTITIONS, REGISTER_UNIT, REGISTERS, RESERVED_SHARED, WARP, Device
from .machine_code import Function


class Occupancy(NamedTuple):
    """Blocks at a time on one multiprocessor, and why not more.

    Attributes:
        blocks: that fit.
        warps: of these blocks.
        limit: "registers", "shared memory", "threads" or "blocks".
    """

    blocks: int
    warps: int
    limit: str


def occupancy(function: Function, device: Device) -> Occupancy | None:
    """What fits; None where the kernel does not say how many threads a block has."""
    if not function.threads:
        return None
    warps = -(-function.threads // WARP)
    registers = -(-max(function.registers, 1) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    with_registers = REGISTERS // registers // PARTITIONS * PARTITIONS
    limits = [
        (with_registers // warps, "registers"),
        (device.shared // (function.shared + RESERVED_SHARED), "shared memory"),
        (device.threads // (warps * WARP), "threads"),
        (device.blocks, "blocks"),
    ]
    blocks, limit = min(limits, key=lambda pair: pair[0])
    return Occupancy(blocks, blocks * warps, limit)
