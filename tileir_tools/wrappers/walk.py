"""What calling a registered function of a wrapper does, in order: launches, searches, work for PyTorch.

Place in the flow: files -> **facts of a wrapper**; imports `trace`, and `host`, `work`, `autotuning` of
`sources`. Functions of the file are gone into where they are called, the function that a search tries as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..sources import Condition, Conditional, Undecided, Work
from ..sources.autotuning import configs_of
from ..sources.host import enclosing_conditions
from ..sources.names import dotted
from ..sources.scopes import Scope
from ..sources.work import work_of
from .trace import AnyFunction, Frame, Tracer, called, own_nodes, parameters

_SEARCH = ("kernel_fn", "configs", "key", "kernel_name")
_MAX_DEPTH = 30
# Calls that are gone into from one registered function; TileGym's come to seven.
_MAX_CALLS = 500


class FfiArgument(NamedTuple):
    """An argument of a call through the boundary.

    Attributes:
        parameter: of the exported function; None where the declaration does not say it.
        text, line: as it is written.
        names: what it is called on its way, as `Tracer.names` says it.
        made_of: the same with what it is described or viewed from.
        sources: what it is computed from, as `Tracer.sources` says it.
        meanings: what it says as a condition, as `Tracer.meanings` says it.
        constant: the number that it is; None for any other.
    """

    parameter: str | None
    text: str
    line: int
    names: tuple[str, ...]
    made_of: tuple[str, ...]
    sources: tuple[str, ...]
    meanings: tuple[tuple[str, bool], ...]
    constant: int | None


class Step(NamedTuple):
    """Where something is done.

    Attributes:
        root: the registered function that leads to it.
        function, line: where it stands.
        conditions: on the way from the registered function, the outermost first.
        search: the line of the search inside of whose function it is done; None outside of one.
        handles: whether it is done only after something was raised.
        way: function and line of every call from the registered function to here, this one the last.
    """

    root: str
    function: str
    line: int
    conditions: tuple[Condition, ...]
    search: int | None
    handles: bool
    way: tuple[tuple[str, int], ...]


class FfiCall(NamedTuple):
    """A launch through the boundary: the symbol that is called, and with what."""

    symbol: str
    step: Step
    arguments: tuple[FfiArgument, ...]


class KeyPart(NamedTuple):
    """A part of what a search is remembered by; fields as those of `FfiArgument`."""

    text: str
    line: int
    sources: tuple[str, ...]
    meanings: tuple[tuple[str, bool], ...]


class Search(NamedTuple):
    """A call of `autotune_launch`.

    Attributes:
        step: where it is done.
        name: text of what it is called.
        key: parts of what it remembers the best one by; None where it is not seen.
        configs: of each configuration its fields, and the conditions under which it is tried; or `Undecided`.
        makers: functions of the file that make them: the conditions under which each does, and its line.
        line: where they are handed over.
    """

    step: Step
    name: str
    key: tuple[KeyPart, ...] | None
    configs: tuple[Conditional, ...] | Undecided
    makers: tuple[tuple[tuple[Condition, ...], int], ...]
    line: int


class Done(NamedTuple):
    """Work for PyTorch on the way of a registered function.

    Attributes:
        work: what is done.
        step: where.
        used: whether the result reaches a launch.
        is_result: whether it is given the result of a search or launch.
    """

    work: Work
    step: Step
    used: bool
    is_result: bool


class Walked(NamedTuple):
    """All that calling a registered function does, in order."""

    calls: tuple[FfiCall, ...]
    searches: tuple[Search, ...]
    works: tuple[Done, ...]
    undecided: tuple[Undecided, ...]


class _Place(NamedTuple):
    """Where the walk is: the way so far."""

    conditions: tuple[Condition, ...]
    search: int | None
    handles: bool
    way: tuple[tuple[str, int], ...]


class _Seen(NamedTuple):
    """Work, before it is known what becomes of it."""

    work: Work
    step: Step
    node: ast.AST
    frame: Frame


class Walk:
    """Walks from one registered function.

    Args:
        tracer: of the file.
        module: values of its names.
        declared: symbol -> names of its parameters, as the file declares them.
        exported: symbols of `ffi.rs`.
    """

    def __init__(
        self,
        tracer: Tracer,
        module: Scope,
        declared: Mapping[str, Sequence[str]],
        exported: Sequence[str],
    ):
        self.tracer = tracer
        self.host = tracer.host
        self.module = module
        self.declared = declared
        self.exported = exported
        self.calls: list[FfiCall] = []
        self.searches: list[Search] = []
        self.undecided: list[Undecided] = []
        self._works: list[_Seen] = []
        self._active: list[AnyFunction] = []
        self._left = _MAX_CALLS
        self._root = ""

    def run(self, root: str) -> Walked:
        """All that calling a function does."""
        self._root = root
        frame = Frame(self.host.functions[root], root=True)
        self._function(frame, _Place((), None, False, ()))
        works = tuple(map(self._done, self._works))
        return Walked(tuple(self.calls), tuple(self.searches), works, tuple(self.undecided))

    def _function(self, frame: Frame, place: _Place) -> None:
        function = frame.function
        if len(place.way) > _MAX_DEPTH or function in self._active:
            return
        self._left -= 1
        if self._left == 0:
            why = "it comes to more calls than are followed"
            self.undecided.append(Undecided(self._root, function.lineno, why))
        if self._left <= 0:
            return
        self._active.append(function)
        for node in own_nodes(function):
            if isinstance(node, ast.Call):
                self._call(node, frame, place)
            if work := work_of(node, self.host.imports):
                self._work(work, node, frame, place)
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
                self._getter(node.value, frame, place)
        self._active.pop()

    def _getter(self, node: ast.Name, frame: Frame, place: _Place) -> None:
        """A registered function that returns another: that one is what is called."""
        found = self.tracer.function(node, frame)
        if found is not None and frame.root:
            self._function(Frame(found[0], outer=found[1], root=True), self._below(node, place))

    def _below(self, node: ast.AST, place: _Place) -> _Place:
        """The place of what a node calls."""
        step = self._step(node, place)
        return _Place(step.conditions, step.search, step.handles, step.way)

    def _step(self, node: ast.AST, place: _Place) -> Step:
        function, line = self.host.owner(node) or "", getattr(node, "lineno", 1)
        here = (*place.conditions, *enclosing_conditions(node, self.host))
        return Step(
            self._root,
            function,
            line,
            tuple(dict.fromkeys(here)),
            place.search,
            place.handles or self._in_handler(node),
            (*place.way, (function, line)),
        )

    def _in_handler(self, node: ast.AST) -> bool:
        above: ast.AST | None = node
        while above is not None and not isinstance(above, ast.FunctionDef):
            if isinstance(above, ast.ExceptHandler):
                return True
            above = self.host.parents.get(above)
        return False

    def _call(self, node: ast.Call, frame: Frame, place: _Place) -> None:
        name = dotted(node.func, self.host.imports) or ""
        if name.rpartition(".")[2] == "autotune_launch":
            self._search(node, frame, place)
        elif (symbol := self._symbol(node)) is not None:
            self.calls.append(
                FfiCall(symbol, self._step(node, place), self._arguments(symbol, node, frame))
            )
        elif (found := self.tracer.function(node.func, frame)) is not None:
            inner = called(node, found[0], frame, found[1], found[2])
            self._function(inner, self._below(node, place))

    def _symbol(self, node: ast.Call) -> str | None:
        """The exported function that is called, by `lib.SYMBOL(..)`."""
        if isinstance(node.func, ast.Attribute):
            symbol = node.func.attr
            return symbol if symbol in self.exported or symbol in self.declared else None
        return None

    def _arguments(self, symbol: str, node: ast.Call, frame: Frame) -> tuple[FfiArgument, ...]:
        names = self.declared.get(symbol, ())
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            why = "unpacked arguments have no places"
            self.undecided.append(Undecided(ast.unparse(node), node.lineno, why))
            return ()
        return tuple(
            FfiArgument(
                names[place] if place < len(names) else None,
                ast.unparse(argument),
                argument.lineno,
                self.tracer.names(argument, frame),
                self.tracer.names(argument, frame, made_of=True),
                self.tracer.sources(argument, frame),
                self.tracer.meanings(argument, frame),
                self.tracer.constant(argument, frame),
            )
            for place, argument in enumerate(node.args)
        )

    def _search(self, node: ast.Call, frame: Frame, place: _Place) -> None:
        given = dict(zip(_SEARCH, node.args))
        given |= {k.arg: k.value for k in node.keywords if k.arg is not None}
        step = self._step(node, place)
        function = self.host.functions.get(step.function)
        configs: tuple[Conditional, ...] | Undecided
        space = given.get("configs")
        if function is None or space is None:
            configs = Undecided(ast.unparse(node), node.lineno, "it has no search space")
        else:
            configs = configs_of(node, space, function, self.module)
        if isinstance(configs, Undecided):
            self.undecided.append(configs)
        name = ast.unparse(given["kernel_name"]) if "kernel_name" in given else ""
        key = given.get("key")
        parts = tuple(self._key(key, frame)) if key is not None else None
        makers = tuple(self._makers(space, frame)) if space is not None else ()
        line = space.lineno if space is not None else node.lineno
        self.searches.append(Search(step, name, parts, configs, makers, line))
        self._tried(given.get("kernel_fn"), node, frame, place)

    def _makers(self, space: ast.expr, frame: Frame) -> Iterator[tuple[tuple[Condition, ...], int]]:
        """The functions that make what is searched."""
        *_, (last, inner, _) = self.tracer.unfolded(space, frame)
        values = [last]
        if isinstance(last, ast.Name):
            values = [value.node for value in self.tracer.values(last.id, last, inner)[0]]
        for call in (n for value in values for n in ast.walk(value) if isinstance(n, ast.Call)):
            found = self.tracer.function(call.func, inner)
            if found is not None:
                yield enclosing_conditions(call, self.host), found[0].lineno

    def _tried(
        self, function: ast.expr | None, node: ast.Call, frame: Frame, place: _Place
    ) -> None:
        found = self.tracer.function(function, frame) if function is not None else None
        if found is None:
            why = "the function that the search tries is not in this file"
            self.undecided.append(Undecided(ast.unparse(node), node.lineno, why))
            return
        names = parameters(found[0])
        inner = Frame(found[0], outer=found[1], config=names[0] if names else None)
        self._function(inner, self._below(node, place)._replace(search=node.lineno))

    def _key(self, key: ast.expr, frame: Frame) -> Iterator[KeyPart]:
        """The parts of a key, names and calls followed to the tuple that they stand for."""
        for node, inner, _ in self.tracer.unfolded(key, frame):
            found = self.tracer.function(node.func, inner) if isinstance(node, ast.Call) else None
            if found is not None and isinstance(node, ast.Call):
                below = called(node, found[0], inner, found[1], found[2])
                returns = [n for n in own_nodes(found[0]) if isinstance(n, ast.Return) and n.value]
                if len(returns) == 1 and returns[0].value is not None:
                    yield from self._key(returns[0].value, below)
                    return
            if isinstance(node, (ast.Tuple, ast.List)):
                for part in node.elts:
                    yield self._part(part, inner)
                return
        yield self._part(key, frame)

    def _part(self, node: ast.expr, frame: Frame) -> KeyPart:
        sources = self.tracer.sources(node, frame)
        meanings = self.tracer.meanings(node, frame)
        return KeyPart(ast.unparse(node), node.lineno, sources, meanings)

    def _work(self, kind: tuple[str, str], node: ast.AST, frame: Frame, place: _Place) -> None:
        step = self._step(node, place)
        work = Work(*kind, ast.unparse(node), step.line, step.function)
        self._works.append(_Seen(work, step, node, frame))

    def _done(self, seen: _Seen) -> Done:
        """What becomes of work: whether a launch reads it, and whether it reads what a launch made."""
        mark = f"{seen.work.name}()@{seen.step.line}"
        mark = mark if mark.startswith("torch.") else f".{mark}"
        read = {source for call in self.calls for a in call.arguments for source in a.sources}
        given = (
            self.tracer.sources(seen.node, seen.frame) if isinstance(seen.node, ast.expr) else ()
        )
        searched = {f"@{search.step.line}" for search in self.searches}
        is_result = any(
            ("autotune_launch()" in source and source.endswith(tuple(searched)))
            or (source.startswith("torch.empty") and source in read and source != mark)
            for source in given
        )
        return Done(seen.work, seen.step, mark in read, is_result)
