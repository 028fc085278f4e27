"""Both kernels of a pair side by side, as a table whose rows put corresponding operations together.

Place in the flow: findings -> **report**, part of `html_report`; imports `diff` records, `write.marked`,
`markup`. A definition is `<b id=.. data-n=NUMBER>`, a use a link to it; values with one number are equal,
`data-alt` is the number of the value that stands in the same place of the generated kernel.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from ..diff import CRITICAL, INFO, WARN, Finding, Place
from ..diff.correspond import Correspondence
from ..model import Entry, Module, Operation, Value
from ..write.marked import Line, Piece, marked_lines
from .markup import Html, escaped, joined, tag

# The sides, as ids have them.
REFERENCE, GENERATED = "a", "b"

# Text without values beyond this is a constant: its ends are shown.
_LONGEST = 600


class Side:
    """One kernel as printed lines."""

    def __init__(self, pair: str, side: str, entry: Entry | None, module: Module | None):
        self.prefix = f"{pair}-{side}"
        self.entry = entry
        self.lines: list[Line] = []
        if entry is not None and module is not None:
            for item in (*module.globals, entry):
                self.lines += marked_lines(item)
        # Operation -> number of its line, counted from 0.
        self.line_of = {line.op: k for k, line in enumerate(self.lines) if line.op is not None}
        self._at = {_position(op): op for op in self.line_of}
        self._values: dict[Value, int] = {}

    def op_at(self, place: Place | None) -> Operation | None:
        """The operation that a finding points to."""
        return None if place is None else self._at.get((place.file, place.line, place.column))

    def anchor(self, op: Operation | None) -> str | None:
        """The id of an operation's line."""
        line = self.line_of.get(op) if op is not None else None
        return None if line is None else f"{self.prefix}{line}"

    def value_id(self, value: Value) -> str:
        return f"{self.prefix}v{self._values.setdefault(value, len(self._values))}"


def _position(op: Operation) -> tuple[str, int, int]:
    span = op.span
    return (span.source.name, span.line, span.column) if span is not None else ("", 0, 0)


class Located(NamedTuple):
    """A finding with its id and the operations that it points to."""

    id: str
    finding: Finding
    reference: Operation | None
    generated: Operation | None


def code_table(
    sides: tuple[Side, Side], correspondence: Correspondence, findings: Sequence[Located]
) -> Html:
    """The table; cells of lines have the ids that `Side.anchor` gives."""
    rows = aligned(sides, correspondence, findings)
    cells = _Cells(sides, correspondence, findings)
    body = (
        Html(f"<tr>{cells.cell(0, left, right)}{cells.cell(1, right, left)}</tr>\n")
        for left, right in rows
    )
    columns = joined(tag("col", class_=kind) for kind in ("n", "line", "n", "line"))
    head = tag(
        "tr",
        tag("th", "reference", colspan=2, scope="col"),
        tag("th", "generated", colspan=2, scope="col"),
    )
    return tag(
        "table",
        tag("colgroup", columns),
        tag("thead", head),
        tag("tbody", *body),
        class_="code",
        aria_label="Both kernels side by side",
    )


# -- rows -------------------------------------------------------------------------------------------

Row = tuple[int | None, int | None]


def aligned(
    sides: tuple[Side, Side], correspondence: Correspondence, findings: Iterable[Located]
) -> list[Row]:
    """Line numbers of both sides, row by row; each line once, in order.

    Corresponding operations stand in one row as far as their order allows it, what matters most first.
    """
    anchors = _heaviest_chain(_candidates(sides, correspondence, findings))
    rows: list[Row] = []
    before = (-1, -1)
    for left, right in (*anchors, (len(sides[0].lines), len(sides[1].lines))):
        rows += zip_longest(range(before[0] + 1, left), range(before[1] + 1, right))
        rows.append((left, right))
        before = (left, right)
    return rows[:-1]


def _candidates(
    sides: tuple[Side, Side], correspondence: Correspondence, findings: Iterable[Located]
) -> list[tuple[int, int, int]]:
    """(line, line, weight) of what should stand in one row."""
    found: dict[tuple[int, int], int] = {}

    def add(one: Operation, other: Operation, weight: int) -> None:
        left, right = sides[0].line_of.get(one), sides[1].line_of.get(other)
        if left is None or right is None:
            return
        found[left, right] = max(weight, found.get((left, right), 0))
        if one.regions and other.regions:
            # The closing braces of what belongs together.
            ends = _last_line(sides[0], one), _last_line(sides[1], other)
            found.setdefault(ends, weight)

    for one, other in correspondence.operations.items():
        add(one, other, _weight(one))
    for item in findings:
        if item.reference is not None and item.generated is not None:
            add(item.reference, item.generated, 50)
    return [(left, right, weight) for (left, right), weight in sorted(found.items())]


