"""The tolerances of a test, for each number format.

Place in the flow: values -> **facts of a test**; imports `bodies`, `parametrisation`, `literals`, `values`.
The body of a test is gone through for each configuration, up to its comparisons; what a harness takes where
a test states nothing is read from the table in `tests/common.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .bodies import Visited, module_scope, visit_calls
from .literals import arguments, evaluate
from .names import dotted
from .parametrisation import SKIPS, Parametrisation, body_scope
from .project import PythonFile
from .scopes import Scope
from .values import Dtype, Either, NotDecided, Undecided

_COMPARISONS = (
    "assertCorrectness assertAllClose assertDeterministic assert_close assert_allclose allclose "
    "compare_tensors"
).split()
# Comparisons of a harness, which look in its table where a tolerance is not stated.
_HARNESS = ("assertCorrectness", "assertAllClose", "assertDeterministic")


class Tolerance(NamedTuple):
    """How close results have to be.

    Attributes:
        dtype: number format of the configurations; None where a test has none.
        rtol, atol: numbers, `Either` or `Undecided`; None: the comparison's own default.
        test: the function that compares.
        comparison: the function that it calls.
        line: of that call.
        source: "stated" in the test, or where the default stands (`tests/common.py:30`).
        when: conditions that the source does not decide.
    """

    dtype: str | None
    rtol: object
    atol: object
    test: str
    comparison: str
    line: int
    source: str
    when: tuple[str, ...]


class DefaultTolerances(NamedTuple):
    """The table of a harness: format -> {"rtol": .., "atol": ..}, and where it stands."""

    table: dict[str, dict[str, object]]
    where: str


def default_tolerances(harness: PythonFile) -> DefaultTolerances | None:
    """The table in `get_dtype_tolerances` of `tests/common.py`; None where there is none to be read."""
    for node in ast.walk(harness.tree):
        if isinstance(node, ast.FunctionDef) and node.name == "get_dtype_tolerances":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Dict):
                    table = evaluate(inner, module_scope(harness.tree))
                    if isinstance(table, dict) and all(isinstance(v, dict) for v in table.values()):
                        named = {str(key): dict(value) for key, value in table.items()}
                        return DefaultTolerances(named, harness.where(inner))
    return None


def tolerances(
    function: ast.FunctionDef,
    test: Parametrisation,
    scope: Scope,
    defaults: DefaultTolerances | None,
) -> tuple[Tolerance, ...]:
    """Every different tolerance of a test, over the configurations that it does not surely skip."""
    found: dict[str, Tolerance] = {}
    for config in test.configs:
        if config.skipped is None:
            for tolerance in _of_configuration(function, config.values, scope, defaults):
                found.setdefault(repr(tolerance), tolerance)
    return tuple(_without_implied(found.values()))


def _of_configuration(
    function: ast.FunctionDef,
    values: dict[str, object],
    scope: Scope,
    defaults: DefaultTolerances | None,
) -> list[Tolerance]:
    found: list[Tolerance] = []

    def visitor(visited: Visited) -> bool:
        name = dotted(visited.node.func, scope.context.imports) or ""
        last = name.rpartition(".")[2]
        if last in _COMPARISONS and name != "torch.Tensor.allclose":
            found.append(_tolerance(function.name, last, visited, defaults, values))
        return name in SKIPS

    calls = (*SKIPS, *_COMPARISONS)
    visit_calls(function.body, body_scope(function, values, scope), visitor, calls)
    return found


def _tolerance(
    test: str,
    comparison: str,
    visited: Visited,
    defaults: DefaultTolerances | None,
    values: dict[str, object],
) -> Tolerance:
    node, scope = visited.node, visited.scope
    try:
        stated = arguments(node, scope)[1]
    except NotDecided as error:
        stated = {"rtol": error.undecided, "atol": error.undecided}
    dtype = _dtype(scope, values)
    numbers = {name: stated.get(name) for name in ("rtol", "atol")}
    source = "stated"
    if None in numbers.values():
        source = f"default of {comparison}"
        if comparison in _HARNESS and defaults is not None:
            source = defaults.where
            table = defaults.table.get(dtype or "", {})
            unknown = Undecided("get_dtype_tolerances", node.lineno, "the format is not known")
            numbers = {n: v if v is not None else table.get(n, unknown) for n, v in numbers.items()}
    when = tuple(_told(visited.when))
    return Tolerance(
        dtype, numbers["rtol"], numbers["atol"], test, comparison, node.lineno, source, when
    )


def _told(when: Iterable[str]) -> Iterator[str]:
    """Conditions worth telling: that a test's backend is there is no news."""
    return (c for c in when if "is_backend_available" not in c and "is raised in line" not in c)


def _dtype(scope: Scope, values: dict[str, object]) -> str | None:
    """The number format of a configuration: what is called `dtype`, or the one parameter that is a format."""
    found, value = scope.find("dtype")
    if found and isinstance(value, Dtype):
        return str(value)
    if found and isinstance(value, (Undecided, Either)):
        return None
    formats = {str(v) for v in values.values() if isinstance(v, Dtype)}
    return formats.pop() if len(formats) == 1 else None


def _without_implied(found: Iterable[Tolerance]) -> Iterator[Tolerance]:
    """Those under conditions are left out where the same holds without."""
    everything = list(found)
    always = {repr(t) for t in everything if not t.when}
    for tolerance in everything:
        if not tolerance.when or repr(tolerance._replace(when=())) not in always:
            yield tolerance
