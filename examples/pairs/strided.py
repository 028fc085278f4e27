"""A copy through tiles by their number, and through a view with a tile at each element."""

import cuda.tile as ct


@ct.kernel
def strided_reference(x, y, TILE: ct.Constant[int]):
    row, part = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (row, part), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row, part), tile)


@ct.kernel
def strided_generated(x, y, TILE: ct.Constant[int]):
    row, part = ct.bid(0), ct.bid(1)
    windows = x.tiled_view((1, TILE), padding_mode=ct.PaddingMode.ZERO, traversal_steps=(1, 1))
    ct.store(y, (row, part), windows.load((row, part * TILE)))


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
    for name in ("strided_reference", "strided_generated")
]
