"""Cutting and joining tiles: cat, extract, insert (13.4) and rotary embedding of half pairs."""

import cuda.tile as ct


@ct.kernel
def rotary(x, cos, sin, y, HALF: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.astype(ct.load(x, (row, 0), (1, 2 * HALF)), ct.float32)
    low = ct.extract(value, (0, 0), (1, HALF))
    high = ct.extract(value, (0, 1), (1, HALF))
    c = ct.load(cos, (row, 0), (1, HALF))
    s = ct.load(sin, (row, 0), (1, HALF))
    turned = ct.cat((low * c - high * s, high * c + low * s), axis=1)
    ct.store(y, (row, 0), ct.astype(turned, y.dtype))


@ct.kernel
def patch(x, y, SIZE: ct.Constant[int]):
    ct.grid_dependency_control_wait()
    whole = ct.load(x, (ct.bid(0), 0), (SIZE, SIZE), check_bounds=False)
    corner = ct.extract(whole, (1, 1), (SIZE // 2, SIZE // 2))
    ct.store(y, (ct.bid(0), 0), ct.insert(whole, (0, 1), corner * 2.0), check_bounds=False)
    ct.grid_dependency_control_launch_dependents()


SIGNATURES = [
    {
        "kernel": "rotary",
        "variant": "half32",
        "params": {
            "x": ("T", 2),
            "cos": ("float32", 2),
            "sin": ("float32", 2),
            "y": ("T", 2),
            "HALF": 32,
        },
        "dtypes": ["float16"],
    },
    {
        "kernel": "patch",
        "variant": "size32",
        "params": {"x": ("float32", 2), "y": ("float32", 2), "SIZE": 32},
        "dtypes": ["float32"],
        "versions": ["13.4"],
    },
]
