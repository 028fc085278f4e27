"""Row sums: reduced in each step, and once after the loop."""

import cuda.tile as ct


@ct.kernel
def reduction_reference(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1,), dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        value = ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(value, axis=1)
    ct.store(y, (row,), total)


@ct.kernel
def reduction_generated(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        total = total + ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row,), ct.sum(total, axis=1))


_PARAMS = {"x": ("T", 2), "y": ("T", 1), "TILE": 256}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "256",
        "params": _PARAMS,
        "dtypes": ["float32"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("reduction_reference", "reduction_generated")
]
