"""Step 1 of agent A: what the operation's source and tests say, and the configurations of its tests by label.

Place in the flow: project -> **sources** -> variants, analysis; imports the package `sources`,
`bench.node_ids`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ...bench.node_ids import BACKENDS, backend_name
from ...errors import InputError
from ...sources import (
    Configuration,
    Dtype,
    OperationSource,
    Parametrisation,
    TestSource,
    read_source,
)
from ...toolchain.devices import DEFAULT_ARCH, device_of
from .request import Request

BACKEND = "cutile"


class Sources(NamedTuple):
    """The source of an operation, that of its tests, and where Triton's stands (None: nowhere)."""

    operation: OperationSource
    tests: TestSource
    triton: str | None

    @property
    def target(self) -> str:
        """The tests as pytest takes them: the file, and the class in it."""
        path, name = self.tests.path, self.tests.class_name
        return f"{path}::{name}" if name else path

    def parametrisation(self, test: str) -> Parametrisation | None:
        """The configurations of a test function."""
        found = (self.tests.op, self.tests.perf, *self.tests.others)
        return next((p for p in found if p is not None and p.name == test), None)

    def takes_backends(self, test: str) -> bool:
        """Whether a test function runs once for each backend; where the source does not say, whether it
        has a list of backends."""
        found = self.parametrisation(test)
        if found is None or found.undecided:
            return bool(self.tests.choices)
        return any(_is_backend(v) for config in found.configs for v in config.values.values())


def read_sources(request: Request) -> Sources:
    """Read source and tests of the request's operation.

    Raises:
        UsageError: the project has no such operation.
        InputError: there are no tests of it, or a file cannot be read.
        ParseError: a file is no Python.
    """
    project, name = request.project, request.workspace.kernel
    device = device_of(request.arch or DEFAULT_ARCH)
    capability = device.capability if device is not None else None
    found = read_source(project, name, capability=capability, backends={BACKEND})
    if found.tests is None:
        raise InputError(f"{project.root}: error: no tests/ops/**/test_{name}.py")
    kernels = ", ".join(k.name for k in found.operation.kernels) or "no kernel"
    where = f"{found.tests.path}: {found.tests.class_name}"
    request.say("read", f"{found.operation.path}: {kernels}; {where}")
    return Sources(found.operation, found.tests, found.triton.path if found.triton else None)


# -- configurations ---------------------------------------------------------------------------------


def by_label(
    parametrisation: Parametrisation, launched: Collection[str] = ()
) -> dict[str, Mapping[str, object]]:
    """Label -> values of the configuration, without the backend: a label is what stands in a test's id.

    Ids depend on the project's `pytest_make_parametrize_id`; labels as TileGym's makes them and as
    pytest does by itself are both in the answer. Where ids are made by a function of the test, labels
    that were launched, as many as there are configurations, stand for these in their order.
    Configurations of other backends, and those that are surely skipped, are left out.
    """
    found: dict[str, Mapping[str, object]] = {}
    axes = _axes(parametrisation)
    for config in parametrisation.configs:
        if config.skipped is not None or not _is_ours(config):
            continue
        values = {k: v for k, v in config.values.items() if not _is_backend(v)}
        for plain in (False, True):
            parts = [part for axis in axes if (part := axis.part(config, plain)) is not None]
            found.setdefault("-".join(parts) or parametrisation.name, values)
    configs = list({id(values): values for values in found.values()}.values())
    if len(configs) == len(launched) and not any(label in found for label in launched):
        return dict(zip(launched, configs))
    return found


def _is_backend(value: object) -> bool:
    return (
        isinstance(value, str) and not isinstance(value, Dtype) and backend_name(value) in BACKENDS
    )


def _is_ours(config: Configuration) -> bool:
    named = [backend_name(str(v)) for v in config.values.values() if _is_backend(v)]
    return not named or BACKEND in named


class _Axis(NamedTuple):
    """Parameters that one decorator gives values to: their names, their rows, its `ids` (None: made)."""

    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    ids: tuple[str, ...] | None

    def part(self, config: Configuration, plain: bool) -> str | None:
        """What stands in an id for this axis; None for a backend, which labels leave out."""
        row = tuple(config.values.get(name) for name in self.names)
        at = self.rows.index(row)
        if self.ids is not None and at < len(self.ids):
            return self.ids[at]
        texts = [
            _text(value, name, at, plain)
            for name, value in zip(self.names, row)
            if not _is_backend(value)
        ]
        return "-".join(texts) if texts else None


def _text(value: object, name: str, at: int, plain: bool) -> str:
    if isinstance(value, Dtype):
        return f"{name}{at}" if plain else f"torch.{value}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return str(value) if plain else str(value).replace("-", "_")
    return f"{name}{at}" if plain else repr(value).replace("-", "_")


def _axes(parametrisation: Parametrisation) -> list[_Axis]:
    """Parameters with `ids` of their own together, all others alone, in the order of an id."""
    ids = dict(_ids(parametrisation))
    axes = []
    left = list(parametrisation.parameters)
    while left:
        names = next((n for n in ids if n[0] == left[0]), (left[0],))
        left = [name for name in left if name not in names]
        rows = (tuple(c.values.get(n) for n in names) for c in parametrisation.configs)
        unique: list[tuple[object, ...]] = []
        for row in rows:
            if row not in unique:
                unique.append(row)
        axes.append(_Axis(names, tuple(unique), ids.get(names)))
    return axes


def _ids(parametrisation: Parametrisation) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Parameters -> their ids, where these are written out."""
    for names, text in parametrisation.ids.items():
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, (list, tuple)):
            yield tuple(n.strip() for n in names.split(",")), _unique(tuple(map(str, value)))


def _unique(ids: tuple[str, ...]) -> tuple[str, ...]:
    """As pytest tells equal ids apart: by a number behind each, after `_` where they end in a digit."""
    found: list[str] = []
    for at, text in enumerate(ids):
        number = ids[:at].count(text)
        gap = "_" if text[-1:].isdigit() else ""
        found.append(text if ids.count(text) == 1 else f"{text}{gap}{number}")
    return tuple(found)
