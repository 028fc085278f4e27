"""Short expressions for values, and the chains that feed and follow them.

Place in the flow: Module -> **facts**; imports `model` and the printer's value names. Assumes are looked
through: they do not change a value.
"""

from __future__ import annotations

from ..model import (
    DenseElementsAttr,
    Entry,
    EnumAttr,
    Operation,
    PointerType,
    SymbolRefAttr,
    TensorViewType,
    TileType,
    Value,
    ViewType,
)
from ..write.literals import element_text
from ..write.names import Names

_INFIX = {"addi": "+", "subi": "-", "muli": "*", "addf": "+", "subf": "-", "mulf": "*"}
# Operations that only carry a value to another shape or format.
_SHAPES = frozenset(
    {"reshape", "broadcast", "permute", "extract", "cat", "exti", "trunci", "offset"}
)


def through_assumes(value: Value) -> Value:
    """The value itself, without the assumes around it."""
    op = value.defining_op
    while op is not None and op.name == "assume" and op.spec is not None:
        value = op.operands[0]
        op = value.defining_op
    return value


def constant_value(value: Value) -> int | None:
    """The integer of a scalar or splat integer constant."""
    op = through_assumes(value).defining_op
    if op is None or op.name != "constant":
        return None
    found = op.attributes["value"]
    if isinstance(found, DenseElementsAttr) and found.is_splat:
        number = found.values[0]
        return number if isinstance(number, int) else None
    return None


class Expressions:
    """Writes values of one entry as short expressions."""

    def __init__(self, entry: Entry):
        self._names = Names(entry).uses

    def name(self, value: Value) -> str:
        """The name of a value in the printed module."""
        return self._names.get(value, "%?")

    def expression(self, value: Value, depth: int = 3) -> str:
        """A value in terms of constants, arguments and block ids, as far as `depth` goes."""
        value = through_assumes(value)
        op = value.defining_op
        if op is None or depth == 0 or op.spec is None:
            return self.name(value)
        if op.name == "constant":
            return self._constant(op)
        if op.name in ("get_tile_block_id", "get_num_tile_blocks"):
            kind = "block_id" if op.name == "get_tile_block_id" else "grid_size"
            return f"{kind}.{'xyz'[value.index]}"
        inner = [self.expression(v, depth - 1) for v in op.operands]
        if op.name in _INFIX:
            return f"({inner[0]} {_INFIX[op.name]} {inner[1]})"
        if op.name == "divi":
            return f"{_division(op)}({inner[0]}, {inner[1]})"
        if op.name in ("remi", "mini", "maxi", "select", "iota", "exti"):
            name = {"remi": "mod", "mini": "min", "maxi": "max"}.get(op.name, op.name)
            return inner[0] if op.name == "exti" else f"{name}({', '.join(inner)})"
        if op.name in ("reshape", "broadcast"):
            return inner[0]
        return self.name(value)

    def _constant(self, op: Operation) -> str:
        value = op.attributes["value"]
        assert isinstance(value, DenseElementsAttr)
        if value.is_splat:
            return element_text(value.raw[0], value.type.element)
        return self.name(op.results[0])

    def base(self, value: Value) -> str | None:
        """What an address comes from: an argument, a global, an allocation."""
        value = through_assumes(value)
        while (op := value.defining_op) is not None:
            if op.name == "get_global":
                symbol = op.attributes["name"]
                return f"@{symbol.value}" if isinstance(symbol, SymbolRefAttr) else None
            pointers = [v for v in op.operands if _leads_to_memory(v)]
            if not pointers:
                break
            value = through_assumes(pointers[0])
        return self.name(value) if _leads_to_memory(value) else None


def _division(op: Operation) -> str:
    rounding = op.attribute("rounding")
    word = rounding.value if isinstance(rounding, EnumAttr) else "zero"
    return {"positive_inf": "ceildiv", "negative_inf": "floordiv"}.get(word, "div")


def _leads_to_memory(value: Value) -> bool:
    type = value.type
    if isinstance(type, (ViewType, TensorViewType)):
        return True
    return isinstance(type, TileType) and isinstance(type.element, PointerType)


def feeding_chain(value: Value, limit: int = 12) -> tuple[str, ...]:
    """What a value comes through, nearest first, back to a load, a loop or an argument.

    Conversions name their target (`ftof tf32`), loads their family.
    """
    chain: list[str] = []
    value = through_assumes(value)
    while len(chain) < limit:
        op = value.defining_op
        if op is None:
            chain.append("argument" if _is_entry_argument(value) else "loop-carried value")
            break
        chain.append(step_name(op))
        if op.name not in _SHAPES and op.name not in ("ftof", "itof", "ftoi", "bitcast"):
            break
        value = through_assumes(op.operands[0])
    return tuple(chain)


def following_chain(value: Value, limit: int = 12) -> tuple[str, ...]:
    """What happens to a value, in order, as long as one operation after the other reads it."""
    chain: list[str] = []
    while len(chain) < limit:
        readers = list(dict.fromkeys(value.users))
        if len(readers) != 1:
            if readers:
                chain.append(f"{len(readers)} uses")
            break
        op = readers[0]
        if op.name == "continue":
            chain.append("carried by the loop")
            result = _carried_result(op, value)
            if result is None or not result.users:
                break
            value = result
            continue
        chain.append(step_name(op))
        if op.name not in _SHAPES and op.name not in ("ftof", "itof", "ftoi", "bitcast", "assume"):
            break
        value = op.results[0]
    return tuple(chain)


def step_name(op: Operation) -> str:
    if op.name in ("ftof", "itof", "ftoi", "exti", "trunci", "bitcast") and op.results:
        type = op.results[0].type
        return f"{op.name} {type.element}" if isinstance(type, TileType) else op.name
    return op.name


def _is_entry_argument(value: Value) -> bool:
    owner = value.owner
    region = None if isinstance(owner, Operation) else owner.parent
    return region is not None and isinstance(region.parent, Entry)


def _carried_result(op: Operation, value: Value) -> Value | None:
    """The result of the loop that a `continue` gives a value to."""
    loop = op.parent_op
    while loop is not None and loop.name not in ("for", "loop"):
        loop = loop.parent_op
    place = next((k for k, v in enumerate(op.operands) if v is value), None)
    if loop is None or loop.name != "for" or place is None or place >= len(loop.results):
        return None
    return loop.results[place]
