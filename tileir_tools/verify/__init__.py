"""What makes a module valid.

Place in the flow: beside Module; imports `model`, `dialect`, `errors`. One file holds the rules of one subject;
`structure` walks a module and asks them, `breaches` collects what they say. `docs/verify.md` is the manual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..collector import without_collecting

if TYPE_CHECKING:
    from ..errors import Diagnostic
    from ..model import Module


@without_collecting
def verify(
    module: Module,
    *,
    strict_hints: bool = False,
    bytecode_version: str | None = None,
    arch: str | None = None,
) -> list[Diagnostic]:
    """Everything in a module that breaks a rule of the dialect, in text order.

    Args:
        module: what to check. Operations that this version does not know are passed over.
        strict_hints: make unknown targets, unknown hint keys and values out of range errors; they are
            warnings otherwise, as for the official compiler.
        bytecode_version: "13.1" to "13.5": what this version does not have or its compilers do not take
            is an error. None: an error is what no version takes.
        arch: a target such as "sm_90": element types that it does not have are errors.

    Returns:
        Diagnostics of severity "error" and "warning"; no errors for a valid module. Those about a module
        that was read from bytecode have no span and say in words where they belong.

    Raises:
        UsageError: there is no such version, or no such target.
    """
    # Imported when asked for: most commands check nothing.
    from . import hints, locations, structure, targets, versions
    from .breaches import Breaches

    breaches = Breaches()
    if bytecode_version is not None:
        versions.check_known(bytecode_version)
    if arch is not None:
        targets.check_known(arch)
    operations = structure.check_structure(module, breaches)
    if bytecode_version is not None:
        broken = frozenset(breaches.broken)
        breaches.add_all(versions.check_version(operations, bytecode_version, broken))
    else:
        breaches.add_all(versions.check_tanh(operations), "warning")
    if arch is not None:
        broken = frozenset(breaches.broken)
        breaches.add_all(targets.check_target(operations, arch, broken))
    breaches.add_all(locations.check_locations(operations))
    breaches.add_all(hints.check_hints(operations), "error" if strict_hints else "warning")
    return breaches.in_order()


__all__ = ["verify"]
