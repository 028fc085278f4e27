"""RMS norm by `ct.rsqrt`, and by a division by `ct.sqrt`."""

import cuda.tile as ct


@ct.kernel
def norm_reference(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(value * value, axis=1, keepdims=True) * 0.0078125
    ct.store(y, (row, 0), value * ct.rsqrt(mean + 1e-5))


@ct.kernel
def norm_generated(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(value * value, axis=1, keepdims=True) * 0.0078125
    ct.store(y, (row, 0), value / ct.sqrt(mean + 1e-5))


_PARAMS = {"x": ("T", 2), "y": ("T", 2), "TILE": 128}
SIGNATURES = [
    {
        "kernel": name,
        "variant": "128",
        "params": _PARAMS,
        "dtypes": ["float32"],
        "versions": ["13.3"],
        "debug_text": False,
    }
    for name in ("norm_reference", "norm_generated")
]
