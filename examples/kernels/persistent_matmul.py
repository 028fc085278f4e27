"""C = A @ B by persistent blocks, with hints for the entry, both loads and the store.

Output tiles are walked in groups of GROUP_M rows, so that neighbouring blocks share columns of B.
"""

import cuda.tile as ct


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, sm_90=1, default=1), occupancy=ct.ByTarget(sm_90=2))
def persistent_matmul(
    a,
    b,
    c,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
    GROUP_M: ct.Constant[int],
):
    tiles_m = ct.cdiv(a.shape[0], TM)
    tiles_n = ct.cdiv(b.shape[1], TN)
    steps = ct.cdiv(a.shape[1], TK)
    per_group = GROUP_M * tiles_n
    for tile in range(ct.bid(0), tiles_m * tiles_n, ct.num_blocks(0)):
        first = (tile // per_group) * GROUP_M
        height = ct.minimum(tiles_m - first, GROUP_M)
        row = first + (tile % per_group) % height
        col = (tile % per_group) // height
        acc = ct.zeros((TM, TN), dtype=ct.float32)
        for k in range(steps):
            left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO, latency=4)
            right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO, latency=2)
            acc = ct.mma(left, right, acc)
        ct.store(c, (row, col), ct.astype(acc, c.dtype), allow_tma=False)


SIGNATURES = [
    {
        "kernel": "persistent_matmul",
        "variant": "group8",
        "params": {
            "a": ("T", 2),
            "b": ("T", 2),
            "c": ("T", 2),
            "TM": 128,
            "TN": 256,
            "TK": 64,
            "GROUP_M": 8,
        },
        "dtypes": ["bfloat16"],
        "arches": ["sm_100", "sm_90"],
    },
]
