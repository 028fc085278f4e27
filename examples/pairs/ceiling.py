"""Sums of rows, the number of steps by `ct.cdiv` and by hand."""

import cuda.tile as ct


@ct.kernel
def ceiling_reference(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range(ct.cdiv(x.shape[1], TILE)):
        total = total + ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row,), ct.sum(total, axis=1))


@ct.kernel
def ceiling_generated(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for step in range((x.shape[1] + TILE - 1) // TILE):
        total = total + ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row,), ct.sum(total, axis=1))


_PARAMS = {"x": ("T", 2, "strided"), "y": ("T", 1, "strided"), "TILE": 256}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "256",
        "params": _PARAMS,
        "dtypes": ["float32"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("ceiling_reference", "ceiling_generated")
]
