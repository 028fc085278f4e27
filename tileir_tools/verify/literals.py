"""Rules about constants and texts: elements of a constant, the format of print_tko.

Place in the flow: beside Module; imports `model`. Source of the facts: the op verifiers of the dialect
(NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import DenseElementsAttr, Operation, StringAttr
from .rules import Rule

# What ends a conversion of the format; `%S` is a wide string, `%%` a percent sign.
_CONVERSIONS = frozenset("diuoxXeEfFgGaAcsSpn%")


def _constant(op: Operation) -> Iterator[str]:
    value, result = op.attributes["value"], op.results[0].type
    assert isinstance(value, DenseElementsAttr)
    if value.type is not result:
        yield f"the elements make {value.type}, the result is {result}"
    elif len(value.raw) not in (1, value.type.elements):
        yield f"{len(value.raw)} elements do not fill {result}"


def _print(op: Operation) -> Iterator[str]:
    text = op.attributes["str"]
    assert isinstance(text, StringAttr)
    wanted = _conversions(text.value)
    given = len(op.operand_group("args"))
    if wanted is None:
        yield "the format ends inside a conversion that '%' begins"
    elif wanted != given:
        yield f"the format has {wanted} conversions, found {given} values"


def _conversions(text: str) -> int | None:
    """How many values a format prints; None where it ends inside a conversion."""
    count, place = 0, text.find("%")
    while place >= 0:
        end = next((k for k in range(place + 1, len(text)) if text[k] in _CONVERSIONS), None)
        if end is None:
            return None
        percent = text[place : end + 1] == "%%"
        count += not percent
        # The official check looks for the next '%' right behind this one, also inside a conversion.
        place = text.find("%", end + 1 if percent else place + 1)
    return count


RULES: dict[str, Rule] = {"constant": _constant, "print_tko": _print}
