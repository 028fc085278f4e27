"""Common subexpressions: `cuda-tile-opt --cse`.

Place in the flow: part of transform; imports `effects`, `rewriter`, `model`. An operation without effects is
replaced by an equal one whose value is visible where it stands; dead ones go.
"""

from __future__ import annotations

from ..collector import without_collecting
from ..model import Block, Module, Operation, Value
from .effects import has_no_effect, is_dead
from .rewriter import Rewriter

_Key = tuple[object, ...]


@without_collecting
def cse(module: Module) -> bool:
    """Make equal operations of every entry one; see `transform.cse`."""
    changed = False
    for op in module.operations:
        for region in op.regions:
            for block in region.blocks:
                rewriter = Rewriter()
                changed = _block(block, {}, rewriter) or changed
                rewriter.settle_all()
    return changed


def _block(block: Block, known: dict[_Key, Operation], rewriter: Rewriter) -> bool:
    """One block; what it defines is taken out of `known` again at its end."""
    changed = False
    own: list[_Key] = []
    for op in block.operations:
        for region in op.regions:
            if len(region.blocks) == 1:
                changed = _block(region.block, known, rewriter) or changed
        if op.terminator or op.spec is None:
            continue
        if is_dead(op):
            rewriter.erase(op)
            changed = True
            continue
        if not has_no_effect(op):
            continue
        key = _key(op, {})
        equal = known.get(key)
        if equal is not None:
            rewriter.replace(op, equal.results)
            changed = True
        else:
            known[key] = op
            own.append(key)
    for key in own:
        del known[key]
    return changed


def _key(op: Operation, inner: dict[Value, int]) -> _Key:
    """What two equal operations have in common; values defined inside count by their number."""
    operands = tuple(inner.get(value, value) for value in op.operands) if inner else (*op.operands,)
    types = tuple(result.type for result in op.results)
    attributes = frozenset(op.attributes.items())
    if not op.regions:
        return (op.name, operands, types, attributes, op.segments)
    inner = dict(inner)
    regions = tuple(
        tuple(_block_key(block, inner) for block in region.blocks) for region in op.regions
    )
    return (op.name, operands, types, attributes, op.segments, regions)


def _block_key(block: Block, inner: dict[Value, int]) -> _Key:
    for argument in block.arguments:
        inner[argument] = len(inner)
    keys: list[object] = [tuple(argument.type for argument in block.arguments)]
    for op in block.operations:
        if op.parent is block:
            keys.append(_key(op, inner))
            for result in op.results:
                inner[result] = len(inner)
    return tuple(keys)
