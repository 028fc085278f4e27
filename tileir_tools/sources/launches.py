"""Launches: which kernels, on which grid, with which arguments, and on which ways they are reached.

Place in the flow: files -> values -> **facts of an operation**; imports `flow`, `host`, `kernels`, `names`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .flow import Flow
from .host import Chain, Condition, Edge, chains, enclosing_conditions
from .kernels import Kernel
from .names import dotted

_LAUNCH = "cuda.tile.launch"
_PARAMETERS = "stream grid kernel kernel_args".split()


class Argument(NamedTuple):
    """An argument of a launch.

    Attributes:
        parameter: of the kernel; None where several kernels or an unpacked tuple leave it open.
        text: as it is written.
        constant: whether the parameter is `ct.Constant`.
    """

    parameter: str | None
    text: str
    constant: bool


class Launch(NamedTuple):
    """A call of `ct.launch`.

    Attributes:
        kernels: that it may launch; several where a condition, a cache or a table chooses.
        unknown_kernels: texts that no kernel of the file was found for.
        function, line: where it stands.
        grid: texts of the grid; several where several assignments lead to it.
        arguments: of the kernel, in order.
        sizes: local names that the grid and the constant arguments are computed from -> texts of all that they
            are bound to.
        conditions: of the function, under which it is reached, the outermost first.
        chains: ways from registered functions to it, with all conditions on them (those above included).
        autotuned: whether what is launched comes out of a search.
    """

    kernels: tuple[str, ...]
    unknown_kernels: tuple[str, ...]
    function: str
    line: int
    grid: tuple[str, ...]
    arguments: tuple[Argument, ...]
    sizes: dict[str, tuple[str, ...]]
    conditions: tuple[Condition, ...]
    chains: tuple[Chain, ...]
    autotuned: bool


def launches_of(
    flow: Flow,
    kernels: Sequence[Kernel],
    starts: Sequence[str],
    edges: Sequence[Edge],
    caches: set[str],
) -> tuple[Launch, ...]:
    """All launches of a file, in order.

    Args:
        flow: of the file.
        kernels: of the file.
        starts: registered functions, from which chains begin.
        edges: who refers to whom.
        caches: names of dicts that keep what searches found.
    """
    found = []
    for call in ast.walk(flow.host.file.tree):
        if isinstance(call, ast.Call) and dotted(call.func, flow.host.imports) == _LAUNCH:
            function = flow.host.owner(call)
            if function is not None:
                found.append(_launch(call, function, flow, kernels, starts, edges, caches))
    return tuple(sorted(found, key=lambda launch: launch.line))


def _launch(
    call: ast.Call,
    function: str,
    flow: Flow,
    kernels: Sequence[Kernel],
    starts: Sequence[str],
    edges: Sequence[Edge],
    caches: set[str],
) -> Launch:
    given = dict(zip(_PARAMETERS, call.args))
    given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    nothing = ast.Constant(None)
    grid, kernel, args = (given.get(name, nothing) for name in _PARAMETERS[1:])
    origin = flow.origin(kernel, function)
    may = [k for k in kernels if k.name in origin.kernels]
    arguments = tuple(_arguments(args, function, flow, may))
    conditions = enclosing_conditions(call, flow.host)
    ways = tuple(
        chain._replace(conditions=tuple(dict.fromkeys((*chain.conditions, *conditions))))
        for chain in chains(starts, function, edges)
    )
    return Launch(
        origin.kernels,
        origin.unknown if not origin.kernels else (),
        function,
        call.lineno,
        flow.followed(grid, function),
        arguments,
        dict(_sizes(grid, arguments, function, flow)),
        conditions,
        ways,
        _is_tuned([grid, kernel, args], function, flow, caches),
    )


def _arguments(
    args: ast.expr, function: str, flow: Flow, may: Sequence[Kernel]
) -> Iterator[Argument]:
    text = flow.followed(args, function)[0]
    try:
        whole = ast.parse(text, mode="eval").body
    except SyntaxError:
        whole = args
    items = whole.elts if isinstance(whole, (ast.Tuple, ast.List)) else [ast.Starred(whole)]
    open_places = any(isinstance(item, ast.Starred) for item in items)
    signatures = {k.parameters for k in may}
    names = signatures.pop() if len(signatures) == 1 and not open_places else ()
    constants = {name for k in may for name in k.constants}
    for place, item in enumerate(items):
        name = names[place] if place < len(names) else None
        yield Argument(name, ast.unparse(item), name in constants)


def _sizes(
    grid: ast.expr, arguments: Sequence[Argument], function: str, flow: Flow
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Local names that feed the grid and the constants, and what they are bound to."""
    texts = [*flow.followed(grid, function, grid), *(a.text for a in arguments if a.constant)]
    waiting = [name for text in texts for name in _names(text)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        found = flow.followed(ast.Name(name), function, grid)
        if found != (name,):
            yield name, found
            waiting += [inner for text in found for inner in _names(text)]


def _names(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _is_tuned(nodes: Sequence[ast.expr], function: str, flow: Flow, caches: set[str]) -> bool:
    """Whether an expression comes from a search, a cache that a search fills, or a function that searches."""
    searching = {name for name, calls in flow.searching.items() if calls}
    for expression in flow.expressions(nodes, function):
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and (
                flow.is_search(node) or _named(node.func) in searching
            ):
                return True
            if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in caches:
                return True
    return False


def _named(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None
