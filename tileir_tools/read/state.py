"""What the text reader knows while it reads one stretch of text.

Place in the flow: part of bytes -> Module for text; imports `lexer`, `literals`, `model`, `errors`. The
op readers in `forms`, `structured`, `generic` and `opaque` are functions over this state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

from ..errors import Diagnostic
from ..model import (
    UNKNOWN,
    Attribute,
    DenseElementsAttr,
    Location,
    Module,
    OpaqueType,
    Operation,
    OptimizationHintsAttr,
    Type,
    Value,
)
from ..source import Source, Span
from .attribute_values import parse_attribute, parse_hints
from .constants import parse_dense, parse_identities
from .depth import MAX_REGION_DEPTH, make_room
from .lexer import END, LETTERS, Tokens, is_string
from .literals import MAX_NESTING, Aliases, LiteralError, shown, to_integer
from .locations import check_unused_aliases, parse_location
from .types import parse_type

# So many tokens at the end of a part of a text may be cut off, or what is wrong with them may be.
_UNRELIABLE = 16

# Reading stops after this many errors.
MAX_ERRORS = 20

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSERS = frozenset({*_CLOSING.values(), END})

# Texts seen before -> what they stand for. Types and attributes are immutable, so one memory serves all
# files; it is emptied when a process has seen this many different texts.
_MEMORY_LIMIT = 50_000
known_types: dict[str, Type] = {}
_attributes: dict[str, Attribute] = {}
_hints: dict[str, OptimizationHintsAttr] = {}
_dense: dict[tuple[str, str], DenseElementsAttr] = {}

_Memory = TypeVar("_Memory", bound="dict[Any, Any]")
_Read = TypeVar("_Read")


def _limit(memory: _Memory) -> _Memory:
    """The memory, emptied where it holds too much."""
    if len(memory) > _MEMORY_LIMIT:
        memory.clear()
    return memory


def counted(number: int, what: str) -> str:
    """`1 result`, `2 results`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


class Failure(Exception):
    """Reading cannot go on at a token: its index, what is wrong, an offset into the token.

    An empty message stands for an error that follows from one already noted. After a `fatal` one
    nothing that follows would mean anything. `at_end`: the text ended too early. `undefined`: the token
    names a value that nothing defines.
    """

    def __init__(self, index: int, message: str, offset: int = 0, fatal: bool = False):
        super().__init__(message)
        self.index = index
        self.message = message
        self.offset = offset
        self.fatal = fatal
        self.at_end = False
        self.undefined = False


class Stop(Exception):
    """Reading ends here: there are enough errors, or a fatal one."""


