"""A bias added to the product: read back from memory, and fused into the tile before it is stored."""

import cuda.tile as ct


@ct.kernel
def epilogue_reference(
    a, b, bias, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]
):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))
    product = ct.load(c, (row, col), (TM, TN), padding_mode=ct.PaddingMode.ZERO)
    ct.store(
        c, (row, col), product + ct.load(bias, (0, col), (1, TN), padding_mode=ct.PaddingMode.ZERO)
    )


@ct.kernel
def epilogue_generated(
    a, b, bias, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]
):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    product = ct.astype(acc, c.dtype)
    ct.store(
        c, (row, col), product + ct.load(bias, (0, col), (1, TN), padding_mode=ct.PaddingMode.ZERO)
    )


_PARAMS = {
    "a": ("T", 2),
    "b": ("T", 2),
    "bias": ("T", 2),
    "c": ("T", 2),
    "TM": 64,
    "TN": 64,
    "TK": 32,
}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "64x64x32",
        "params": _PARAMS,
        "dtypes": ["float16"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("epilogue_reference", "epilogue_generated")
]
