"""Which operations have effects beside their results.

Place in the flow: part of transform; imports `model`. The dialect's own notion, which its passes go by: an
operation marked pure has none; `if`, `reduce` and `scan` have those of what is inside; everything else,
`assume` and loads included, is taken to have some. A loop always counts as having some, because `continue`
does.
"""

from __future__ import annotations

from ..model import Operation

_AS_INSIDE = frozenset({"if", "reduce", "scan"})


def has_no_effect(op: Operation) -> bool:
    """Whether an operation does nothing but give its results."""
    pending = [op]
    while pending:
        op = pending.pop()
        if op.spec is None:
            return False
        if op.name in _AS_INSIDE:
            for region in op.regions:
                for block in region.blocks:
                    pending += block.operations
        elif not op.spec.is_pure:
            return False
    return True


def is_dead(op: Operation) -> bool:
    """Whether an operation can go: nothing uses its results and it has no effect."""
    for result in op.results:
        if result.users:
            return False
    return not op.terminator and has_no_effect(op)
