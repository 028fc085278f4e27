"""Names in scope, and what they are bound to.

Place in the flow: files -> **values**, below `literals`, which says what expressions are; imports `values`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .values import Conditional, Either, Undecided, is_sequence

# Steps that reading one file may take; of TileGym's, the longest takes 150 thousand.
MAX_STEPS = 1_000_000


class Function(NamedTuple):
    """A function of the source, and the scope that it was defined in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope


class Param(NamedTuple):
    """`pytest.param(..)`: its values, its marks as they are written, the scope that they stand in."""

    values: tuple[object, ...]
    marks: tuple[ast.expr, ...]
    scope: Scope


class Context:
    """What all scopes of one file share.

    Attributes:
        imports: name -> what it stands for (`ct` -> `cuda.tile`).
        capability: of the device that is assumed, such as (10, 0); None: conditions on it stay undecided.
        steps: that are left.
        depth: of calls at the moment.
        functions: of other files that are carried out, by their full names or the last part of them.
        call: carries out a function of the source; without it calls are undecided.
    """

    def __init__(self, capability: tuple[int, int] | None = None):
        self.functions: dict[str, Callable[..., Any]] = {}
        self.imports: dict[str, str] = {}
        self.capability = capability
        self.steps = MAX_STEPS
        self.depth = 0
        self.call: Callable[[Function, list[object], dict[str, object]], object] | None = None
        self._texts: dict[ast.AST, str] = {}

    def text(self, node: ast.AST) -> str:
        """A node as Python writes it."""
        if node not in self._texts:
            try:
                self._texts[node] = ast.unparse(node)
            except RecursionError:
                self._texts[node] = "..."
        return self._texts[node]


class Scope:
    """Names and what they are bound to, and the scope around.

    Attributes:
        parent: the scope around; of a method, that around its class.
        owner: the class whose attributes `self` and `cls` have in it.
        is_class: whether it is that of a class, whose names its methods do not see by themselves.
    """

    __slots__ = ("context", "is_class", "names", "owner", "parent")

    def __init__(self, context: Context, parent: Scope | None = None, owner: Scope | None = None):
        self.context = context
        self.parent = parent
        self.owner = owner
        self.is_class = False
        self.names: dict[str, object] = {}

    def inside(self) -> Scope:
        """The scope of a function that is defined in this one."""
        return (
            Scope(self.context, self.parent, self) if self.is_class else Scope(self.context, self)
        )

    def attribute(self, name: str) -> tuple[bool, object]:
        """Whether the object of a method has an attribute, and what it is."""
        scope: Scope | None = self
        while scope is not None:
            if scope.owner is not None:
                found = name in scope.owner.names
                return found, scope.owner.names.get(name)
            scope = scope.parent
        return False, None

    def find(self, name: str) -> tuple[bool, object]:
        """Whether a name is bound, and to what."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True, scope.names[name]
            scope = scope.parent
        return False, None


def bind(target: ast.expr, value: object, scope: Scope) -> None:
    """Bind a target of an assignment or a loop; what cannot be bound gets `Undecided`."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = _parts(target, value, scope)
        for inner, part in zip(target.elts, parts):
            bind(inner, part, scope)


def _parts(target: ast.Tuple | ast.List, value: object, scope: Scope) -> Sequence[object]:
    count = len(target.elts)
    starred = any(isinstance(item, ast.Starred) for item in target.elts)
    if not starred and _has_parts(value, count):
        return value  # type: ignore[return-value]
    whole = value.alternatives if isinstance(value, Either) else ()
    if isinstance(value, Either) and not starred and all(_has_parts(a.value, count) for a in whole):
        return [_part(value, place) for place in range(count)]
    text = value.text if isinstance(value, Undecided) else scope.context.text(target)
    why = value.why if isinstance(value, Undecided) else "it is taken apart"
    line = value.line if isinstance(value, Undecided) else target.lineno
    # A part is not what the whole is: its text must not stand for it.
    return [Undecided(f"... of {text}", line, why) for _ in target.elts]


def _has_parts(value: object, count: int) -> bool:
    if not isinstance(value, (list, tuple)) or not is_sequence(value) or len(value) != count:
        return False
    return not any(isinstance(item, Conditional) for item in value)


def _part(value: Either, place: int) -> Either:
    return Either(tuple(Conditional(a.value[place], a.when) for a in value.alternatives))  # type: ignore[index]
