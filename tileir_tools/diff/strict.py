"""The first difference between two entries, operation by operation.

Place in the flow: facts -> **findings**; imports `analyze.sequence`, `finding`, `words`. Nothing is
normalised here but names: this is the proof that two kernels are one text, where `compare` says
whether they do the same.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from ..analyze.sequence import Step, steps
from ..model import Attribute, Entry, Module, Operation, Type
from .finding import Place, place_of
from .words import say_attribute


class Difference(NamedTuple):
    """Where two entries first differ: one sentence, and both places; `number` counts operations from
    1 (0: the entry itself or a global)."""

    message: str
    number: int
    one: Place | None
    other: Place | None


def first_difference(
    one: Entry, other: Entry, one_module: Module, other_module: Module, here: str, there: str
) -> Difference | None:
    """The first operation in which two entries differ, their symbols and entry hints aside.

    `here` and `there` are what the sentence calls the kernels. None: every operation is equal, in order,
    attributes and types, and so are the globals.
    """
    difference = _globals_differ(one_module, other_module, here, there)
    if difference is not None:
        return difference
    pairs = zip_longest(steps(one, one_module), steps(other, other_module))
    for number, (left, right) in enumerate(pairs):
        if left is None or right is None:
            op = (left or right)[0]
            side = here if right is None else there
            message = f"{op.name} is only in {side}"
            return _difference(message, number, left, right)
        if left[1] != right[1]:
            message = _message(left[1], right[1], here, there)
            return _difference(message, number, left, right)
    return None


def _difference(
    message: str,
    number: int,
    one: tuple[Operation, Step] | None,
    other: tuple[Operation, Step] | None,
) -> Difference:
    places = [place_of(side[0]) if side is not None else None for side in (one, other)]
    return Difference(message, number, *places)


def _globals_differ(one: Module, other: Module, here: str, there: str) -> Difference | None:
    for left, right in zip_longest(one.globals, other.globals):
        if left is None or right is None:
            op = left or right
            message = f"global @{op.symbol} is only in {here if right is None else there}"
        elif left.attributes != right.attributes:
            message = f"global @{left.symbol} of {here} is not global @{right.symbol} of {there}"
        else:
            continue
        return Difference(message, 0, place_of(left), place_of(right))
    return None


def _message(one: Step, other: Step, here: str, there: str) -> str:
    if (one.name, one.depth) != (other.name, other.depth):
        if one.name != other.name:
            return f"{one.name} in {here}, {other.name} in {there}"
        return f"{one.name} stands in another region"
    name = one.name
    if one.text != other.text:
        return f"the text of {name}, an operation that is not known, differs"
    if one.attributes != other.attributes:
        return _attributes_differ(one, other, here, there)
    if len(one.blocks) != len(other.blocks):
        return f"{name} has {len(one.blocks)} regions in {here}, {len(other.blocks)} in {there}"
    if one.blocks != other.blocks:
        return _types_differ(_flat(one.blocks), _flat(other.blocks), _argument(name), here, there)
    if one.types != other.types:
        return _types_differ(one.types, other.types, f"result {{}} of {name}", here, there)
    if one.segments != other.segments or len(one.operands) != len(other.operands):
        return f"{name} has other operands: {len(one.operands)} in {here}, {len(other.operands)} in {there}"
    place = next(k for k, (a, b) in enumerate(zip(one.operands, other.operands)) if a != b)
    return f"operand {place} of {name} is another value"


def _argument(name: str) -> str:
    return "parameter {}" if name == "entry" else f"argument {{}} of the body of {name}"


def _flat(blocks: tuple[tuple[Type, ...], ...]) -> tuple[Type, ...]:
    return tuple([type for block in blocks for type in block])


def _attributes_differ(one: Step, other: Step, here: str, there: str) -> str:
    left: dict[str, Attribute] = dict(one.attributes)
    right: dict[str, Attribute] = dict(other.attributes)
    name = next(n for n in sorted({*left, *right}) if left.get(n) is not right.get(n))
    texts = [say_attribute(s.get(name)).replace("#cuda_tile.", "") for s in (left, right)]
    if texts[0] == texts[1]:
        return f"{name} of {one.name} differs"
    return f"{name} of {one.name} is {texts[0]} in {here} and {texts[1]} in {there}"


def _types_differ(
    one: tuple[Type, ...], other: tuple[Type, ...], what: str, here: str, there: str
) -> str:
    if len(one) != len(other):
        return f"{what.split(' {}')[0]}s: {len(one)} in {here}, {len(other)} in {there}"
    place = next((k for k, (a, b) in enumerate(zip(one, other)) if a is not b), 0)
    return f"{what.format(place)} is {one[place]} in {here} and {other[place]} in {there}"
