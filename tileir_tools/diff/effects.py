"""Comparing what two kernels do: loads, stores, loops, branches, one pair of effects at a time.

Place in the flow: facts -> **findings**; imports `analyze`, `pair`, `values`.
"""

from __future__ import annotations

from ..analyze.dataflow import Effect
from ..model import DenseArrayAttr
from .finding import DIFFERS, EXTRA, MISSING
from .match import kind_of
from .pair import Pair
from .values import Use, Values

_MEMORY = ("load", "store", "atomic")
_TERMINATORS = ("return", "break", "continue", "yield")

# Operand group of an effect -> the rule that differences in it fall under; None: the operation decides.
_GROUP_CODES: dict[str, str | None] = {
    "index": "MEM004",
    "source": "MEM004",
    "destination": "MEM004",
    "pointers": "MEM004",
    "mask": "MEM006",
    "paddingValue": "MEM007",
    "lowerBound": "LOP002",
    "upperBound": "LOP002",
    "step": "LOP003",
}

# Attribute of an effect -> rule.
_ATTRIBUTE_CODES = {
    "memory_ordering_semantics": "MEM012",
    "memory_scope": "MEM012",
    "mode": "MEM014",
    "reduction": "MEM014",
    "unsignedCmp": "LOP002",
    "message": "DFL007",
    "str": "DFL007",
}


def compare_effects(pair: Pair, values: Values) -> None:
    """Report in what corresponding effects differ, and what has no counterpart."""
    for one, other in pair.matching.pairs:
        _compare_kind(pair, one, other)
        _compare_attributes(pair, one, other)
        _compare_operands(pair, values, one, other)
        _compare_carried(pair, values, one, other)
    _report_unmatched(pair)


def _compare_kind(pair: Pair, one: Effect, other: Effect) -> None:
    if one.name != other.name:
        code = "LOP001" if kind_of(one) == "loop" else "MEM003"
        pair.report(
            code,
            DIFFERS,
            f"{one.name} in the reference, {other.name} in the generated kernel",
            one.op,
            other.op,
        )
    if one.op.spec is None:
        _compare_opaque(pair, one, other)
    if id(one) in pair.matching.moved:
        writes = kind_of(one) in ("store", "atomic")
        code = "MEM016" if writes else "MEM015" if kind_of(one) == "load" else "LOP006"
        pair.report(
            code,
            DIFFERS,
            f"{one.name} stands at loop depth {one.depth} in the reference and at {other.depth} in "
            "the generated kernel",
            one.op,
            other.op,
        )


def _compare_opaque(pair: Pair, one: Effect, other: Effect) -> None:
    same = (one.op.opaque_text, one.op.attributes) == (other.op.opaque_text, other.op.attributes)
    if same:
        message = f"operation '{one.name}' is not known; its text is equal on both sides"
        pair.report("OPQ001", DIFFERS, message, one.op, other.op)
    else:
        message = f"operation '{one.name}' is not known; its text differs"
        pair.report("OPQ002", DIFFERS, message, one.op, other.op)


def _compare_attributes(pair: Pair, one: Effect, other: Effect) -> None:
    if one.op.spec is None or other.op.spec is None:
        return
    names = [n for n in one.op.spec.attributes if n in other.op.spec.attributes]
    extra = {*one.op.attributes, *other.op.attributes}
    names += sorted(extra - set(one.op.spec.attributes) - set(other.op.spec.attributes))
    for name in names:
        left, right = one.op.attribute(name), other.op.attribute(name)
        if left is right or name == "optimization_hints":
            continue
        if name == "inbounds":
            _compare_inbounds(pair, one, other)
            continue
        code = _ATTRIBUTE_CODES.get(name, "DFL004")
        pair.report(
            code,
            DIFFERS,
            f"{name} of {one.name} is {_word(left)} in the reference and {_word(right)} in the "
            "generated kernel",
            one.op,
            other.op,
        )


def _word(value: object) -> str:
    return "absent" if value is None else str(getattr(value, "value", "set"))


