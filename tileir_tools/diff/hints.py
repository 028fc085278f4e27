"""Comparing optimization hints, resolved for each target.

Place in the flow: facts -> **findings**; imports `analyze.hints`, `pair`.
"""

from __future__ import annotations

from ..analyze.hints import HintValue, effective, resolved_hints
from ..dialect import HINT_KEYS
from ..model import Operation
from .finding import DIFFERS, EXTRA, MISSING
from .pair import Pair

# Hints that a kernel in Rust has no way to give.
_CANNOT_BE_SAID = ("simt_num_warps_in_cta", "tensor_dim_factor")


def compare_hints(pair: Pair) -> None:
    """Report hints that differ for some target."""
    _compare(pair, pair.reference.entry, pair.generated.entry, True, 0)
    for one, other in pair.matching.pairs:
        if one.op.hints is not None or other.op.hints is not None:
            _compare(pair, one.op, other.op, False, max(one.depth, other.depth))


def _compare(
    pair: Pair, reference: Operation, generated: Operation, is_entry: bool, depth: int
) -> None:
    """One pair of operations; equal differences for several targets are one finding."""
    found: dict[tuple[str, HintValue | None, HintValue | None], list[str]] = {}
    for arch in pair.arches:
        left = resolved_hints(reference.hints, arch)
        right = resolved_hints(generated.hints, arch)
        for key in sorted({*left, *right}):
            if not _is_for_both(key, reference, generated):
                continue
            one, other = effective(left, key), effective(right, key)
            if one != other:
                found.setdefault((key, one, other), []).append(arch or "default")
    for (key, one, other), arches in found.items():
        code = _entry_code(key, one, other) if is_entry else _op_code(key, one, depth)
        if key in _CANNOT_BE_SAID and other is None:
            code = "HNT009"
        status = MISSING if other is None else EXTRA if one is None else DIFFERS
        message = (
            f"{key} of {reference.name} is {_say(one)} in the reference and {_say(other)} in the "
            f"generated kernel for {', '.join(arches)}"
        )
        pair.report(code, status, message, reference, generated)


def _is_for_both(key: str, reference: Operation, generated: Operation) -> bool:
    """Whether a hint means something for both operations: pointers know no `allow_tma`."""
    if reference.name == generated.name:
        return True
    return all(key in HINT_KEYS.get(op.name, ()) for op in (reference, generated))


def _entry_code(key: str, one: HintValue | None, other: HintValue | None) -> str:
    if key not in HINT_KEYS["entry"]:
        return "HNT008"
    if other is None:
        return "HNT002"
    return "HNT003" if one is None else "HNT001"


def _op_code(key: str, reference: HintValue | None, depth: int) -> str:
    if key == "latency":
        return "HNT004" if depth else "HNT005"
    if key == "allow_tma":
        return "HNT006" if reference else "HNT007"
    return "HNT008"


def _say(value: HintValue | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "absent" if value is None else str(value)
