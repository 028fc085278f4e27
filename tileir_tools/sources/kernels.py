"""The `@ct.kernel` functions of a file: parameters, constants, operations, branches on constants.

Place in the flow: files -> values -> **facts of an operation**; imports `names`, `project`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .names import dotted
from .project import PythonFile

KERNEL = "cuda.tile.kernel"
_CONSTANT = "cuda.tile.Constant"


class ConstantBranch(NamedTuple):
    """A branch inside of a kernel on what is known when it is compiled.

    Attributes:
        function: that it stands in: the kernel, or one that it passes constants to.
        condition: its text.
        line: of it.
        parameters: constant parameters that it reads; `X.dtype` for the format of an argument.
        then_ops, else_ops: calls of cuda-tile on both sides, those in functions of the file that they call
            left out.
        differs: whether the calls, the shapes in them or what they are bound to differ, sizes included.
    """

    function: str
    condition: str
    line: int
    parameters: tuple[str, ...]
    then_ops: tuple[str, ...]
    else_ops: tuple[str, ...]
    differs: bool


class Kernel(NamedTuple):
    """A kernel.

    Attributes:
        name: of the function.
        line, end_line: from its first decorator to its end.
        options: of `@ct.kernel(..)`, name -> text.
        parameters: names in order.
        constants: parameters that are `ct.Constant`, name -> text of the type (`int`; "" where not stated).
        ops: calls of cuda-tile, in the kernel and the functions of the file that it calls, in the order of
            their first use.
        helpers: those functions.
        branches: on constants.
        made_in: the function that makes it, where it is no function of the module.
    """

    name: str
    line: int
    end_line: int
    options: dict[str, str]
    parameters: tuple[str, ...]
    constants: dict[str, str]
    ops: tuple[str, ...]
    helpers: tuple[str, ...]
    branches: tuple[ConstantBranch, ...]
    made_in: str | None


def kernels_of(file: PythonFile, imports: Mapping[str, str]) -> tuple[Kernel, ...]:
    """All kernels of a file, in order."""
    aliases = _aliases(file.tree)
    functions = {n.name: n for n in file.tree.body if isinstance(n, ast.FunctionDef)}
    found: list[Kernel] = []
    for made_in, node in _definitions(file.tree, None):
        decorator = _decorator(node, imports)
        if decorator is not None:
            found.append(_kernel(node, decorator, made_in, functions, aliases, imports))
    return tuple(sorted(found, key=lambda kernel: kernel.line))


def _definitions(
    node: ast.AST, made_in: str | None
) -> Iterator[tuple[str | None, ast.FunctionDef]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef):
            yield made_in, inner
            yield from _definitions(inner, inner.name)
        elif not isinstance(inner, ast.expr):
            yield from _definitions(inner, made_in)


def _decorator(node: ast.FunctionDef, imports: Mapping[str, str]) -> ast.expr | None:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(called, imports) == KERNEL:
            return decorator
    return None


def _aliases(tree: ast.Module) -> dict[str, ast.expr]:
    """Names of a module that are bound to an expression: `ConstInt = ct.Constant[int]`."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _kernel(
    node: ast.FunctionDef,
    decorator: ast.expr,
    made_in: str | None,
    functions: Mapping[str, ast.FunctionDef],
    aliases: Mapping[str, ast.expr],
    imports: Mapping[str, str],
) -> Kernel:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    constants: dict[str, str] = {}
    for argument in arguments:
        kind = _constant_type(argument.annotation, aliases, imports)
        if kind is not None:
            constants[argument.arg] = kind
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    helpers = tuple(_helpers(node, functions))
    bodies = [node, *(functions[name] for name in helpers)]
    statements = [statement for body in bodies for statement in body.body]
    ops = dict.fromkeys(name for one in statements for name in _calls(one, imports))
    return Kernel(
        node.name,
        min(node.lineno, *(d.lineno for d in node.decorator_list)),
        node.end_lineno or node.lineno,
        {k.arg or "**": ast.unparse(k.value) for k in keywords},
        tuple(a.arg for a in arguments),
        constants,
        tuple(ops),
        helpers,
        tuple(_all_branches(node, set(constants), functions, imports)),
        made_in,
    )


def _constant_type(
    annotation: ast.expr | None, aliases: Mapping[str, ast.expr], imports: Mapping[str, str]
) -> str | None:
    """`int` for `ct.Constant[int]`, "" for `ct.Constant`, None for what is no constant."""
    seen: set[str] = set()
    while isinstance(annotation, ast.Name) and annotation.id in aliases:
        if annotation.id in seen:
            return None
        seen.add(annotation.id)
        annotation = aliases[annotation.id]
    if isinstance(annotation, ast.Subscript) and dotted(annotation.value, imports) == _CONSTANT:
        return ast.unparse(annotation.slice)
    return "" if annotation is not None and dotted(annotation, imports) == _CONSTANT else None


