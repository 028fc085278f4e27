"""Why a generated kernel is slower, as text or JSON.

Place in the flow: causes -> **report**; imports `diff.causes` records and `plain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import Finding
from ..diff.causes import Cause, Explanation, Side
from .plain import document, plain

EXPLAIN_SCHEMA = "tileir-explain/1"


def explain_json(found: Sequence[Explanation], arch: str) -> str:
    """A document of schema `tileir-explain/1`."""
    pairs = [
        {
            "reference": one.reference,
            "generated": one.generated,
            "verdict": one.diff.verdict,
            "causes": plain(one.causes),
            "changes": list(one.changes),
            "sides": {
                name: _side(side) for name, side in zip(("reference", "generated"), one.sides)
            },
        }
        for one in found
    ]
    return document(EXPLAIN_SCHEMA, {"arch": arch, "pairs": pairs})


def _side(side: Side) -> dict[str, object]:
    held = side.occupancy
    return {
        "registers": side.function.registers,
        "stack": side.function.stack,
        "shared": side.function.shared,
        "threads": side.function.threads,
        "spills": side.function.spills,
        "classes": side.function.classes,
        "operations_per_round": side.flops,
        "bytes_per_round": side.loaded,
        "operations_per_byte": None if side.intensity is None else round(side.intensity, 3),
        "occupancy": None if held is None else plain(held),
    }


def explain_text(found: Sequence[Explanation], arch: str) -> str:
    """For a terminal: the causes, the one that costs most first, each with what may bring it about."""
    lines: list[str] = []
    for one in found:
        lines.append(f"@{one.reference} and @{one.generated}, compiled for {arch}")
        if not one.causes:
            lines.append("  nothing in the machine code says that the generated kernel is slower")
        for number, cause in enumerate(one.causes, 1):
            lines += _cause_lines(number, cause)
        if one.changes:
            lines += ["", "  what changed in the machine code:"]
            lines += [f"    {change}" for change in one.changes]
        lines += ["", *_work_lines(one.sides), f"  comparison: {one.diff.verdict}"]
    return "\n".join(lines)


def _work_lines(sides: tuple[Side, Side]) -> list[str]:
    """What a round of the loop does, and how many blocks a multiprocessor holds, of both."""
    lines = []
    for name, side in zip(("reference", "generated"), sides):
        parts = []
        if side.intensity is not None:
            parts.append(
                f"{side.flops} operations for {side.loaded} bytes loaded in a round of the loop "
                f"({side.intensity:.0f} for each byte)"
            )
        if side.occupancy is not None:
            held = side.occupancy
            parts.append(
                f"{held.blocks} blocks, {held.warps} warps at a time on a multiprocessor "
                f"(limited by {held.limit})"
            )
        if parts:
            lines.append(f"  {name}: {'; '.join(parts)}")
    return lines


def _cause_lines(number: int, cause: Cause) -> list[str]:
    lines = ["", f"  {number}. {cause.name}: {cause.sentence}"]
    lines += [f"     {number_line}" for number_line in cause.evidence]
    lines += [f"     <- {_finding(finding)}" for finding in cause.findings]
    return lines


def _finding(finding: Finding) -> str:
    place = finding.generated or finding.reference
    where = f" (line {place.line})" if place is not None and place.line else ""
    return f"{finding.code} {finding.message}{where}"
