"""Operations that the table does not know, and where a broken one ends.

Place in the flow: part of bytes -> Module for text; imports `state`, `model`. The dialect grows every
release: an unknown op keeps its text, its operands, results and regions, and costs a warning.
"""

from __future__ import annotations

import re

from ..model import OpaqueType, Operation, Region, Type, Value
from .lexer import END
from .state import Failure, State

_CONTINUES = frozenset({",", ":", "->", "=", "(", "[", "{", "<", "in", "to", "step"})
_NAME = re.compile(r"[A-Za-z_][\w$.]*$", re.ASCII)


def is_lossy(state: State, index: int) -> bool:
    """Whether the op at `index` is in a spelling of the cutile-rs printer that leaves things out.

    `alloca <structural-op>`, `assume {kind = ..}`, `reduce .. identities="0.0"`, `pow : type`.
    """
    tokens = state.tokens
    op, following = tokens[index], tokens[index + 1]
    if following == "<" and tokens[index + 2] == "structural":
        return True
    if op == "assume" and following == "{":
        return True
    if op in ("reduce", "scan"):
        ahead = tokens[index : index + 40]
        return any(
            a == "identities" and b == "=" and c[:1] == '"'
            for a, b, c in zip(ahead, ahead[1:], ahead[2:])
        )
    return op == "pow" and following == ":"


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


def _starts_statement(state: State, index: int) -> bool:
    token = state.tokens[index]
    if state.tokens[index - 1] in _CONTINUES and index > 0:
        return False
    if _assigns(state, index):
        return True
    named = _NAME.match(token) or (token[:1] == '"' and state.tokens[index + 1] == "(")
    return bool(named) and token != "loc" and state.lex.starts_line(index)


def statement_end(state: State, first: int, at_least: int) -> int:
    """The index at which the next statement of the block starts; not before `at_least`."""
    tokens = state.tokens
    depth = 0
    index = first
    while True:
        token = tokens[index]
        if token == END:
            return index
        if depth == 0 and index > first and index > at_least and _starts_statement(state, index):
            return index
        if token in ("{", "(", "["):
            depth += 1
        elif token in ("}", ")", "]"):
            if depth == 0:
                return index if token == "}" else index + 1
            depth -= 1
        elif depth and index > at_least and _broken_bracket(state, first, index):
            return index
        index += 1


def _broken_bracket(state: State, first: int, index: int) -> bool:
    """Whether a bracket was left open before `index`: a statement starts on a line of its own."""
    if not _assigns(state, index) or not state.lex.starts_line(index):
        return False
    return not any(token == "{" for token in state.tokens[first:index])


def read_opaque(state: State, index: int, results: int) -> tuple[Operation, int]:
    """The op at `index` as an opaque operation with `results` results. Raises Failure."""
    name = state.tokens[index]
    end = statement_end(state, index, index)
    reader = _OpaqueText(state, index, end)
    reader.run()
    types = _result_types(state, index, end, results)
    op = Operation(name, None, reader.operands, types, None, reader.regions)
    op.opaque_text = "".join(reader.pieces).strip()
    what = "is printed without all it says" if is_lossy(state, index) else "is unknown"
    state.warn(index, index, f"operation '{name}' {what}: kept as text, not understood")
    return op, _before_location(state, index, end)


def _before_location(state: State, index: int, end: int) -> int:
    """A trailing `loc(..)` belongs to every operation, not to the opaque text."""
    if state.tokens[end - 1][:4] == "loc(":
        return end - 1
    return end


class _OpaqueText:
    """Collects operands, regions and a text in which `\\0o1\\0` stands for operand 1, `\\0r0\\0` for
    region 0."""

    def __init__(self, state: State, first: int, end: int):
        self.state = state
        self.first = first
        self.end = _before_location(state, first, end)
        self.operands: list[Value] = []
        self.regions: list[Region] = []
        self.pieces: list[str] = []
        self._numbers: dict[str, int] = {}

    def run(self) -> None:
        index = self.first
        tokens = self.state.tokens
        while index < self.end:
            token = tokens[index]
            if token == "{" and self._is_region(index):
                behind = self._region(index)
            elif token[:1] == "%":
                self._operand(index)
                behind = index + 1
            else:
                self.pieces.append(token)
                behind = index + 1
            if behind < self.end and self._gap(behind - 1):
                self.pieces.append(" ")
            index = behind

    def _gap(self, index: int) -> bool:
        lex = self.state.lex
        return lex.offset(index + 1) > lex.offset(index) + len(self.state.tokens[index])

    def _operand(self, index: int) -> None:
        token = self.state.tokens[index]
        if token not in self._numbers:
            value = self.state.values.get(token)
            if value is None:
                # A name that the op binds for its regions, or an undefined value.
                if not self._has_region() and not token.startswith("%arg"):
                    self.state.operand(index)
                self.pieces.append(token)
                return
            self._numbers[token] = len(self.operands)
            self.operands.append(value)
        self.pieces.append(f"\0o{self._numbers[token]}\0")

    def _has_region(self) -> bool:
        tokens = self.state.tokens
        return any(
            tokens[i] == "{" and self._is_region(i) for i in range(self.first, self.end)
        )

    def _is_region(self, index: int) -> bool:
        """Whether a `{` opens a region and no attribute dictionary."""
        tokens = self.state.tokens
        following = tokens[index + 1]
        if following[:1] in ("^", "%"):
            return True
        if following == "}":
            return tokens[index - 1] not in ("=", ",")
        return bool(_NAME.match(following)) and tokens[index + 2] not in ("=", ",", "}")

    def _region(self, index: int) -> int:
        # Imported here: reading a region reads operations, opaque ones among them.
        from .regions import read_region

        state = self.state
        names, types = self._bound_names(index)
        region, behind = read_region(state, index, names, types)
        self.pieces.append(f"\0r{len(self.regions)}\0")
        self.regions.append(region)
        return behind

    def _bound_names(self, index: int) -> tuple[list[str], list[Type]]:
        """The names in the op's head that nothing defines: the region's arguments."""
        tokens = self.state.tokens
        names: list[str] = []
        types: list[Type] = []
        for i in range(self.first, index):
            token = tokens[i]
            if token[:1] != "%" or token in self.state.values or token in names:
                continue
            names.append(token)
            type: Type = OpaqueType("?")
            if tokens[i + 1] == ":":
                type, _ = self.state.type(i + 2)
            types.append(type)
        return names, types


def _result_types(state: State, first: int, end: int, results: int) -> list[Type]:
    """The types behind the last `->`, else behind the last `:`, outside of all brackets."""
    if results == 0:
        return []
    tokens = state.tokens
    arrow = colon = -1
    depth = 0
    for i in range(first, end):
        token = tokens[i]
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        elif depth == 0 and token == "->":
            arrow = i
        elif depth == 0 and token == ":":
            colon = i
    unknown: list[Type] = [OpaqueType("?")] * results
    start = arrow if arrow >= 0 else colon
    if start < 0:
        return unknown
    try:
        types, _ = state.type_list(start + 1) if arrow >= 0 and tokens[start + 1] == "(" else (
            state.types(start + 1)
        )
    except Failure:
        return unknown
    if len(types) == results:
        return types
    return types * results if len(types) == 1 else unknown
