"""Agent A: an operation of a project dumped, analysed and timed, for those who port it.

Place in the flow: a thin consumer of `sources`, `toolchain`, `diff`, `bench`; see `pipeline`.

    from tileir_tools.agents.a import Request, run_agent_a
    from tileir_tools.agents.workspace import open_workspace
    from tileir_tools.sources import find_project

    request = Request(open_workspace("out", "softmax"), find_project("TileGym"))
    print(run_agent_a(request).text())

The steps can be called one by one: `read_sources`, `dump_tests`, `find_variants`, `take_benchmarks`,
`install_references`, `describe`, `run_gate`.
"""

from __future__ import annotations

from .benchmarks import Benchmarks, take_benchmarks
from .captures import Dumps, Launch, dump_tests
from .describe import Material, describe
from .gate import run_gate
from .pipeline import STEPS, Answer, run_agent_a, selected_tests
from .references import Installed, install_references
from .request import Request
from .sources import Sources, by_label, read_sources
from .structure import Found, Structure, find_variants

__all__ = [
    "STEPS",
    "Answer",
    "Benchmarks",
    "Dumps",
    "Found",
    "Installed",
    "Launch",
    "Material",
    "Request",
    "Sources",
    "Structure",
    "by_label",
    "describe",
    "dump_tests",
    "find_variants",
    "install_references",
    "read_sources",
    "run_agent_a",
    "run_gate",
    "selected_tests",
    "take_benchmarks",
]
