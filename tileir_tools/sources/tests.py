"""What the tests of an operation say: configurations, reference, tolerances.

Place in the flow: files -> values -> **facts of a test**; imports `project`, `bodies`, `parametrisation`,
`tolerances`, `values`.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .bodies import class_scope, module_scope
from .names import dotted
from .parametrisation import Parametrisation, parametrisation
from .project import PythonFile, depth_guarded, read_python
from .scopes import Scope
from .tolerances import DefaultTolerances, Tolerance, default_tolerances, tolerances
from .values import Conditional, Undecided, bare

# Where a project keeps its harness.
HARNESS = "tests/common.py"
_PREFERRED = ("test_perf", "test_op")


class Helper(NamedTuple):
    """A function or class of the file that a reference calls: its name, exact text and line."""

    name: str
    text: str
    line: int


class Reference(NamedTuple):
    """What results are compared with.

    Attributes:
        name: of the function or attribute.
        text: exact source, decorators included, indentation removed.
        file, line, end_line: where it stands.
        helpers: what it calls of the same file, in the order of the file.
    """

    name: str
    text: str
    file: str
    line: int
    end_line: int
    helpers: tuple[Helper, ...]


class Choices(NamedTuple):
    """A list that names backends or frameworks; those that are not always in it have conditions."""

    name: str
    items: tuple[Conditional, ...]


class TestSource(NamedTuple):
    """The tests of one operation.

    Attributes:
        path: of the file.
        class_name, line: the class whose tests call the operation; None for tests outside of classes.
        other_classes: other classes with tests in the file.
        op, perf: `test_op` and `test_perf`; None where there is none. Without `test_perf`, the
            configurations of an operation are those of `test_op`.
        others: all other tests of the class.
        choices: backends and frameworks.
        references: functions that results are compared with, `reference` first.
        tolerances: of all tests of the class.
        calls: public operations that the class calls, as they are written.
        extra_kwargs: argument -> its text, for what `extra_test_kwargs` passes.
        undecided: everything that the source alone does not say.
    """

    path: str
    class_name: str | None
    line: int
    other_classes: tuple[str, ...]
    op: Parametrisation | None
    perf: Parametrisation | None
    others: tuple[Parametrisation, ...]
    choices: tuple[Choices, ...]
    references: tuple[Reference, ...]
    tolerances: tuple[Tolerance, ...]
    calls: tuple[str, ...]
    extra_kwargs: dict[str, str]
    undecided: tuple[Undecided, ...]

    @property
    def configurations(self) -> Parametrisation | None:
        """Those to measure: of `test_perf`, else of `test_op`."""
        return self.perf or self.op


def read_tests(
    path: str,
    operation: str,
    project_root: str,
    *,
    public_names: Iterable[str] = (),
    capability: tuple[int, int] | None = None,
    backends: Collection[str] | None = None,
) -> TestSource:
    """Read the tests of an operation.

    Args:
        path: of the file, relative to the root or below it.
        operation: its name; the class whose tests call it is read.
        project_root: of the project; `tests/common.py` in it has default tolerances.
        public_names: names under which the operation is registered, where they are others.
        capability: of a device that is assumed, such as (10, 0).
        backends: that are assumed to be available, all others not; None: that stays undecided.

    Raises:
        UsageError, InputError, ParseError: the file cannot be read, or has no tests.
    """
    file = read_python(path, project_root)
    defaults = None
    if Path(project_root, HARNESS).is_file():
        defaults = default_tolerances(read_python(HARNESS, project_root))
    functions = _known_functions(defaults, capability, backends)
    with depth_guarded(file.path):
        module = module_scope(file.tree, capability, functions)
        return _tests(file, {operation, *public_names}, defaults, module)


def _known_functions(
    defaults: DefaultTolerances | None,
    capability: tuple[int, int] | None,
    backends: Collection[str] | None,
) -> dict[str, Callable[..., object]]:
    """Functions of the project that a test calls and whose answers are known."""
    known: dict[str, Callable[..., object]] = {}
    if defaults is not None:
        known["get_dtype_tolerances"] = lambda dtype: defaults.table[str(dtype)]
    if capability is not None:
        known["torch.cuda.is_available"] = lambda: True
    if backends is not None:
        known["is_backend_available"] = lambda name: name in backends
    return known


def _tests(
    file: PythonFile, names: set[str], defaults: DefaultTolerances | None, module: Scope
) -> TestSource:
    chosen, others = _chosen(file, names, module)
    if isinstance(chosen, ast.ClassDef):
        scope, body, marks = class_scope(chosen, module), chosen.body, chosen.decorator_list
    else:
        scope, body, marks = module, file.tree.body, []
    functions = [n for n in body if isinstance(n, ast.FunctionDef) and n.name.startswith("test")]
    found = [parametrisation(f, list(reversed(marks)), scope, file) for f in functions]
    by_name = {test.name: test for test in found}
    limits = [t for f, p in zip(functions, found) for t in tolerances(f, p, scope, defaults)]
    return TestSource(
        file.path,
        chosen.name if isinstance(chosen, ast.ClassDef) else None,
        chosen.lineno if isinstance(chosen, ast.ClassDef) else 1,
        others,
        by_name.get("test_op"),
        by_name.get("test_perf"),
        tuple(test for test in found if test.name not in _PREFERRED),
        tuple(_choices(scope, module)),
        tuple(_references(chosen, functions, scope, file)),
        tuple(limits),
        _whole(_operations(functions, module, names)),
        _extra_kwargs(functions, scope),
        tuple(_undecided(found, limits)),
    )


def _chosen(
    file: PythonFile, names: set[str], module: Scope
) -> tuple[ast.ClassDef | ast.Module, tuple[str, ...]]:
    """The class whose tests call the operation, and the names of the others."""
    classes = [n for n in file.tree.body if isinstance(n, ast.ClassDef) and _has_tests(n)]
    if not classes:
        return file.tree, ()

    def fitness(node: ast.ClassDef) -> tuple[bool, int]:
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        calls = any(_last(text) in names for text in _operations([node], module, names))
        return calls, sum(name in methods for name in _PREFERRED)

    best = max(classes, key=fitness)
    return best, tuple(node.name for node in classes if node is not best)


def _has_tests(node: ast.ClassDef) -> bool:
    return any(isinstance(n, ast.FunctionDef) and n.name.startswith("test") for n in node.body)


def _last(text: str) -> str:
    return text.rpartition(".")[2]


def _operations(functions: Iterable[ast.AST], module: Scope, names: set[str]) -> Iterator[str]:
    """Public operations that are called: `package.ops.NAME`, and what is imported under one of the names."""
    imports = module.context.imports
    seen: set[str] = set()
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(node, (ast.Attribute, ast.Name)):
                continue
            name = dotted(node, imports)
            if name is None or name in seen or not _is_operation(name, node, imports, names):
                continue
            seen.add(name)
            yield name


def _is_operation(name: str, node: ast.AST, imports: dict[str, str], names: set[str]) -> bool:
    parts = name.split(".")
    if isinstance(node, ast.Name):
        return node.id in imports and (parts[-1] in names or "ops" in parts[:-1])
    return "ops" in parts[:-1] and parts[0] != "torch"


def _whole(names: Iterable[str]) -> tuple[str, ...]:
    """Names that are not just the beginning of another."""
    found = list(names)
    return tuple(n for n in found if not any(other.startswith(f"{n}.") for other in found))


def _choices(scope: Scope, module: Scope) -> Iterator[Choices]:
    for where in (module, scope):
        for name, value in where.names.items():
            listed = isinstance(value, (list, tuple))
            if listed and any(word in name.lower() for word in ("backend", "framework")):
                assert isinstance(value, (list, tuple))
                yield Choices(name, tuple(Conditional(*bare(item)) for item in value))
        if scope is module:
            return


def _references(
    chosen: ast.ClassDef | ast.Module,
    functions: Iterable[ast.FunctionDef],
    scope: Scope,
    file: PythonFile,
) -> Iterator[Reference]:
    """Functions and attributes called `reference..`, else what comparisons are given as the second."""
    places = {**_bound(file.tree.body), **_bound(chosen.body)}
    named = [name for name in places if "reference" in name or name.startswith("ref_")]
    if not named:
        named = [n for n in _compared_with(functions) if n in places]
    shown: set[str] = set()
    for name in sorted(dict.fromkeys(named), key=lambda n: (n != "reference", places[n].lineno)):
        if name in shown:
            continue
        node = places[name]
        helpers = tuple(_helpers(name, places, file))
        shown |= {helper.name for helper in helpers}
        yield Reference(
            name,
            source_text(node, file),
            file.path,
            _first_line(node),
            node.end_lineno or node.lineno,
            helpers,
        )


def _bound(body: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Functions and names that statements bind."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {t.id: node for t in node.targets if isinstance(t, ast.Name)}
    return found


def _compared_with(functions: Iterable[ast.FunctionDef]) -> Iterator[str]:
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            if getattr(node.func, "attr", None) == "assertCorrectness":
                named = [k.value for k in node.keywords if k.arg == "ref_fn"]
                yield from (_last(ast.unparse(item)) for item in (*node.args[1:2], *named))


def _helpers(name: str, places: dict[str, ast.stmt], file: PythonFile) -> Iterator[Helper]:
    """Functions and classes that a function reaches by name."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        for node in ast.walk(places[waiting.pop()]):
            used = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            definition = places.get(used) if isinstance(used, str) else None
            if not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
                continue
            if used not in reached and used != name and not _is_test(definition):
                reached.add(str(used))
                waiting.append(str(used))
    for used in sorted(reached, key=lambda n: places[n].lineno):
        yield Helper(used, source_text(places[used], file), _first_line(places[used]))


