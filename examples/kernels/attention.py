"""Attention forward with online softmax, optionally causal. Grid: query tiles, batch * heads."""

import cuda.tile as ct

INV_LN2 = 1.4426950408889634


@ct.kernel(occupancy=2)
def attention(
    q,
    k,
    v,
    out,
    scale: float,
    heads: int,
    D: ct.Constant[int],
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    CAUSAL: ct.Constant[bool],
):
    start = ct.bid(0)
    batch = ct.bid(1) // heads
    head = ct.bid(1) % heads
    length = k.shape[2]
    query = ct.reshape(ct.load(q, (batch, head, start, 0), (1, 1, TM, D)), (TM, D))
    rows = start * TM + ct.reshape(ct.arange(TM, dtype=ct.int32), (TM, 1))
    peak = ct.full((TM, 1), float("-inf"), dtype=ct.float32)
    total = ct.zeros((TM, 1), dtype=ct.float32)
    acc = ct.zeros((TM, D), dtype=ct.float32)
    end = ct.cdiv(length, TN)
    if CAUSAL:
        end = ct.minimum(end, ct.cdiv((start + 1) * TM, TN))
    factor = scale * INV_LN2
    for j in range(end):
        key = ct.load(k, (batch, head, 0, j), (1, 1, D, TN), order=(0, 1, 3, 2), latency=2)
        score = ct.zeros((TM, TN), dtype=ct.float32)
        score = ct.mma(query, ct.reshape(key, (D, TN)), score) * factor
        cols = j * TN + ct.reshape(ct.arange(TN, dtype=ct.int32), (1, TN))
        keep = cols < length
        if CAUSAL:
            keep = keep & (rows >= cols)
        score = ct.where(keep, score, float("-inf"))
        higher = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))
        weight = ct.exp2(score - higher, flush_to_zero=True)
        fade = ct.exp2(peak - higher, flush_to_zero=True)
        total = total * fade + ct.sum(weight, axis=1, keepdims=True)
        value = ct.reshape(ct.load(v, (batch, head, j, 0), (1, 1, TN, D), latency=4), (TN, D))
        acc = ct.mma(ct.astype(weight, value.dtype), value, acc * fade)
        peak = higher
    result = ct.truediv(acc, total, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    ct.store(out, (batch, head, start, 0), ct.reshape(ct.astype(result, out.dtype), (1, 1, TM, D)))


_ARGUMENTS = {
    "q": ("T", 4),
    "k": ("T", 4),
    "v": ("T", 4),
    "out": ("T", 4),
    "scale": "float32",
    "heads": "int32",
    "D": 64,
    "TM": 128,
    "TN": 64,
}

SIGNATURES = [
    {
        "kernel": "attention",
        "variant": "causal",
        "params": {**_ARGUMENTS, "CAUSAL": True},
        "dtypes": ["float16"],
        "arches": ["sm_100", "sm_90"],
    },
    {
        "kernel": "attention",
        "variant": "full",
        "params": {**_ARGUMENTS, "CAUSAL": False},
        "dtypes": ["bfloat16"],
        "versions": ["13.4"],
    },
]
