"""Products and sums in one rounding: `cuda-tile-opt`'s pass `fuse-fma`.

Place in the flow: part of transform; imports `greedy`, `canonical_form`, `build`, `model`. The results of the
kernel change: a fused operation rounds once where two round twice.
"""

from __future__ import annotations

from ..model import Module, Operation
from .build import make
from .canonical_form import product_first
from .greedy import Patterns, rewrite
from .matching import producer
from .rewriter import Rewriter


def _fused(op: Operation, rewriter: Rewriter) -> bool:
    """`a * b + c` and `a * b - c` where the product has one reader and rounds as the sum does."""
    product = producer(op.operands[0], "mulf")
    if product is None or len(product.result.users) != 1:
        return False
    if op.attribute("rounding_mode") is not product.attribute("rounding_mode"):
        return False
    if op.has("flush_to_zero") != product.has("flush_to_zero"):
        return False
    addend = op.operands[1]
    if op.name == "subf":
        minus = make("negf", (addend,), (addend.type,), op.location)
        addend = rewriter.insert_before(op, minus).result
    kept = ("rounding_mode", "flush_to_zero")
    attributes = {name: op.attributes[name] for name in kept if name in op.attributes}
    fused = make("fma", (*product.operands, addend), (op.result.type,), op.location, attributes)
    rewriter.insert_before(op, fused)
    rewriter.replace(op, fused.results)
    rewriter.erase(product)
    return True


_PATTERNS: Patterns = {"addf": (product_first, _fused), "subf": (_fused,)}


def fuse_fma(module: Module) -> bool:
    """Fuse in every entry; see `transform.fuse_fma`."""
    changed = False
    for op in module.operations:
        if op.regions:
            changed = rewrite(op, _PATTERNS, top_down=False) or changed
    return changed
