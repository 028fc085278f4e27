"""A matrix product whose blocks walk the tiles in groups of rows, and one by block ids as they are."""

import cuda.tile as ct


@ct.kernel
def swizzle_reference(
    a,
    b,
    c,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
    GROUP: ct.Constant[int],
):
    rows = ct.num_tiles(c, axis=0, shape=(TM, TN))
    columns = ct.num_tiles(c, axis=1, shape=(TM, TN))
    per_group = GROUP * columns
    first = (ct.bid(0) // per_group) * GROUP
    height = ct.minimum(rows - first, GROUP)
    row = first + (ct.bid(0) % per_group) % height
    col = (ct.bid(0) % per_group) // height
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))


@ct.kernel
def swizzle_generated(
    a,
    b,
    c,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
    GROUP: ct.Constant[int],
):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))


_PARAMS = {"a": ("T", 2), "b": ("T", 2), "c": ("T", 2), "TM": 64, "TN": 64, "TK": 32, "GROUP": 8}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "64x64x32",
        "params": _PARAMS,
        "dtypes": ["float16"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("swizzle_reference", "swizzle_generated")
]
