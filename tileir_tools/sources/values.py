"""What an expression of a source is found to be: a value, alternatives, or undecided.

Place in the flow: files -> **values** -> facts of an operation; imports nothing of the package.

Values are Python's own (numbers, strings, None, tuples, lists, dicts), and `Dtype` and `Namespace`. What a
condition that is not decided chooses is kept with that condition, as an element of a list (`Conditional`) or
as a whole (`Either`).
"""

from __future__ import annotations

from typing import NamedTuple


class Undecided(NamedTuple):
    """An expression whose value the source alone does not say: its text, where it is, and why."""

    text: str
    line: int
    why: str


class Conditional(NamedTuple):
    """An element of a list that is there only when all the conditions hold (texts of Python)."""

    value: object
    when: tuple[str, ...]


class Either(NamedTuple):
    """One of several values; the conditions say which."""

    alternatives: tuple[Conditional, ...]


class Dtype(str):
    """A number format of torch by its name: `torch.half` is `float16`."""

    __slots__ = ()


class Namespace(dict[str, object]):
    """`SimpleNamespace(a=1)`: attributes by name."""


# Elements that a list may have.
MAX_ITEMS = 200_000


class NotDecided(Exception):
    """Carries what is undecided, from where it is met to where a value is wanted."""

    def __init__(self, undecided: Undecided):
        super().__init__(undecided.text)
        self.undecided = undecided


def conditional(value: object, when: tuple[str, ...]) -> object:
    """The value with conditions, those it has already included; itself where there are none."""
    if not when:
        return value
    if isinstance(value, Conditional):
        return Conditional(value.value, (*when, *(c for c in value.when if c not in when)))
    return Conditional(value, when)


def bare(value: object) -> tuple[object, tuple[str, ...]]:
    """A value and the conditions it stands under."""
    return (value.value, value.when) if isinstance(value, Conditional) else (value, ())


def same(one: object, other: object) -> bool:
    """Whether values are the same in a source: `1`, `1.0` and `True` are three values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_sequence(value: object) -> bool:
    """Whether a value is a list or a tuple of the source; records of ours are tuples too, and none."""
    return type(value) in (list, tuple)


def contradict(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether conditions exclude each other: `c` and `not (c)`, `x == 1` and `x == 2`."""
    both = {*one, *other}
    if any(f"not ({condition})" in both for condition in both):
        return True
    equalities = [c.rsplit(" == ", 1) for c in both if " == " in c and not c.startswith("not ")]
    values: dict[str, str] = {}
    for left, right in equalities:
        is_literal = right.lstrip("-").isdigit() and " " not in left.strip("()")
        if is_literal and values.setdefault(left, right) != right:
            return True
    return False


def join(condition: str, negated: str, then: object, otherwise: object) -> object:
    """What a condition that is not decided chooses between."""
    if same(then, otherwise):
        return then
    if is_sequence(then) and type(then) is type(otherwise):
        assert isinstance(then, (list, tuple))
        assert isinstance(otherwise, (list, tuple))
        return _joined(condition, negated, list(then), list(otherwise))
    return Either((*_alternatives(then, condition), *_alternatives(otherwise, negated)))


def _joined(condition: str, negated: str, then: list[object], other: list[object]) -> list[object]:
    common = 0
    while common < min(len(then), len(other)) and same(then[common], other[common]):
        common += 1
    return [
        *then[:common],
        *(conditional(item, (condition,)) for item in then[common:]),
        *(conditional(item, (negated,)) for item in other[common:]),
    ]


def _alternatives(value: object, condition: str) -> list[Conditional]:
    inner = value.alternatives if isinstance(value, Either) else (Conditional(value, ()),)
    return [Conditional(c.value, (condition, *c.when)) for c in inner]


def elements(value: object) -> list[tuple[object, tuple[str, ...]]]:
    """What iterating a value gives, each with its conditions. Raises TypeError."""
    if isinstance(value, Either):
        return [
            (item, (*a.when, *when)) for a in value.alternatives for item, when in elements(a.value)
        ]
    if isinstance(value, Undecided):
        raise NotDecided(value)
    if isinstance(value, (set, frozenset)):
        raise TypeError("a set has no order")
    if is_sequence(value) or isinstance(value, (str, dict)):
        assert isinstance(value, (list, tuple, str, dict))
        if len(value) > MAX_ITEMS:
            raise ValueError(f"more than {MAX_ITEMS} elements")
        return [bare(item) for item in value]
    raise TypeError(f"{type(value).__name__} is not iterable")


def as_json(value: object) -> object:
    """Records and values as what JSON has.

    Named tuples become objects, tuples lists; `Undecided` is `{"undecided": text, "line": .., "why": ..}`,
    `Conditional` `{"value": .., "when": [..]}`, `Either` `{"either": [..]}`. Infinities and nan are strings.
    """
    if isinstance(value, Undecided):
        return {"undecided": value.text, "line": value.line, "why": value.why}
    if isinstance(value, Either):
        return {"either": [as_json(item) for item in value.alternatives]}
    fields = getattr(value, "_fields", None)
    if fields is not None:
        return {name: as_json(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((as_json(item) for item in value), key=repr)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
