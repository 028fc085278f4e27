"""What tests need to edit modules: which values matter, which are equal, new operations.

Independent of the differ on purpose: the mutation test asks the differ what this says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tileir_tools.dialect import OPS
from tileir_tools.model import (
    Attribute,
    Block,
    DenseElementsAttr,
    Module,
    Operation,
    TileType,
    TokenType,
    Type,
    Value,
)

LOOPS = ("for", "loop")
BODIES = ("reduce", "scan")
TERMINATORS = ("return", "break", "continue", "yield")


class Facts:
    """Which values of a module matter, and which are computed alike."""

    def __init__(self, module: Module):
        self.module = module
        self.live = _live_values(module)
        self._numbers: dict[Value, int] = {}
        self._keys: dict[object, int] = {}
        self._counts: Counter[int] | None = None

    def matters(self, op: Operation) -> bool:
        """Whether something that the kernel does depends on a result of `op`."""
        return any(v in self.live for v in op.results)

    def same(self, one: Value, other: Value) -> bool:
        """Whether two values are the same computation; assumes change nothing."""
        return self.number(one) == self.number(other)

    def computed_twice(self, op: Operation) -> bool:
        """Whether another operation of the module computes the same value."""
        if self._counts is None:
            values = [o.result for o in self.module.walk() if o.results and o.name != "assume"]
            self._counts = Counter(map(self.number, values))
        return self._counts[self.number(op.result)] > 1

    def number(self, value: Value) -> int:
        """A number that values computed alike share."""
        found = self._numbers.get(value)
        if found is None:
            key = self._key(value)
            found = key if isinstance(key, int) else self._keys.setdefault(key, len(self._keys))
            self._numbers[value] = found
        return found

    def _key(self, value: Value) -> object:
        op = value.defining_op
        if op is None or op.spec is None or op.regions:
            return ("value", id(value))
        if op.name == "assume":
            return self.number(op.operands[0])
        if not op.spec.is_pure:
            return ("value", id(value))
        if op.name in ("reshape", "broadcast"):
            source = op.operands[0]
            if source.type is value.type:
                return self.number(source)
            splat = splat_of(source)
            if splat is not None:
                return ("constant", value.type, splat)
        if op.name == "constant":
            constant = op.attributes["value"]
            assert isinstance(constant, DenseElementsAttr)
            return ("constant", value.type, constant.raw)
        numbers = [self.number(v) for v in op.operands]
        if "commutative" in op.spec.traits:
            numbers.sort()
        attributes = tuple(sorted(op.attributes.items()))
        return (op.name, value.type, value.index, tuple(numbers), attributes, op.segments)


def splat_of(value: Value) -> tuple[int, ...] | None:
    """The element that a constant repeats, looked for behind reshapes and broadcasts."""
    op = value.defining_op
    while op is not None and op.name in ("reshape", "broadcast"):
        op = op.operands[0].defining_op
    if op is None or op.name != "constant":
        return None
    constant = op.attributes["value"]
    assert isinstance(constant, DenseElementsAttr)
    return constant.raw if constant.is_splat else None


def _live_values(module: Module) -> set[Value]:
    """The values on which something that happens depends."""
    givers: dict[Operation, list[Operation]] = {}
    pending: list[Value] = []
    for op in module.walk():
        target = target_of(op)
        if target is not None:
            givers.setdefault(target, []).append(op)
        elif op.name in LOOPS:
            pending += op.operands[:3] if op.name == "for" else []
        elif op.name == "if" or op.spec is None or not (op.spec.is_pure or op.name == "assume"):
            pending += op.operands
    live: set[Value] = set()
    while pending:
        value = pending.pop()
        if value not in live:
            live.add(value)
            pending += _sources(value, givers)
    return live


def target_of(op: Operation) -> Operation | None:
    """The operation that a terminator gives values to."""
    around = op.parent_op
    if op.name == "yield":
        return around
    if op.name not in ("break", "continue"):
        return None
    while around is not None and around.name not in LOOPS:
        around = around.parent_op
    return around


def _sources(value: Value, givers: dict[Operation, list[Operation]]) -> list[Value]:
    """The values that `value` is made of."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent.parent if owner.parent else None
        if loop is None or loop.name not in LOOPS:
            return []
        place = value.index - (loop.name == "for")
        return _given(loop, place, "continue", givers) if place >= 0 else []
    if owner.name in LOOPS:
        return _given(owner, value.index, "continue" if owner.name == "for" else "break", givers)
    if owner.name == "if":
        return [op.operands[value.index] for op in givers.get(owner, ()) if op.operands]
    if owner.name in ("get_index_space_shape", "get_tensor_shape"):
        return _sizes_behind(owner.operands[0])
    if owner.spec is not None and (owner.spec.is_pure or owner.name == "assume"):
        inside = [v for op in owner.walk() if op is not owner for v in op.operands]
        return [*owner.operands, *inside]
    return []


