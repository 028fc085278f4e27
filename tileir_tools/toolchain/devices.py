"""What a multiprocessor of each architecture has, as data.

Place in the flow: data beside the toolchain; imports nothing. Limits are those of the CUDA programming
guide's table of compute capabilities; the number of multiprocessors is that of the device named.
"""

from __future__ import annotations

from typing import NamedTuple


class Device(NamedTuple):
    """One architecture.

    Attributes:
        arch: such as `sm_90`.
        name: a device of it.
        multiprocessors: that this device has.
        threads, blocks: at most at a time on a multiprocessor.
        shared: bytes of shared memory of a multiprocessor.
        block_shared: bytes of shared memory that one block may take.
    """

    arch: str
    name: str
    multiprocessors: int
    threads: int
    blocks: int
    shared: int
    block_shared: int

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, such as (9, 0)."""
        number = int(self.arch.partition("_")[2])
        return divmod(number, 10)


# Registers of a multiprocessor and the most that a block may have, on every architecture below.
REGISTERS = 65536
# Registers are given to warps in this many at a time.
REGISTER_UNIT = 256
# Parts of a multiprocessor that warps are given to evenly.
PARTITIONS = 4
# Shared memory that the system takes of each block.
RESERVED_SHARED = 1024
WARP = 32
# Target where there is no GPU and none was named.
DEFAULT_ARCH = "sm_100"

_KIB = 1024

DEVICES: tuple[Device, ...] = (
    Device("sm_80", "A100", 108, 2048, 32, 164 * _KIB, 163 * _KIB),
    Device("sm_86", "A40", 84, 1536, 16, 100 * _KIB, 99 * _KIB),
    Device("sm_89", "L40S", 142, 1536, 24, 100 * _KIB, 99 * _KIB),
    Device("sm_90", "H200", 132, 2048, 32, 228 * _KIB, 227 * _KIB),
    Device("sm_100", "B200", 148, 2048, 32, 228 * _KIB, 227 * _KIB),
    Device("sm_103", "B300", 160, 2048, 32, 228 * _KIB, 227 * _KIB),
    Device("sm_110", "Jetson Thor", 20, 1536, 24, 228 * _KIB, 227 * _KIB),
    Device("sm_120", "RTX PRO 6000", 188, 1536, 24, 100 * _KIB, 99 * _KIB),
    Device("sm_121", "GB10", 48, 1536, 24, 100 * _KIB, 99 * _KIB),
)
_BY_ARCH = {device.arch: device for device in DEVICES}


def device_of(arch: str) -> Device | None:
    """The architecture's device; None for one that is not in the table."""
    return _BY_ARCH.get(arch)
