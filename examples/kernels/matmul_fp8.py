"""8-bit float matrix product with one scale per operand; B is stored transposed."""

import cuda.tile as ct


@ct.kernel
def matmul_fp8(
    a,
    bt,
    c,
    scale_a: float,
    scale_b: float,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(bt, (k, col), (TK, TN), order="F", padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc * (scale_a * scale_b), c.dtype))


SIGNATURES = [
    {
        "kernel": "matmul_fp8",
        "variant": "128x64x128",
        "params": {
            "a": ("T", 2),
            "bt": ("T", 2),
            "c": ("bfloat16", 2),
            "scale_a": "float32",
            "scale_b": "float32",
            "TM": 128,
            "TN": 64,
            "TK": 128,
        },
        "dtypes": ["float8_e4m3fn", "float8_e5m2"],
    },
]
