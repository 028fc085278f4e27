"""A transposing copy by `ct.transpose` of the tile, and by a view in the other order."""

import cuda.tile as ct


@ct.kernel
def transposed_reference(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (row, col), (TM, TN), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (col, row), ct.transpose(tile))


@ct.kernel
def transposed_generated(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (col, row), (TN, TM), order="F", padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (col, row), tile)


_PARAMS = {"x": ("T", 2), "y": ("T", 2), "TM": 64, "TN": 32}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "64x32",
        "params": _PARAMS,
        "dtypes": ["float16"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("transposed_reference", "transposed_generated")
]
