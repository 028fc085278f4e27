"""Everything that a project says about one operation.

Place in the flow: files -> values -> facts -> **the whole**; imports `project`, `operation`, `tests`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..errors import UsageError
from .operation import OperationSource, read_operation
from .project import Project
from .tests import TestSource, read_tests


class ReadSource(NamedTuple):
    """An operation with its tests.

    Attributes:
        name: of its file.
        operation: for cuTile.
        triton: for Triton; None where there is none.
        tests: None where there is no file of tests.
    """

    name: str
    operation: OperationSource
    triton: OperationSource | None
    tests: TestSource | None


def read_source(
    project: Project,
    name: str,
    *,
    capability: tuple[int, int] | None = None,
    backends: Collection[str] | None = None,
) -> ReadSource:
    """Read an operation and its tests.

    Args:
        project: that it is in.
        name: of its file.
        capability: of a device that is assumed, such as (10, 0); None: what depends on it has conditions.
        backends: that are assumed to be available, all others not; None: what depends on them has conditions.

    Raises:
        UsageError: the project has no such operation.
        InputError, ParseError: one of the files cannot be read.
    """
    path = project.operation_file(name)
    if path is None:
        known = ", ".join(project.operations())
        raise UsageError(f"{project.root} has no operation {name}; it has: {known}")
    operation = read_operation(path, project.root, capability=capability)
    triton_path, test_path = project.triton_file(name), project.test_file(name)
    triton = None
    if triton_path is not None:
        triton = read_operation(triton_path, project.root, capability=capability)
    tests = None
    if test_path is not None:
        public = [registration.name for registration in operation.registrations]
        tests = read_tests(
            test_path,
            name,
            project.root,
            public_names=public,
            capability=capability,
            backends=backends,
        )
    return ReadSource(name, operation, triton, tests)
