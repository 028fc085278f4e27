"""The functions of an operation's file, who refers to whom, and under which conditions.

Place in the flow: files -> values -> **facts of an operation**; imports `literals`, `project`, `values`.
A method is called `Class.method`. What is defined inside of a function belongs to it, kernels excepted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .project import PythonFile

# The pass that a reference to a class of autograd reaches besides `forward`.
BACKWARD = "the backward pass runs"
# Ways to a launch that are listed, and steps that looking for them may take.
_MAX_CHAINS = 64
_MAX_STEPS = 5000
_MAX_WAY = 50


class Condition(NamedTuple):
    """A condition on the way to a launch: its text, whether it holds there, its line."""

    text: str
    holds: bool
    line: int


class Chain(NamedTuple):
    """A way from a registered function to a launch: functions in order, and all conditions on it."""

    functions: tuple[str, ...]
    conditions: tuple[Condition, ...]


class Edge(NamedTuple):
    """A function refers to another, under conditions."""

    caller: str
    callee: str
    conditions: tuple[Condition, ...]
    line: int


class Host(NamedTuple):
    """All functions of a file that run on the host.

    Attributes:
        file: that they stand in.
        imports: name -> what it stands for.
        functions: name -> function.
        classes: of the file.
        bindings: name -> what the statements of the module bind it to.
        parents: node -> the node that it stands in.
    """

    file: PythonFile
    imports: Mapping[str, str]
    functions: dict[str, ast.FunctionDef]
    classes: dict[str, ast.ClassDef]
    bindings: dict[str, list[ast.expr]]
    parents: dict[ast.AST, ast.AST]

    def owner(self, node: ast.AST) -> str | None:
        """The function that a node belongs to; None for a module's own statements."""
        inside: list[ast.AST] = [node]
        while (above := self.parents.get(inside[-1])) is not None:
            inside.append(above)
        for place, one in enumerate(reversed(inside)):
            if isinstance(one, ast.FunctionDef):
                above = list(reversed(inside))[place - 1]
                return f"{above.name}.{one.name}" if isinstance(above, ast.ClassDef) else one.name
        return None


def host_of(file: PythonFile, imports: Mapping[str, str], kernels: set[str]) -> Host:
    """The host functions of a file; `kernels` are the names of functions that run on the device."""
    functions: dict[str, ast.FunctionDef] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in file.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in kernels:
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            classes[node.name] = node
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    functions[f"{node.name}.{inner.name}"] = inner
    parents = {c: node for node in ast.walk(file.tree) for c in ast.iter_child_nodes(node)}
    return Host(file, imports, functions, classes, _module_bindings(file.tree), parents)


def _module_bindings(tree: ast.Module) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                assert isinstance(node, ast.Assign)
                found.setdefault(target.id, []).append(node.value)
    return found


def enclosing_conditions(node: ast.AST, host: Host) -> tuple[Condition, ...]:
    """Conditions of the function under which a node is reached, the outermost first.

    What returned before it, under a condition, counts as that condition not holding.
    """
    found: list[Condition] = []
    below = node
    while (above := host.parents.get(below)) is not None:
        found += reversed(list(_before(below, above)))
        if isinstance(above, (ast.If, ast.IfExp)) and below is not above.test:
            body = above.body if isinstance(above.body, list) else [above.body]
            holds = any(below is one for one in body)
            found.append(Condition(ast.unparse(above.test), holds, above.test.lineno))
        if isinstance(above, ast.FunctionDef) and isinstance(
            host.parents.get(above), (ast.Module, ast.ClassDef)
        ):
            break
        below = above
    return tuple(reversed(found))


def _before(below: ast.AST, above: ast.AST) -> Iterator[Condition]:
    """Conditions under which statements before this one leave the function."""
    for block in (getattr(above, name, None) for name in ("body", "orelse", "finalbody")):
        if not isinstance(block, list) or not any(below is one for one in block):
            continue
        for statement in block:
            if statement is below:
                return
            if isinstance(statement, ast.If):
                yield from _left(statement)


def _left(statement: ast.If) -> Iterator[Condition]:
    """What holds behind a statement some of whose branches return."""
    text, line = ast.unparse(statement.test), statement.test.lineno
    orelse = statement.orelse
    if isinstance(statement.body[-1], ast.Return):
        yield Condition(text, False, line)
        if len(orelse) == 1 and isinstance(orelse[0], ast.If):
            yield from _left(orelse[0])
    elif orelse and isinstance(orelse[-1], ast.Return):
        yield Condition(text, True, line)


def edges_of(host: Host) -> list[Edge]:
    """Who refers to whom, in the order of the file."""
    found: list[Edge] = []
    for caller, function in host.functions.items():
        for node in ast.walk(function):
            if not isinstance(node, (ast.Name, ast.Attribute)):
                continue
            for callee, extra in _referred(node, caller, host):
                if callee != caller:
                    conditions = (*enclosing_conditions(node, host), *extra)
                    found.append(Edge(caller, callee, conditions, node.lineno))
    return found


