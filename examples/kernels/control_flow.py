"""Control flow: while with break, continue inside nested loops, else branches, print and assert."""

import cuda.tile as ct


@ct.kernel
def first_above(x, found, limit: float, TILE: ct.Constant[int]):
    index = 0
    position = -1
    while True:
        if index >= ct.num_tiles(x, axis=0, shape=(TILE,)):
            break
        part = ct.load(x, (index,), (TILE,), padding_mode=ct.PaddingMode.NEG_INF)
        if ct.max(part) > limit:
            position = index * TILE + ct.argmax(part, axis=0)
            break
        index = index + 1
    ct.store(found, (ct.bid(0),), ct.full((1,), position, dtype=ct.int32))


@ct.kernel
def collatz(x, steps, MOST: ct.Constant[int]):
    value = ct.gather(x, ct.bid(0))
    ct.assert_(value > 0, 'start "value" must be positive\n')  # noqa: PT009
    count = 0
    for turn in range(MOST):
        if value == 1:
            continue
        if value % 2 == 0:  # noqa: SIM108
            value = value // 2
        else:
            value = 3 * value + 1
        count = turn + 1
    if count == MOST:
        ct.printf("block %d: no end after 100%% of %d steps {x}\n", ct.bid(0), count)
    else:
        print(f"block {ct.bid(0)} took {count} \\ caf\u00e9", end="")
    ct.scatter(steps, ct.bid(0), count)


@ct.kernel
def early_return(x, y, n: int, TILE: ct.Constant[int]):
    if ct.bid(0) * TILE >= n:
        return
    for outer in range(2, n, 3):
        total = ct.zeros((TILE,), dtype=ct.float32)
        for inner in range(outer):
            if inner % 2 == 1:
                continue
            total += ct.load(x, (inner,), (TILE,))
        ct.store(y, (outer,), total)


SIGNATURES = [
    {
        "kernel": "first_above",
        "variant": "tile64",
        "params": {
            "x": ("float32", 1),
            "found": ("int32", 1),
            "limit": "float32",
            "TILE": 64,
        },
        "dtypes": ["float32"],
    },
    {
        "kernel": "collatz",
        "variant": "max1000",
        "params": {"x": ("T", 1), "steps": ("int32", 1), "MOST": 1000},
        "dtypes": ["int32", "int64"],
    },
    {
        "kernel": "early_return",
        "variant": "tile32",
        "params": {"x": ("float32", 1), "y": ("float32", 1), "n": "int32", "TILE": 32},
        "dtypes": ["float32"],
        "versions": ["13.1", "13.4"],
    },
]
