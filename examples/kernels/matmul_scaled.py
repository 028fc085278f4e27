"""Block-scaled matrix product: 8-bit floats with one power-of-two scale per 32 values along K."""

import cuda.tile as ct


@ct.kernel
def matmul_scaled(
    a,
    scale_a,
    b,
    scale_b,
    c,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK))
        left_scale = ct.load(scale_a, (row, k), (TM, TK // 32))
        right = ct.load(b, (k, col), (TK, TN))
        right_scale = ct.load(scale_b, (k, col), (TK // 32, TN))
        acc = ct.mma_scaled(left, left_scale, right, right_scale, acc)
    ct.store(c, (row, col), acc)


SIGNATURES = [
    {
        "kernel": "matmul_scaled",
        "variant": "mxfp8",
        "params": {
            "a": ("T", 2),
            "scale_a": ("float8_e8m0fnu", 2),
            "b": ("T", 2),
            "scale_b": ("float8_e8m0fnu", 2),
            "c": ("float32", 2),
            "TM": 128,
            "TN": 128,
            "TK": 128,
        },
        "dtypes": ["float8_e4m3fn"],
        "versions": ["13.3", "13.4"],
    },
]
