"""Code that nothing needs: our own `--dce`.

Place in the flow: part of transform; imports `effects`, `rewriter`, `model`. It goes further than what
`canonicalize` drops: everything is taken for dead until an effect needs it, so that a value carried round a
loop for nothing but itself goes, and a `for` without effects whose results nobody reads. Unread `assume`s
and weak loads go too. A `loop` stays, since it may never end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..collector import without_collecting
from ..model import Block, Module, Operation, Value
from .effects import has_no_effect
from .rewriter import Rewriter

_LOOPS = frozenset({"for", "loop"})
_STRUCTURED = frozenset({"for", "loop", "if"})
_LOADS = frozenset({"load_view_tko", "load_ptr_tko"})
# How many operands of a loop stand before its initial values.
_BOUNDS = {"for": 3, "loop": 0}


@without_collecting
def dce(module: Module) -> bool:
    """Drop the dead code of every entry; see `transform.dce`."""
    changed = False
    for op in module.operations:
        if op.regions:
            needed = _Needed(op)
            changed = _sweep(op, needed) or changed
    return changed


def drop_unneeded(entry: Operation) -> bool:
    """The same for one entry, but that every load stays."""
    return _sweep(entry, _Needed(entry, loads=True))


def _operations(op: Operation) -> Iterator[Operation]:
    """The operations directly inside one."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.operations


def _ends(loop: Operation, *names: str) -> Iterator[Operation]:
    """The terminators of these names that belong to a loop, not to one inside it."""
    pending = list(_operations(loop))
    while pending:
        op = pending.pop()
        if op.name in names:
            yield op
        elif op.name == "if":
            pending += _operations(op)


def _yields(op: Operation) -> Iterator[Operation]:
    """The `yield`s of an `if`."""
    return (inner for inner in _operations(op) if inner.name == "yield")


def _is_root(op: Operation) -> bool:
    """Whether an operation is needed whoever reads it."""
    if op.name in ("assume", *_STRUCTURED, "continue", "break", "yield"):
        # A `loop` may run for ever.
        return op.name == "loop"
    if op.name in _LOADS:
        return op.keyword("memory_ordering_semantics") != "weak"
    return not has_no_effect(op)


class _Needed:
    """Which operations and values of an entry are needed, found from its effects backwards.

    `loads`: a load is needed whether somebody reads what it loads or not.
    """

    def __init__(self, entry: Operation, loads: bool = False):
        self.entry = entry
        self.operations: set[Operation] = set()
        self.values: set[Value] = set()
        self._pending: list[Value] = []
        for op in entry.walk():
            if op is not entry and (_is_root(op) or (loads and op.name in _LOADS)):
                self._operation(op)
        while self._pending:
            self._value(self._pending.pop())

    def _read(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._pending.append(value)

    def _operation(self, op: Operation | None) -> None:
        """An operation is needed: so are what it reads and what is around it."""
        while op is not None and op is not self.entry and op not in self.operations:
            self.operations.add(op)
            if op.name not in _STRUCTURED:
                # What is inside a reduction is needed as a whole.
                for inner in op.walk():
                    self.operations.add(inner)
                    self._read(inner.operands)
            elif op.name == "loop":
                self._leaving(op)
            else:
                self._read(op.operands[: 1 if op.name == "if" else 3])
                if op.name == "for":
                    self._leaving(op)
            op = op.parent_op

    def _leaving(self, loop: Operation) -> None:
        """A loop that is needed needs the branches in which it is left or goes on."""
        for end in _ends(loop, "continue", "break"):
            if end.parent_op is not loop:
                self._operation(end.parent_op)

    def _value(self, value: Value) -> None:
        op, index = value.defining_op, value.index
        if op is None:
            assert isinstance(value.owner, Block)
            assert value.owner.parent is not None
            around = value.owner.parent.parent
            if around is not None and around.name in _LOOPS:
                self._argument(around, index)
        elif op.name == "if":
            self._read(end.operands[index] for end in _yields(op))
        elif op.name == "for":
            self._carried(op, index)
        elif op.name == "loop":
            self._read(end.operands[index] for end in _ends(op, "break"))
        self._operation(op)

    def _argument(self, loop: Operation, index: int) -> None:
        self._operation(loop)
        if loop.name == "loop":
            self._carried(loop, index)
        elif index:
            self._carried(loop, index - 1)

    def _carried(self, loop: Operation, index: int) -> None:
        """A value carried round a loop: its start, and what each round makes of it."""
        self._read([loop.operands[_BOUNDS[loop.name] + index]])
        self._read(end.operands[index] for end in _ends(loop, "continue"))

    def carries(self, loop: Operation, index: int) -> bool:
        """Whether a carried value is needed inside the loop or, for a `for`, behind it."""
        argument = loop.regions[0].block.arguments[index + (loop.name == "for")]
        if argument in self.values:
            return True
        return loop.name == "for" and loop.results[index] in self.values


# -- dropping the rest ------------------------------------------------------------------------------


def _sweep(entry: Operation, needed: _Needed) -> bool:
    """Narrow what stays to what is needed of it, then erase what does not stay."""
    ops = [op for op in entry.walk() if op is not entry]
    changed = False
    for op in ops:
        if op.name in _STRUCTURED and op in needed.operations:
            changed = _narrow(op, needed) or changed
    rewriter = Rewriter()
    for op in reversed(ops):
        if op not in needed.operations and not op.terminator and op.parent is not None:
            rewriter.erase(op)
            changed = True
    rewriter.settle_all()
    return changed


def _narrow(op: Operation, needed: _Needed) -> bool:
    """Take away results and carried values that nothing needs."""
    if op.name == "if":
        return _narrow_results(op, _needed_results(op, needed), _yields(op))
    count = len(op.operands) - _BOUNDS[op.name]
    kept = [index for index in range(count) if needed.carries(op, index)]
    if len(kept) < count:
        _narrow_arguments(op, kept)
        for end in _ends(op, "continue"):
            _keep_operands(end, kept)
    results = kept if op.name == "for" else _needed_results(op, needed)
    return _narrow_results(op, results, _ends(op, "break")) or len(kept) < count


def _needed_results(op: Operation, needed: _Needed) -> list[int]:
    return [result.index for result in op.results if result in needed.values]


def _narrow_results(op: Operation, kept: list[int], ends: Iterable[Operation]) -> bool:
    if len(kept) == len(op.results):
        return False
    op.results = _numbered([op.results[index] for index in kept])
    for end in ends:
        _keep_operands(end, kept)
    return True


def _narrow_arguments(loop: Operation, kept: list[int]) -> None:
    bounds = _BOUNDS[loop.name]
    initial = [loop.operands[bounds + index] for index in kept]
    segments = (1,) * bounds + (len(kept),)
    loop.set_operands([*loop.operands[:bounds], *initial], segments)
    block = loop.regions[0].block
    first = 1 if loop.name == "for" else 0
    arguments = [block.arguments[first + index] for index in kept]
    block.arguments = _numbered([*block.arguments[:first], *arguments])


def _keep_operands(end: Operation, kept: list[int]) -> None:
    end.set_operands([end.operands[index] for index in kept], (len(kept),))


def _numbered(values: list[Value]) -> list[Value]:
    for index, value in enumerate(values):
        value.index = index
    return values
