"""Running sums: along a row in chunks that carry the last sum on, and a reverse scan of pairs."""

import operator

import cuda.tile as ct


@ct.kernel
def cumsum(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    carry = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        part = ct.load(x, (row, j), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        part = ct.astype(part, ct.float32)
        ct.store(y, (row, j), ct.astype(ct.cumsum(part, axis=1) + carry, y.dtype))
        carry += ct.sum(part, axis=1, keepdims=True)


def _later_maximum(value_a, sum_a, value_b, sum_b):
    return ct.maximum(value_a, value_b), sum_a + sum_b


@ct.kernel
def reverse_scan(x, peaks, counts, TILE: ct.Constant[int]):
    value = ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    ones = ct.full((TILE,), 1, dtype=ct.int32)
    peak, count = ct.scan((value, ones), 0, _later_maximum, (0.0, 0), reverse=True)
    product = ct.scan(value, 0, operator.mul, 1.0)
    ct.store(peaks, (ct.bid(0),), peak + product)
    ct.store(counts, (ct.bid(0),), count)


SIGNATURES = [
    {
        "kernel": "cumsum",
        "variant": "tile256",
        "params": {"x": ("T", 2), "y": ("T", 2), "TILE": 256},
        "dtypes": ["float32"],
    },
    {
        "kernel": "reverse_scan",
        "variant": "pair",
        "params": {
            "x": ("float32", 1),
            "peaks": ("float32", 1),
            "counts": ("int32", 1),
            "TILE": 128,
        },
        "dtypes": ["float32"],
        "versions": ["13.1", "13.4"],
    },
]
