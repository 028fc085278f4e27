"""Read the host code of cutile-rs wrappers, and find its faults.

Place in the flow: a project's Python and Rust -> facts of a wrapper -> **findings**; imports `sources` and
`errors`. Nothing of the project is imported, compiled or run.

    project = find_project("TileGym")
    wrapper = read_wrapper(project, "matmul")
    reference = read_source(project, "matmul", capability=(10, 0)).operation
    for finding in examine_wrapper(wrapper, reference):
        print(finding.where, finding.code, finding.message)
    undecided_of(wrapper, reference)
"""

from __future__ import annotations

from .examine import examine_wrapper, undecided_of
from .ffi import DtypeArm, Export, RustEntry, RustLaunch
from .finding import WrapperFinding
from .rules import WRAPPER_RULES, WrapperRule
from .walk import Done, FfiArgument, FfiCall, KeyPart, Search, Step
from .wrapper import Declaration, Gate, Wrapper, read_wrapper

__all__ = [
    "WRAPPER_RULES",
    "Declaration",
    "Done",
    "DtypeArm",
    "Export",
    "FfiArgument",
    "FfiCall",
    "Gate",
    "KeyPart",
    "RustEntry",
    "RustLaunch",
    "Search",
    "Step",
    "Wrapper",
    "WrapperFinding",
    "WrapperRule",
    "examine_wrapper",
    "read_wrapper",
    "undecided_of",
]
