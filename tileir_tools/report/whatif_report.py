"""What taking differences over changes, as text or JSON.

Place in the flow: what-if -> **report**; imports `diff.whatif` records and `plain`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..diff.causes import RESOURCES, Side
from ..diff.whatif import Trial, WhatIf
from ..toolchain.timing import Timing
from .plain import document, plain

WHAT_IF_SCHEMA = "tileir-what-if/1"


def what_if_json(found: WhatIf, arch: str, machine: Mapping[str, str] | None = None) -> str:
    """A document of schema `tileir-what-if/1`."""
    trials = [
        {
            "name": t.name,
            "numbers": None if t.side is None else _numbers(t.side),
            "causes": [c.name for c in t.causes],
            "error": t.error,
            "timing": plain(t.timing),
        }
        for t in found.trials
    ]
    content: dict[str, object] = {
        "arch": arch,
        "reference": found.reference,
        "generated": found.generated,
        "wanted": _numbers(found.wanted),
        "timing": plain(found.timing),
        "trials": trials,
        "versions": found.versions,
        "machine": None if machine is None else dict(machine),
    }
    return document(WHAT_IF_SCHEMA, content)


def _numbers(side: Side) -> dict[str, int]:
    return {name: read(side) for name, read in RESOURCES}


def what_if_text(found: WhatIf, arch: str, machine: Mapping[str, str] | None = None) -> str:
    """For a terminal: a table, a row for each trial; numbers in which nothing differs are left out."""
    rows: list[tuple[str, Side | None, str, Timing | None]] = [
        ("the reference", found.wanted, "", found.timing)
    ]
    rows += [(t.name, t.side, _left(t), t.timing) for t in found.trials]
    columns = [
        (name, [None if side is None else read(side) for _, side, _, _ in rows])
        for name, read in RESOURCES
    ]
    shown = [(name, column) for name, column in columns if len(set(column) - {None}) > 1]
    timed = found.timing is not None
    table = [
        ["taken over", *(["us", "+-", "result"] if timed else []), *_names(shown), "causes left"]
    ]
    for number, (label, _, causes, timing) in enumerate(rows):
        numbers = ["-" if column[number] is None else str(column[number]) for _, column in shown]
        table.append([label, *(_time(timing) if timed else []), *numbers, causes])
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    lines = [f"@{found.generated} with what @{found.reference} has, compiled for {arch}", ""]
    lines += ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths)).rstrip() for row in table]
    if machine is not None and found.timing is not None:
        what = ", ".join(
            f"{name} {machine[name]}" for name in machine if name not in ("method", "device")
        )
        lines += [
            "",
            f"{machine['device']} ({what}); {machine['method']}; {found.timing.launches} launches each, "
            "+- from the first to the third quartile",
        ]
    return "\n".join(lines)


def _names(columns: list[tuple[str, list[int | None]]]) -> list[str]:
    return [name for name, _ in columns]


def _left(trial: Trial) -> str:
    if trial.error is not None:
        return f"does not compile: {trial.error}"
    return ", ".join(cause.name for cause in trial.causes) or "none"


def _time(timing: Timing | None) -> list[str]:
    if timing is None:
        return ["-", "-", "-"]
    return [f"{timing.median:.1f}", f"{timing.spread:.1f}", "same" if timing.same else "DIFFERENT"]
