"""Row softmax by pointers: masked gather and scatter, rows dealt out to persistent blocks."""

import cuda.tile as ct


@ct.kernel
def softmax_gather(x, y, rows: int, cols: int, TILE: ct.Constant[int]):
    lane = ct.arange(TILE, dtype=ct.int32)
    inside = lane < cols
    for row in range(ct.bid(0), rows, ct.num_blocks(0)):
        value = ct.gather(x, (row, lane), mask=inside, padding_value=float("-inf"))
        value = ct.astype(value, ct.float32)
        weight = ct.exp2((value - ct.max(value, axis=0)) * 1.4426950408889634, flush_to_zero=True)
        share = ct.truediv(
            weight, ct.sum(weight, axis=0), rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True
        )
        ct.scatter(y, (row, lane), ct.astype(share, y.dtype), mask=inside)


SIGNATURES = [
    {
        "kernel": "softmax_gather",
        "variant": "tile512",
        "params": {
            "x": ("T", 2),
            "y": ("T", 2),
            "rows": "int32",
            "cols": "int32",
            "TILE": 512,
        },
        "dtypes": ["float16", "float32"],
    },
]
