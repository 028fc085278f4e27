"""One batched matrix product in several structures, number formats and tile sizes.

What `tileir variants` has to group: each kernel here is a structural variant of its own; its number
formats are supplements, its tile sizes members of the same variant.
"""

import cuda.tile as ct


@ct.function
def multiply(left, right, acc):
    """A product on tensor cores; float32 goes there as tfloat32."""
    if left.dtype == ct.float32:
        left, right = ct.astype(left, ct.tfloat32), ct.astype(right, ct.tfloat32)
    return ct.mma(left, right, acc)


@ct.kernel(occupancy=2)
def bmm_static(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """One output tile per block."""
    batch, row, col = ct.bid(2), ct.bid(0), ct.bid(1)
    acc = ct.zeros((1, TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, TM, TK))):
        left = ct.load(a, (batch, row, k), (1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (batch, k, col), (1, TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = multiply(left, right, acc)
    ct.store(c, (batch, row, col), ct.astype(acc, c.dtype))


@ct.kernel(num_ctas=2)
def bmm_persistent(
    a,
    b,
    c,
    TM: ct.Constant[int],
    TN: ct.Constant[int],
    TK: ct.Constant[int],
    TRANSPOSED: ct.Constant[bool],
):
    """As many blocks as fit; each walks over output tiles. B may come transposed."""
    rows, cols = ct.cdiv(a.shape[1], TM), ct.cdiv(c.shape[2], TN)
    steps = ct.cdiv(a.shape[2], TK)
    for tile in range(ct.bid(0), a.shape[0] * rows * cols, ct.num_blocks(0)):
        batch = tile // (rows * cols)
        row, col = (tile // cols) % rows, tile % cols
        acc = ct.zeros((1, TM, TN), dtype=ct.float32)
        for k in range(steps):
            left = ct.load(a, (batch, row, k), (1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
            if TRANSPOSED:
                right = ct.load(b, (batch, col, k), (1, TN, TK), padding_mode=ct.PaddingMode.ZERO)
                right = ct.permute(right, (0, 2, 1))
            else:
                right = ct.load(b, (batch, k, col), (1, TK, TN), padding_mode=ct.PaddingMode.ZERO)
            acc = multiply(left, right, acc)
        ct.store(c, (batch, row, col), ct.astype(acc, c.dtype))


@ct.kernel
def bmm_flat(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """One matrix product: tiles of rank 2."""
    row, col = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, col), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = multiply(left, right, acc)
    ct.store(c, (row, col), ct.astype(acc, c.dtype))


@ct.kernel
def bmv(a, b, c, TM: ct.Constant[int], TK: ct.Constant[int]):
    """A vector instead of B: sums of products, no tensor cores."""
    row = ct.bid(0)
    acc = ct.zeros((TM, TK), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k,), (TK,), padding_mode=ct.PaddingMode.ZERO)
        acc += ct.astype(left, ct.float32) * ct.astype(ct.reshape(right, (1, TK)), ct.float32)
    ct.store(c, (row,), ct.astype(ct.sum(acc, axis=1), c.dtype))


@ct.kernel
def bmv_gather(a, b, c, TM: ct.Constant[int], TK: ct.Constant[int]):
    """The same, with B read through pointers."""
    row = ct.bid(0)
    acc = ct.zeros((TM, TK), dtype=ct.float32)
    lane = ct.arange(TK, dtype=ct.int32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.gather(b, (k * TK + lane,))
        acc += ct.astype(left, ct.float32) * ct.astype(ct.reshape(right, (1, TK)), ct.float32)
    ct.store(c, (row,), ct.astype(ct.sum(acc, axis=1), c.dtype))


def _signature(kernel, variant, rank, dtypes, **constants):
    ranks = (rank, rank, rank) if kernel.startswith("bmm") else (2, 1, 1)
    arrays = {name: ("T", n) for name, n in zip("abc", ranks)}
    return {
        "kernel": kernel,
        "variant": variant,
        "params": {**arrays, **constants},
        "dtypes": dtypes,
        "versions": ["13.4"],
    }


_HALF = ["float16"]
_ALL = ["float16", "bfloat16", "float32"]

SIGNATURES = [
    _signature("bmm_static", "64x64x32", 3, _ALL, TM=64, TN=64, TK=32),
    _signature("bmm_static", "128x64x32", 3, _HALF, TM=128, TN=64, TK=32),
    _signature("bmm_static", "128x128x64", 3, _HALF, TM=128, TN=128, TK=64),
    _signature("bmm_static", "16x256x128", 3, _HALF, TM=16, TN=256, TK=128),
    _signature("bmm_persistent", "64x64x32", 3, _ALL, TM=64, TN=64, TK=32, TRANSPOSED=False),
    _signature("bmm_persistent", "128x256x64", 3, _HALF, TM=128, TN=256, TK=64, TRANSPOSED=False),
    _signature("bmm_persistent", "transposed", 3, _HALF, TM=64, TN=64, TK=32, TRANSPOSED=True),
    _signature("bmm_flat", "64x64x32", 2, _HALF, TM=64, TN=64, TK=32),
    _signature("bmv", "64x128", 2, _ALL, TM=64, TK=128),
    _signature("bmv", "1x1024", 2, _HALF, TM=1, TK=1024),
    _signature("bmv", "256x1", 2, _HALF, TM=256, TK=1),
    _signature("bmv_gather", "64x128", 2, _HALF, TM=64, TK=128),
]
