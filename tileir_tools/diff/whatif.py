"""What would each difference cost: the reference's hints and padding put into the generated kernel.

Place in the flow: findings and toolchain facts -> **what-if** -> report; imports `compare`, `causes`,
`toolchain`.

Every difference that can be taken over as an edit is made in a copy of the generated kernel, alone and all
together, and each copy is compiled: what the machine code then looks like says which difference matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import UsageError
from ..model import (
    Entry,
    GatherScatterViewType,
    Module,
    Operation,
    PartitionViewType,
    StridedViewType,
    ViewType,
)
from ..toolchain.compiling import compile_module
from .causes import Cause, Side, causes_of, side_of
from .compare import prepare
from .match import match_entries, selected

_Change = Callable[[Operation], None]


class Edit(NamedTuple):
    """One difference that can be taken over: what it is, and at which operation (its number in
    `module.walk()` of the generated module, from 0)."""

    name: str
    operation: int
    change: _Change


class Trial(NamedTuple):
    """One compiled copy of the generated kernel.

    Attributes:
        name: what was taken over; "nothing", "everything", or the edit.
        side: what the compiler made of it.
        causes: what still makes it slower than the reference.
    """

    name: str
    side: Side
    causes: tuple[Cause, ...]


class WhatIf(NamedTuple):
    """All trials of one kernel, beside what the compiler made of the reference."""

    reference: str
    generated: str
    wanted: Side
    trials: tuple[Trial, ...]


def what_if(reference: Module, generated: Module, arch: str, *, entry: str | None = None) -> WhatIf:
    """Take differences over from the reference, one by one and together, and compile each.

    Args:
        reference, generated: the modules; of the pairs of entries in them the first is tried.
        arch: target, such as `sm_90`.
        entry: only entries whose symbol contains this text.

    Raises:
        ToolError: a tool is missing or fails.
        UsageError: no pair of entries.
    """
    pairs = selected(match_entries([reference], [generated]), entry)
    found = next((p for p in pairs if p.reference is not None and p.generated is not None), None)
    if found is None or found.reference is None or found.generated is None:
        raise UsageError("no pair of entries to try")
    one, other = found.reference, found.generated
    edits = list(_edits(reference, generated, one, other, arch))
    wanted = side_of(reference, one.symbol, compile_module(reference, arch), arch)

    def trial(name: str, chosen: list[Edit]) -> Trial:
        copy = generated.clone()
        operations = list(copy.walk())
        for edit in chosen:
            edit.change(operations[edit.operation])
        side = side_of(copy, other.symbol, compile_module(copy, arch), arch)
        return Trial(name, side, causes_of(wanted, side))

    trials = [trial("nothing", [])]
    trials += [trial(edit.name, [edit]) for edit in edits]
    if len(edits) > 1:
        trials.append(trial("everything", edits))
    return WhatIf(one.symbol, other.symbol, wanted, tuple(trials))


# -- edits ------------------------------------------------------------------------------------------


def _edits(
    reference: Module, generated: Module, one: Entry, other: Entry, arch: str
) -> Iterator[Edit]:
    """The differences that can be taken over, entry first, then in the order of the text."""
    numbers = {op: number for number, op in enumerate(generated.walk())}
    pair = prepare(one, other, reference, generated, (arch,), {})
    if one.hints is not other.hints:
        yield Edit("hints of the entry", numbers[other], _hints_from(one))
    for left, right in sorted(pair.counterpart.items(), key=lambda item: numbers[item[1]]):
        where = f"{right.name}{f' (line {right.span.line})' if right.span else ''}"
        if left.name != right.name:
            continue
        if left.hints is not right.hints:
            yield Edit(f"hints of {where}", numbers[right], _hints_from(left))
        padding, ours = _padding(left), _padding(right)
        view = right.operand("view").defining_op if ours is not None else None  # type: ignore[union-attr]
        if padding is not None and ours is not None and padding != ours and view is not None:
            yield Edit(f"padding_value of {where}", numbers[view], _pad(padding[0]))


def _hints_from(source: Operation) -> _Change:
    def change(op: Operation) -> None:
        if source.hints is None:
            op.attributes.pop("optimization_hints", None)
        else:
            op.attributes["optimization_hints"] = source.hints

    return change


def _padding(op: Operation) -> tuple[str | None] | None:
    """The padding of the view that an operation goes through, in a tuple; None: through no view."""
    if op.spec is None or "view" not in {row.name for row in op.spec.operands}:
        return None
    view = op.operand("view")
    return (view.type.padding,) if view is not None and isinstance(view.type, ViewType) else None


def _pad(padding: str | None) -> _Change:
    def change(op: Operation) -> None:
        type = op.result.type
        if isinstance(type, PartitionViewType):
            op.result.type = PartitionViewType(
                type.tile_shape, type.tensor_view, type.dim_map, padding
            )
        elif isinstance(type, StridedViewType):
            op.result.type = StridedViewType(
                type.tile_shape, type.traversal_strides, type.tensor_view, type.dim_map, padding
            )
        elif isinstance(type, GatherScatterViewType):
            op.result.type = GatherScatterViewType(
                type.tile_shape, type.tensor_view, type.sparse_dim, padding
            )

    return change
