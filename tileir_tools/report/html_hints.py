"""The hints of a pair of kernels as a table: one row for each hint of each access, columns per target.

Place in the flow: facts -> **report**, part of `html_report`; imports `analyze`, `dialect`, `diff` records,
`markup`. Which accesses stand beside each other is the correspondence that comparing found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..analyze.expressions import Expressions
from ..analyze.hints import HintValue, effective, resolved_hints
from ..analyze.memory import is_memory_op, memory_fact
from ..dialect import HINT_KEYS
from ..diff.correspond import Correspondence
from ..model import Entry, Operation
from .markup import Html, joined, tag

_SIDES = ("reference", "generated")

# An operation of each side; None where one has no counterpart.
_Both = tuple[Operation | None, Operation | None]


def hint_table(
    correspondence: Correspondence,
    arches: Sequence[str | None],
    anchor: Callable[[int, Operation], str | None],
) -> Html:
    """The table; `anchor` gives the id of an operation's line, by side (0, 1)."""
    writer = _Writer(correspondence, arches, anchor)
    names = [arch or "any target" for arch in arches]
    head = tag(
        "tr",
        tag("th", "operation", scope="col"),
        tag("th", "hint", scope="col"),
        *(tag("th", f"{name}: {side}", scope="col") for name in names for side in _SIDES),
    )
    rows = [row for both in _operations(correspondence) for row in writer.rows(both)]
    return tag(
        "table",
        tag("thead", head),
        tag("tbody", *rows),
        class_="hints",
        aria_label="Hints of both kernels",
    )


def _operations(correspondence: Correspondence) -> Iterator[_Both]:
    """Entries and accesses of both sides, in the order of the reference, then what only the other has."""
    yield correspondence.reference, correspondence.generated
    partners = correspondence.operations
    for op in _accesses(correspondence.reference):
        yield op, partners.get(op)
    taken = set(partners.values())
    for op in _accesses(correspondence.generated):
        if op not in taken:
            yield None, op


def _accesses(entry: Entry | None) -> list[Operation]:
    return [op for op in entry.walk() if is_memory_op(op)] if entry is not None else []


class _Writer:
    """Writes the rows."""

    def __init__(
        self,
        correspondence: Correspondence,
        arches: Sequence[str | None],
        anchor: Callable[[int, Operation], str | None],
    ):
        self.arches = arches
        self.anchor = anchor
        entries = correspondence.reference, correspondence.generated
        self.expressions = [Expressions(e) if e is not None else None for e in entries]

    def rows(self, both: _Both) -> list[Html]:
        """One row for each hint that the operations take, or say anyway."""
        known = [k for op in both if op is not None for k in HINT_KEYS.get(op.name, ())]
        said = {
            key
            for op in both
            if op is not None
            for arch in self.arches
            for key in resolved_hints(op.hints, arch)
        }
        keys = list(dict.fromkeys([*known, *sorted(said)]))
        rows = []
        for number, key in enumerate(keys):
            name = tag("th", self._name(both), scope="rowgroup", rowspan=len(keys))
            rows.append(self._row(both, key, name if number == 0 else Html("")))
        return rows

    def _row(self, both: _Both, key: str, name: Html) -> Html:
        cells: list[Html] = []
        differs = False
        for arch in self.arches:
            values = [_value(op, key, arch) for op in both]
            different = None not in both and values[0] != values[1]
            differs = differs or different
            mark = "differs" if different else None
            cells += [tag("td", _say(v, op), class_=mark) for v, op in zip(values, both)]
        kind = "differs" if differs else None
        return tag("tr", name, tag("td", key), *cells, class_=kind)

    def _name(self, both: _Both) -> Html:
        """What the operations are, with links to their lines."""
        side = 0 if both[0] is not None else 1
        op = both[side]
        assert op is not None
        parts: list[str] = [op.name]
        expressions = self.expressions[side]
        if is_memory_op(op) and expressions is not None:
            fact = memory_fact(op, expressions, None)
            shape = "x".join(map(str, fact.tile)) or "scalar"
            parts = [f"{op.name} {fact.base or ''} {shape} {fact.element}"]
        parts += [link for k, one in enumerate(both) for link in self._links(k, one)]
        if None in both:
            parts.append(f" only in the {_SIDES[side]} kernel")
        return joined(parts)

    def _links(self, side: int, op: Operation | None) -> list[str]:
        id = self.anchor(side, op) if op is not None else None
        span = op.span if op is not None else None
        if id is None or span is None:
            return []
        return [" ", tag("a", f"{_SIDES[side]} {span.line}", href=f"#{id}")]


def _value(op: Operation | None, key: str, arch: str | None) -> HintValue | None:
    """What holds for a target; absence counts as what it means."""
    return None if op is None else effective(resolved_hints(op.hints, arch), key)


def _say(value: HintValue | None, op: Operation | None) -> str:
    if op is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "absent" if value is None else str(value)
