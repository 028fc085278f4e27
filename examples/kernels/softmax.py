"""Row softmax by views: two passes over the row (running maximum and sum, then the quotient)."""

import cuda.tile as ct


@ct.kernel(occupancy=4)
def softmax(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    steps = ct.num_tiles(x, axis=1, shape=(1, TILE))
    peak = ct.full((1, 1), float("-inf"), dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(steps):
        part = ct.load(x, (row, j), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
        part = ct.astype(part, ct.float32)
        higher = ct.maximum(peak, ct.max(part, axis=1, keepdims=True))
        grown = ct.sum(ct.exp(part - higher), axis=1, keepdims=True)
        total = total * ct.exp(peak - higher) + grown
        peak = higher
    for j in range(steps):
        part = ct.load(x, (row, j), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
        share = ct.exp(ct.astype(part, ct.float32) - peak) / total
        ct.store(y, (row, j), ct.astype(share, y.dtype))


SIGNATURES = [
    {
        "kernel": "softmax",
        "variant": "tile1024",
        "params": {"x": ("T", 2), "y": ("T", 2), "TILE": 1024},
        "dtypes": ["float32", "bfloat16"],
        "arches": ["sm_100", "sm_120"],
    },
]
