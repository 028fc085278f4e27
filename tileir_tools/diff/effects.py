"""Comparing what two kernels do: loads, stores, loops, branches, one pair of effects at a time.

Place in the flow: facts -> **findings**; imports `analyze`, `pair`, `values`, `viewtypes`, `words`.
"""

from __future__ import annotations

from itertools import chain

from ..analyze.dataflow import Effect, plain_text
from ..model import DenseArrayAttr, Operation
from .finding import DIFFERS, EXTRA, MISSING, SEMANTIC_EQUIV
from .match import kind_of
from .pair import Pair
from .values import Use, Values
from .viewtypes import same_addresses, widened
from .words import say_attribute

_TERMINATORS = ("return", "break", "continue", "yield")

# Operand group of an effect -> the rule that differences in it fall under; None: what differs
# decides.
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
        if kind_of(one) == "loop" and one.name != other.name:
            text = f"`{one.name}` in the reference, `{other.name}` in the generated kernel"
            pair.report("LOP001", DIFFERS, text, one.op, other.op)
            # Bounds and carried values of a `for` and a `loop` cannot be compared.
            continue
        if one.name != other.name:
            code = "LOP006" if one.op.terminator else "MEM003"
            text = f"{one.name} in the reference, {other.name} in the generated kernel"
            pair.report(code, DIFFERS, text, one.op, other.op)
            _misplace_around(pair, one, code)
        if one.op.spec is None:
            _compare_opaque(pair, one, other)
        _compare_attributes(pair, one, other)
        _compare_operands(pair, values, one, other)
        _compare_results(pair, one, other)
        _compare_carried(pair, values, one, other)
    _note_unknown_in_bodies(pair)
    values.swizzles.report()
    _report_unmatched(pair)


def _note_unknown_in_bodies(pair: Pair) -> None:
    """Unknown operations in the bodies of reductions are part of values; they are noted here."""
    ours = {e.op for e in pair.reference.every_effect()}
    for op in pair.reference.entry.walk():
        if op.spec is None and op not in ours:
            text = f"operation '{op.name}' is not known; it is compared by its text"
            pair.report("OPQ001", DIFFERS, text, op, None)


def _compare_opaque(pair: Pair, one: Effect, other: Effect) -> None:
    def contents(op: Operation) -> tuple[object, ...]:
        return plain_text(op), op.attributes, [v.type for v in op.results]

    if contents(one.op) == contents(other.op):
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
            f"{name} of {one.name} is {say_attribute(left)} in the reference and "
            f"{say_attribute(right)} in the generated kernel",
            one.op,
            other.op,
        )


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
    if one.name in ("break", "continue") and not _ends_alike(pair, one, other):
        return
    if one.name != other.name:
        # View against pointer: the operands are not comparable, what is stored is.
        _explain_stored(values, one, other)
        return
    groups = list(dict.fromkeys((*one.operands, *other.operands)))
    if _same_elements(pair, one, other):
        groups = [g for g in groups if g not in ("view", "index")]
    padding = kind_of(one) not in ("store", "atomic")
    for group in groups:
        left, right = one.operands.get(group, ()), other.operands.get(group, ())
        if one.name == "continue" and _carry_unlike(pair, one, other):
            continue
        code = _group_code(one, group)
        if len(left) != len(right):
            _report_group_size(pair, one, other, group, len(left), len(right))
            continue
        for number, (a, b) in enumerate(zip(left, right, strict=True)):
            role = _role(one, group, number)
            if group == "index" and a is not b:
                a, b = widened(a, b)
                if a is b:
                    text = "the index has another width"
                    pair.report("EQV001", SEMANTIC_EQUIV, text, one.op, other.op, role)
            values.explain(a, b, Use(role, code, one.op, other.op, padding))


def _ends_alike(pair: Pair, one: Effect, other: Effect) -> bool:
    """Whether two ends of an iteration end loops of one kind: else their values have no order."""
    loops = [_loop_around(e) for e in (one, other)]
    names = {loop.name for loop in loops if loop is not None}
    return len(names) <= 1 or not pair.is_critical("LOP001")


