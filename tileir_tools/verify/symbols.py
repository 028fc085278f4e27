"""Rules about what has a symbol: entries, globals, and the ops that name them.

Place in the flow: beside Module; imports `model`. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3). Each function yields operations and what is wrong with them.
"""

from __future__ import annotations

from ..model import (
    DenseElementsAttr,
    Entry,
    FunctionType,
    Global,
    Module,
    Operation,
    PointerType,
    StringAttr,
    SymbolRefAttr,
    TileType,
    TypeAttr,
)
from .rules import Found
from .types import check_type


def symbols_of(module: Module) -> dict[str, Operation]:
    """What each symbol of a module names; the first where several have it."""
    found: dict[str, Operation] = {}
    for op in module.operations:
        name = op.attributes.get("sym_name")
        if isinstance(name, StringAttr):
            found.setdefault(name.value, op)
    return found


def check_symbol(op: Operation, symbols: dict[str, Operation]) -> Found:
    """What has a symbol is the only one that has it."""
    name = op.attributes.get("sym_name")
    if isinstance(name, StringAttr) and symbols.get(name.value, op) is not op:
        yield op, f"symbol @{name.value} is already defined"


def check_entry(entry: Entry) -> Found:
    """An entry takes scalars, gives nothing, and its body takes what its type says."""
    type = entry.attributes.get("function_type")
    function = type.value if isinstance(type, TypeAttr) else None
    if not isinstance(function, FunctionType):
        yield entry, f"{entry.name} has no function type"
        return
    if entry.name == "entry":
        if function.results:
            yield entry, f"an entry returns nothing, found {len(function.results)} results"
        for k, argument in enumerate(function.inputs):
            if isinstance(argument, TileType) and argument.shape:
                yield entry, f"argument {k} of an entry must be a scalar, found {argument}"
    if [v.type for v in entry.arguments] != list(function.inputs):
        yield entry, f"the body of {entry.name} must take the arguments of its type"


def check_global(op: Global) -> Found:
    """A global is a row of elements."""
    value = op.attributes.get("value")
    if not isinstance(value, DenseElementsAttr):
        return
    for message in check_type(value.type):
        yield op, f"global: {message}"
    if value.type.rank != 1:
        yield op, f"a global has one dimension, found {value.type}"


def check_get_global(op: Operation, symbols: dict[str, Operation]) -> Found:
    """A `get_global` names a global and points to its elements."""
    name = op.attributes["name"]
    assert isinstance(name, SymbolRefAttr)
    target = symbols.get(name.value)
    if target is not None and target.spec is None:
        # Some printers leave the value of a global out: nobody knows its elements.
        return
    if not isinstance(target, Global):
        yield op, f"@{name.value} is no global of this module"
        return
    type, value = op.results[0].type, target.attributes.get("value")
    pointer = type.element if isinstance(type, TileType) else None
    if not isinstance(pointer, PointerType) or not isinstance(value, DenseElementsAttr):
        return
    if pointer.pointee is not value.type.element:
        element = value.type.element
        yield op, f"the result points to {pointer.pointee}, @{name.value} has elements of {element}"
