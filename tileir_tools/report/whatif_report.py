"""What taking differences over changes, as text or JSON.

Place in the flow: what-if -> **report**; imports `diff.whatif` records and `plain`.
"""

from __future__ import annotations

from ..diff.causes import RESOURCES, Side
from ..diff.whatif import WhatIf
from .plain import document

WHAT_IF_SCHEMA = "tileir-what-if/1"


def what_if_json(found: WhatIf, arch: str) -> str:
    """A document of schema `tileir-what-if/1`."""
    trials = [
        {"name": t.name, "numbers": _numbers(t.side), "causes": [c.name for c in t.causes]}
        for t in found.trials
    ]
    content: dict[str, object] = {
        "arch": arch,
        "reference": found.reference,
        "generated": found.generated,
        "wanted": _numbers(found.wanted),
        "trials": trials,
    }
    return document(WHAT_IF_SCHEMA, content)


def _numbers(side: Side) -> dict[str, int]:
    return {name: read(side) for name, read in RESOURCES}


def what_if_text(found: WhatIf, arch: str) -> str:
    """For a terminal: a table, a row for each trial; numbers in which nothing differs are left out."""
    rows = [("the reference", found.wanted, "")]
    rows += [(t.name, t.side, ", ".join(c.name for c in t.causes) or "none") for t in found.trials]
    shown = [
        (name, [read(side) for _, side, _ in rows])
        for name, read in RESOURCES
        if len({read(side) for _, side, _ in rows}) > 1
    ]
    head = ["taken over", *(name for name, _ in shown), "causes left"]
    table = [head]
    for number, (label, _, causes) in enumerate(rows):
        table.append([label, *(str(column[number]) for _, column in shown), causes])
    widths = [max(len(row[k]) for row in table) for k in range(len(head))]
    lines = [f"@{found.generated} with what @{found.reference} has, compiled for {arch}", ""]
    lines += ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths)).rstrip() for row in table]
    return "\n".join(lines)
