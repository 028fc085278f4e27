"""Batched C[i] = A[i] @ B[i] over three-dimensional tiles."""

import cuda.tile as ct


@ct.kernel(occupancy=1)
def bmm(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    batch, row, col = ct.bid(2), ct.bid(0), ct.bid(1)
    acc = ct.zeros((1, TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, TM, TK))):
        left = ct.load(a, (batch, row, k), (1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (batch, k, col), (1, TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (batch, row, col), ct.astype(acc, c.dtype))


SIGNATURES = [
    {
        "kernel": "bmm",
        "variant": "64x128x32",
        "params": {
            "a": ("T", 3),
            "b": ("T", 3),
            "c": ("T", 3),
            "TM": 64,
            "TN": 128,
            "TK": 32,
        },
        "dtypes": ["float16"],
    },
]
