"""A row maximum whose ragged end reads as minus infinity, and as zero."""

import cuda.tile as ct


@ct.kernel
def padding_reference(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(y, (row,), ct.max(value, axis=1))


@ct.kernel
def padding_generated(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row,), ct.max(value, axis=1))


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
    for name in ("padding_reference", "padding_generated")
]
