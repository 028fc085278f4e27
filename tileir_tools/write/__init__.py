"""Modules to text.

Place in the flow: Module -> text, beside bytes -> **Module** -> facts -> findings -> report. Imports
`model` and `dialect`. The pretty form is byte for byte what tileirdisasm 13.5 prints.
"""

from __future__ import annotations

from ..collector import without_collecting
from ..model import Module


@without_collecting
def module_text(
    module: Module, *, debug_info: bool = False, wrap: bool | None = None, generic: bool = False
) -> str:
    """The text of a module; `Module.to_text` describes the arguments."""
    if generic:
        from .generic import generic_text

        return generic_text(module, debug_info)
    from .text import pretty_text

    return pretty_text(module, debug_info, module.name is not None if wrap is None else wrap)


__all__ = ["module_text"]
