"""Faults that are put into the IR of a kernel: lost hints and lost promises.

What `what_if_faults` times on a GPU, and what `agent_f_faults` has diagnosed.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir_tools.model import (
    I64,
    Attribute,
    DictAttr,
    IntegerAttr,
    Module,
    OptimizationHintsAttr,
    PointerType,
    TileType,
)

Edit = Callable[[Module], None]


def _hint(key: str, value: Attribute) -> OptimizationHintsAttr:
    return OptimizationHintsAttr(DictAttr((("default", DictAttr(((key, value),))),)))


def on_loads(key: str, value: Attribute) -> Edit:
    def edit(module: Module) -> None:
        for op in module.find("load_view_tko"):
            op.attributes["optimization_hints"] = _hint(key, value)

    return edit


def on_entry(key: str, value: int) -> Edit:
    def edit(module: Module) -> None:
        module.entries[0].attributes["optimization_hints"] = _hint(key, IntegerAttr(value, I64))

    return edit


def without_alignment(module: Module) -> None:
    """No promise about pointers."""
    for op in list(module.find("assume")):
        type = op.result.type
        if isinstance(type, TileType) and isinstance(type.element, PointerType):
            op.result.replace_all_uses_with(op.operands[0])
            op.erase()
