"""A row scaled by way of views, and of pointers with a mask."""

import cuda.tile as ct


@ct.kernel
def pointers_reference(x, y, TILE: ct.Constant[int]):
    row, part = ct.bid(0), ct.bid(1)
    value = ct.load(x, (row, part), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row, part), value * 2.0)


@ct.kernel
def pointers_generated(x, y, TILE: ct.Constant[int]):
    row, part = ct.bid(0), ct.bid(1)
    lane = part * TILE + ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(x, (row, lane), padding_value=0.0)
    ct.scatter(y, (row, lane), value * 2.0)


_PARAMS = {"x": ("T", 2), "y": ("T", 2), "TILE": 128}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "128",
        "params": _PARAMS,
        "dtypes": ["float32"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("pointers_reference", "pointers_generated")
]
