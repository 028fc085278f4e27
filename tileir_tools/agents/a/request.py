"""What agent A is asked for.

Place in the flow: below every step of agent A; imports `workspace`, `progress`, `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...sources import Project
from ..progress import Say, silent
from ..workspace import Workspace

# Seconds that the tests of one backend, and all dumps, may take.
TIMEOUT = 1800.0


class Request(NamedTuple):
    """One kernel to dump and analyse.

    Attributes:
        workspace: where everything is written.
        project: a checkout that is laid out as TileGym is.
        arch: target; None: the GPU that is there, `sm_100` without one.
        select: expression of pytest's `-k` that bounds the tests which are run; "" for all.
        timeout: seconds that each run of the project's tests may take.
        logs: backend -> files with its performance records; without any, the tests are timed where there
            is a GPU.
        canonicalizer: "ours", or "cuda-tile-opt" to run NVIDIA's.
        scripts: folder of TileGym's shell validators to run as the gate, in place of ours.
        evidence: whether reference IR is compiled, so that the analysis has registers and the like.
        fresh: do again what an earlier run has done.
        say: told about progress.
    """

    workspace: Workspace
    project: Project
    arch: str | None = None
    select: str = ""
    timeout: float = TIMEOUT
    logs: Mapping[str, tuple[str, ...]] = {}
    canonicalizer: str = "ours"
    scripts: str | None = None
    evidence: bool = True
    fresh: bool = False
    say: Say = silent