def _compare_inbounds(pair: Pair, one: Effect, other: Effect) -> None:
    left, right = _promised(one), _promised(other)
    added, lost = sorted(right - left), sorted(left - right)
    if added:
        message = f"{other.name} promises to stay inside along dimension {_list(added)}"
        pair.report("MEM010", DIFFERS, message, one.op, other.op)
    if lost:
        message = f"{other.name} does not promise to stay inside along dimension {_list(lost)}"
        pair.report("MEM011", DIFFERS, message, one.op, other.op)


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _promised(effect: Effect) -> set[int]:
    found = effect.op.attribute("inbounds")
    values = found.values if isinstance(found, DenseArrayAttr) else ()
    return {k for k, promised in enumerate(values) if promised}


def _compare_operands(pair: Pair, values: Values, one: Effect, other: Effect) -> None:
    if kind_of(one) in _MEMORY and one.name != other.name:
        # View against pointer: the operands are not comparable, what is stored is.
        _explain_stored(values, one, other)
        return
    for group in (*one.operands, *(g for g in other.operands if g not in one.operands)):
        left, right = one.operands.get(group, ()), other.operands.get(group, ())
        code = _group_code(one, group)
        if len(left) != len(right):
            _report_group_size(pair, one, other, group, len(left), len(right))
            continue
        for number, (a, b) in enumerate(zip(left, right)):
            values.explain(a, b, Use(_role(one, group, number), code, one.op, other.op))


def _group_code(effect: Effect, group: str) -> str | None:
    if effect.name == "if":
        return "LOP005"
    if effect.name in ("assert", "print_tko"):
        return "DFL007"
    if effect.op.spec is None:
        return "OPQ002"
    return _GROUP_CODES.get(group)


def _role(effect: Effect, group: str, number: int) -> str:
    if effect.name == "continue":
        return f"update of carried value {number}"
    if effect.name in ("yield", "break", "return"):
        return f"value {number} given by {effect.name}"
    if group in ("index", "args", "operands"):
        return f"{group} {number} of {effect.name}"
    return f"{group} of {effect.name}"


def _report_group_size(
    pair: Pair, one: Effect, other: Effect, group: str, left: int, right: int
) -> None:
    code = _group_code(one, group) or ("LOP006" if one.name in _TERMINATORS else "DFL003")
    if one.name == "continue":
        code = "LOP004"
    status = MISSING if left > right else EXTRA
    if {left, right} == {0, 1}:
        side = "the reference" if left else "the generated kernel"
        message = f"only {side} has a {group} on {one.name}"
    else:
        message = (
            f"{one.name} has {left} {group} in the reference and {right} in the generated kernel"
        )
    pair.report(code, status, message, one.op, other.op)


def _explain_stored(values: Values, one: Effect, other: Effect) -> None:
    for name in ("tile", "value"):
        a = one.node(name)
        if a is None:
            continue
        b = other.node("value") or other.node("tile")
        if b is not None:
            values.explain(a, b, Use(f"{name} of {one.name}", None, one.op, other.op))


def _compare_carried(pair: Pair, values: Values, one: Effect, other: Effect) -> None:
    if len(one.carried) != len(other.carried):
        pair.report(
            "LOP004",
            DIFFERS,
            f"the loop carries {len(one.carried)} values in the reference and "
            f"{len(other.carried)} in the generated kernel",
            one.op,
            other.op,
        )
    for number, (left, right) in enumerate(zip(one.carried, other.carried)):
        use = Use(f"start of carried value {number}", "LOP004", one.op, other.op)
        values.explain(left.initial, right.initial, use)


def _report_unmatched(pair: Pair) -> None:
    for effects, status in ((pair.matching.missing, MISSING), (pair.matching.extra, EXTRA)):
        unmatched = {id(e) for e in effects}
        for effect in effects:
            if effect.parent is not None and id(effect.parent) in unmatched:
                continue
            code = _unmatched_code(effect, status)
            if status == MISSING:
                message = f"{effect.name} of the reference is missing in the generated kernel"
                pair.report(code, status, message, effect.op, None)
            else:
                message = f"{effect.name} of the generated kernel is not in the reference"
                pair.report(code, status, message, None, effect.op)


def _unmatched_code(effect: Effect, status: str) -> str:
    if effect.name in ("for", "loop"):
        return "LOP001"
    if effect.name == "if":
        return "LOP005"
    if effect.name in _TERMINATORS:
        return "LOP006"
    if effect.name == "assert":
        return "DFL007" if status == MISSING else "DFL008"
    if effect.name == "print_tko":
        return "DFL007"
    if effect.op.spec is None:
        return "OPQ002"
    return "MEM001" if status == MISSING else "MEM002"
