"""Read the sources of operations and their tests, in a project laid out as TileGym is.

Place in the flow: a project's Python -> **facts of an operation**; nothing of the project is imported or run,
`ast` reads it. What the source alone does not say is `Undecided`, with its text, its line and the reason.

    project = find_project("TileGym")
    source = read_source(project, "matmul", capability=(10, 0), backends={"cutile"})
    for launch in source.operation.launches:
        print(launch.kernels, launch.grid, launch.chains[0].conditions)
    for config in source.tests.perf.configs:
        print(config.values, config.skipped)
    as_json(source)
"""

from __future__ import annotations

from .autotuning import Autotune
from .host import BACKWARD, Chain, Condition
from .kernels import ConstantBranch, Kernel
from .launches import Argument, Launch
from .operation import OperationSource, Registration, Remark, read_operation
from .parametrisation import Configuration, Parametrisation, Skip
from .project import Project, PythonFile, find_project, parse_python, read_python
from .reading import ReadSource, read_source
from .tests import Choices, Helper, Reference, TestSource, read_tests
from .tolerances import Tolerance
from .values import Conditional, Dtype, Either, Undecided, as_json
from .work import Work

__all__ = [
    "BACKWARD",
    "Argument",
    "Autotune",
    "Chain",
    "Choices",
    "Condition",
    "Conditional",
    "Configuration",
    "ConstantBranch",
    "Dtype",
    "Either",
    "Helper",
    "Kernel",
    "Launch",
    "OperationSource",
    "Parametrisation",
    "Project",
    "PythonFile",
    "ReadSource",
    "Reference",
    "Registration",
    "Remark",
    "Skip",
    "TestSource",
    "Tolerance",
    "Undecided",
    "Work",
    "as_json",
    "find_project",
    "parse_python",
    "read_operation",
    "read_python",
    "read_source",
    "read_tests",
]
