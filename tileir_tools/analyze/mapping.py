"""How block ids become memory indices.

Place in the flow: Module -> **facts**; imports `model`, `facts`, `expressions`. Followed by def-use, across
assumes, casts and loops that start at a block id.
"""

from __future__ import annotations

from ..model import Block, Entry, Operation, Value
from .expressions import Expressions, through_assumes
from .facts import BlockMapping
from .memory import is_memory_op


def block_mapping(entry: Entry, expressions: Expressions) -> tuple[BlockMapping, ...]:
    """One record for each axis whose block id some memory index or loop bound depends on."""
    return tuple(
        mapping
        for axis in range(3)
        if (mapping := _axis_mapping(entry, axis, expressions)) is not None
    )


def _axis_mapping(entry: Entry, axis: int, expressions: Expressions) -> BlockMapping | None:
    starts = [
        op.results[axis]
        for op in entry.walk()
        if op.name == "get_tile_block_id" and len(op.results) == 3
    ]
    reached, divided, persistent = _reach(starts)
    indices = []
    for op in entry.walk():
        if not is_memory_op(op) or op.spec is None:
            continue
        if any(row.name == "index" for row in op.spec.operands):
            found = [v for v in op.operand_group("index") if v in reached]
            indices += [expressions.expression(v) for v in found]
    if not indices and not persistent:
        return None
    used = {v for v in reached if v in divided}
    return BlockMapping("xyz"[axis], tuple(dict.fromkeys(indices)), bool(used), persistent)


def _reach(starts: list[Value]) -> tuple[set[Value], set[Value], bool]:
    """Everything computed from some values; what of it went through a division; whether one of them
    starts a loop that steps by the grid size."""
    reached = set(starts)
    divided: set[Value] = set()
    persistent = False
    pending = list(starts)
    while pending:
        value = pending.pop()
        for op in dict.fromkeys(value.users):
            found = list(op.results)
            if op.name == "for" and op.operands[0] is value:
                found = [op.regions[0].block.arguments[0]]
                persistent = persistent or _steps_by_grid(op)
            elif op.regions or op.spec is None or not (op.spec.is_pure or op.name == "assume"):
                continue
            for result in found:
                if op.name in ("divi", "remi") or value in divided:
                    divided.add(result)
                if result not in reached or (result in divided and value not in reached):
                    reached.add(result)
                    pending.append(result)
    return reached, divided, persistent


def _steps_by_grid(loop: Operation) -> bool:
    step = through_assumes(loop.operands[2])
    op = step.defining_op
    if isinstance(step.owner, Block) or op is None:
        return False
    return op.name == "get_num_tile_blocks" or any(
        _is_grid_size(through_assumes(v)) for v in op.operands
    )


def _is_grid_size(value: Value) -> bool:
    op = value.defining_op
    return op is not None and op.name == "get_num_tile_blocks"
