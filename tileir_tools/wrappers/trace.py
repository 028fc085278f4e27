"""Where a value in the host code of a wrapper comes from, through names, calls and nested functions.

Place in the flow: files -> **facts of a wrapper**; imports `sources.host`, `sources.literals`. A `Frame` is one
call of a function: what its parameters are is known from the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..sources.host import Host, local_values, reaching_values
from ..sources.names import dotted

AnyFunction = ast.FunctionDef | ast.Lambda
_MAX_STEPS = 4000
_MAX_NAMES = 20
# Calls that give their argument back as another type.
_CASTS = ("int", "bool", "float")


class Frame:
    """One call of a function.

    Attributes:
        function: that is called; None for the statements of the module.
        passed: parameter -> what is passed, and the frame that it stands in.
        outer: the frame of the function that this one is defined in.
        config: the parameter that a search hands each configuration to.
        root: whether this is a registered function, whose parameters come from outside.
    """

    __slots__ = ("config", "function", "outer", "passed", "root")

    def __init__(
        self,
        function: AnyFunction,
        passed: dict[str, tuple[ast.expr, Frame]] | None = None,
        *,
        outer: Frame | None = None,
        config: str | None = None,
        root: bool = False,
    ):
        self.function = function
        self.passed = passed or {}
        self.outer = outer
        self.config = config
        self.root = root


class Found(NamedTuple):
    """What a name stands for: an expression and its frame, and its place where it is taken apart."""

    node: ast.expr
    frame: Frame
    place: int | None


def parameters(function: AnyFunction) -> list[str]:
    """Names of the parameters that calls fill in."""
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def called(
    call: ast.Call, function: AnyFunction, frame: Frame, outer: Frame | None, skip: int = 0
) -> Frame:
    """The frame of a call; `skip` parameters (of `forward(ctx, ..)`) are no arguments of it."""
    names = parameters(function)[skip:]
    passed = {name: (value, frame) for name, value in zip(names, call.args)}
    passed |= {k.arg: (k.value, frame) for k in call.keywords if k.arg is not None}
    return Frame(function, passed, outer=outer)


class Tracer:
    """Follows expressions of one file."""

    def __init__(self, host: Host):
        self.host = host

    def function(
        self, node: ast.expr, frame: Frame
    ) -> tuple[AnyFunction, Frame | None, int] | None:
        """The function of the file that is called by a name, its frame around, and parameters to skip."""
        if isinstance(node, ast.Lambda):
            return node, frame, 0
        if isinstance(node, ast.Attribute) and node.attr == "apply":
            method = self.host.functions.get(f"{ast.unparse(node.value)}.forward")
            return (method, None, 1) if method is not None else None
        if not isinstance(node, ast.Name):
            return None
        around: Frame | None = frame
        while around is not None:
            for inner in _functions_inside(around.function):
                if inner.name == node.id:
                    return inner, around, 0
            found = local_values(node.id, around.function)
            if found and isinstance(found[0][0], ast.Lambda):
                return found[0][0], around, 0
            around = around.outer
        top = self.host.functions.get(node.id)
        return (top, None, 0) if top is not None else None

    def values(self, name: str, use: ast.AST, frame: Frame) -> tuple[list[Found], bool]:
        """What a name may stand for at a place, and whether it may be a parameter of a registered function."""
        function: AnyFunction | None = frame.function
        around: Frame | None = frame
        while around is not None and function is not None:
            bound = [
                Found(value, around, place)
                for value, place in reaching_values(name, function, use, self.host)
                if value.lineno <= getattr(use, "lineno", value.lineno)
                and not any(inner is use for inner in ast.walk(value))
            ]
            if name in around.passed:
                value, inner_frame = around.passed[name]
                return [*bound, Found(value, inner_frame, None)], False
            if name in parameters(function):
                default = _default(name, function)
                if around.root or default is None:
                    return bound, around.root
                return [*bound, Found(default, around, None)], False
            if bound:
                return bound, False
            use = function
            around = around.outer
            function = around.function if around is not None else None
        return [Found(value, frame, None) for value in self.host.bindings.get(name, ())], False

    def is_config(self, name: str, frame: Frame) -> bool:
        """Whether a name stands for the configuration that a search hands over."""
        around: Frame | None = frame
        while around is not None:
            if around.config == name:
                return True
            if name in around.passed:
                value, inner = around.passed[name]
                return isinstance(value, ast.Name) and self.is_config(value.id, inner)
            if name in parameters(around.function):
                return False
            around = around.outer
        return False

    def sources(self, node: ast.expr, frame: Frame) -> tuple[str, ...]:
        """What an expression is computed from, in the order of finding.

        `cfg.FIELD` of a configuration, `NAME` of a parameter of a registered function, `.ATTRIBUTE` on the way,
        `NAME()@LINE` for calls of what is not in this file, `NAME` for what is bound nowhere.
        """
        found: dict[str, None] = {}
        # The frames are kept: one that is gone might give its identity to another.
        seen: dict[tuple[int, int], Frame] = {}
        waiting: list[tuple[ast.expr, Frame]] = [(node, frame)]
        while waiting and len(seen) < _MAX_STEPS:
            one, where = waiting.pop(0)
            if (id(one), id(where)) in seen:
                continue
            seen[id(one), id(where)] = where
            texts, more = self._step(one, where)
            found |= dict.fromkeys(texts)
            waiting += more
        return tuple(found)

    def _step(self, node: ast.expr, frame: Frame) -> tuple[list[str], list[tuple[ast.expr, Frame]]]:
        if isinstance(node, ast.Name):
            if self.is_config(node.id, frame):
                return ["cfg"], []
            values, from_outside = self.values(node.id, node, frame)
            texts = [node.id] if from_outside or not values else []
            return texts, [(value.node, value.frame) for value in values]
        if isinstance(node, ast.Attribute):
            field = self._field(node, frame)
            if field is not None:
                return [f"cfg.{field}"], []
            return [f".{node.attr}"], [(node.value, frame)]
        if isinstance(node, ast.Call):
            return self._of_call(node, frame)
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return [], [(child, frame) for child in children]

    def _field(self, node: ast.expr, frame: Frame) -> str | None:
        """The field of a configuration that is read: `cfg.BM`, `getattr(cfg, "BM", ..)`."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if self.is_config(node.value.id, frame) else None
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "getattr"
            and len(node.args) > 1
        ):
            base, name = node.args[:2]
            if isinstance(base, ast.Name) and isinstance(name, ast.Constant):
                return str(name.value) if self.is_config(base.id, frame) else None
        return None

    def _of_call(
        self, node: ast.Call, frame: Frame
    ) -> tuple[list[str], list[tuple[ast.expr, Frame]]]:
        field = self._field(node, frame)
        if field is not None:
            return [f"cfg.{field}"], [(value, frame) for value in node.args[2:]]
        function = self.function(node.func, frame)
        if function is not None:
            inner = called(node, function[0], frame, function[1], function[2])
            return [], [(value, inner) for value in returned(function[0])]
        given = [*node.args, *(k.value for k in node.keywords)]
        texts = []
        if isinstance(node.func, ast.Attribute) and not self._is_module(node.func):
            given.append(node.func.value)
            texts.append(f".{node.func.attr}()@{node.lineno}")
        elif ast.unparse(node.func) not in _CASTS:
            name = dotted(node.func, self.host.imports) or ast.unparse(node.func)
            texts.append(f"{name}()@{node.lineno}")
        return texts, [(value, frame) for value in given]

    def _is_module(self, node: ast.Attribute) -> bool:
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            base = base.value
        return isinstance(base, ast.Name) and base.id in self.host.imports

    def meanings(self, node: ast.expr, frame: Frame) -> tuple[tuple[str, bool], ...]:
        """Texts of what an expression says as a condition, from as it is written to where it comes from.

        Each with whether the expression is true where that holds; `1 if flag else 0` means `flag`.
        """
        return tuple((ast.unparse(one), holds) for one, _, holds in self.unfolded(node, frame))

    def unfolded(self, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame, bool]]:
        """An expression, what it stands for, what that stands for ..; as long as that is one thing."""
        holds = True
        for _ in range(50):
            node, flipped = _bare(node)
            holds = holds != flipped
            yield node, frame, holds
            if not isinstance(node, ast.Name):
                return
            values, _ = self.values(node.id, node, frame)
            if len(values) != 1 or values[0].place is not None:
                return
            node, frame = values[0].node, values[0].frame

    def names(self, node: ast.expr, frame: Frame, *, made_of: bool = False) -> tuple[str, ...]:
        """What a value is called on its way; with `made_of`, what it is described or viewed from, too.

        A tensor that torch makes out of another one is not called as that one is.
        """
        found: dict[str, None] = {}
        waiting = [(node, frame)]
        while waiting and len(found) < _MAX_NAMES:
            for one, where, _ in self.unfolded(*waiting.pop(0)):
                field = self._field(one, where)
                if isinstance(one, ast.Name) or field is not None:
                    found.setdefault(field or ast.unparse(one))
                elif isinstance(one, ast.Call) and made_of:
                    waiting += [(name, where) for name in self._named(one)]
        return tuple(found)

    def _named(self, call: ast.Call) -> list[ast.Name]:
        """The names that a call hands over as they are."""
        base: ast.expr = call
        if isinstance(call.func, ast.Attribute) and not self._is_module(call.func):
            while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
                base = base.func.value
            return [base] if isinstance(base, ast.Name) else []
        name = dotted(call.func, self.host.imports) or ""
        makes_another = name.startswith("torch.") or ast.unparse(call.func) in self.host.functions
        return [] if makes_another else [arg for arg in call.args if isinstance(arg, ast.Name)]

    def constant(self, node: ast.expr, frame: Frame) -> int | None:
        """The number that an expression surely is."""
        *_, (last, _, _) = self.unfolded(node, frame)
        try:
            value = ast.literal_eval(last)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def _functions_inside(function: AnyFunction) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node is not function:
            yield node


