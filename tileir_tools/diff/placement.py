"""Comparing where values are computed: outside a loop in one kernel, inside it in the other.

Place in the flow: facts -> **findings**; imports `analyze`, `pair`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow, Node
from ..model import Operation
from .finding import DIFFERS
from .pair import Pair

# Costs nothing wherever it stands: the compiler rematerialises it.
_FREE = frozenset(
    {"constant", "iota", "get_tile_block_id", "get_num_tile_blocks", "make_token", "get_global"}
)
_VIEWS = frozenset(
    {"make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view"}
)


def compare_placement(pair: Pair) -> None:
    """Report values that the generated kernel computes deeper inside loops than the reference."""
    moved: dict[tuple[Operation | None, str], list[tuple[Operation, Operation]]] = {}
    for node, ops in pair.generated.ops.items():
        if node.name in _FREE or node not in pair.reference.ops:
            continue
        outer, inner = _shallowest(pair.reference, node), _shallowest(pair.generated, node)
        if inner.loop_depth > outer.loop_depth and ops:
            code = "PRF003" if node.name in _VIEWS else "PRF002"
            moved.setdefault((_loop_around(inner), code), []).append((outer, inner))
    for (_, code), pairs in moved.items():
        names = list(dict.fromkeys(op.name for _, op in pairs))
        shown = ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")
        what = f"{len(pairs)} values ({shown}) are" if len(pairs) > 1 else f"{shown} is"
        message = f"{what} computed inside a loop, outside of it in the reference"
        pair.report(code, DIFFERS, message, *pairs[0])


def _shallowest(flow: Flow, node: Node) -> Operation:
    return min(flow.ops[node], key=lambda op: op.loop_depth)


def _loop_around(op: Operation) -> Operation | None:
    parent = op.parent_op
    while parent is not None and parent.name not in ("for", "loop"):
        parent = parent.parent_op
    return parent
