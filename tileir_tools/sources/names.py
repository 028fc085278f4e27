"""Dotted names: what imports make of them, and which are number formats.

Place in the flow: files -> **values**, below everything that reads sources; imports `values`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .values import Dtype

# torch's names of number formats, and cuda-tile's.
_DTYPES = {
    **{
        name: name
        for name in (
            "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 "
            "complex32 complex64 complex128 float8_e4m3fn float8_e5m2 float8_e8m0fnu "
            "float8_e4m3fnuz float8_e5m2fnuz float4_e2m1fn_x2"
        ).split()
    },
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}


def dotted(node: ast.AST, imports: Mapping[str, str]) -> str | None:
    """`torch.nn.functional.softmax` for what is written `F.softmax`; None for what is no dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([imports.get(node.id, node.id), *reversed(parts)])


def add_imports(node: ast.Import | ast.ImportFrom, imports: dict[str, str]) -> None:
    """Enter what an import binds. Names of a relative import begin with its dots."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.split(".")[0]
            imports[alias.asname or first] = alias.name if alias.asname else first
        return
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        joint = "" if base.endswith(".") or not base else "."
        imports[alias.asname or alias.name] = f"{base}{joint}{alias.name}"


def dtype_of(name: str | None) -> Dtype | None:
    """The number format that a dotted name stands for."""
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    if module in ("torch", "cuda.tile") and last in _DTYPES:
        return Dtype(_DTYPES[last])
    return Dtype("tfloat32") if name == "cuda.tile.tfloat32" else None
