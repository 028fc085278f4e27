"""Operations that the table does not know, and where a broken one ends.

Place in the flow: part of bytes -> Module for text; imports `state`, `model`. The dialect grows every
release: an unknown op keeps its text, its operands, results and regions, and costs a warning.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property

from ..dialect import OPS
from ..model import OpaqueType, Operation, Region, Type, Value
from .lexer import END
from .state import Failure, State, Stop

_CONTINUES = frozenset({",", ":", "->", "=", "(", "[", "{", "<", "in", "to", "step"})
_OPENS = {")": "(", "]": "[", "}": "{"}
_OPENING = frozenset(_OPENS.values())
_CLOSING = frozenset(_OPENS)
# An error is given up on where no statement begins for so many tokens.
_LONGEST_BROKEN = 500_000

# Nor is an unknown operation that, brackets apart, is made of more tokens than this.
_LONGEST_UNKNOWN = 200_000

_NAME = re.compile(r"[A-Za-z_][\w$.]*\Z", re.ASCII)


def is_lossy(state: State, index: int) -> bool:
    """Whether the op at `index` is in a spelling of the cutile-rs printer that leaves things out.

    `alloca <structural-op>`, `assume {kind = ..}`, `reduce .. identities="0.0"`, `pow : type`,
    `constant dense<4 bytes>`, `global @x : type`.
    """
    tokens = state.tokens
    op, following = tokens[index].removeprefix("cuda_tile."), tokens[index + 1]
    if op == "global" or (following == "<" and tokens[index + 2] == "structural"):
        return True
    if op == "assume" and following == "{":
        return True
    if op in ("reduce", "scan"):
        ahead = tokens[index : index + 40]
        return any(
            a == "identities" and b == "=" and c[:1] == '"'
            for a, b, c in zip(ahead, ahead[1:], ahead[2:])
        )
    if op == "constant":
        return following.startswith("dense<")
    return op == "pow" and following == ":"


# -- where a statement ends -------------------------------------------------------------------------


def _assigns(state: State, index: int) -> bool:
    """Whether `%a, %b:2 =` starts at a token."""
    tokens = state.tokens
    while tokens[index][:1] == "%" and "#" not in tokens[index]:
        index += 1
        if tokens[index] == ":" and tokens[index + 1].isdigit():
            index += 2
        if tokens[index] == "=":
            return True
        if tokens[index] != ",":
            return False
        index += 1
    return False


def _starts_statement(state: State, first: int, index: int) -> bool:
    """Whether a statement starts at `index`, and the one that starts at `first` ends."""
    token, following = state.tokens[index : index + 2]
    if state.tokens[index - 1] in _CONTINUES and index > 0:
        return False
    if token[:1] == "%":
        return _assigns(state, index)
    if token[:1] == '"':
        return following == "(" and state.lex.starts_line(index)
    if not _NAME.match(token) or token == "loc" or following == "=":
        return False
    if not state.lex.starts_line(index):
        return False
    # A word further in than its statement goes on with it, unless it is the name of an operation.
    known = token.removeprefix("cuda_tile.") in OPS
    return known or state.lex.indentation(index) <= state.lex.indentation(first)


def next_statement(state: State, first: int, failure: Failure) -> int:
    """Where to read on after an error in the statement at `first`. Raises Stop.

    Looking for it costs more than reading: where nothing is found for long, the text is not worth it.
    """
    end = statement_end(state, first, max(first, failure.index), _LONGEST_BROKEN)
    if end - first > _LONGEST_UNKNOWN:
        raise Stop
    return end


def statement_end(state: State, first: int, at_least: int, most: int = sys.maxsize) -> int:
    """The index at which the next statement of the block starts; not before `at_least`.

    Gives up at `most` tokens behind `at_least`, or where an unknown operation gets too long.
    """
    tokens, behind = state.tokens, state.behind_brackets
    opened: list[int] = []
    braces = False
    outside = 0
    index = first
    while True:
        token = tokens[index]
        if token == END or index - at_least >= most or outside > _LONGEST_UNKNOWN:
            behind.update(dict.fromkeys(opened, index))
            return index
        if not opened:
            outside += 1
            if index > first and index >= at_least and _starts_statement(state, first, index):
                return index
        if token in _OPENING:
            braces = braces or token == "{"
            if index in behind:
                index = behind[index]
                continue
            opened.append(index)
        elif token in _CLOSING:
            if not opened and token != "}":
                return index + 1
            if not _close(tokens, opened, behind, index) and token == "}":
                # It closes what is around the statement.
                return index
        elif opened and index >= at_least and _left_open(state, index, opened, braces):
            return index
        index += 1


def _close(tokens: list[str], opened: list[int], behind: dict[int, int], index: int) -> bool:
    """Close the bracket that the one at `index` closes, and those inside that were left open.

    False where no bracket of its kind is open.
    """
    wanted = _OPENS[tokens[index]]
    if all(tokens[at] != wanted for at in opened):
        return False
    while True:
        at = opened.pop()
        behind[at] = index + 1
        if tokens[at] == wanted:
            return True


def _left_open(state: State, index: int, opened: list[int], braces: bool) -> bool:
    """Whether a bracket was left open before `index`: a statement starts on a line of its own."""
    tokens = state.tokens
    if tokens[index][:1] == "%":
        if braces or tokens[index - 1] in _CONTINUES:
            return False
        return state.lex.starts_line(index) and _assigns(state, index)
    if tokens[index] not in ("entry", "global", "cuda_tile.entry", "cuda_tile.global"):
        return False
    return state.lex.starts_line(index) and all(tokens[at] != "{" for at in opened)


# -- reading one ------------------------------------------------------------------------------------


def read_opaque(state: State, index: int, results: int) -> tuple[Operation, int]:
    """The op at `index` as an opaque operation with `results` results. Raises Failure."""
    lossy = is_lossy(state, index)
    name = state.tokens[index].removeprefix("cuda_tile.")
    end = _before_location(state, index, statement_end(state, index, index))
    reader = _OpaqueText(state, index, end)
    reader.run()
    types = _result_types(state, index, end, results)
    op = Operation(name, None, reader.operands, types, None, reader.regions)
    op.opaque_text = "".join(reader.pieces).strip()
    what = "is printed without all it says" if lossy else "is unknown"
    message = f"operation '{name}' {what}: kept as text, not understood"
    state.warn(index, index, message if lossy else message + _perhaps(name))
    return op, end


def _perhaps(name: str) -> str:
    """What an unknown operation may be misspelt for."""
    # Imported here: few texts have any.
    from difflib import get_close_matches

    close = get_close_matches(name, OPS, n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""


def _before_location(state: State, index: int, end: int) -> int:
    """A trailing `loc(..)` belongs to every operation, not to the opaque text."""
    tokens = state.tokens
    if tokens[end - 1][:4] == "loc(":
        return end - 1
    if tokens[end - 1] != ")":
        return end
    level = 0
    for i in range(end - 1, index, -1):
        level += (tokens[i] == ")") - (tokens[i] == "(")
        if level == 0:
            return i - 1 if tokens[i - 1] == "loc" else end
    return end


class _OpaqueText:
    """Collects operands, regions and a text in which `\\0o1\\0` stands for operand 1, `\\0r0\\0` for
    region 0."""

    def __init__(self, state: State, first: int, end: int):
        self.state = state
        self.first = first
        self.end = end
        self.operands: list[Value] = []
        self.regions: list[Region] = []
        self.pieces: list[str] = [state.tokens[first].removeprefix("cuda_tile.")]
        self._numbers: dict[str, int] = {}
        # Where the head of the next region starts.
        self._head = first

    def run(self) -> None:
        tokens = self.state.tokens
        index = self.first + 1
        while index < self.end:
            if self._gap(index - 1):
                self.pieces.append(" ")
            token = tokens[index]
            if len(self.pieces) > _LONGEST_UNKNOWN:
                message = f"operation '{tokens[self.first]}' is unknown and endless"
                raise Failure(self.first, message, fatal=True)
            if token == "{" and self._is_region(index):
                index = self._region(index)
                continue
            if token[:1] == "%":
                self._operand(index)
            else:
                self.pieces.append(token)
            index += 1

    def _gap(self, index: int) -> bool:
        lex = self.state.lex
        return lex.offset(index + 1) > lex.offset(index) + len(self.state.tokens[index])

    def _operand(self, index: int) -> None:
        token = self.state.tokens[index]
        if token not in self._numbers:
            if token not in self.state.values and self._has_region:
                # A name that the op binds for its regions.
                self.pieces.append(token)
                return
            value = self.state.operand(index)
            self._numbers[token] = len(self.operands)
            self.operands.append(value)
        self.pieces.append(f"\0o{self._numbers[token]}\0")

    @cached_property
    def _has_region(self) -> bool:
        behind = self.state.behind_brackets
        index = self.first
        while index < self.end:
            if self.state.tokens[index] == "{":
                if self._is_region(index):
                    return True
                index = behind.get(index, index + 1)
            else:
                index += 1
        return False

    def _is_region(self, index: int) -> bool:
        """Whether a `{` opens a region and no attribute dictionary."""
        tokens = self.state.tokens
        following = tokens[index + 1]
        if following[:1] in ("^", "%"):
            return True
        if following == "}":
            return tokens[index - 1] not in ("=", ",")
        if following[:1] == '"':
            return tokens[index + 2] == "("
        return bool(_NAME.match(following)) and tokens[index + 2] not in ("=", ",", "}")

    def _region(self, index: int) -> int:
        # Imported here: reading a region reads operations, opaque ones among them.
        from .regions import read_region

        names: list[int] = []
        types: list[Type] = []
        if self.state.tokens[index + 1][:1] != "^":
            names, types = self._bound_names(index)
        region, behind = read_region(self.state, index, names, types)
        self.pieces.append(f"\0r{len(self.regions)}\0")
        self.regions.append(region)
        self._head = behind
        return behind

    def _bound_names(self, index: int) -> tuple[list[int], list[Type]]:
        """The names in the head of a region that nothing defines: the region's arguments."""
        tokens = self.state.tokens
        found: dict[str, int] = {}
        types: list[Type] = []
        for i in range(self._head, index):
            token = tokens[i]
            if token[:1] == "%" and token not in self.state.values and token not in found:
                found[token] = i
                typed = tokens[i + 1] == ":"
                types.append(self.state.type(i + 2)[0] if typed else OpaqueType("?"))
        return list(found.values()), types


def _result_types(state: State, first: int, end: int, results: int) -> list[Type]:
    """The types behind the last `->`, else behind the last `:`, outside of all brackets."""
    if results == 0:
        return []
    tokens, behind = state.tokens, state.behind_brackets
    arrow = colon = -1
    index = first
    while index < end:
        if tokens[index] in _OPENING:
            index = behind.get(index, index + 1)
            continue
        if tokens[index] == "->":
            arrow = index
        elif tokens[index] == ":":
            colon = index
        index += 1
    unknown: list[Type] = [OpaqueType("?")] * results
    start = arrow if arrow >= 0 else colon
    if start < 0:
        return unknown
    try:
        types, _ = (
            state.type_list(start + 1) if tokens[start + 1] == "(" else state.types(start + 1)
        )
    except Failure:
        return unknown
    if len(types) == results:
        return types
    return types * results if len(types) == 1 else unknown
