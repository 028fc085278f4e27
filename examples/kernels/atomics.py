"""Atomics: a histogram, a sum behind a compare-and-swap lock, and the other read-modify-writes."""

import cuda.tile as ct


@ct.kernel
def histogram(x, bins, TILE: ct.Constant[int]):
    value = ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    slot = ct.minimum(ct.astype(value * bins.shape[0], ct.int32), bins.shape[0] - 1)
    ct.atomic_add(bins, slot, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def locked_sum(x, lock, total, TILE: ct.Constant[int]):
    part = ct.sum(ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO))
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    seen = ct.load(total, (0,), (1,))
    ct.store(total, (0,), seen + part)
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def extremes(x, y, TILE: ct.Constant[int]):
    lane = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(x, lane)
    old = ct.atomic_max(y, lane, value, memory_scope=ct.MemoryScope.SYS)
    old = old + ct.atomic_min(y, lane, value, memory_scope=ct.MemoryScope.BLOCK)
    old = old ^ ct.atomic_and(y, lane, value, check_bounds=False)
    old = old | ct.atomic_or(y, lane, value)
    ct.atomic_xor(y, lane, old)


SIGNATURES = [
    {
        "kernel": "histogram",
        "variant": "tile256",
        "params": {"x": ("T", 1), "bins": ("int32", 1), "TILE": 256},
        "dtypes": ["float32"],
    },
    {
        "kernel": "locked_sum",
        "variant": "tile512",
        "params": {
            "x": ("float32", 1),
            "lock": ("int32", 1),
            "total": ("float32", 1),
            "TILE": 512,
        },
        "dtypes": ["float32"],
    },
    {
        "kernel": "extremes",
        "variant": "tile64",
        "params": {"x": ("T", 1), "y": ("T", 1), "TILE": 64},
        "dtypes": ["int32", "int64"],
        "versions": ["13.1", "13.4"],
    },
]
