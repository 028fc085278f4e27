"""What makes a module valid.

Place in the flow: beside Module; imports `model`, `dialect`, `errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..model import Module


def verify(
    module: Module,
    *,
    strict_hints: bool = False,
    bytecode_version: str | None = None,
    arch: str | None = None,
) -> list[Diagnostic]:
    from .breaches import Breaches
    from .hints import check_hints
    from .locations import check_locations
    from .structure import check_structure

    breaches = Breaches()
    check_structure(module, breaches)
    for op, message in check_locations(module):
        breaches.add(op, message)
    for op, message in check_hints(module):
        breaches.add(op, message, "error" if strict_hints else "warning")
    return breaches.in_order()


__all__ = ["verify"]
