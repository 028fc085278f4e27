"""Where the kernel, the grid and the arguments of a launch come from.

Place in the flow: files -> values -> **facts of an operation**; imports `host`, `names`. Local names are
followed to what they are bound to, parameters to the calls in the same file, caches to what is put into them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .host import Host, local_values, reaching_values
from .names import dotted

# Names of functions that try configurations of a kernel and keep the best.
SEARCHES = ("exhaustive_search", "autotune_launch", "autotune")
_MAX_STEPS = 2000


class Origin(NamedTuple):
    """What an expression may be: names of kernels in the order of finding, and texts that lead nowhere."""

    kernels: tuple[str, ...]
    unknown: tuple[str, ...]


class Flow:
    """Follows expressions through one file.

    Args:
        host: its functions.
        kernels: names of its kernels.

    Attributes:
        searching: functions -> the calls of a search in them.
    """

    def __init__(self, host: Host, kernels: set[str]):
        self.host = host
        self.kernels = kernels
        # Looked up often: calls by the last part of their names, what is put into containers, searches.
        self._calls: dict[str, list[ast.Call]] = {}
        self._stored: dict[str, list[ast.Assign]] = {}
        for node in ast.walk(host.file.tree):
            if isinstance(node, ast.Call):
                self._calls.setdefault(ast.unparse(node.func).rpartition(".")[2], []).append(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        self._stored.setdefault(ast.unparse(target.value), []).append(node)
        self.searching = {name: self._searches(node) for name, node in host.functions.items()}

    def origin(self, node: ast.expr, function: str | None) -> Origin:
        """The kernels that an expression in a function may be."""
        kernels: dict[str, None] = {}
        unknown: dict[str, None] = {}
        seen: set[tuple[ast.AST, int | None]] = set()
        waiting: list[tuple[ast.expr, int | None, str | None]] = [(node, None, function)]
        while waiting and len(seen) < _MAX_STEPS:
            one, place, owner = waiting.pop(0)
            if (one, place) in seen:
                continue
            seen.add((one, place))
            if isinstance(one, ast.Constant) and one.value is None:
                continue
            if (
                isinstance(one, ast.Name)
                and one.id in self.kernels
                and not self._local(one.id, owner)
            ):
                kernels[one.id] = None
                continue
            sources = list(self._sources(one, place, owner))
            if not sources:
                unknown[ast.unparse(one)] = None
            waiting += sources
        return Origin(tuple(kernels), tuple(unknown))

    def _local(self, name: str, owner: str | None) -> bool:
        function = self.host.functions.get(owner or "")
        return function is not None and bool(local_values(name, function))

    def _sources(
        self, node: ast.expr, place: int | None, owner: str | None
    ) -> Iterator[tuple[ast.expr, int | None, str | None]]:
        """Expressions that a value may come from, with the place in them and the function."""
        if isinstance(node, ast.IfExp):
            yield from ((side, place, owner) for side in (node.body, node.orelse))
        elif isinstance(node, ast.BoolOp):
            yield from ((side, place, owner) for side in node.values)
        elif isinstance(node, ast.Dict):
            yield from ((value, place, owner) for value in node.values)
        elif isinstance(node, (ast.Tuple, ast.List)):
            items = node.elts if place is None else node.elts[place : place + 1]
            yield from ((item, None, owner) for item in items)
        elif isinstance(node, ast.Name):
            yield from self._of_name(node, place, owner)
        elif isinstance(node, ast.Subscript):
            yield from self._of_container(node.value, place, owner)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node, place, owner)
        elif isinstance(node, ast.Attribute):
            yield from self._of_field(node, owner)

    def _of_name(
        self, node: ast.Name, place: int | None, owner: str | None
    ) -> Iterator[tuple[ast.expr, int | None, str | None]]:
        function = self.host.functions.get(owner or "")
        name = node.id
        bound = self._bound(name, function, node) if function is not None else []
        if not bound:
            bound = self._of_module(name)
        for value, inner in bound:
            yield value, inner if inner is not None else place, owner
        if function is not None and not bound:
            yield from ((v, place, caller) for v, caller in self._passed(name, owner or ""))

    def _bound(
        self, name: str, function: ast.AST, use: ast.AST
    ) -> list[tuple[ast.expr, int | None]]:
        """What a name is bound to at a place of the file; anywhere in the function, for a place of no file."""
        if use in self.host.parents:
            return reaching_values(name, function, use, self.host)
        return local_values(name, function)

    def _of_module(self, name: str) -> list[tuple[ast.expr, int | None]]:
        return [(value, None) for value in self.host.bindings.get(name, ())]

    def _passed(self, parameter: str, owner: str) -> Iterator[tuple[ast.expr, str | None]]:
        """What callers in the file pass for a parameter."""
        function = self.host.functions[owner]
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        method = "." in owner
        if parameter not in names:
            return
        calls = list(self._calls.get(owner.rpartition(".")[2], ()))
        if method:
            applied = f"{owner.partition('.')[0]}.apply"
            calls += [c for c in self._calls.get("apply", ()) if ast.unparse(c.func) == applied]
        for call in calls:
            # `ctx` or `self` is no argument of the call.
            place = names.index(parameter) - (1 if method else 0)
            given = [k.value for k in call.keywords if k.arg == parameter]
            given = given or (call.args[place : place + 1] if place >= 0 else [])
            yield from ((value, self.host.owner(call)) for value in given)

    def _of_container(
        self, container: ast.expr, place: int | None, owner: str | None
    ) -> Iterator[tuple[ast.expr, int | None, str | None]]:
        """What a cache or table holds: what is assigned to its places, and what it is made with."""
        for node in self._stored.get(ast.unparse(container), ()):
            yield node.value, place, self.host.owner(node)
        if isinstance(container, (ast.Dict, ast.Tuple, ast.List)):
            yield container, None, owner
        elif isinstance(container, ast.Name):
            function = self.host.functions.get(owner or "")
            made = local_values(container.id, function) if function is not None else []
            for value, _ in made or self._of_module(container.id):
                if isinstance(value, (ast.Dict, ast.Tuple, ast.List)):
                    yield value, None, owner

    def _of_call(
        self, node: ast.Call, place: int | None, owner: str | None
    ) -> Iterator[tuple[ast.expr, int | None, str | None]]:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "replace_hints":
            yield function.value, place, owner
        elif isinstance(function, ast.Attribute) and function.attr in ("get", "pop", "setdefault"):
            yield from self._of_container(function.value, place, owner)
            yield from ((value, place, owner) for value in node.args[1:])
        elif isinstance(function, ast.Name) and function.id in self.host.functions:
            for returned in ast.walk(self.host.functions[function.id]):
                if isinstance(returned, ast.Return) and returned.value is not None:
                    yield returned.value, place, function.id
        else:
            # A function of another file that is given a kernel gives one back: hints replaced, cached.
            for value in (*node.args, *(k.value for k in node.keywords)):
                if self.origin_is_kernel(value):
                    yield value, None, owner

    def origin_is_kernel(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.kernels

    def _of_field(
        self, node: ast.Attribute, owner: str | None
    ) -> Iterator[tuple[ast.expr, int | None, str | None]]:
        """A field of a record: what the function that owns it passes by that name."""
        function = self.host.functions.get(owner or "")
        for call in ast.walk(function) if function is not None else ():
            if isinstance(call, ast.Call):
                yield from ((k.value, None, owner) for k in call.keywords if k.arg == node.attr)

    def followed(
        self, node: ast.expr, function: str | None, use: ast.AST | None = None
    ) -> tuple[str, ...]:
        """Texts of what an expression is: of what a local name is bound to, what a local function returns.

        `use` is a place of the file that the expression is used at.
        """
        owner = self.host.functions.get(function or "")
        if isinstance(node, ast.Name) and owner is not None:
            found = [
                ast.unparse(value if place is None else _at(value, place))
                for value, place in self._bound(node.id, owner, use or node)
            ]
            return tuple(dict.fromkeys(found)) or (node.id,)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = _inner_function(node.func.id, owner)
            if inner is not None:
                returns = [
                    n.value for n in ast.walk(inner) if isinstance(n, ast.Return) and n.value
                ]
                return tuple(dict.fromkeys(map(ast.unparse, returns))) or (ast.unparse(node),)
        return (ast.unparse(node),)

    def expressions(self, nodes: Sequence[ast.expr], function: str | None) -> list[ast.expr]:
        """Expressions of a function that others are computed from, themselves first."""
        owner = self.host.functions.get(function or "")
        found: list[ast.expr] = []
        waiting = list(nodes)
        while waiting and len(found) < _MAX_STEPS:
            one = waiting.pop(0)
            if any(one is other for other in found):
                continue
            found.append(one)
            for name in (n for n in ast.walk(one) if isinstance(n, ast.Name)):
                if owner is not None:
                    waiting += [value for value, _ in self._bound(name.id, owner, name)]
        return found

    def _searches(self, function: ast.FunctionDef) -> list[ast.Call]:
        return [n for n in ast.walk(function) if isinstance(n, ast.Call) and self.is_search(n)]

    def is_search(self, node: ast.Call) -> bool:
        name = dotted(node.func, self.host.imports) or ""
        return name.startswith("cuda.tile") and name.rpartition(".")[2] in SEARCHES


def _at(value: ast.expr, place: int) -> ast.expr:
    return ast.Subscript(value, ast.Constant(place), ast.Load())


def _inner_function(name: str, owner: ast.FunctionDef | None) -> ast.FunctionDef | None:
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == name and node is not owner:
            return node
    return None
