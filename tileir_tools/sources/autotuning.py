"""Searches for the best configuration of a kernel: what they try, and what they remember it by.

Place in the flow: files -> values -> **facts of an operation**; imports `bodies`, `flow`, `host`, `literals`,
`values`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .bodies import Visited, function_scope, visit_calls
from .flow import SEARCHES, Flow
from .host import Edge, local_values, reaching_values
from .literals import evaluate
from .scopes import Function, Scope
from .values import Conditional, Namespace, NotDecided, Undecided, elements

# Parameters of `cuda.tile.tune.exhaustive_search`, in order.
_PARAMETERS = "search_space stream grid_fn kernel args_fn hints_fn".split()


class Autotune(NamedTuple):
    """A search.

    Attributes:
        function, line: where it is called.
        kernels: that it may tune.
        space: text of what it tries.
        configs: what that is: of each configuration its fields, and the conditions (of the device, of the
            problem) under which it is tried; or `Undecided`.
        grid, arguments, hints: texts, functions followed to what they return.
        cache: the name of the dict that keeps the best one; None where there is none.
        key: texts of what the cache is asked by.
    """

    function: str
    line: int
    kernels: tuple[str, ...]
    space: str
    configs: tuple[Conditional, ...] | Undecided
    grid: tuple[str, ...]
    arguments: tuple[str, ...]
    hints: tuple[str, ...]
    cache: str | None
    key: tuple[str, ...]


def autotunes_of(flow: Flow, edges: Sequence[Edge], module: Scope) -> tuple[Autotune, ...]:
    """All searches of a file, in order; `edges` say who refers to whom."""
    found = [
        _autotune(name, call, flow, edges, module)
        for name, calls in flow.searching.items()
        for call in calls
    ]
    return tuple(sorted(found, key=lambda search: search.line))


def _autotune(
    name: str, call: ast.Call, flow: Flow, edges: Sequence[Edge], module: Scope
) -> Autotune:
    given = dict(zip(_PARAMETERS, call.args))
    given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    space = given.get("search_space")
    kernel = given.get("kernel")
    cache, key = _cache(name, call, flow, edges)
    return Autotune(
        name,
        call.lineno,
        flow.origin(kernel, name).kernels if kernel is not None else (),
        ast.unparse(space) if space is not None else "",
        _configs(name, call, space, flow, module),
        _returned(given.get("grid_fn"), name, flow),
        _returned(given.get("args_fn"), name, flow),
        _returned(given.get("hints_fn"), name, flow),
        cache,
        key,
    )


def _returned(node: ast.expr | None, function: str, flow: Flow) -> tuple[str, ...]:
    """What a function that maps configurations gives, as texts."""
    if node is None:
        return ()
    if isinstance(node, ast.Lambda):
        return (ast.unparse(node.body),)
    if isinstance(node, ast.Name):
        call = ast.Call(node, [], [])
        found = flow.followed(call, function)
        if found != (ast.unparse(call),):
            return found
    return (ast.unparse(node),)


def _configs(
    name: str, call: ast.Call, space: ast.expr | None, flow: Flow, module: Scope
) -> tuple[Conditional, ...] | Undecided:
    if space is None:
        return Undecided(ast.unparse(call), call.lineno, "it has no search space")
    return configs_of(call, space, flow.host.functions[name], module)


def configs_of(
    call: ast.Call, space: ast.expr, function: ast.FunctionDef, module: Scope
) -> tuple[Conditional, ...] | Undecided:
    """What a search tries: `space`, an argument of the call, where the function has come to the call."""
    text = ast.unparse(space)
    value = evaluate(space, _scope_at(call, function, module))
    if isinstance(value, Undecided):
        return Undecided(text, space.lineno, f"{value.text}: {value.why}")
    try:
        found = tuple(Conditional(_fields(v), when) for v, when in elements(value))
    except (NotDecided, TypeError, ValueError) as error:
        return Undecided(text, space.lineno, str(error))
    return found or Undecided(text, space.lineno, "it yields nothing that is decided")


def _fields(value: object) -> object:
    return dict(value) if isinstance(value, Namespace) else value


def _scope_at(call: ast.Call, function: ast.FunctionDef, module: Scope) -> Scope:
    """The names of a function where a call in it is reached; all undecided where it is not found."""
    scope = function_scope(Function(function, module))
    found: list[Scope] = []

    def visitor(visited: Visited) -> bool:
        if visited.node is call:
            found.append(visited.scope)
        return False

    visit_calls(function.body, scope, visitor, SEARCHES)
    return found[0] if found else scope


def _cache(
    name: str, call: ast.Call, flow: Flow, edges: Sequence[Edge]
) -> tuple[str | None, tuple[str, ...]]:
    """The cache that a search fills: in its own function, the next one after it, else in one that calls it."""
    callers = [edge.caller for edge in edges if edge.callee == name]
    for function in dict.fromkeys([name, *callers]):
        filled = sorted(_filled(flow.host.functions[function]), key=lambda one: one[0].lineno)
        if function == name:
            filled = [one for one in filled if one[0].lineno >= call.lineno]
        for container, key in filled:
            return ast.unparse(container), _key_texts(key, function, flow)
    return None, ()


def _filled(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Containers that a function fills by a key and that outlive it."""
    for node in ast.walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
                base = target.value
                is_local = isinstance(base, ast.Name) and bool(local_values(base.id, function))
                if not is_local and isinstance(base, (ast.Name, ast.Attribute)):
                    yield base, target.slice


def _key_texts(key: ast.expr, function: str, flow: Flow) -> tuple[str, ...]:
    """The parts of a key: a local name is followed to its tuple, a call to what its function returns."""
    for _ in range(3):
        node = flow.host.functions[function]
        if isinstance(key, ast.Name):
            bound = reaching_values(key.id, node, key, flow.host)
            if not bound:
                break
            key = bound[0][0]
        elif isinstance(key, ast.Call) and isinstance(key.func, ast.Name):
            if key.func.id not in flow.host.functions:
                break
            function = key.func.id
            returns = [
                n for n in ast.walk(flow.host.functions[function]) if isinstance(n, ast.Return)
            ]
            if not returns or returns[0].value is None:
                break
            key = returns[0].value
    items = key.elts if isinstance(key, ast.Tuple) else [key]
    return tuple(ast.unparse(item) for item in items)