def _weight(op: Operation) -> int:
    """How much an operation matters for the alignment; constants and promises move freely."""
    if op.regions:
        return 20
    if op.name in ("constant", "assume"):
        return 1
    return 4 if op.spec is not None and op.spec.is_pure else 8


def _last_line(side: Side, op: Operation) -> int:
    """The line that closes an operation with regions: the last one before what follows it."""
    inner = [side.line_of[o] for o in op.walk() if o in side.line_of]
    last = max(inner)
    depth = _indent(side.lines[side.line_of[op]])
    while last + 1 < len(side.lines) and _indent(side.lines[last]) > depth:
        last += 1
    return last


def _indent(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


def _heaviest_chain(candidates: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The pairs, increasing on both sides, with the largest sum of weights.

    A list of right lines with the best sum that ends there, kept increasing in both: a new pair goes
    behind the best one to its left and removes those that it makes useless.
    """
    ends: list[int] = []
    best: list[tuple[int, int]] = []
    before: list[int] = []
    pending: list[tuple[int, int, int]] = []
    for number, (left, right, weight) in enumerate(candidates):
        # Pairs of one left line must not follow each other: those on the right are entered first.
        before.append(-1)
        pending.append((right, weight, number))
        if number + 1 < len(candidates) and candidates[number + 1][0] == left:
            continue
        for end, plus, index in reversed(pending):
            place = bisect_left(ends, end)
            total, before[index] = best[place - 1] if place else (0, -1)
            total += plus
            last = place
            while last < len(ends) and best[last][0] <= total:
                last += 1
            if place == len(ends) or last > place or ends[place] != end:
                ends[place:last], best[place:last] = [end], [(total, index)]
        pending.clear()
    chain = []
    index = best[-1][1] if best else -1
    while index >= 0:
        chain.append(candidates[index][:2])
        index = before[index]
    return chain[::-1]


# -- cells ------------------------------------------------------------------------------------------

_RANKS = (CRITICAL, WARN, INFO)


class _Cells:
    """Writes the cells of a table."""

    def __init__(
        self,
        sides: tuple[Side, Side],
        correspondence: Correspondence,
        findings: Sequence[Located],
    ):
        self.sides = sides
        self.numbers = correspondence.numbers
        self.stand_ins = correspondence.stand_ins
        self.matched = (
            set(correspondence.operations),
            set(correspondence.operations.values()),
        )
        self.shared = self._numbers(0) & self._numbers(1)
        # Line -> its findings, for each side.
        self.tags: tuple[dict[int, list[Located]], dict[int, list[Located]]] = ({}, {})
        self.marks: tuple[dict[int, _Marks], dict[int, _Marks]] = ({}, {})
        for item in findings:
            self._locate(item)

    def _numbers(self, side: int) -> set[int]:
        lines = self.sides[side].lines
        return {
            self.numbers[v]
            for line in lines
            for piece in line.pieces
            for v in piece.values
            if v in self.numbers
        }

    def _locate(self, item: Located) -> None:
        found = []
        for side, op in enumerate((item.reference, item.generated)):
            line = self.sides[side].line_of.get(op) if op is not None else None
            found.append(line)
            if line is not None:
                self.tags[side].setdefault(line, []).append(item)
        left, right = found
        one, other = item.reference, item.generated
        if left is None or right is None or one is None or other is None or one.name != other.name:
            return
        lines = self.sides[0].lines[left], self.sides[1].lines[right]
        marks = differing(lines[0], lines[1], self.numbers, self.stand_ins)
        for side, line in enumerate((left, right)):
            self.marks[side].setdefault(line, marks[side])

    def cell(self, side: int, number: int | None, beside: int | None) -> str:
        """Two cells: the line number in the input, and the line."""
        if number is None:
            return '<td class="n"></td><td class="none"></td>'
        line = self.sides[side].lines[number]
        span = line.op.span if line.op is not None else None
        shown = str(span.line) if span is not None else ""
        kind = self._kind(side, number, line)
        head = f'<td class="n">{shown}</td><td id="{self.sides[side].prefix}{number}"'
        head += f' class="{kind}">' if kind else ">"
        return f"{head}{self._content(side, number, line)}</td>"

    def _kind(self, side: int, number: int, line: Line) -> str:
        items = self.tags[side].get(number)
        if items:
            counted = [f.finding.severity for f in items if f.finding.ignored is None]
            return min(counted, key=_RANKS.index).lower() if counted else "ignored"
        op = line.op
        if op is None or op in self.matched[side]:
            return ""
        equal = any(self.numbers.get(v) in self.shared for v in op.results)
        return "" if equal else "alone"

    def _content(self, side: int, number: int, line: Line) -> str:
        marks = self.marks[side].get(number, {})
        out = [
            self._piece(side, piece, marks.get(k, ()), line.op)
            for k, piece in enumerate(line.pieces)
        ]
        for item in self.tags[side].get(number, ()):
            code = item.finding.code
            out.append(f' <a class="tag" href="#{item.id}">{escaped(code)}</a>')
        return "".join(out)

    def _piece(
        self, side: int, piece: Piece, marks: Iterable[tuple[int, int]], op: Operation | None
    ) -> str:
        if not piece.values:
            return _marked(piece.text, list(marks), op)
        name = escaped(piece.text)
        if marks:
            name = tag("mark", name)
        ids = [self.sides[side].value_id(v) for v in piece.values]
        if not piece.defines:
            return f'<a href="#{ids[0]}">{name}</a>'
        for value, id in zip(piece.values, ids):
            number = self.numbers.get(value)
            other = self.stand_ins.get(number) if side == 0 and number is not None else None
            written = value.name if value.name != piece.text else None
            name = tag("b", name, id=id, data_n=number, data_alt=other, title=written)
        return name


def _marked(text: str, marks: list[tuple[int, int]], op: Operation | None) -> str:
    """Plain text with `<mark>` around what differs and `<i>` around the mnemonic."""
    if len(text) > _LONGEST and not marks:
        half = _LONGEST // 2
        cut = f"...[{len(text) - _LONGEST} characters]..."
        text = f"{text[:half]}{cut}{text[-half:]}"
    out = []
    at = 0
    for start, end in marks:
        out += [escaped(text[at:start]), tag("mark", text[start:end])]
        at = end
    out.append(escaped(text[at:]))
    plain = "".join(out)
    # The mnemonic stands at the beginning of a line or behind its `=`.
    name = escaped(op.name) if op is not None else ""
    found = re.match(rf"(\s*(?:= )?){re.escape(name)}(?!\w)", plain) if name else None
    if found is None:
        return plain
    return f"{found[1]}<i>{name}</i>{plain[found.end() :]}"


# -- what differs in two lines ----------------------------------------------------------------------

# Piece number -> stretches of its text that differ.
_Marks = dict[int, list[tuple[int, int]]]

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# Lines with more tokens hold constants; which of their elements differs, the finding says.
_MOST_TOKENS = 1500


class _Token(NamedTuple):
    piece: int
    start: int
    end: int


def differing(
    left: Line, right: Line, numbers: dict[Value, int], stand_ins: dict[int, int]
) -> tuple[_Marks, _Marks]:
    """The stretches in which two lines differ; values are compared by what they are, not by name."""
    one = list(_tokens(left, numbers, stand_ins))
    other = list(_tokens(right, numbers, {}))
    if max(len(one), len(other)) > _MOST_TOKENS:
        return {}, {}
    matcher = SequenceMatcher(None, [k for k, _ in one], [k for k, _ in other], autojunk=False)
    found: tuple[_Marks, _Marks] = ({}, {})
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            _add_marks(found[0], [t for _, t in one[i:j]])
            _add_marks(found[1], [t for _, t in other[k:m]])
    return found


def _tokens(
    line: Line, numbers: dict[Value, int], stand_ins: dict[int, int]
) -> Iterator[tuple[object, _Token]]:
    for k, piece in enumerate(line.pieces):
        if piece.values:
            number = numbers.get(piece.values[0], -1)
            key = "definition" if piece.defines else stand_ins.get(number, number)
            yield key, _Token(k, 0, len(piece.text))
            continue
        for match in _TOKEN.finditer(piece.text):
            # White space alone is no difference.
            yield match[0].strip(), _Token(k, match.start(), match.end())


def _add_marks(marks: _Marks, tokens: list[_Token]) -> None:
    for token in tokens:
        stretches = marks.setdefault(token.piece, [])
        if stretches and stretches[-1][1] == token.start:
            stretches[-1] = (stretches[-1][0], token.end)
        else:
            stretches.append((token.start, token.end))
