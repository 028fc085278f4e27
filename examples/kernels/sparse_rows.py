"""Copy scattered rows through gather-scatter views, and shifted windows through strided views."""

import cuda.tile as ct


@ct.kernel
def sparse_rows(x, y, rows, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    chosen = ct.load(rows, (ct.bid(0),), (ROWS,))
    columns = ct.Slice(ct.bid(1) * WIDTH, WIDTH)
    value = ct.load_advanced_indexing(
        x, (chosen, columns), padding_mode=ct.PaddingMode.ZERO, latency=3
    )
    ct.store_advanced_indexing(y, (chosen, columns), value * 2)


@ct.kernel
def window_sum(x, y, TILE: ct.Constant[int], STEP: ct.Constant[int]):
    windows = x.tiled_view((TILE,), traversal_steps=(STEP,), padding_mode=ct.PaddingMode.ZERO)
    value = windows.load((ct.bid(0),))
    ct.store(y, (ct.bid(0),), ct.reshape(ct.sum(value), (1,)))


@ct.kernel
def view_accumulate(x, total, TILE: ct.Constant[int]):
    value = ct.load(x, (ct.bid(0), 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    target = total.tiled_view((1, TILE))
    target.atomic_store_add((0, 0), value)


SIGNATURES = [
    {
        "kernel": "sparse_rows",
        "variant": "8x64",
        "params": {
            "x": ("T", 2),
            "y": ("T", 2),
            "rows": ("int32", 1),
            "ROWS": 8,
            "WIDTH": 64,
        },
        "dtypes": ["float16"],
        "versions": ["13.3", "13.4"],
    },
    {
        "kernel": "window_sum",
        "variant": "64by16",
        "params": {"x": ("float32", 1), "y": ("float32", 1), "TILE": 64, "STEP": 16},
        "dtypes": ["float32"],
        "versions": ["13.3", "13.4"],
    },
    {
        "kernel": "view_accumulate",
        "variant": "tile128",
        "params": {"x": ("float32", 2), "total": ("float32", 2), "TILE": 128},
        "dtypes": ["float32"],
        "versions": ["13.3", "13.4"],
    },
]
