"""Modules to modules that mean the same, said otherwise.

Place in the flow: beside Module; imports `model`, `dialect`. Every function changes the module that it is
given (`module.clone()` keeps the old one) and says whether it changed anything. What a pass needs is
imported when it is called.

`canonicalize`, `cse`, `fuse_fma` and `loop_split` give what the passes of those names in NVIDIA's
`cuda-tile-opt` give, operation for operation.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model import Module


def canonicalize(module: Module) -> bool:
    """The dialect's canonical form: folds, patterns on `if` and `select`, dead code, unique constants."""
    from .canonical_form import canonicalize as run

    return run(module)


def cse(module: Module) -> bool:
    """Equal operations without effects become one; dead ones go."""
    from .common_subexpressions import cse as run

    return run(module)


def fuse_fma(module: Module) -> bool:
    """`mulf` into `addf` or `subf` becomes `fma`. Changes results: one rounding instead of two."""
    from .fusing import fuse_fma as run

    return run(module)


def loop_split(module: Module, threshold: int = 1) -> bool:
    """Loops are split in two where a comparison of their index with an invariant decides an `if`.

    Args:
        module: what to change.
        threshold: split only where a branch has that many operations, or an expensive one; 1 splits
            always, 0 never. An attribute `cuda_tile.loop_split` of the `if`, the loop or the entry
            goes before it.
    """
    from .splitting import loop_split as run

    return run(module, threshold)


def dce(module: Module) -> bool:
    """Everything goes that no effect needs: see `dead_code`, which goes further than `canonicalize`."""
    from .dead_code import dce as run

    return run(module)


def strip_debug(module: Module) -> bool:
    """Every location is forgotten."""
    from .normal_form import strip_debug as run

    return run(module)


def normalize(module: Module) -> None:
    """The form in which kernels are compared; see `normal_form` for what it makes equal."""
    from .normal_form import normalize as run

    run(module)


def rename_entry(module: Module, old: str, new: str) -> str:
    """Give an entry another name, in everything that refers to it; gives its new symbol.

    Args:
        module: what to change.
        old: the entry's symbol, or the function name in it where only one entry has it.
        new: a function name, or a whole symbol where `old` is one; see `rename`.

    Raises:
        UsageError: no such entry, several of them, or a name that is taken or empty.
    """
    from .rename import rename_entry as run

    return run(module, old, new)


def strip_mangling(module: Module) -> dict[str, str]:
    """Call every entry by its function name alone; gives old symbol -> new one.

    Raises:
        UsageError: two entries would have one name.
    """
    from .rename import strip_mangling as run

    return run(module)


# Every pass that needs nothing but a module, by the name of its function.
PASSES: dict[str, Callable[[Module], object]] = {
    "canonicalize": canonicalize,
    "cse": cse,
    "dce": dce,
    "fuse_fma": fuse_fma,
    "loop_split": loop_split,
    "normalize": normalize,
    "strip_debug": strip_debug,
    "strip_mangling": strip_mangling,
}

__all__ = [
    "PASSES",
    "canonicalize",
    "cse",
    "dce",
    "fuse_fma",
    "loop_split",
    "normalize",
    "rename_entry",
    "strip_debug",
    "strip_mangling",
]
