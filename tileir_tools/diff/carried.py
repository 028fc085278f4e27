"""The values that loops carry, in an order of their own.

Place in the flow: facts -> **findings**; imports `model`, `write.literals`. Two kernels that carry the same
values in another order do the same. The order here is that of what the values are: their types, what
they start from and what each round makes of them, never of where they stand.
"""

from __future__ import annotations

import hashlib

from ..model import Block, Entry, Operation, TokenType, Value
from ..write.literals import attribute_text

# How many operations behind an update are looked at.
_DEPTH = 8
_FIRST = {"for": 1, "loop": 0}
_BOUNDS = {"for": 3, "loop": 0}


def order_carried(entry: Entry) -> None:
    """Give every loop its carried values in that order, tokens last; inner loops first."""
    loops = [op for op in entry.walk() if op.name in _BOUNDS and op.spec is not None]
    for loop in reversed(loops):
        count = len(loop.operands) - _BOUNDS[loop.name]
        order = sorted(range(count), key=lambda place: _what(loop, place))
        if order != list(range(count)):
            _reorder(loop, order)


def _reorder(loop: Operation, order: list[int]) -> None:
    bounds, first = _BOUNDS[loop.name], _FIRST[loop.name]
    initial = loop.operands[bounds:]
    segments = (1,) * bounds + (len(initial),)
    loop.set_operands([*loop.operands[:bounds], *(initial[k] for k in order)], segments)
    block = loop.regions[0].block
    arguments = block.arguments[first:]
    block.arguments = _numbered([*block.arguments[:first], *(arguments[k] for k in order)])
    for end in _continues(loop):
        end.set_operands([end.operands[k] for k in order], (len(order),))
    if loop.name == "for":
        loop.results = _numbered([loop.results[k] for k in order])


def _numbered(values: list[Value]) -> list[Value]:
    for index, value in enumerate(values):
        value.index = index
    return values


def _continues(loop: Operation) -> list[Operation]:
    """The ends of a loop's rounds."""
    found = []
    pending = list(loop.regions[0].block.operations)
    while pending:
        op = pending.pop()
        if op.name == "continue":
            found.append(op)
        elif op.name == "if":
            pending += [inner for r in op.regions for b in r.blocks for inner in b.operations]
    return found


# -- what a carried value is -----------------------------------------------------------------------


def _what(loop: Operation, place: int) -> tuple[bool, str, list[str]]:
    """Type and start of a carried value, and what the rounds make of it."""
    argument = loop.regions[0].block.arguments[_FIRST[loop.name] + place]
    words = _Words(loop, argument)
    start = words.of(loop.operands[_BOUNDS[loop.name] + place])
    updates = sorted(words.of(end.operands[place]) for end in _continues(loop))
    return isinstance(argument.type, TokenType), f"{argument.type} {start}", updates


class _Words:
    """Values in the words of what they are computed from, seen from one carried value of a loop."""

    def __init__(self, loop: Operation, me: Value):
        self.loop = loop
        self.me = me
        self._known: dict[tuple[Value, int], str] = {}

    def of(self, value: Value, depth: int = _DEPTH) -> str:
        key = (value, depth)
        if key not in self._known:
            text = repr(self._say(value, depth))
            self._known[key] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self._known[key]

    def _say(self, value: Value, depth: int) -> object:
        if value is self.me:
            return "me"
        op = value.defining_op
        if op is None:
            return self._say_argument(value)
        if op.name == "assume":
            return self.of(op.operands[0], depth)
        said = [
            f"{n} {attribute_text(a)}" for n, a in sorted(op.attributes.items()) if n not in _HINTS
        ]
        if not depth or op.name in _BOUNDS or op.spec is None:
            return (op.name, str(value.type))
        read = [self.of(v, depth - 1) for v in op.operands if not isinstance(v.type, TokenType)]
        if "commutative" in op.spec.traits:
            read.sort()
        return (op.name, str(value.type), value.index, said, read)

    def _say_argument(self, value: Value) -> object:
        block = value.owner
        assert isinstance(block, Block)
        around = block.parent.parent if block.parent is not None else None
        if around is self.loop:
            return "index" if self.loop.name == "for" and value.index == 0 else "another one"
        return ("parameter", value.index) if isinstance(around, Entry) else str(value.type)


_HINTS = ("optimization_hints",)
