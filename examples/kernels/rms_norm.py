"""y = x / sqrt(mean(x^2) + eps) * w for one row per block; the row is visited in two passes."""

import cuda.tile as ct


@ct.kernel(occupancy=ct.ByTarget(sm_100=8, default=4))
def rms_norm(x, w, y, eps: ct.Constant[float], TILE: ct.Constant[int]):
    row = ct.bid(0)
    steps = ct.cdiv(x.shape[1], TILE)
    squares = ct.zeros((1, TILE), dtype=ct.float32)
    for j in range(steps):
        part = ct.load(x, (row, j), (1, TILE), padding_mode=ct.PaddingMode.ZERO, latency=1)
        part = ct.astype(part, ct.float32)
        squares += part * part
    mean = ct.sum(squares, axis=1, keepdims=True) / x.shape[1]
    scale = ct.rsqrt(mean + eps)
    for j in range(steps):
        part = ct.load(x, (row, j), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        gain = ct.reshape(ct.load(w, (j,), (TILE,)), (1, TILE))
        normed = ct.astype(part, ct.float32) * scale * ct.astype(gain, ct.float32)
        ct.store(y, (row, j), ct.astype(normed, y.dtype))


SIGNATURES = [
    {
        "kernel": "rms_norm",
        "variant": "tile1024",
        "params": {
            "x": ("T", 2),
            "w": ("T", 1),
            "y": ("T", 2),
            "eps": 1e-05,
            "TILE": 1024,
        },
        "dtypes": ["bfloat16"],
        "arches": ["sm_100", "sm_90"],
    },
]
