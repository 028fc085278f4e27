"""What is carried out of a source: functions, operators and constants, on values that the source states.

Place in the flow: files -> **values** -> facts of an operation; imports `values`. Everything here ends soon and
stays small, whatever it is given; what it refuses is a Python error, which makes the expression undecided.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from .values import (
    MAX_ITEMS,
    Conditional,
    Dtype,
    Either,
    Namespace,
    Undecided,
    conditional,
    elements,
)

# Bits that a number may have, characters that a text of one may have.
MAX_BITS = 4096
_LONGEST_NUMBER = 60


def text_of(value: object) -> str:
    """What `str` gives. Raises TypeError for what is no constant."""
    if isinstance(value, Dtype):
        return f"torch.{value}"
    if not isinstance(value, (str, int, float, bool, type(None))):
        raise TypeError(f"the text of {type(value).__name__} is not known")
    return str(value)


def _as_list(value: object = ()) -> list[object]:
    return [conditional(item, when) for item, when in elements(value)]


def _as_tuple(value: object = ()) -> object:
    items = _as_list(value)
    return items if any(isinstance(item, Conditional) for item in items) else tuple(items)


def _plain_items(value: object) -> list[Any]:
    """Elements none of which depends on a condition."""
    found = list(value) if isinstance(value, (set, frozenset)) else _as_list(value)
    if any(isinstance(item, (Conditional, Undecided, Either)) for item in found):
        raise TypeError("an element is undecided")
    return found


def _extreme(least: bool) -> Callable[..., object]:
    def found(*values: Any) -> object:
        items = _plain_items(values[0]) if len(values) == 1 else _plain_items(list(values))
        return min(items) if least else max(items)

    return found


def _product(*values: object, repeat: int = 1) -> object:
    lists = [_plain_items(value) for value in values] * repeat
    if math.prod(map(len, lists)) > MAX_ITEMS:
        raise ValueError(f"more than {MAX_ITEMS} elements")
    return list(itertools.product(*lists))


def _range(*bounds: int) -> list[int]:
    found = range(*bounds)
    if len(found) > MAX_ITEMS:
        raise ValueError(f"more than {MAX_ITEMS} elements")
    return list(found)


def _length(value: Any) -> int:
    items = list(value) if isinstance(value, (set, frozenset, str, dict)) else _as_list(value)
    if any(isinstance(item, Conditional) for item in items):
        raise TypeError("elements depend on a condition")
    return len(items)


def _integer(value: object = 0) -> int:
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        raise ValueError("a long number")
    return int(value)  # type: ignore[call-overload,no-any-return]


def _multiplied(value: object) -> object:
    found: Any = 1
    for item in _plain_items(value):
        found *= item
        if not isinstance(found, (int, float)) or (
            isinstance(found, int) and found.bit_length() > MAX_BITS
        ):
            raise ValueError("no small number")
    return found


# Functions that are carried out, by their full names.
FUNCTIONS: dict[str | None, Callable[..., Any]] = {
    "range": _range,
    "list": _as_list,
    "tuple": _as_tuple,
    "iter": _as_list,
    "set": lambda value=(): set(_plain_items(value)),
    "sorted": lambda value: sorted(_plain_items(value)),
    "reversed": lambda value: _plain_items(value)[::-1],
    "zip": lambda *values: list(zip(*map(_plain_items, values))),
    "enumerate": lambda value, start=0: list(enumerate(_plain_items(value), start)),
    "len": _length,
    "min": _extreme(True),
    "max": _extreme(False),
    "sum": lambda value: sum(_plain_items(value)),
    "abs": abs,
    "int": _integer,
    "float": lambda value=0.0: float(value),
    "bool": lambda value=False: bool(value),
    "str": text_of,
    "round": lambda value: round(value),
    "dict": dict,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.log2": math.log2,
    "math.sqrt": math.sqrt,
    "math.prod": _multiplied,
    "itertools.product": _product,
    "itertools.chain": lambda *values: [item for value in values for item in _as_list(value)],
    "types.SimpleNamespace": lambda **fields: Namespace(fields),
    "cuda.tile.cdiv": lambda a, b: -(-a // b),
}
CONSTANTS = {
    "math.inf": math.inf,
    "math.pi": math.pi,
    "math.e": math.e,
    "torch.inf": math.inf,
}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
ORDERINGS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