def _helpers(node: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> list[str]:
    """Functions of the file that a kernel calls, directly or not."""
    found: list[str] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        for inner in ast.walk(waiting.pop(0)):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                name = inner.func.id
                if name in functions and name not in found and name != node.name:
                    found.append(name)
                    waiting.append(functions[name])
    return found


def _calls(node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """Names of the calls of cuda-tile in a node, in the order of the source."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
        name = dotted(call.func, imports) or ""
        if name.startswith("cuda.tile.") and name != KERNEL:
            yield name.removeprefix("cuda.tile.")


def _all_branches(
    node: ast.FunctionDef,
    constants: set[str],
    functions: Mapping[str, ast.FunctionDef],
    imports: Mapping[str, str],
) -> Iterator[ConstantBranch]:
    """Branches of a kernel and of the functions that it passes constants to."""
    waiting = [(node, constants)]
    seen: set[str] = set()
    while waiting:
        function, known = waiting.pop(0)
        if function.name in seen:
            continue
        seen.add(function.name)
        yield from _branches(function, known, imports)
        inside = _known_names(function, known, imports)
        for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            callee = functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if callee is not None:
                waiting.append((callee, set(_passed_constants(call, callee, inside, imports))))


def _passed_constants(
    call: ast.Call, callee: ast.FunctionDef, known: set[str], imports: Mapping[str, str]
) -> Iterator[str]:
    names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
    given = [*zip(names, call.args), *((k.arg or "", k.value) for k in call.keywords)]
    for name, value in given:
        read = _read(value, imports)
        if isinstance(value, ast.Constant) or (read and read <= known):
            yield name


def _branches(
    node: ast.FunctionDef, constants: set[str], imports: Mapping[str, str]
) -> Iterator[ConstantBranch]:
    known = _known_names(node, constants, imports)
    for inner in ast.walk(node):
        if not isinstance(inner, (ast.If, ast.IfExp)):
            continue
        read = _read(inner.test, imports)
        if not read or not all(name in known or name.endswith(".dtype") for name in read):
            continue
        then: list[ast.AST] = [*inner.body] if isinstance(inner, ast.If) else [inner.body]
        other: list[ast.AST] = [*inner.orelse] if isinstance(inner, ast.If) else [inner.orelse]
        ops = [tuple(n for one in side for n in _calls(one, imports)) for side in (then, other)]
        yield ConstantBranch(
            node.name,
            ast.unparse(inner.test),
            inner.test.lineno,
            tuple(sorted(read)),
            ops[0],
            ops[1],
            _structure(then, imports) != _structure(other, imports),
        )


def _known_names(
    node: ast.FunctionDef, constants: set[str], imports: Mapping[str, str]
) -> set[str]:
    """Constant parameters, and names that are only ever bound to something computed from them."""
    bound: dict[str, list[set[str]]] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign):
            for target in inner.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        bound.setdefault(name.id, []).append(_read(inner.value, imports))
        elif isinstance(inner, (ast.For, ast.AugAssign, ast.NamedExpr)):
            for name in ast.walk(inner.target):
                if isinstance(name, ast.Name):
                    bound.setdefault(name.id, []).append({""})
    known = set(constants)
    grown = True
    while grown:
        more = {n for n, reads in bound.items() if all(r and r <= known for r in reads)} - known
        known |= more
        grown = bool(more)
    return known


def _read(node: ast.expr, imports: Mapping[str, str]) -> set[str]:
    """Names that an expression reads; `X.dtype` as a whole, the names of modules not."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            if one.attr == "dtype":
                found.add(f"{one.value.id}.dtype")
            elif one.value.id not in imports:
                found.add(one.value.id)
        elif isinstance(one, ast.Name):
            found.add(one.id)
        else:
            waiting += ast.iter_child_nodes(one)
    return found


def _structure(side: list[ast.AST], imports: Mapping[str, str]) -> Counter[str]:
    """Calls of cuda-tile with the shapes and formats they are given."""
    found: Counter[str] = Counter()
    for one in side:
        for call in (n for n in ast.walk(one) if isinstance(n, ast.Call)):
            name = dotted(call.func, imports) or ""
            if name.startswith("cuda.tile."):
                shapes = [k for k in call.keywords if k.arg in ("shape", "dtype", "order")]
                found[f"{name}({', '.join(ast.unparse(k) for k in shapes)})"] += 1
    return found
