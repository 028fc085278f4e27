"""C = A @ B, one output tile per block, accumulated in float32."""

import cuda.tile as ct


@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))


SIGNATURES = [
    {
        "kernel": "matmul",
        "variant": "128x128x64",
        "params": {
            "a": ("T", 2),
            "b": ("T", 2),
            "c": ("T", 2),
            "TM": 128,
            "TN": 128,
            "TK": 64,
        },
        "dtypes": ["float16", "bfloat16"],
        "arches": ["sm_100", "sm_90", "sm_120"],
    },
    {
        "kernel": "matmul",
        "variant": "strided_64x64x32",
        "params": {
            "a": ("T", 2, "strided"),
            "b": ("T", 2, "strided"),
            "c": ("float32", 2),
            "TM": 64,
            "TN": 64,
            "TK": 32,
        },
        "dtypes": ["float16"],
        "versions": ["13.4"],
    },
]
