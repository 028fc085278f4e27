"""Elementwise arithmetic: activation functions, the rounding modes, and integer bit tricks."""

import cuda.tile as ct


@ct.kernel
def gelu(x, y, TILE: ct.Constant[int]):
    value = ct.astype(ct.load(x, (ct.bid(0),), (TILE,)), ct.float32)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    ct.store(y, (ct.bid(0),), ct.astype(0.5 * value * (1.0 + ct.tanh(inner)), y.dtype))


@ct.kernel
def roundings(x, y, TILE: ct.Constant[int]):
    a = ct.load(x, (ct.bid(0),), (TILE,))
    b = ct.add(a, 0.1, rounding_mode=ct.RoundingMode.RZ)
    c = ct.mul(a, b, rounding_mode=ct.RoundingMode.RP, flush_to_zero=True)
    d = ct.sub(c, a, rounding_mode=ct.RoundingMode.RM)
    e = ct.sqrt(ct.abs(d), rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    f = ct.truediv(e, c, rounding_mode=ct.RoundingMode.FULL)
    g = ct.maximum(f, b, propagate_nan=True) + ct.minimum(f, b, flush_to_zero=True)
    h = ct.where(ct.isnan(g), ct.sin(a) * ct.cosh(b), ct.floor(g) - ct.ceil(ct.log2(ct.abs(g))))
    ct.store(y, (ct.bid(0),), ct.astype(ct.pow(h, 3.0), ct.float16))


@ct.kernel
def bits(x, y, TILE: ct.Constant[int]):
    value = ct.load(x, (ct.bid(0),), (TILE,))
    mixed = (value << 3) ^ (value >> 5) | (~value & 255)
    mixed = mixed * 2654435 - value // 7 + value % 11
    as_float = ct.bitcast(mixed, ct.float32)
    ct.store(y, (ct.bid(0),), ct.where(as_float < 0.0, -mixed, ct.abs(mixed)))


SIGNATURES = [
    {
        "kernel": "gelu",
        "variant": "tile1024",
        "params": {"x": ("T", 1), "y": ("T", 1), "TILE": 1024},
        "dtypes": ["bfloat16"],
    },
    {
        "kernel": "roundings",
        "variant": "tile128",
        "params": {"x": ("float32", 1), "y": ("float16", 1), "TILE": 128},
        "dtypes": ["float32"],
        "versions": ["13.1", "13.4"],
    },
    {
        "kernel": "bits",
        "variant": "tile128",
        "params": {"x": ("T", 1), "y": ("T", 1), "TILE": 128},
        "dtypes": ["int32"],
        "versions": ["13.1", "13.4"],
    },
]
