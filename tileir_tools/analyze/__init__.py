"""Modules to facts.

Place in the flow: bytes -> Module -> **facts** -> findings -> report. Imports `model`, `dialect`, and the
printer's value names. The records are described in `facts`.

The functions import what they need when they are called: comparing two files asks for the dataflow
alone, and should not wait for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import Entry, Module
    from .facts import Fingerprints, ModuleFacts
    from .symbols import Symbol


def analyze(
    module: Module, arch: str | None = None, *, with_fingerprints: bool = False
) -> ModuleFacts:
    """Everything that is known about a module.

    Args:
        module: what to look at.
        arch: target for which hints are resolved, such as `sm_100`; None looks at `default` alone.
        with_fingerprints: the fingerprints too, which take as long as all the rest three times.

    Returns:
        A `facts.ModuleFacts`: globals, and for each entry its symbol, hints, memory operations, matrix
        products, loops, reductions, conversions, promises, tiles, block mapping.

    Raises:
        UsageError: unknown arch.
    """
    from .entry import module_facts

    return module_facts(module, arch, with_fingerprints)


def demangle(symbol: str) -> Symbol:
    """Function, parameters and constants that an entry symbol spells; see `symbols`. Never raises."""
    from .symbols import demangle as read_symbol

    return read_symbol(symbol)


def fingerprints(what: Module | Entry, arch: str | None = None) -> Fingerprints:
    """The fingerprints of an entry, or of a module: those of its only entry, else of all together.

    One hash for each level at which kernels can be equal: `exact`, `names`, `hints`, `dtype`, `sizes`,
    `structure`, each coarser than the one before; `levels` says what each forgets. Text, generic
    form and bytecode of one kernel have the same, in every process.

    Args:
        what: a module or one of its entries.
        arch: compare hints as they resolve for this target; None: as they are written, without what
            only repeats what holds anyway.

    Raises:
        UsageError: unknown arch; a module without entries.
    """
    from .fingerprint import fingerprints as compute

    return compute(what, arch)


__all__ = ["analyze", "demangle", "fingerprints"]
