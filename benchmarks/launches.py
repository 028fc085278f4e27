"""Launches kernels of `examples/kernels` on a GPU, for `tileir dump --call benchmarks/launches.py`.

Sizes are such that each launch takes long enough to be timed.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import cuda.tile as ct  # type: ignore[import-untyped]
import torch  # type: ignore[import-not-found]

KERNELS = Path(__file__).resolve().parents[1] / "examples" / "kernels"


def kernel(name: str) -> Any:
    """The kernel of that name in the file of that name."""
    return runpy.run_path(str(KERNELS / f"{name}.py"))[name]


def main() -> None:
    stream = torch.cuda.current_stream()

    def array(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
        return torch.randn(*shape, device="cuda").to(dtype)

    n = 4096
    a, b, c = array(n, n), array(n, n), array(n, n)
    ct.launch(stream, (n // 128, n // 128), kernel("matmul"), (a, b, c, 128, 128, 64))
    x, y = array(n, 2 * n), array(n, 2 * n)
    ct.launch(stream, (n,), kernel("softmax"), (x, y, 1024))
    ct.launch(stream, (n,), kernel("rms_norm"), (x, array(2 * n), y, 1e-5, 1024))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
