"""A branch, and the inverse one with its sides exchanged; two sums, carried in another order."""

import cuda.tile as ct


@ct.kernel
def branch_reference(x, y, TILE: ct.Constant[int], limit: int):
    row = ct.bid(0)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    squares = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        value = ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        total = total + value
        squares = squares + value * value
    if row < limit:
        ct.store(y, (row, 0), total)
    else:
        ct.store(y, (row, 0), squares)


@ct.kernel
def branch_generated(x, y, TILE: ct.Constant[int], limit: int):
    row = ct.bid(0)
    squares = ct.zeros((1, TILE), dtype=ct.float32)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        value = ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        squares = squares + value * value
        total = total + value
    if row >= limit:
        ct.store(y, (row, 0), squares)
    else:
        ct.store(y, (row, 0), total)


_PARAMS = {"x": ("T", 2), "y": ("T", 2), "TILE": 128, "limit": "int32"}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "128",
        "params": _PARAMS,
        "dtypes": ["float32"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("branch_reference", "branch_generated")
]
