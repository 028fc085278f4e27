"""float32 matrix product on tensor cores: both operands are rounded to tfloat32 first."""

import cuda.tile as ct


@ct.kernel
def matmul_tf32(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ct.astype(left, ct.tfloat32), ct.astype(right, ct.tfloat32), acc)
    ct.store(c, (row, col), acc)


SIGNATURES = [
    {
        "kernel": "matmul_tf32",
        "variant": "64x64x32",
        "params": {
            "a": ("float32", 2),
            "b": ("float32", 2),
            "c": ("float32", 2),
            "TM": 64,
            "TN": 64,
            "TK": 32,
        },
        "dtypes": ["float32"],
    },
]
