"""What makes a module valid.

Place in the flow: beside Module; imports `model`, `dialect`, `errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..model import Module


def verify(module: Module, *, strict_hints: bool = False) -> list[Diagnostic]:
    """Everything in a module that breaks a rule of the dialect, in text order.

    Checked are the rules that hold for every op by its row in the op table (operand and result counts,
    required attributes, values of one type), regions and terminators with the values that they give,
    dominance, symbols, and hints. What a single op demands of shapes and element types is not.

    Args:
        module: what to check.
        strict_hints: make unknown targets, unknown hint keys and values out of range errors; they are
            warnings otherwise.

    Returns:
        Diagnostics of severity "error" (and "warning" for hints); empty for a valid module.
    """
    # Imported when asked for: most commands check nothing.
    from .hints import check_hints
    from .structure import check_structure

    found = check_structure(module) + check_hints(module, "error" if strict_hints else "warning")
    return sorted(found, key=lambda d: d.span.start if d.span else 0)


__all__ = ["verify"]