class State:
    """The tokens, the values in scope, the aliases, and what went wrong so far."""

    __slots__ = (
        "aliases",
        "behind_brackets",
        "defined",
        "depth",
        "errors",
        "fragments",
        "lex",
        "outside",
        "partial",
        "pending_locations",
        "poisoned",
        "region_at",
        "source",
        "symbols",
        "tokens",
        "values",
        "warnings",
    )

    def __init__(self, source: Source, start: int, end: int, partial: bool = False):
        self.source = source
        # Whether the text goes on behind `end`: what goes wrong there is no error then.
        self.partial = partial
        self.lex = Tokens(source, start, end)
        self.tokens = self.lex.texts
        # SSA name as written (`%0`, `%1#1`) -> value, for what is in scope.
        self.values: dict[str, Value] = {}
        # The names of `values` in order of definition: leaving a region takes its own back out.
        self.defined: list[str] = []
        self.aliases = Aliases()
        # Operations with their `loc(..)`, first token and token behind: aliases may come further down.
        self.pending_locations: list[tuple[Operation | Module, int, int]] = []
        # Names whose definition failed, and the depth of the region: a use of one is no new error.
        self.poisoned: dict[str, int] = {}
        # The symbols of a module (by its id) that are taken.
        self.symbols: set[tuple[int, str]] = set()
        # Opening bracket -> the token behind the closing one, for brackets that a search came across.
        self.behind_brackets: dict[int, int] = {}
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        # How deep the region that is being read is, and the token that opens it.
        self.depth = 0
        self.region_at = 0
        # Whether operations may stand outside of entries, and how many of `defined` they are.
        self.fragments = False
        self.outside = 0

    # -- messages -----------------------------------------------------------------------------------

    def found(self, index: int) -> str:
        """How an error names the token that stands where something else was expected."""
        token = self.tokens[index]
        if token == END:
            return "the end of the text"
        if token[:1] == '"' and not is_string(token):
            return "a string that does not end on its line"
        return shown(token)

    def expected(self, index: int, what: str) -> Failure:
        failure = Failure(index, f"expected {what}, found {self.found(index)}")
        failure.at_end = self.tokens[index] == END
        return failure

    def error(self, failure: Failure) -> None:
        """Note an error. Raises Stop where nothing is to be gained from reading on."""
        if self.partial and (failure.at_end or failure.index > len(self.tokens) - _UNRELIABLE):
            raise Stop
        if failure.message:
            start = self.lex.offset(failure.index) + failure.offset
            length = max(1, len(self.tokens[failure.index]) - failure.offset)
            end = min(start + length, len(self.source.text))
            span = Span(self.source, start, max(start, end))
            self.errors.append(Diagnostic("error", failure.message, span))
        if failure.fatal or len(self.errors) >= MAX_ERRORS:
            raise Stop

    def warn(self, first: int, last: int, message: str) -> None:
        self.warnings.append(Diagnostic("warning", message, self.lex.span(first, last)))

    # -- tokens -------------------------------------------------------------------------------------

    def expect(self, index: int, token: str) -> int:
        """The index behind `token`. Raises Failure where another token stands."""
        if self.tokens[index] != token:
            raise self.expected(index, f"'{token}'")
        return index + 1

    def comma(self, index: int, closing: str) -> int:
        """The index behind the comma between two items of a list that `closing` ends."""
        if self.tokens[index] != ",":
            raise self.expected(index, f"',' or '{closing}'")
        return index + 1

    def enter(self, index: int) -> int:
        """The index behind the `{` that opens a region or a module, one level deeper. Raises Failure."""
        self.expect(index, "{")
        if self.depth >= MAX_REGION_DEPTH:
            message = f"regions are nested deeper than {MAX_REGION_DEPTH} levels"
            raise Failure(index, message, fatal=True)
        self.depth += 1
        make_room(self.depth)
        self.region_at = index
        return index + 1

    def close(self, index: int, opening: int) -> int:
        """The index behind the `}` that must stand at `index`. Raises Failure.

        At the end of the text the failure is fatal and names the token that opened the bracket: every
        bracket around it is left open as well.
        """
        if self.tokens[index] != "}":
            raise self._not_closed(index, opening)
        return index + 1

    def _not_closed(self, index: int, opening: int) -> Failure:
        bracket = self.tokens[opening]
        wanted = _CLOSING[bracket]
        if bracket == "{" and self.tokens[index] != END:
            return self.expected(index, f"'{wanted}'")
        message = f"'{bracket}' is not closed: expected '{wanted}', found {self.found(index)}"
        failure = Failure(opening, message)
        failure.at_end = self.tokens[index] == END
        failure.fatal = failure.at_end and bracket == "{"
        return failure

    def bracketed(self, index: int) -> int:
        """The index behind the bracket that closes the one at `index`. Raises Failure."""
        opened: list[int] = []
        tokens = self.tokens
        i = index
        while True:
            token = tokens[i]
            if token in _CLOSING:
                opened.append(i)
                if len(opened) > MAX_NESTING:
                    message = f"brackets are nested deeper than {MAX_NESTING} levels"
                    raise Failure(i, message)
            elif not opened:
                raise self.expected(i, "a bracket")
            elif token == _CLOSING[tokens[opened[-1]]]:
                opened.pop()
                if not opened:
                    return i + 1
            elif token in _CLOSERS:
                raise self._not_closed(i, opened[-1])
            i += 1

    def integer(self, index: int) -> tuple[int, int]:
        token = self.tokens[index]
        if not token.removeprefix("-")[:1].isdigit() or "." in token:
            raise self.expected(index, "an integer")
        try:
            return to_integer(token), index + 1
        except ValueError as error:
            raise Failure(index, str(error)) from None

    # -- values -------------------------------------------------------------------------------------

    def operand(self, index: int) -> Value:
        """The value that the token names. Raises Failure where there is none in scope."""
        token = self.tokens[index]
        value = self.values.get(token)
        if value is not None:
            return value
        if token[:1] != "%":
            raise self.expected(index, "a value such as %0")
        base, _, number = token.partition("#")
        if number == "0" and base in self.values and f"{base}#1" not in self.values:
            return self.values[base]
        known_error = base in self.poisoned
        message = "" if known_error else f"{token} is not defined here{self._hint(token, index)}"
        failure = Failure(index, message)
        failure.undefined = True
        raise failure

    def _hint(self, token: str, index: int) -> str:
        """What an error adds where the same entry defines the value further down."""
        ahead = self.tokens[index + 1 : index + 100_000]
        for first, second in pairwise(ahead):
            if first == token and second in ("=", ":"):
                return "; a value must be defined before it is used"
            if first in ("entry", "cuda_tile.entry"):
                break
        return ""

    def operands(self, index: int) -> tuple[list[Value], int]:
        """A comma-separated list of values, at least one."""
        values = [self.operand(index)]
        index += 1
        while self.tokens[index] == ",":
            values.append(self.operand(index + 1))
            index += 2
        return values, index

    def define(self, name: str, value: Value, index: int) -> None:
        """Bring a value into scope. Raises Failure where its name is taken."""
        if name in self.values:
            raise Failure(index, f"{name} is already defined")
        value.name = name
        self.values[name] = value
        self.defined.append(name)

    def poison(self, name: str) -> None:
        """Note that the definition of a name failed. What had the name before is not meant by it."""
        known = self.values.pop(name, None)
        depth = 0 if known is not None else self.depth
        self.poisoned[name] = min(depth, self.poisoned.get(name, depth))

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Hide what operations outside define: an entry does not see it."""
        values, defined = self.values, self.defined
        if defined:
            self.values, self.defined = {}, []
        try:
            yield
        finally:
            self.values, self.defined = values, defined

    def leave(self, mark: int) -> None:
        """Take every name out of scope that was defined since `len(defined)` was `mark`."""
        for name in self.defined[mark:]:
            self.values.pop(name, None)
        del self.defined[mark:]
        if self.poisoned:
            inner = [name for name, depth in self.poisoned.items() if depth > self.depth]
            for name in inner:
                del self.poisoned[name]

    # -- types and attributes -----------------------------------------------------------------------

    def type(self, index: int) -> tuple[Type, int]:
        """The type at a token and the index behind it. Raises Failure."""
        found = known_types.get(self.tokens[index])
        if found is not None:
            return found, index + 1
        behind = self._type_end(index)
        text = self.literal(index, behind)
        return self._remembered(known_types, text, index, behind, parse_type), behind

    def _type_end(self, index: int) -> int:
        """The index behind the type at a token, which may come in several tokens."""
        tokens = self.tokens
        token = tokens[index]
        if token == "(":
            behind = self.bracketed(index)
            while tokens[behind] == "->":
                index = behind + 1
                if tokens[index] != "(":
                    return self._type_end(index)
                behind = self.bracketed(index)
            return behind
        if token[:1] not in LETTERS and token[:1] != "!":
            raise self.expected(index, "a type")
        behind = index + 1
        if tokens[behind] == "<":
            return self.bracketed(behind)
        if tokens[behind][:1] == "<" and "<" not in token:
            # `tile <tile=(..)..>` with a space: the lexer saw the brackets as one token.
            return behind + 1
        return behind

    def types(self, index: int) -> tuple[list[Type], int]:
        """A comma-separated list of types, at least one."""
        found, index = self.type(index)
        types = [found]
        while self.tokens[index] == ",":
            found, index = self.type(index + 1)
            types.append(found)
        return types, index

    def types_of(self, index: int, values: list[Value]) -> tuple[list[Type], int]:
        """A list of types that must be those of `values`. Raises Failure."""
        types, behind = self.types(index)
        if len(types) != len(values):
            wanted = counted(len(values), "type")
            message = f"expected {wanted}, one for each value, found {len(types)}"
            raise Failure(index, message)
        for k, (value, type) in enumerate(zip(values, types)):
            if value.type is not type:
                raise self.clash(self.behind_types(index, k), value, type)
        return types, behind

    def behind_types(self, index: int, count: int) -> int:
        """The index of the type that comes `count` types after the one at `index`."""
        for _ in range(count):
            index = self.type(index)[1] + 1
        return index

    def clash(self, index: int, value: Value, found: Type) -> Failure:
        """What is wrong where the type at a token is not that of a value."""
        op = value.defining_op
        if isinstance(value.type, OpaqueType) and op is not None and op.spec is None:
            return Failure(
                index, f"the type of {value.name} is not known: '{op.name}' is no known operation"
            )
        return Failure(index, f"{value.name} is {value.type}, the operation says {found}")

    def type_list(self, index: int) -> tuple[list[Type], int]:
        """`(a, b)`, `()`, or one type without parentheses."""
        if self.tokens[index] != "(":
            found, index = self.type(index)
            return [found], index
        if self.tokens[index + 1] == ")":
            return [], index + 2
        types, index = self.types(index + 1)
        return types, self.expect(index, ")")

    def attribute(self, index: int) -> tuple[Attribute, int]:
        """Any attribute at a token, with the type behind it. Raises Failure."""
        following = self.tokens[index + 1]
        if following != ":" and following[:1] != "<":
            known = _attributes.get(self.tokens[index])
            if known is not None:
                return known, index + 1
        behind = self._attribute_end(index)
        text = self.literal(index, behind)
        return self._remembered(_attributes, text, index, behind, parse_attribute), behind

    def _attribute_end(self, index: int) -> int:
        """The index behind an attribute: a token or bracket, then `<..>`, then `: type`."""
        tokens = self.tokens
        token = tokens[index]
        if token == END or token in (")", "]", "}", ">", ",", "="):
            raise self.expected(index, "an attribute")
        if token == "(":
            return self._type_end(index)
        behind = self.bracketed(index) if token in ("[", "{") else index + 1
        if tokens[behind][:1] == "<" and (token[0] in LETTERS or token[0] in "#!"):
            # Where the lexer saw the brackets as one token, it ends here: `array<i32: 1>`, `tile <i1>`.
            behind = self.bracketed(behind) if tokens[behind] == "<" else behind + 1
        numeric = token[0].isdigit() or token[0] == "-"
        dense = token.startswith("dense")
        if tokens[behind] == ":" and (numeric or dense):
            behind = self._type_end(behind + 1)
        return behind

    def hints(self, index: int) -> tuple[OptimizationHintsAttr, int]:
        """`<sm_100 = {..}>` or `#cuda_tile.optimization_hints<..>`."""
        tokens = self.tokens
        token = tokens[index]
        if token == "<":
            behind = self.bracketed(index)
        elif tokens[index + 1] == "<" and token[:1] in "#o":
            behind = self.bracketed(index + 1)
        elif tokens[index + 1][:1] == "<" and token[:1] in "#o":
            behind = index + 2
        else:
            behind = index + 1
        text = " ".join(tokens[index:behind])
        return self._remembered(_hints, text, index, behind, parse_hints), behind

    def dense(self, index: int) -> tuple[DenseElementsAttr, int]:
        """`<i32: 1> : tile<i32>`."""
        tokens = self.tokens
        token = tokens[index]
        known = _dense.get((token, tokens[index + 2]))
        if known is not None and tokens[index + 1] == ":":
            return known, index + 3
        if token == "<":
            behind = self.bracketed(index)
            inside = " ".join(tokens[index + 1 : behind - 1])
        elif token[:1] == "<":
            behind, inside = index + 1, token[1:-1]
        else:
            raise self.expected(index, "elements such as <i32: 0>")
        type, end = self.type(self.expect(behind, ":"))
        try:
            found = parse_dense(inside, type)
        except LiteralError as error:
            if token == "<":
                raise self._located(index + 1, behind - 1, error) from None
            raise Failure(index, error.message, min(error.offset + 1, len(token) - 1)) from None
        # Not where the type is an alias: another text means something else by it.
        if end == index + 3 and tokens[index + 2] in known_types:
            _limit(_dense)[token, tokens[index + 2]] = found
        return found, end

    def identities(self, index: int, behind: int, elements: list[Type]) -> Attribute:
        """`[0, -inf]` without types: each has that of its operand. Raises Failure."""
        try:
            return parse_identities(" ".join(self.tokens[index:behind]), elements)
        except LiteralError as error:
            raise self._located(index, behind, error) from None

    def _remembered(
        self,
        memory: dict[str, _Read],
        text: str,
        index: int,
        behind: int,
        read: Callable[[str, Aliases], _Read],
    ) -> _Read:
        """What the tokens from `index` to `behind`, `text` together, stand for. Raises Failure."""
        found = memory.get(text)
        if found is not None:
            return found
        aliases = self.aliases
        asked = aliases.asked
        try:
            found = read(text, aliases)
        except LiteralError as error:
            raise self._located(index, behind, error) from None
        # What an alias stands for is a matter of this text alone.
        if aliases.asked == asked:
            _limit(memory)[text] = found
        return found

    def literal(self, index: int, behind: int) -> str:
        """The text of the tokens from `index` to `behind`.

        Tokens are put together with spaces, so that comments and line breaks do not matter; what this
        version only keeps as text stays as it was written.
        """
        if not self._verbatim(index, behind):
            return " ".join(self.tokens[index:behind])
        span = self.lex.span(index, behind - 1)
        return span.text if "//" not in span.text else " ".join(self.tokens[index:behind])

    def _verbatim(self, index: int, behind: int) -> bool:
        if behind == index + 1:
            return False
        return any(
            token == "fused" or (token[:1] in ("#", "!") and "." in token)
            for token in self.tokens[index:behind]
            if not token.startswith(("#cuda_tile.", "!cuda_tile."))
        )

    def _located(self, index: int, behind: int, error: LiteralError) -> Failure:
        """An error in the tokens from `index` to `behind` as a failure at one of them."""
        offset = error.offset
        if error.alias is not None:
            index, behind = self.aliases.places[error.alias]
        if self._verbatim(index, behind):
            return Failure(index, error.message, offset)
        while index < behind - 1 and offset > len(self.tokens[index]):
            offset -= len(self.tokens[index]) + 1
            index += 1
        return Failure(index, error.message, max(0, min(offset, len(self.tokens[index]) - 1)))

    # -- locations ----------------------------------------------------------------------------------

    def location(self, op: Operation | Module, index: int) -> int:
        """The index behind the trailing `loc(..)` of an operation, where there is one."""
        behind = self.skip_location(index)
        if behind > index:
            self.pending_locations.append((op, index, behind))
        return behind

    def skip_location(self, index: int) -> int:
        """The index behind a `loc(..)`, where there is one."""
        token = self.tokens[index]
        if token[:4] == "loc(":
            return index + 1
        if token != "loc":
            return index
        if self.tokens[index + 1] != "(":
            raise self.expected(index + 1, "'('")
        return self.bracketed(index + 1)

    def settle_locations(self) -> None:
        """Give every operation its location, now that all aliases are known. Raises Stop."""
        done: dict[str, Location] = {}
        reported: set[tuple[str | None, str]] = set()
        for op, index, behind in self.pending_locations:
            text = self.literal(index, behind)
            if text not in done:
                done[text] = UNKNOWN
                try:
                    done[text] = parse_location(text, self.aliases)
                except LiteralError as error:
                    # A broken alias is one error, however many locations lead to it.
                    if error.alias is None or (error.alias, error.message) not in reported:
                        reported.add((error.alias, error.message))
                        self.error(self._located(index, behind, error))
            op.location = done[text]
        self.pending_locations.clear()
        for wrong in check_unused_aliases(self.aliases):
            if (wrong.alias, wrong.message) not in reported:
                reported.add((wrong.alias, wrong.message))
                self.error(self._located(0, 1, wrong))
