"""A matrix product by one block for each tile, and by blocks that go through the tiles."""

import cuda.tile as ct


@ct.kernel
def persistent_reference(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    tiles = ct.num_tiles(c, axis=1, shape=(TM, TN))
    tile = ct.bid(0)
    row, col = tile // tiles, tile % tiles
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))


@ct.kernel
def persistent_generated(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    tiles = ct.num_tiles(c, axis=1, shape=(TM, TN))
    rows = ct.num_tiles(c, axis=0, shape=(TM, TN))
    for tile in range(ct.bid(0), rows * tiles, ct.num_blocks(0)):
        row, col = tile // tiles, tile % tiles
        acc = ct.zeros((TM, TN), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
            left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
            right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(left, right, acc)
        ct.store(c, (row, col), ct.astype(acc, c.dtype))


_PARAMS = {"a": ("T", 2), "b": ("T", 2), "c": ("T", 2), "TM": 64, "TN": 64, "TK": 32}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "64x64x32",
        "params": _PARAMS,
        "dtypes": ["float16"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("persistent_reference", "persistent_generated")
]
