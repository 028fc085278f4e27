"""The dialect's canonical form: `cuda-tile-opt --canonicalize`.

Place in the flow: part of transform; imports `greedy`, `branches`, `selects`, `rewriter`, `model`.
"""

from __future__ import annotations

from ..collector import without_collecting
from ..model import Module, Operation
from . import branches, selects
from .greedy import Patterns, rewrite
from .matching import producer
from .rewriter import Rewriter


def product_first(op: Operation, rewriter: Rewriter) -> bool:
    """`addf x, (mulf ..)` is written `addf (mulf ..), x`, where fusing looks for the product."""
    left, right = op.operands
    if producer(right, "mulf") is None or producer(left, "mulf") is not None:
        return False
    op.set_operands((right, left), None)
    rewriter.modified(op)
    return True


PATTERNS: Patterns = {
    "addf": (product_first,),
    "if": (
        branches.unused_results,
        branches.known_results,
        branches.constant_condition,
        branches.selects,
        branches.empty_else,
        branches.twice_the_same_condition,
        branches.nested,
        branches.both_leave,
    ),
    "select": (selects.not_of_condition, selects.constants, selects.extension_of_condition),
}


@without_collecting
def canonicalize(module: Module) -> bool:
    """Canonicalise every entry; see `transform.canonicalize`."""
    changed = [canonicalize_entry(op) for op in module.operations if op.regions]
    return any(changed)


def canonicalize_entry(entry: Operation) -> bool:
    """Canonicalise one entry; whether anything changed."""
    return rewrite(entry, PATTERNS, top_down=True)
