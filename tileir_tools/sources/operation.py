"""What the source of an operation says: registration, kernels, launches, searches, assumptions.

Place in the flow: files -> values -> **facts of an operation**; imports `project`, `bodies`, `host`, `flow`,
`kernels`, `launches`, `autotuning`, `work`, `values`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .autotuning import Autotune, autotunes_of
from .bodies import module_scope
from .flow import Flow
from .host import Host, edges_of, host_of
from .kernels import Kernel, kernels_of
from .launches import Launch, launches_of
from .literals import evaluate
from .names import dotted, dtype_of
from .project import PythonFile, depth_guarded, read_python
from .scopes import Scope
from .values import Undecided
from .work import Work, works_of

# Methods and attributes of tensors that say, or change, how they lie in memory.
_LAYOUTS = (
    "contiguous is_contiguous transpose permute t T mT view view_as reshape unsqueeze squeeze flatten stride"
).split()


class Registration(NamedTuple):
    """`@register_impl(NAME, backend=BACKEND)`.

    Attributes:
        name, backend: as they are registered.
        function: that is registered.
        signature: text of its parameters and result.
        line: of the registration.
    """

    name: str
    backend: str
    function: str
    signature: str
    line: int


class Remark(NamedTuple):
    """An expression that assumes something: its text, its line, the function that it stands in."""

    text: str
    line: int
    function: str | None


class OperationSource(NamedTuple):
    """The source of an operation.

    Attributes:
        name: of the file.
        path: of it.
        registrations: in order.
        kernels, launches, autotunes: in order.
        ops: calls of cuda-tile in all kernels, in the order of their first use.
        dtype_gates: comparisons with number formats, on the host and in kernels.
        layouts: what is assumed of, or done to, how tensors lie in memory.
        works: what the host code makes PyTorch do: allocate, fill, copy, compute.
        elsewhere: functions of other files of the project that the operation calls; launches may hide there.
        undecided: everything that the source alone does not say.
    """

    name: str
    path: str
    registrations: tuple[Registration, ...]
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    autotunes: tuple[Autotune, ...]
    ops: tuple[str, ...]
    dtype_gates: tuple[Remark, ...]
    layouts: tuple[Remark, ...]
    works: tuple[Work, ...]
    elsewhere: tuple[str, ...]
    undecided: tuple[Undecided, ...]


def read_operation(
    path: str, project_root: str, *, capability: tuple[int, int] | None = None
) -> OperationSource:
    """Read the source of an operation.

    Args:
        path: of the file, relative to the root or below it.
        project_root: of the project.
        capability: of a device that is assumed, such as (10, 0); None: what depends on it has conditions.

    Raises:
        UsageError, InputError, ParseError: the file cannot be read.
    """
    file = read_python(path, project_root)
    with depth_guarded(file.path):
        return _operation(file, capability)


def _operation(file: PythonFile, capability: tuple[int, int] | None) -> OperationSource:
    module = module_scope(file.tree, capability)
    imports = module.context.imports
    kernels = kernels_of(file, imports)
    host = host_of(file, imports, {k.name for k in kernels})
    flow = Flow(host, {k.name for k in kernels})
    registrations = registrations_of(file, module)
    edges = edges_of(host)
    tunes = autotunes_of(flow, edges, module)
    caches = {tune.cache for tune in tunes if tune.cache is not None}
    starts = [r.function for r in registrations]
    launches = launches_of(flow, kernels, starts, edges, caches)
    return OperationSource(
        file.path.rpartition("/")[2].removesuffix(".py"),
        file.path,
        registrations,
        kernels,
        launches,
        tunes,
        tuple(dict.fromkeys(op for kernel in kernels for op in kernel.ops)),
        tuple(_dtype_gates(host)),
        tuple(_layouts(host, {k.name for k in kernels})),
        works_of(host, {k.name for k in kernels}),
        tuple(_elsewhere(host)),
        tuple(_undecided(launches, tunes, registrations)),
    )


def registrations_of(file: PythonFile, module: Scope) -> tuple[Registration, ...]:
    """What a file registers, in order; `module` has the values of its names."""
    return tuple(_registrations(file, module))


def _registrations(file: PythonFile, module: Scope) -> Iterator[Registration]:
    functions = {n.name: n for n in file.tree.body if isinstance(n, ast.FunctionDef)}
    for node in file.tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    yield from _registration(decorator, node, module)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            # register_impl("name", backend="cutile")(function)
            call = node.value
            if isinstance(call.func, ast.Call) and len(call.args) == 1:
                function = functions.get(ast.unparse(call.args[0]))
                if function is not None:
                    yield from _registration(call.func, function, module)


def _registration(
    call: ast.Call, function: ast.FunctionDef, module: Scope
) -> Iterator[Registration]:
    name = dotted(call.func, module.context.imports) or ""
    if name.rpartition(".")[2] != "register_impl":
        return
    given = dict(zip(("name", "backend"), call.args))
    given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    values = [evaluate(given[n], module) if n in given else "" for n in ("name", "backend")]
    texts = [v.text if isinstance(v, Undecided) else str(v) for v in values]
    yield Registration(texts[0], texts[1], function.name, _signature(function), call.lineno)


def _signature(function: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{function.name}({ast.unparse(function.args)}){result}"


def _dtype_gates(host: Host) -> Iterator[Remark]:
    """Comparisons one side of which is a number format, or a list of some."""
    found = [
        Remark(ast.unparse(node), node.lineno, host.owner(node))
        for node in ast.walk(host.file.tree)
        if isinstance(node, ast.Compare)
        and any(_is_dtype(side, host) for side in (node.left, *node.comparators))
    ]
    yield from sorted(set(found), key=lambda remark: (remark.line, remark.text))


def _is_dtype(node: ast.expr, host: Host) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts) and all(_is_dtype(item, host) for item in node.elts)
    return dtype_of(dotted(node, host.imports)) is not None


def _layouts(host: Host, kernels: set[str]) -> Iterator[Remark]:
    found: set[Remark] = set()
    for node in ast.walk(host.file.tree):
        if isinstance(node, ast.Attribute) and node.attr in _LAYOUTS:
            owner = host.owner(node)
            above = host.parents.get(node)
            called = isinstance(above, ast.Call) and above.func is node
            module = dotted(node.value, host.imports) in ("torch", "cuda.tile")
            if owner not in kernels and not module and (called or node.attr in ("T", "mT")):
                whole = above if called and above is not None else node
                found.add(Remark(ast.unparse(whole), node.lineno, owner))
    yield from sorted(found, key=lambda remark: (remark.line, remark.text))


def _elsewhere(host: Host) -> Iterator[str]:
    """Functions that are imported from the project and called on the host."""
    own = {name: target for name, target in host.imports.items() if target.startswith(".")}
    package = host.file.path.split("/")[1] if host.file.path.startswith("src/") else None
    for name, target in host.imports.items():
        if package is not None and target.split(".")[0] == package:
            own[name] = target
    called = {
        node.func.id
        for function in host.functions.values()
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    found = {target for name, target in own.items() if name in called}
    # Registering is no work of the operation.
    yield from sorted(t for t in found if not t.endswith(".register_impl"))


def _undecided(
    launches: tuple[Launch, ...], tunes: tuple[Autotune, ...], registered: tuple[Registration, ...]
) -> Iterator[Undecided]:
    for launch in launches:
        for text in launch.unknown_kernels:
            yield Undecided(text, launch.line, "which kernel it is")
        if registered and not launch.chains:
            why = "no way from a registered function to this launch is seen"
            yield Undecided(launch.function, launch.line, why)
    for tune in tunes:
        if isinstance(tune.configs, Undecided):
            yield tune.configs
        else:
            for config in tune.configs:
                values = config.value.values() if isinstance(config.value, dict) else [config.value]
                yield from (v for v in values if isinstance(v, Undecided))