def _carry_unlike(pair: Pair, one: Effect, other: Effect) -> bool:
    """Whether the loops carry unlike numbers of values, which is reported for the loops."""
    loops = [_loop_around(e) for e in (one, other)]
    counts = {len(loop.carried) for loop in loops if loop is not None}
    return len(counts) > 1 and pair.is_critical("LOP004")


def _loop_around(effect: Effect) -> Effect | None:
    loop = effect.parent
    while loop is not None and loop.name not in ("for", "loop"):
        loop = loop.parent
    return loop


def _same_elements(pair: Pair, one: Effect, other: Effect) -> bool:
    """Whether another kind of view with other indices touches the same elements; reports it."""
    view, another = one.node("view"), other.node("view")
    if view is None or another is None or view is another:
        return False
    left, right = one.operands.get("index", ()), other.operands.get("index", ())
    if len(left) != len(right):
        return False
    if not same_addresses(view, another, list(zip(left, right, strict=True))):
        return False
    text = f"{one.name} touches the same elements through another kind of view"
    pair.report("EQV001", SEMANTIC_EQUIV, text, one.op, other.op)
    return True


def _compare_results(pair: Pair, one: Effect, other: Effect) -> None:
    """Report result types that differ and do not follow from what is read."""
    if one.regions or one.name != other.name or one.op.spec is None:
        return
    read = [[n.type for n in chain.from_iterable(e.operands.values())] for e in (one, other)]
    left, right = ([v.type for v in e.op.results] for e in (one, other))
    if left == right or read[0] != read[1]:
        return
    shown = [", ".join(map(str, types)) for types in (left, right)]
    text = f"{one.name} gives {shown[0]} in the reference and {shown[1]} in the generated kernel"
    pair.report("DFL005", DIFFERS, text, one.op, other.op)


def _group_code(effect: Effect, group: str) -> str | None:
    if effect.name == "if":
        return "LOP005"
    if effect.name in ("assert", "print_tko"):
        return "DFL007"
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
    if {left, right} == {0, 1} and one.name not in _TERMINATORS:
        side = "the reference" if left else "the generated kernel"
        message = f"only {side} has a {group} on {one.name}"
    else:
        what = "values" if one.name in _TERMINATORS else group
        message = (
            f"{one.name} has {left} {what} in the reference and {right} in the generated kernel"
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
    for number, (left, right) in enumerate(zip(one.carried, other.carried, strict=False)):
        use = Use(f"start of carried value {number}", "LOP004", one.op, other.op)
        values.explain(left.initial, right.initial, use)


def _misplace_around(pair: Pair, effect: Effect, code: str) -> None:
    """Do not ask for the order of what a break or continue that is something else decides about."""
    loop = _loop_around(effect)
    if loop is not None and effect.name in ("break", "continue") and pair.is_critical(code):
        pair.misplaced.update(loop.op.walk())


def _report_unmatched(pair: Pair) -> None:
    for effects, status in ((pair.matching.missing, MISSING), (pair.matching.extra, EXTRA)):
        unmatched = {id(e) for e in effects}
        for effect in effects:
            if effect.parent is not None and id(effect.parent) in unmatched:
                continue
            code = _unmatched_code(effect, status)
            if status == MISSING:
                _misplace_around(pair, effect, code)
                message = f"{_called(effect)} of the reference is missing in the generated kernel"
                pair.report(code, status, message, effect.op, None)
            else:
                message = f"{_called(effect)} of the generated kernel is not in the reference"
                pair.report(code, status, message, None, effect.op)


def _called(effect: Effect) -> str:
    """An effect in words; a loop in which a block goes through all that it has to do is persistent."""
    start, step = (effect.node(name) for name in ("lowerBound", "step"))
    names = [node.name for node in (start, step) if node is not None]
    if names == ["get_tile_block_id", "get_num_tile_blocks"]:
        return "persistent for (from a block id, by the size of the grid)"
    return effect.name


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