def _is_test(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return _has_tests(node) if isinstance(node, ast.ClassDef) else node.name.startswith("test")


def source_text(node: ast.stmt, file: PythonFile) -> str:
    """The exact text of a statement, its decorators included, without its indentation."""
    lines = file.text.split("\n")[_first_line(node) - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _extra_kwargs(functions: Iterable[ast.FunctionDef], scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.keyword) or not isinstance(node.value, ast.Dict):
                continue
            for key, value in zip(node.value.keys, node.value.values):
                if node.arg == "extra_test_kwargs" and isinstance(key, ast.Constant):
                    found.setdefault(str(key.value), scope.context.text(value))
    return found


def _undecided(
    found: Iterable[Parametrisation], limits: Iterable[Tolerance]
) -> Iterator[Undecided]:
    seen: set[Undecided] = set()
    for value in _values(found, limits):
        if isinstance(value, Undecided) and value not in seen:
            seen.add(value)
            yield value


def _values(found: Iterable[Parametrisation], limits: Iterable[Tolerance]) -> Iterator[object]:
    for test in found:
        yield from test.undecided
        for config in test.configs:
            yield from _inside(list(config.values.values()))
    for tolerance in limits:
        yield from (tolerance.rtol, tolerance.atol)


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)) and not isinstance(value, Undecided):
        for item in value:
            yield from _inside(item)
    else:
        yield value
