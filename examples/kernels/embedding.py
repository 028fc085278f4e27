"""Embedding lookup: table rows gathered by index; the backward pass adds them up atomically."""

import cuda.tile as ct


@ct.kernel
def embedding(ids, table, out, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    block = ct.bid(0)
    chosen = ct.reshape(ct.load(ids, (block,), (ROWS,)), (ROWS, 1))
    for j in range(ct.cdiv(table.shape[1], WIDTH)):
        column = j * WIDTH + ct.reshape(ct.arange(WIDTH, dtype=ct.int32), (1, WIDTH))
        value = ct.gather(table, (chosen, column), padding_value=0, latency=8)
        ct.store(out, (block, j), value)


@ct.kernel
def embedding_backward(ids, grad, table_grad, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    block, part = ct.bid(0), ct.bid(1)
    chosen = ct.reshape(ct.load(ids, (block,), (ROWS,)), (ROWS, 1))
    column = part * WIDTH + ct.reshape(ct.arange(WIDTH, dtype=ct.int32), (1, WIDTH))
    value = ct.load(grad, (block, part), (ROWS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(table_grad, (chosen, column), ct.astype(value, ct.float32))


SIGNATURES = [
    {
        "kernel": "embedding",
        "variant": "16x128",
        "params": {
            "ids": ("int32", 1),
            "table": ("T", 2),
            "out": ("T", 2),
            "ROWS": 16,
            "WIDTH": 128,
        },
        "dtypes": ["bfloat16"],
    },
    {
        "kernel": "embedding_backward",
        "variant": "16x64",
        "params": {
            "ids": ("int64", 1),
            "grad": ("T", 2),
            "table_grad": ("float32", 2),
            "ROWS": 16,
            "WIDTH": 64,
        },
        "dtypes": ["float16"],
        "versions": ["13.2"],
    },
]
