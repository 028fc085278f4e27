"""int8 matrix product accumulated in int32 (mmai), signed by unsigned."""

import cuda.tile as ct


@ct.kernel
def matmul_int8(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.int32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (row, col), acc)


SIGNATURES = [
    {
        "kernel": "matmul_int8",
        "variant": "s8u8",
        "params": {
            "a": ("int8", 2),
            "b": ("uint8", 2),
            "c": ("int32", 2),
            "TM": 64,
            "TN": 64,
            "TK": 64,
        },
        "dtypes": ["int8"],
        "versions": ["13.1", "13.4"],
    },
]
