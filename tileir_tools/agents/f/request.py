"""What agent F is asked for.

Place in the flow: below every step of agent F; imports `workspace`, `progress`, `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...sources import Project
from ..progress import Say, silent
from ..workspace import Workspace


class Request(NamedTuple):
    """One kernel whose generated version is slower than its reference.

    Attributes:
        workspace: with what the agents before have written; reports go there too.
        project: a checkout that is laid out as TileGym is, for the wrapper; None: there is none.
        arch: target that the IR is compiled for; None: the one that the analysis names, else `sm_100`.
        scripts: folder of TileGym's shell validators to run as the gate, in place of ours.
        evidence: whether both kernels are compiled, so that causes are read off the machine code.
        launches: folder of a manifest of `tileir dump --call`, to time what-ifs on the GPU; None: no launch.
        profiles: side ("reference", "generated") -> file of a profiler (nsys, ncu, torch.profiler, proton),
            for launches where the logs name no kernels.
        say: told about progress.
    """

    workspace: Workspace
    project: Project | None
    arch: str | None = None
    scripts: str | None = None
    evidence: bool = True
    launches: str | None = None
    profiles: Mapping[str, str] = {}
    say: Say = silent
