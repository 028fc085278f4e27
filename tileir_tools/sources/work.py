"""What the host code of an operation makes PyTorch do: allocate, fill, copy, compute.

Place in the flow: files -> values -> **facts of an operation**; imports `host`, `names`. Filling, copying
and computing are kernels on the device, which a kernel of the operation waits for.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from .host import Host
from .names import dotted

ALLOCATE, FILL, COPY, COMPUTE = "allocate", "fill", "copy", "compute"

# Functions of torch by the last part of their names; those in no table compute.
_FUNCTIONS = {
    ALLOCATE: frozenset("empty empty_like empty_strided".split()),
    FILL: frozenset(
        "zeros ones full zeros_like ones_like full_like arange linspace eye rand randn randint tensor "
        "as_tensor scalar_tensor".split()
    ),
    COPY: frozenset("clone cat stack concat repeat_interleave".split()),
}
# Methods of tensors; only names that nothing else is likely to have.
_METHODS = {
    ALLOCATE: frozenset("new_empty new_empty_strided".split()),
    FILL: frozenset("zero_ fill_ new_zeros new_ones new_full".split()),
    COPY: frozenset(
        "clone contiguous copy_ to cuda cpu float half bfloat16 double int long".split()
    ),
    COMPUTE: frozenset(
        "matmul mm bmm addmm baddbmm softmax log_softmax sigmoid relu tanh exp sqrt rsqrt sum mean cumsum "
        "topk argsort mul_ add_ sub_ div_ masked_fill masked_fill_ scatter_ scatter_add_ index_add_".split()
    ),
}
# Names of torch that do nothing on the device.
_QUIET = frozenset(
    "device dtype is_tensor is_floating_point is_complex finfo iinfo promote_types result_type can_cast "
    "no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled get_default_dtype manual_seed "
    "broadcast_shapes numel is_autocast_enabled view_as_real view_as_complex reshape transpose permute "
    "squeeze unsqueeze flatten chunk split unbind narrow broadcast_to".split()
)
# Modules of torch whose functions compute.
_COMPUTING = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")


class Work(NamedTuple):
    """Something that PyTorch is made to do.

    Attributes:
        kind: "allocate" (no kernel), "fill", "copy" or "compute".
        name: of what is called, without the tensor (`contiguous`, `torch.zeros`, `@`).
        text, line: as it is written.
        function: that it stands in; None for a module's own statements.
    """

    kind: str
    name: str
    text: str
    line: int
    function: str | None


def works_of(host: Host, kernels: Collection[str]) -> tuple[Work, ...]:
    """What all host functions of a file make PyTorch do, in order; `kernels` run on the device."""
    found = [
        Work(*kind, ast.unparse(node), node.lineno, owner)
        for node, owner in _expressions(host)
        if owner is not None and owner not in kernels
        for kind in [work_of(node, host.imports)]
        if kind is not None
    ]
    return tuple(sorted(found, key=lambda work: (work.line, work.text)))


def _expressions(host: Host) -> Iterator[tuple[ast.Call | ast.BinOp, str | None]]:
    for node in ast.walk(host.file.tree):
        if isinstance(node, (ast.Call, ast.BinOp)):
            yield node, host.owner(node)


def work_of(node: ast.AST, imports: Mapping[str, str]) -> tuple[str, str] | None:
    """Kind and name of what an expression makes PyTorch do; None for what does nothing on the device."""
    if isinstance(node, ast.BinOp):
        return (COMPUTE, "@") if isinstance(node.op, ast.MatMult) else None
    if not isinstance(node, ast.Call):
        return None
    name = dotted(node.func, imports) or ""
    module, _, last = name.rpartition(".")
    if module.split(".")[0] == "torch":
        return _of_torch(module, last)
    if not isinstance(node.func, ast.Attribute) or _is_module(node.func.value, imports):
        return None
    method = node.func.attr
    return next(((kind, method) for kind, names in _METHODS.items() if method in names), None)


def _of_torch(module: str, last: str) -> tuple[str, str] | None:
    for kind, names in _FUNCTIONS.items():
        if module == "torch" and last in names:
            return kind, f"torch.{last}"
    # Classes begin with a capital.
    if module in _COMPUTING and last not in _QUIET and last[:1].islower():
        return COMPUTE, f"{module}.{last}"
    return None


def _is_module(node: ast.expr, imports: Mapping[str, str]) -> bool:
    """Whether a name stands for something imported."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in imports
