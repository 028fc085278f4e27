"""What the statements of a module, a class or a function do, as far as the source says it.

Place in the flow: files -> **values** -> facts of an operation; imports `literals`, `scopes`. A condition
that is decided takes its side. One that is not takes both: what they bind is joined (`values.join`), what they
yield or return is kept with the condition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .literals import arguments, condition_text, decided, evaluate, negated
from .names import add_imports
from .scopes import Context, Function, Scope, bind
from .values import (
    Conditional,
    Either,
    NotDecided,
    Undecided,
    conditional,
    contradict,
    elements,
    join,
    same,
)

# How deep functions of a source may call each other.
_MAX_DEPTH = 40


class Visited(NamedTuple):
    """A call that is met: the node, the scope it stands in, the conditions it stands under."""

    node: ast.Call
    scope: Scope
    when: tuple[str, ...]


# Told of every call in the order of the source; True: the function ends there.
Visitor = Callable[[Visited], bool]


def module_scope(
    tree: ast.Module,
    capability: tuple[int, int] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Scope:
    """The names of a module, after all its statements.

    Args:
        tree: of the file.
        capability: what `torch.cuda.get_device_capability()` answers; None: that is undecided.
        functions: of other files, by the last part of their names, and what carries them out.
    """
    context = Context(capability)
    context.functions.update(functions or {})
    context.call = _call
    scope = Scope(context)
    for node in ast.walk(tree):
        # Imports inside of functions count too: what they bind is the same module everywhere.
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            add_imports(node, context.imports)
    _Frame(scope).run(tree.body)
    for name in _reassigned(tree) | _filled(scope):
        scope.names[name] = Undecided(name, 1, "functions change it")
    return scope


def class_scope(node: ast.ClassDef, module: Scope) -> Scope:
    """The names of a class, after its statements."""
    scope = Scope(module.context, module)
    scope.is_class = True
    _Frame(scope).run(node.body)
    return scope


def function_scope(function: Function) -> Scope:
    """A scope in which every parameter of a function is undecided, by its own name."""
    scope = function.scope.inside()
    for argument in _parameters(function.node.args):
        scope.names[argument.arg] = Undecided(argument.arg, argument.lineno, "a parameter")
    return scope


def visit_calls(
    body: Sequence[ast.stmt], scope: Scope, visitor: Visitor, wanted: Sequence[str]
) -> None:
    """Go through the statements of a function, telling of every call that is reached.

    Methods of the same class that make a call of one of the `wanted` names are gone through as well.
    """
    last = frozenset(name.rpartition(".")[2] for name in wanted)
    _Frame(scope, visitor=_Following(visitor, last)).run(body)


class _Following:
    """A visitor, and the names of calls for which methods are followed."""

    def __init__(self, visitor: Visitor, wanted: frozenset[str]):
        self.visitor = visitor
        self.wanted = wanted

    def follows(self, node: ast.FunctionDef) -> bool:
        return any(_last_name(n) in self.wanted for n in ast.walk(node) if isinstance(n, ast.Call))


def _last_name(node: ast.Call) -> str | None:
    return getattr(node.func, "attr", getattr(node.func, "id", None))


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _reassigned(tree: ast.Module) -> set[str]:
    """Names that functions bind anew."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}


def _filled(scope: Scope) -> set[str]:
    """Empty containers of a module: they are there to be filled when it runs."""
    empty: tuple[object, ...] = ({}, [])
    return {name for name, value in scope.names.items() if any(same(value, e) for e in empty)}


def _call(function: Function, args: list[object], kwargs: dict[str, object]) -> object:
    """What a function of the source gives back; of a generator, the list of what it yields."""
    context, node = function.scope.context, function.node
    if context.depth >= _MAX_DEPTH:
        raise NotDecided(Undecided("...", node.lineno, "functions call each other too deeply"))
    scope = function_scope(function)
    _bind_arguments(function, scope, args, kwargs)
    context.depth += 1
    try:
        if isinstance(node, ast.Lambda):
            return decided(node.body, scope)
        if isinstance(node, ast.AsyncFunctionDef) or node.decorator_list:
            raise NotDecided(Undecided(node.name, node.lineno, "what decorators do is not known"))
        frame = _Frame(scope)
        frame.run(node.body)
        return frame.yielded if _is_generator(node) else frame.returned_value(node)
    finally:
        context.depth -= 1