def _default(name: str, function: AnyFunction) -> ast.expr | None:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults))]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None]
    return next((default for parameter, default in pairs if parameter.arg == name), None)


def _bare(node: ast.expr) -> tuple[ast.expr, bool]:
    """An expression without casts and negations, and whether it is negated."""
    flipped = False
    while True:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _CASTS and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, flipped = node.operand, not flipped
        elif isinstance(node, ast.IfExp) and _chooses(node) is not None:
            flipped = flipped != (not _chooses(node))
            node = node.test
        else:
            return node, flipped


def _chooses(node: ast.IfExp) -> bool | None:
    """True for `1 if .. else 0`, False for `0 if .. else 1`, None for anything else."""
    if not isinstance(node.body, ast.Constant) or not isinstance(node.orelse, ast.Constant):
        return None
    sides = bool(node.body.value), bool(node.orelse.value)
    return sides[0] if sides[0] != sides[1] else None


def returned(function: AnyFunction) -> Sequence[ast.expr]:
    """What a function returns; what functions inside of it return is not."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    return [n.value for n in own_nodes(function) if isinstance(n, ast.Return) and n.value]


def own_nodes(function: AnyFunction) -> Iterator[ast.AST]:
    """The nodes of a function in the order of the source, without functions inside of it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += reversed(list(ast.iter_child_nodes(node)))
