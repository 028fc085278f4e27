"""The tools of NVIDIA's that can be used, as data: where they come from and what they are for.

Place in the flow: data that `find` and `doctor` consult; imports nothing. None of them is needed to read,
check, compare or write Tile IR.
"""

from __future__ import annotations

from typing import NamedTuple


class ToolSpec(NamedTuple):
    """One tool.

    Attributes:
        name: of the program; `module` instead where it is a Python package.
        variable: environment variable that names the program.
        package: PyPI package that brings it, None where there is none.
        purpose: what it is for here.
        arguments: how to ask it for its version.
    """

    name: str
    variable: str
    package: str | None
    purpose: str
    arguments: tuple[str, ...] = ("--version",)
    module: str | None = None


TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "cuda-tile",
        "",
        "cuda-tile",
        "compile cuTile-Python kernels to Tile IR",
        module="cuda.tile",
    ),
    ToolSpec("tileiras", "TILEIRAS_BIN", "nvidia-cuda-tileiras", "compile Tile IR to a cubin"),
    ToolSpec("ptxas", "PTXAS_BIN", "nvidia-cuda-nvcc", "what tileiras assembles with"),
    ToolSpec(
        "tileirdisasm", "TILEIRDISASM_BIN", "nvidia-cuda-tileiras", "NVIDIA's own disassembler"
    ),
    ToolSpec(
        "cuobjdump",
        "CUOBJDUMP_BIN",
        "nvidia-cuda-cuobjdump",
        "resources and machine code of a cubin",
    ),
    ToolSpec(
        "nvdisasm", "NVDISASM_BIN", "nvidia-cuda-nvdisasm", "what cuobjdump disassembles with"
    ),
    ToolSpec("cuda-tile-opt", "CUDA_TILE_OPT_BIN", None, "NVIDIA's own passes, built from source"),
    ToolSpec(
        "triton-tileir",
        "",
        None,
        "compile Triton kernels to Tile IR (ENABLE_TILE=1)",
        module="triton.backends.tileir",
    ),
)

BY_NAME: dict[str, ToolSpec] = {spec.name: spec for spec in TOOLS}
