"""Transposing copies: by permuting a tile, by loading in Fortran order, and of four dimensions."""

import cuda.tile as ct


@ct.kernel
def transpose(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    ct.store(y, (col, row), ct.transpose(ct.load(x, (row, col), (TM, TN))))


@ct.kernel
def transpose_by_order(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    ct.store(y, (col, row), ct.load(x, (col, row), (TN, TM), order="F"))


@ct.kernel
def swap_heads(x, y, S: ct.Constant[int], D: ct.Constant[int]):
    batch, head, part = ct.bid(0), ct.bid(1), ct.bid(2)
    value = ct.load(x, (batch, part, head, 0), (1, S, 1, D), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (batch, head, part, 0), ct.permute(value, (0, 2, 1, 3)))


SIGNATURES = [
    {
        "kernel": "transpose",
        "variant": "64x32",
        "params": {"x": ("T", 2), "y": ("T", 2), "TM": 64, "TN": 32},
        "dtypes": ["float16", "int8"],
    },
    {
        "kernel": "transpose_by_order",
        "variant": "64x32",
        "params": {"x": ("T", 2), "y": ("T", 2, "int64"), "TM": 64, "TN": 32},
        "dtypes": ["float16"],
        "versions": ["13.1", "13.4"],
    },
    {
        "kernel": "swap_heads",
        "variant": "16x64",
        "params": {"x": ("T", 4), "y": ("T", 4), "S": 16, "D": 64},
        "dtypes": ["bfloat16"],
        "versions": ["13.1", "13.4"],
    },
]
