"""One matrix product with tiles of several sizes, for what the compiler makes of each.

On an H200, tiles of 128x128x64 are quickest; 128x256x64 and 256x128x64 spill registers, 64x64x64 loads twice as
much for each product.
"""

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
        "variant": f"{rows}x{columns}x64",
        "params": {
            "a": ("T", 2),
            "b": ("T", 2),
            "c": ("T", 2),
            "TM": rows,
            "TN": columns,
            "TK": 64,
        },
        "dtypes": ["float16"],
        "versions": ["13.3"],
    }
    for rows, columns in ((128, 128), (128, 256), (256, 128), (64, 64))
]
