"""Layer normalisation of a row held in one tile; saves the mean and the inverse deviation."""

import cuda.tile as ct


@ct.kernel
def layer_norm(x, w, b, y, mean, rstd, eps: ct.Constant[float], TILE: ct.Constant[int]):
    row = ct.bid(0)
    width = x.shape[1]
    value = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    value = ct.astype(value, ct.float32)
    average = ct.sum(value, axis=1, keepdims=True) / width
    lane = ct.reshape(ct.arange(TILE, dtype=ct.int32), (1, TILE))
    centred = ct.where(lane < width, value - average, 0.0)
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / width
    inverse = 1.0 / ct.sqrt(variance + eps)
    gain = ct.reshape(ct.load(w, (0,), (TILE,)), (1, TILE))
    shift = ct.reshape(ct.load(b, (0,), (TILE,)), (1, TILE))
    result = centred * inverse * ct.astype(gain, ct.float32) + ct.astype(shift, ct.float32)
    ct.store(y, (row, 0), ct.astype(result, y.dtype))
    ct.store(mean, (row,), ct.reshape(average, (1,)))
    ct.store(rstd, (row,), ct.reshape(inverse, (1,)))


SIGNATURES = [
    {
        "kernel": "layer_norm",
        "variant": "row4096",
        "params": {
            "x": ("T", 2),
            "w": ("T", 1),
            "b": ("T", 1),
            "y": ("T", 2),
            "mean": ("float32", 1),
            "rstd": ("float32", 1),
            "eps": 1e-06,
            "TILE": 4096,
        },
        "dtypes": ["float16"],
    },
]