def _sizes_behind(view: Value) -> list[Value]:
    """What the shape of a view depends on: the sizes of the tensor, not its base and strides."""
    op = view.defining_op
    while op is not None and op.name != "make_tensor_view":
        op = op.operands[0].defining_op
    return op.operand_group("dynamicShape") if op is not None else []


def _given(
    loop: Operation, place: int, terminator: str, givers: dict[Operation, list[Operation]]
) -> list[Value]:
    found = [
        op.operands[place]
        for op in givers.get(loop, ())
        if op.name == terminator and place < len(op.operands)
    ]
    if loop.name == "for" or terminator == "continue":
        found.append(loop.operand_group("initValues")[place])
    return found


def visible(op: Operation) -> Iterator[Value]:
    """The values that `op` could read, nearest first; inside reduce bodies only those inside."""
    at: Operation | None = op
    while at is not None and at.parent is not None:
        block = at.parent
        for before in reversed(block.operations[: block.operations.index(at)]):
            yield from before.results
        yield from block.arguments
        at = at.parent_op
        if at is not None and at.name in BODIES:
            return


def another(op: Operation, index: int, facts: Facts) -> Value | None:
    """A visible value of the type of an operand that is computed in another way."""
    old = op.operands[index]
    if isinstance(old.type, TokenType):
        return None
    return next((v for v in visible(op) if v.type is old.type and not facts.same(v, old)), None)


# -- new operations --------------------------------------------------------------------------------


def before(
    anchor: Operation,
    name: str,
    operands: Sequence[Value],
    types: Sequence[Type],
    attributes: dict[str, Attribute] | None = None,
    segments: tuple[int, ...] | None = None,
) -> Operation:
    """A new operation in front of `anchor`; operands are single, or all in the one group it has."""
    spec = OPS.get(name)
    if segments is None and spec is not None and not spec.single_operands:
        segments = (len(operands),)
    op = Operation(name, OPS.get(name), operands, types, attributes or {}, (), segments)
    assert anchor.parent is not None
    return anchor.parent.insert_before(anchor, op)


def unary(anchor: Operation, name: str, value: Value, **attributes: Attribute) -> Value:
    return before(anchor, name, [value], [value.type], attributes).result


def binary(anchor: Operation, name: str, a: Value, b: Value, **attributes: Attribute) -> Value:
    return before(anchor, name, [a, b], [a.type], attributes).result


def constant(anchor: Operation, type: Type, raw: int) -> Value:
    """A constant with every element at `raw` (an integer, or the bits of a float)."""
    assert isinstance(type, TileType)
    value = DenseElementsAttr(type, (raw,))
    return before(anchor, "constant", [], [type], {"value": value}).result


def replace_by(op: Operation, value: Value) -> None:
    """Let `value` take the place of an operation's first result; the operation goes."""
    op.results[0].replace_all_uses_with(value)
    op.erase()


def copy_of(op: Operation, anchor: Operation) -> Operation:
    """A copy of an operation without regions, in front of `anchor`."""
    types = [v.type for v in op.results]
    return before(anchor, op.name, op.operands, types, dict(op.attributes), op.segments)


def swap_operands(op: Operation, i: int, j: int) -> None:
    one, other = op.operands[i], op.operands[j]
    op.set_operand(i, other)
    op.set_operand(j, one)


def drop_operand(op: Operation, group: str) -> None:
    """Take the values of an optional operand group away."""
    assert op.spec is not None
    assert op.segments is not None
    index = op.spec.operand_index(group)
    start = sum(op.segments[:index])
    kept = [*op.operands[:start], *op.operands[start + op.segments[index] :]]
    op.set_operands(kept, (*op.segments[:index], 0, *op.segments[index + 1 :]))


def retype(value: Value, type: Type) -> None:
    """Give a value another type, and what loads through it or carries it in loops follows."""
    value.type = type


def next_in_block(op: Operation) -> Operation | None:
    assert op.parent is not None
    operations = op.parent.operations
    index = operations.index(op) + 1
    return operations[index] if index < len(operations) else None


def inside(op: Operation, names: tuple[str, ...]) -> bool:
    """Whether one of the operations around `op` has one of these names."""
    around = op.parent_op
    while around is not None:
        if around.name in names:
            return True
        around = around.parent_op
    return False
