"""The operations of an entry in their order, as records that compare without names.

Place in the flow: Module -> **facts**; imports `model`, `dataflow` and the printer's literals. Two
entries whose records are equal are one body, operation by operation: the strictest equality there
is. What is only a name (of values, of the entry, of places in the source) is in no record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model import Attribute, Entry, Module, Operation, Type, Value
from .dataflow import global_value, plain_text


class Step(NamedTuple):
    """One operation: `depth` regions deep; `operands` by the number of the value, in the order in
    which values come into being; `blocks` the argument types of each block inside."""

    depth: int
    name: str
    operands: tuple[int, ...]
    segments: tuple[int, ...] | None
    attributes: tuple[tuple[str, Attribute], ...]
    types: tuple[Type, ...]
    blocks: tuple[tuple[Type, ...], ...]
    text: str | None


# What is a name, or is said by the arguments.
_OF_ENTRIES = frozenset({"sym_name", "function_type"})


def steps(entry: Entry, module: Module) -> Iterator[tuple[Operation, Step]]:
    """Each operation with its record, the entry first (without its symbol and its hints)."""
    numbers: dict[Value, int] = {}
    pending: list[tuple[Operation, int]] = [(entry, 0)]
    while pending:
        op, depth = pending.pop()
        operands = tuple([numbers[v] for v in op.operands])
        blocks = [block for region in op.regions for block in region.blocks]
        yield (
            op,
            Step(
                depth,
                op.name,
                operands,
                op.segments,
                _attributes(op, module),
                tuple([v.type for v in op.results]),
                tuple([tuple([v.type for v in block.arguments]) for block in blocks]),
                plain_text(op),
            ),
        )
        for value in op.results:
            numbers[value] = len(numbers)
        for block in blocks:
            for value in block.arguments:
                numbers[value] = len(numbers)
        pending += [(o, depth + 1) for b in reversed(blocks) for o in reversed(b.operations)]


def _attributes(op: Operation, module: Module) -> tuple[tuple[str, Attribute], ...]:
    found = sorted(op.attributes.items())
    if isinstance(op, Entry):
        hints = "optimization_hints"
        return tuple([(n, v) for n, v in found if n not in _OF_ENTRIES and n != hints])
    if op.name == "get_global":
        found.append(("global", global_value(op, module)))
    return tuple(found)
