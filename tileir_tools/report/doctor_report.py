"""The tools that were found, as text or JSON.

Place in the flow: toolchain -> **report**; imports `toolchain` records and `plain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..toolchain import Tool
from ..toolchain.find import advice
from ..toolchain.tools import BY_NAME
from .plain import document, plain

DOCTOR_SCHEMA = "tileir-doctor/1"


def doctor_json(tools: Sequence[Tool]) -> str:
    """A document of schema `tileir-doctor/1`."""
    rows = [
        {**dict(plain(tool)), "purpose": BY_NAME[tool.name].purpose}  # type: ignore[call-overload]
        for tool in tools
    ]
    return document(DOCTOR_SCHEMA, {"tools": rows})


def doctor_text(tools: Sequence[Tool]) -> str:
    """For a terminal: one line for a tool that works, and what to do about the others."""
    width = max(len(tool.name) for tool in tools)
    lines = []
    for tool in tools:
        state = "missing" if tool.path is None else "broken" if tool.problem else "ok"
        lines.append(f"{state:7}  {tool.name:{width}}  {tool.version or '-':10}  {_about(tool)}")
        if tool.problem is not None:
            pad = " " * (9 + width + 2)
            lines.append(f"{pad}{BY_NAME[tool.name].purpose}: {tool.problem}")
            lines.append(f"{pad}{advice(BY_NAME[tool.name])}")
    return "\n".join(lines)


def _about(tool: Tool) -> str:
    return f"{tool.path}  [{tool.origin}]" if tool.path is not None else ""