def _bind_arguments(
    function: Function, scope: Scope, args: list[object], kwargs: dict[str, object]
) -> None:
    """Bind parameters; one that is not passed and has a default has that."""
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for parameter, default in zip(reversed(positional), reversed(arguments.defaults)):
        scope.names[parameter.arg] = evaluate(default, function.scope)
    for parameter, given in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if given is not None:
            scope.names[parameter.arg] = evaluate(given, function.scope)
    known = {p.arg for p in (*positional, *arguments.kwonlyargs)}
    if len(args) > len(positional) or not known.issuperset(kwargs):
        raise NotDecided(Undecided("...", function.node.lineno, "arguments of another number"))
    for parameter, value in zip(positional, args):
        # What has the caller's names for its text means nothing in here.
        scope.names[parameter.arg] = _passed(parameter, value)
    for name, value in kwargs.items():
        scope.names[name] = _passed(next(p for p in _parameters(arguments) if p.arg == name), value)


def _passed(parameter: ast.arg, value: object) -> object:
    if isinstance(value, Undecided):
        return Undecided(parameter.arg, parameter.lineno, "a parameter")
    return value


def _is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))


class _Frame:
    """One run through statements.

    Attributes:
        path: conditions under which what follows is reached.
        yielded: what was yielded; elements with conditions are `Conditional`.
        returned: values, each with the conditions under which it is returned.
    """

    def __init__(self, scope: Scope, path: tuple[str, ...] = (), visitor: _Following | None = None):
        self.scope = scope
        self.path = path
        self.visitor = visitor
        self.yielded: list[object] = []
        self.returned: list[Conditional] = []

    def returned_value(self, node: ast.FunctionDef) -> object:
        """The value of a call. Raises NotDecided."""
        if not self.returned:
            raise NotDecided(
                Undecided(node.name, node.lineno, "it returns nothing that is decided")
            )
        if len(self.returned) == 1 and not self.returned[0].when:
            return self.returned[0].value
        values = [item.value for item in self.returned]
        if all(isinstance(value, list) for value in values):
            return [
                conditional(item, (*when, *inner))
                for value, when in self.returned
                for item, inner in elements(value)
            ]
        return Either(tuple(self.returned))

    def run(self, body: Sequence[ast.stmt]) -> str | None:
        """Run statements.

        Says how they end where that is not at their end: "return", "raise", "continue" or "break".
        """
        for statement in body:
            ended = self._statement(statement)
            if ended is not None:
                return ended
        return None

    def _statement(self, node: ast.stmt) -> str | None:
        run = _STATEMENTS.get(type(node))
        if run is not None:
            return run(self, node)
        if self.visitor is not None and not isinstance(node, _DEFINITIONS):
            for expression in ast.iter_child_nodes(node):
                if isinstance(expression, ast.expr) and self._visit(expression):
                    return "raise"
        if not isinstance(node, (*_DEFINITIONS, *_BINDING_NOTHING)):
            self._forget([node])
        return None

    def _visit(self, expression: ast.expr) -> bool:
        """Tell of the calls in an expression; whether one of them ends the function."""
        if self.visitor is None:
            return False
        calls = [n for n in ast.walk(expression) if isinstance(n, ast.Call)]
        ends = [self._tell(call, self.visitor) for call in calls]
        return any(ends)

    def _tell(self, call: ast.Call, following: _Following) -> bool:
        if following.visitor(Visited(call, self.scope, self.path)):
            return True
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            return False
        method = self.scope.attribute(function.attr)[1]
        if function.value.id != "self" or not isinstance(method, Function):
            return False
        node, context = method.node, self.scope.context
        if not isinstance(node, ast.FunctionDef) or not following.follows(node):
            return False
        scope = function_scope(method)
        try:
            args, kwargs = arguments(call, self.scope)
            first = [] if node.decorator_list else [Undecided("self", node.lineno, "an object")]
            _bind_arguments(method, scope, [*first, *args], kwargs)
        except NotDecided:
            scope = function_scope(method)
        if context.depth >= _MAX_DEPTH:
            return False
        context.depth += 1
        ended = _Frame(scope, self.path, following).run(node.body)
        context.depth -= 1
        return ended == "raise"

    def assign(self, node: ast.Assign | ast.AnnAssign) -> str | None:
        if node.value is None:
            return None
        if self._visit(node.value):
            return "raise"
        if isinstance(node.value, ast.Yield):
            self.yield_value(node.value)
            return None
        value = evaluate(node.value, self.scope)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            bind(target, value, self.scope)
            self._changed(target)
        return None

    def _changed(self, target: ast.expr) -> None:
        """`a[i] = ..` and `a.b = ..` change what `a` stands for."""
        base = target
        while isinstance(base, (ast.Subscript, ast.Attribute)):
            base = base.value
        if isinstance(base, ast.Name) and base is not target:
            self._rebind(base.id, Undecided(base.id, base.lineno, "its parts are changed"))

    def _rebind(self, name: str, value: object) -> None:
        """Bind a name anew, and every other name for the same object."""
        found, before = self.scope.find(name)
        for other, held in list(self.scope.names.items()):
            if found and held is before and isinstance(before, (list, dict)):
                self.scope.names[other] = value
        self.scope.names[name] = value

    def augmented(self, node: ast.AugAssign) -> str | None:
        if self._visit(node.value):
            return "raise"
        if not isinstance(node.target, ast.Name):
            self._changed(node.target)
            return None
        name = node.target.id
        load = ast.copy_location(ast.Name(name, ast.Load()), node)
        joint = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self._rebind(name, evaluate(joint, self.scope))
        return None

    def expression(self, node: ast.Expr) -> str | None:
        if self._visit(node.value):
            return "raise"
        value = node.value
        if isinstance(value, (ast.Yield, ast.YieldFrom)):
            self.yield_value(value)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            self._method(value, value.func)
        return None

    def yield_value(self, node: ast.Yield | ast.YieldFrom) -> None:
        """Keep what is yielded."""
        if node.value is None:
            return
        value = evaluate(node.value, self.scope)
        if isinstance(node, ast.Yield):
            self.yielded.append(conditional(value, self.path))
            return
        try:
            for item, when in elements(value):
                self.yielded.append(conditional(item, (*self.path, *when)))
        except (NotDecided, TypeError, ValueError):
            text = self.scope.context.text(node.value)
            unknown = Undecided(f"*{text}", node.lineno, "what it yields is not known")
            self.yielded.append(conditional(unknown, self.path))

    def _method(self, call: ast.Call, function: ast.Attribute) -> None:
        """`names.append(x)` and `names.extend(xs)`; any other method may change its object."""
        if not isinstance(function.value, ast.Name):
            return
        name = function.value.id
        found, value = self.scope.find(name)
        if not found or not isinstance(value, (list, dict)):
            return
        added: object = None
        if isinstance(value, list) and len(call.args) == 1 and not call.keywords:
            added = evaluate(call.args[0], self.scope)
        if function.attr == "append" and isinstance(value, list):
            self._rebind(name, [*value, added])
        elif function.attr == "extend" and isinstance(added, (list, tuple)):
            self._rebind(name, [*value, *added])
        elif function.attr not in ("get", "items", "keys", "values", "index", "count", "copy"):
            self._rebind(name, Undecided(name, call.lineno, f".{function.attr}() changes it"))

    def branch(self, node: ast.If) -> str | None:
        if self._visit(node.test):
            return "raise"
        try:
            test = decided(node.test, self.scope)
            if isinstance(test, Either):
                raise NotDecided(Undecided("...", node.lineno, "it depends on a condition"))
        except NotDecided:
            condition = condition_text(node.test, self.scope)
            return self._both(condition, node.body, node.orelse)
        return self.run(node.body if test else node.orelse)

    def _both(
        self, condition: str, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> str | None:
        then, otherwise = self._copy(condition), self._copy(negated(condition))
        ends = then.run(body), otherwise.run(orelse)
        self.yielded += then.yielded + otherwise.yielded
        self.returned += then.returned + otherwise.returned
        if all(ends):
            return ends[0] if ends[0] == ends[1] else "return"
        if any(ends):
            left = then if ends[1] else otherwise
            self.scope.names = left.scope.names
            # Who fails does not go on; who returns or goes on elsewhere chooses.
            taken = "raise" not in ends
            self.path = left.path if taken else self.path + left.path[len(self.path) + 1 :]
            return None
        self._join(condition, then, otherwise)
        return None

    def _copy(self, condition: str) -> _Frame:
        scope = Scope(self.scope.context, self.scope.parent, self.scope.owner)
        scope.is_class = self.scope.is_class
        scope.names = dict(self.scope.names)
        path = self.path if condition in self.path else (*self.path, condition)
        return _Frame(scope, path, self.visitor)

    def _join(self, condition: str, then: _Frame, otherwise: _Frame) -> None:
        """Go on with what both sides bound."""
        names: dict[str, object] = {}
        for name in {**then.scope.names, **otherwise.scope.names}:
            sides = [frame.scope.names.get(name, _MISSING) for frame in (then, otherwise)]
            if _MISSING in sides:
                names[name] = Undecided(name, 1, f"it is bound only under a condition: {condition}")
            elif any(isinstance(side, Undecided) for side in sides) and not same(*sides):
                names[name] = Undecided(name, 1, f"it depends on a condition: {condition}")
            else:
                names[name] = join(condition, negated(condition), *sides)
        self.scope.names = names
        # A side that returned under a condition of its own leaves what follows to the rest.
        for frame in (then, otherwise):
            start = len(self.path) + 1
            if len(frame.path) > start:
                rest = " and ".join(f"({c})" for c in frame.path[start:])
                self.path = (*self.path, f"not ({frame.path[start - 1]}) or ({rest})")

    def loop(self, node: ast.For) -> str | None:
        if self._visit(node.iter):
            return "raise"
        try:
            rounds = elements(decided(node.iter, self.scope))
        except (NotDecided, TypeError, ValueError):
            return self._unknown_rounds(node)
        for item, when in rounds:
            if self.scope.context.steps < 0:
                # What the other rounds would have bound is not known.
                self._forget(node.body)
                return None
            if contradict(self.path, when):
                continue
            before = self.path
            self.path = (*self.path, *(c for c in when if c not in self.path))
            bind(node.target, item, self.scope)
            ended = self.run(node.body)
            if ended == "break":
                return None
            if ended in ("return", "raise"):
                return ended
            self.path = before
        return self.run(node.orelse)

    def _unknown_rounds(self, node: ast.For | ast.While) -> str | None:
        """A loop whose rounds are not known: what it binds is undecided, what it yields stands under it."""
        text = self.scope.context.text(node.iter if isinstance(node, ast.For) else node.test)
        if isinstance(node, ast.For):
            head = f"for {self.scope.context.text(node.target)} in {text}"
            self._forget([node])
        else:
            head = f"while {text}"
        self._forget(node.body)
        inner = self._copy(head)
        inner.run(node.body)
        self.yielded += inner.yielded
        self.returned += inner.returned
        return None

    def _forget(self, body: Sequence[ast.stmt]) -> None:
        """Names that statements bind, or whose objects they change, are undecided."""
        for statement in body:
            for inner in ast.walk(statement):
                name = _changed_name(inner)
                if name is not None:
                    self._rebind(name, Undecided(name, inner.lineno, "a loop binds it"))  # type: ignore[attr-defined]

    def repeat(self, node: ast.While) -> str | None:
        if self._visit(node.test):
            return "raise"
        return self._unknown_rounds(node)

    def within(self, node: ast.With | ast.AsyncWith) -> str | None:
        for item in node.items:
            if self._visit(item.context_expr):
                return "raise"
            if item.optional_vars is not None:
                unknown = Undecided(self.scope.context.text(item.context_expr), node.lineno, "with")
                bind(item.optional_vars, unknown, self.scope)
        return self.run(node.body)

    def attempt(self, node: ast.Try) -> str | None:
        """The body runs; each handler may run instead."""
        ended = self.run(node.body)
        if ended is None:
            ended = self.run(node.orelse)
        for handler in node.handlers:
            head = self.scope.context.text(handler.type) if handler.type else "anything"
            if ended is None:
                ended = self._both(f"{head} is raised in line {node.lineno}", handler.body, [])
        finished = self.run(node.finalbody)
        return finished or ended

    def give_back(self, node: ast.Return) -> str | None:
        if node.value is not None and self._visit(node.value):
            return "raise"
        value = None if node.value is None else evaluate(node.value, self.scope)
        self.returned.append(Conditional(value, self.path))
        return "return"

    def define(self, node: ast.FunctionDef) -> str | None:
        self.scope.names[node.name] = Function(node, self.scope)
        return None

    def define_class(self, node: ast.ClassDef) -> str | None:
        self.scope.names[node.name] = Undecided(node.name, node.lineno, "a class")
        return None

    def delete(self, node: ast.Delete) -> str | None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names[target.id] = Undecided(target.id, node.lineno, "it is deleted")
            else:
                self._changed(target)
        return None


def _changed_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return node.id
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return node.value.id if isinstance(node.value, ast.Name) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changes = node.func.attr in ("append", "extend", "insert", "pop", "update", "add")
        return node.func.value.id if changes and isinstance(node.func.value, ast.Name) else None
    return None


_MISSING = Undecided("", 0, "")
_DEFINITIONS = (ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
_BINDING_NOTHING = (ast.Pass, ast.Assert, ast.Global, ast.Nonlocal)
_STATEMENTS: dict[type[ast.stmt], Callable[..., str | None]] = {
    ast.Assign: _Frame.assign,
    ast.AnnAssign: _Frame.assign,
    ast.AugAssign: _Frame.augmented,
    ast.Expr: _Frame.expression,
    ast.If: _Frame.branch,
    ast.For: _Frame.loop,
    ast.While: _Frame.repeat,
    ast.With: _Frame.within,
    ast.AsyncWith: _Frame.within,
    ast.Try: _Frame.attempt,
    ast.Return: _Frame.give_back,
    ast.FunctionDef: _Frame.define,
    ast.ClassDef: _Frame.define_class,
    ast.Delete: _Frame.delete,
    ast.Raise: lambda frame, node: "raise",
    ast.Continue: lambda frame, node: "continue",
    ast.Break: lambda frame, node: "break",
}