def _referred(
    node: ast.Name | ast.Attribute, caller: str, host: Host, seen: frozenset[str] = frozenset()
) -> Iterator[tuple[str, tuple[Condition, ...]]]:
    """The functions of the file that a name or attribute stands for; `seen` are names that led to it."""
    if isinstance(node, ast.Name):
        for value in host.bindings.get(node.id, ()):
            for inner in ast.walk(value):
                if isinstance(inner, ast.Name) and inner.id not in seen | {node.id}:
                    yield from _referred(inner, caller, host, seen | {node.id})
        above = host.parents.get(node)
        of_class = isinstance(above, ast.Attribute) and node.id in host.classes
        if node.id in host.functions and isinstance(node.ctx, ast.Load):
            yield node.id, ()
        elif node.id in host.classes and not (of_class and above.attr != "apply"):  # type: ignore[union-attr]
            yield from _of_class(node.id, node, host)
        return
    if isinstance(node.value, ast.Name):
        base = caller.partition(".")[0] if node.value.id in ("self", "cls") else node.value.id
        method = f"{base}.{node.attr}"
        if method in host.functions:
            yield method, ()


def _of_class(name: str, node: ast.AST, host: Host) -> Iterator[tuple[str, tuple[Condition, ...]]]:
    """What using a class runs: `forward`, of a base class where it has none, and what gradients need."""
    for base in _bases(name, host):
        if f"{base}.forward" in host.functions:
            yield f"{base}.forward", ()
            if f"{base}.backward" in host.functions:
                line = getattr(node, "lineno", 1)
                yield f"{base}.backward", (Condition(BACKWARD, True, line),)
            return


def _bases(name: str, host: Host) -> Iterator[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop(0)
        if one in host.classes and one not in seen:
            seen.add(one)
            yield one
            waiting += [b.id for b in host.classes[one].bases if isinstance(b, ast.Name)]


def chains(starts: Sequence[str], goal: str, edges: Sequence[Edge]) -> tuple[Chain, ...]:
    """Ways from functions to one, at most 64; conditions that stand on a way twice count once."""
    leaving: dict[str, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.caller, []).append(edge)
    useful = _leading_to(goal, edges)
    found: dict[Chain, None] = {}
    steps = 0

    def walk(at: str, way: tuple[str, ...], conditions: tuple[Condition, ...]) -> None:
        nonlocal steps
        steps += 1
        if len(found) >= _MAX_CHAINS or steps > _MAX_STEPS or len(way) > _MAX_WAY:
            return
        if at == goal:
            found.setdefault(Chain(way, tuple(dict.fromkeys(conditions))))
            return
        for edge in leaving.get(at, ()):
            if edge.callee in useful and edge.callee not in way:
                walk(edge.callee, (*way, edge.callee), (*conditions, *edge.conditions))

    for start in starts:
        if start in useful:
            walk(start, (start,), ())
    return tuple(found)


def _leading_to(goal: str, edges: Sequence[Edge]) -> set[str]:
    callers: dict[str, list[str]] = {}
    for edge in edges:
        callers.setdefault(edge.callee, []).append(edge.caller)
    found = {goal}
    waiting = [goal]
    while waiting:
        more = set(callers.get(waiting.pop(), ())) - found
        found |= more
        waiting += more
    return found


def reaching_values(
    name: str, function: ast.AST, use: ast.AST, host: Host
) -> list[tuple[ast.expr, int | None]]:
    """As `local_values`, without bindings that another one replaces on every way to a use."""
    kept: list[tuple[ast.expr, int | None]] = []
    below = use
    while below is not function and (above := host.parents.get(below)) is not None:
        if isinstance(above, (ast.For, ast.While)):
            # What a round binds is there in the next one.
            kept += local_values(name, above)
        for block in (getattr(above, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and any(below is one for one in block):
                place = next(i for i, one in enumerate(block) if below is one)
                for statement in reversed(block[:place]):
                    kept += local_values(name, statement)
                    if _binds(statement, name):
                        return _once(kept)
        below = above
    return _once(kept) if kept and below is function else local_values(name, function)


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a statement surely binds a name."""
    if isinstance(statement, ast.Assign):
        names = [n for target in statement.targets for n in ast.walk(target)]
        return any(isinstance(n, ast.Name) and n.id == name for n in names)
    if isinstance(statement, ast.If):
        return all(
            any(_binds(s, name) for s in side) for side in (statement.body, statement.orelse)
        )
    if isinstance(statement, ast.With):
        return any(_binds(s, name) for s in statement.body)
    return False


def _once(
    values: list[tuple[ast.expr, int | None]],
) -> list[tuple[ast.expr, int | None]]:
    return list(dict.fromkeys(values))


def local_values(name: str, function: ast.AST) -> list[tuple[ast.expr, int | None]]:
    """What a function binds a name to: the expressions, and the place in them where it is taken apart."""
    found: list[tuple[ast.expr, int | None]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif (
            isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign))
            and node.value is not None
        ):
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                found.append((value, None))
            elif isinstance(target, (ast.Tuple, ast.List)):
                for place, item in enumerate(target.elts):
                    if isinstance(item, ast.Name) and item.id == name:
                        found.append(_element(value, place, len(target.elts)))
    return found


def _element(value: ast.expr, place: int, count: int) -> tuple[ast.expr, int | None]:
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == count:
        return value.elts[place], None
    return value, place
