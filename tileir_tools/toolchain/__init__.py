"""NVIDIA's tools: where they are, how they are run, what they say.

Place in the flow: beside Module and facts; imports `errors`, `model`. Nothing on the reading path needs a tool.
"""

from __future__ import annotations

from .find import Tool, all_tools, find_tool, need_tool
from .run import Completed, run_tool
from .tools import TOOLS, ToolSpec

__all__ = [
    "TOOLS",
    "Completed",
    "Tool",
    "ToolSpec",
    "all_tools",
    "find_tool",
    "need_tool",
    "run_tool",
]
