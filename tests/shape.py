"""A module as plain lists, so that tests can ask whether two modules are equal."""

from __future__ import annotations

from tileir_tools.model import Module, Operation, Value

# Terminators that the pretty form leaves out where they have no operands: no text has their location.
_LEFT_OUT = ("yield", "continue")


def shape(module: Module, locations: bool = False) -> list[object]:
    """A module as nested lists in which values are numbers: equal for equal modules."""
    numbers: dict[Value, int] = {}

    def of(op: Operation) -> object:
        operands = tuple(numbers[v] for v in op.operands)
        for value in op.results:
            numbers[value] = len(numbers)
        regions = []
        for region in op.regions:
            for block in region.blocks:
                for value in block.arguments:
                    numbers[value] = len(numbers)
                types = [v.type for v in block.arguments]
                regions.append((types, [of(inner) for inner in block.operations]))
        return (
            op.name,
            operands,
            op.segments,
            sorted(op.attributes.items(), key=lambda item: item[0]),
            [v.type for v in op.results],
            regions,
            op.location if locations and (op.operands or op.name not in _LEFT_OUT) else None,
        )

    return [module.producer, *(of(op) for op in module.operations)]
