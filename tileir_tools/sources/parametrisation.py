"""The configurations of a parametrised test, in pytest's order, and which of them it skips.

Place in the flow: values -> **facts of a test**; imports `bodies`, `literals`, `scopes`. The decorator that is
nearest to the function varies slowest, as pytest has it: its values stand first in a test's id.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .bodies import Visited, visit_calls
from .literals import decided, evaluate
from .names import dotted
from .project import PythonFile
from .scopes import Context, Param, Scope
from .values import MAX_ITEMS, Either, NotDecided, Undecided, elements

# Calls that end a test.
SKIPS = ("pytest.skip", "pytest.xfail")


class Skip(NamedTuple):
    """A skip in the body of a test, or of a mark: its line, its reason as a text of Python, the conditions."""

    line: int
    reason: str
    when: tuple[str, ...]


class Configuration(NamedTuple):
    """One configuration of a test.

    Attributes:
        values: parameter -> value; what the source does not say is `Undecided`.
        when: conditions under which the test has this configuration; () for always.
        skipped: the skip that it surely meets.
        may_skip: skips whose conditions the source does not decide.
    """

    values: dict[str, object]
    when: tuple[str, ...]
    skipped: Skip | None
    may_skip: tuple[Skip, ...]


class Parametrisation(NamedTuple):
    """A test with all its configurations.

    Attributes:
        name: of the test function.
        line: of its `def`.
        parameters: names that decorators give values to, in the order of a test's id.
        configs: in pytest's order.
        ids: the text of each `ids=`, by the parameters that it is for.
        undecided: what kept a decorator from being expanded; then `configs` lacks its parameters.
    """

    name: str
    line: int
    parameters: tuple[str, ...]
    configs: tuple[Configuration, ...]
    ids: dict[str, str]
    undecided: tuple[Undecided, ...]


class _Row(NamedTuple):
    values: dict[str, object]
    when: tuple[str, ...]
    skip: Skip | None


class _Axis(NamedTuple):
    names: tuple[str, ...]
    rows: list[_Row]
    ids: str | None


def parametrisation(
    function: ast.FunctionDef, marks: Sequence[ast.expr], scope: Scope, file: PythonFile
) -> Parametrisation:
    """Expand a test.

    Args:
        function: the test.
        marks: decorators of its class, which come after its own.
        scope: of the class, or of the module.
        file: that it stands in.
    """
    axes: list[_Axis] = []
    undecided: list[Undecided] = []
    # Decorators are applied from the function upwards.
    for mark in [*reversed(function.decorator_list), *marks]:
        if not _is_mark(mark, "parametrize", scope.context):
            continue
        try:
            axes.append(_axis(mark, scope))
        except NotDecided as error:
            undecided.append(error.undecided)
    names = tuple(name for axis in axes for name in axis.names)
    total = 1
    for axis in axes:
        total *= len(axis.rows)
    if total > MAX_ITEMS:
        undecided.append(Undecided(function.name, function.lineno, f"{total} configurations"))
        axes = []
    always = _marked_skip(function, marks, scope)
    configs = tuple(_configurations(function, axes, scope, always))
    ids = {",".join(axis.names): axis.ids for axis in axes if axis.ids is not None}
    return Parametrisation(function.name, function.lineno, names, configs, ids, tuple(undecided))


def _is_mark(node: ast.expr, name: str, context: Context) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return dotted(called, context.imports) == f"pytest.mark.{name}"


def _axis(mark: ast.expr, scope: Scope) -> _Axis:
    """The values of one decorator. Raises NotDecided."""
    assert isinstance(mark, ast.Call)
    given: dict[str, ast.expr] = dict(zip(("argnames", "argvalues"), mark.args))
    given |= {k.arg: k.value for k in mark.keywords if k.arg is not None}
    text = scope.context.text(mark)
    if not {"argnames", "argvalues"} <= given.keys() or given.keys() & {"indirect"}:
        raise NotDecided(Undecided(text, mark.lineno, "names or values in another form"))
    names = _names(given["argnames"], scope)
    rows = [
        _row(names, item, when, mark, scope) for item, when in _items(given["argvalues"], scope)
    ]
    ids = given.get("ids")
    return _Axis(names, rows, None if ids is None else scope.context.text(ids))


def _names(node: ast.expr, scope: Scope) -> tuple[str, ...]:
    value = decided(node, scope)
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise NotDecided(Undecided(scope.context.text(node), node.lineno, "names of parameters"))


def _items(node: ast.expr, scope: Scope) -> Iterator[tuple[object, tuple[str, ...]]]:
    """Elements of the values of a decorator."""
    try:
        yield from elements(decided(node, scope))
    except (TypeError, ValueError) as error:
        raise NotDecided(Undecided(scope.context.text(node), node.lineno, str(error))) from None


def _row(
    names: tuple[str, ...], item: object, when: tuple[str, ...], mark: ast.expr, scope: Scope
) -> _Row:
    """One set of values. Raises NotDecided."""
    skip = None
    values = item
    if isinstance(item, Param):
        values = item.values[0] if len(names) == len(item.values) == 1 else item.values
        skip = next(filter(None, (_skip_of(m, item.scope) for m in _listed(item.marks))), None)
    if len(names) == 1:
        return _Row({names[0]: values}, when, skip)
    if isinstance(values, (tuple, list)) and len(values) == len(names):
        return _Row(dict(zip(names, values)), when, skip)
    if isinstance(values, Undecided):
        return _Row(dict.fromkeys(names, values), when, skip)
    text = scope.context.text(mark)
    raise NotDecided(Undecided(text, mark.lineno, f"values that are not {len(names)}"))


def _listed(marks: Sequence[ast.expr]) -> Iterator[ast.expr]:
    for mark in marks:
        if isinstance(mark, (ast.List, ast.Tuple)):
            yield from mark.elts
        else:
            yield mark


def _skip_of(mark: ast.expr, scope: Scope) -> Skip | None:
    """The skip that a mark makes, its condition included."""
    context = scope.context
    reason = ""
    when: tuple[str, ...] = ()
    if isinstance(mark, ast.Call):
        reason = next((context.text(k.value) for k in mark.keywords if k.arg == "reason"), "")
    if _is_mark(mark, "skipif", context) and isinstance(mark, ast.Call) and mark.args:
        value = evaluate(mark.args[0], scope)
        if isinstance(value, (Undecided, Either)):
            when = (context.text(mark.args[0]),)
        elif not value:
            return None
    elif not _is_mark(mark, "skip", context):
        return None
    return Skip(mark.lineno, reason, when)


def _marked_skip(
    function: ast.FunctionDef, marks: Sequence[ast.expr], scope: Scope
) -> tuple[Skip, ...]:
    found = (_skip_of(mark, scope) for mark in (*function.decorator_list, *marks))
    return tuple(skip for skip in found if skip is not None)


def _configurations(
    function: ast.FunctionDef, axes: Sequence[_Axis], scope: Scope, always: tuple[Skip, ...]
) -> Iterator[Configuration]:
    for rows in _products([axis.rows for axis in axes]):
        values = {name: value for row in rows for name, value in row.values.items()}
        when = tuple(dict.fromkeys(c for row in rows for c in row.when))
        skips = [*always, *(row.skip for row in rows if row.skip is not None)]
        skips += skips_of(function, values, scope)
        sure = next((skip for skip in skips if not skip.when), None)
        maybe = () if sure is not None else tuple(skips)
        yield Configuration(values, when, sure, maybe)


def _products(lists: Sequence[list[_Row]]) -> Iterator[tuple[_Row, ...]]:
    if not lists:
        yield ()
        return
    for first in lists[0]:
        for rest in _products(lists[1:]):
            yield (first, *rest)


def body_scope(function: ast.FunctionDef, values: Mapping[str, object], scope: Scope) -> Scope:
    """The scope of a test's body for one configuration; fixtures are undecided.

    `arch` is the one fixture that is known where a device is assumed.
    """
    inner = scope.inside()
    for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        inner.names[argument.arg] = Undecided(argument.arg, argument.lineno, "a fixture")
    capability = scope.context.capability
    if capability is not None and "arch" in inner.names:
        inner.names["arch"] = f"sm{capability[0]}{capability[1]}"
    inner.names.update(values)
    return inner


def skips_of(function: ast.FunctionDef, values: Mapping[str, object], scope: Scope) -> list[Skip]:
    """The skips that a configuration meets in the body of a test, up to the first sure one."""
    found: list[Skip] = []

    def visitor(visited: Visited) -> bool:
        name = dotted(visited.node.func, scope.context.imports)
        if name not in SKIPS:
            return False
        reason = visited.node.args[:1] or [
            k.value for k in visited.node.keywords if k.arg in ("reason", "msg")
        ]
        text = scope.context.text(reason[0]) if reason else ""
        found.append(Skip(visited.node.lineno, text, visited.when))
        return True

    visit_calls(function.body, body_scope(function, values, scope), visitor, SKIPS)
    return found
