"""Reductions of several operands: argmax, and mean with variance by one three-operand reduce."""

import cuda.tile as ct


@ct.kernel
def argmax(x, values, places, TM: ct.Constant[int], TN: ct.Constant[int]):
    block = ct.bid(0)
    tile = ct.load(x, (block, 0), (TM, TN), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(places, (block,), ct.argmax(tile, axis=1))
    ct.store(values, (block,), ct.max(tile, axis=1))


def _merge(count_a, mean_a, spread_a, count_b, mean_b, spread_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = count_b / ct.maximum(count, 1.0)
    return (
        count,
        mean_a + delta * share,
        spread_a + spread_b + delta * delta * count_a * share,
    )


@ct.kernel
def welford(x, means, variances, TILE: ct.Constant[int]):
    value = ct.astype(ct.load(x, (ct.bid(0), 0), (1, TILE)), ct.float32)
    ones = ct.ones((1, TILE), dtype=ct.float32)
    nothing = ct.zeros((1, TILE), dtype=ct.float32)
    count, mean, spread = ct.reduce((ones, value, nothing), 1, _merge, (0.0, 0.0, 0.0))
    ct.store(means, (ct.bid(0),), mean)
    ct.store(variances, (ct.bid(0),), spread / count)


SIGNATURES = [
    {
        "kernel": "argmax",
        "variant": "16x256",
        "params": {
            "x": ("T", 2),
            "values": ("T", 1),
            "places": ("int32", 1),
            "TM": 16,
            "TN": 256,
        },
        "dtypes": ["float32"],
    },
    {
        "kernel": "welford",
        "variant": "tile512",
        "params": {
            "x": ("T", 2),
            "means": ("float32", 1),
            "variances": ("float32", 1),
            "TILE": 512,
        },
        "dtypes": ["float16"],
        "versions": ["13.1", "13.4"],
    },
]
