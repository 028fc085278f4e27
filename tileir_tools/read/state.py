"""What the text reader knows while it reads one stretch of text.

Place in the flow: part of bytes -> Module for text; imports `lexer`, `literals`, `model`, `errors`. The
op readers in `forms`, `structured`, `generic` and `opaque` are functions over this state.
"""

from __future__ import annotations

from ..errors import Diagnostic
from ..model import (
    Attribute,
    DenseElementsAttr,
    Location,
    Operation,
    OptimizationHintsAttr,
    Type,
    Value,
)
from ..source import Source, Span
from .lexer import END, Tokens
from .literals import (
    Aliases,
    LiteralError,
    parse_attribute,
    parse_dense,
    parse_hints,
    parse_location,
    parse_type,
)

# Regions may nest this deep. Real kernels nest fewer than ten; the limit keeps hostile input from
# exhausting the interpreter's stack.
MAX_REGION_DEPTH = 100

# Reading stops after this many errors.
MAX_ERRORS = 20

# Texts seen before -> what they stand for. Types and attributes are immutable, so one memory serves all
# files; it is emptied when a process has seen this many different texts.
_MEMORY_LIMIT = 50_000
_types: dict[str, Type] = {}
_attributes: dict[str, Attribute] = {}
_hints: dict[str, OptimizationHintsAttr] = {}
_dense: dict[tuple[str, Type], DenseElementsAttr] = {}


class Failure(Exception):
    """Reading cannot go on at a token: its index, what is wrong, an offset into the token."""

    def __init__(self, index: int, message: str, offset: int = 0):
        super().__init__(message)
        self.index = index
        self.message = message
        self.offset = offset


class State:
    """The tokens, the values in scope, the aliases, and what went wrong so far."""

    __slots__ = (
        "aliases",
        "defined",
        "depth",
        "errors",
        "lex",
        "pending_locations",
        "poisoned",
        "source",
        "tokens",
        "values",
        "warnings",
    )

    def __init__(self, source: Source, start: int, end: int):
        self.source = source
        self.lex = Tokens(source, start, end)
        self.tokens = self.lex.texts
        # SSA name as written (`%0`, `%1#1`) -> value, for what is in scope.
        self.values: dict[str, Value] = {}
        # The names of `values` in order of definition: leaving a region takes its own back out.
        self.defined: list[str] = []
        self.aliases = Aliases()
        # Operations whose `loc(#locN)` may be defined further down: (operation, alias, token).
        self.pending_locations: list[tuple[Operation, str, int]] = []
        # Names whose definition failed: a use of one is no new error.
        self.poisoned: set[str] = set()
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.depth = 0

    # -- messages -----------------------------------------------------------------------------------

    def found(self, index: int) -> str:
        """How an error names the token that stands where something else was expected."""
        token = self.tokens[index]
        if token == END:
            return "the end of the text"
        if token == '"':
            return "a string that does not end on its line"
        return f"'{token}'" if len(token) <= 60 else f"'{token[:57]}...'"

    def expected(self, index: int, what: str) -> Failure:
        return Failure(index, f"expected {what}, found {self.found(index)}")

    def error(self, failure: Failure) -> None:
        start = self.lex.offset(failure.index) + failure.offset
        length = max(1, len(self.tokens[failure.index]) - failure.offset)
        end = min(start + length, len(self.source.text))
        self.errors.append(
            Diagnostic("error", failure.message, Span(self.source, start, max(start, end)))
        )

    def warn(self, first: int, last: int, message: str) -> None:
        self.warnings.append(Diagnostic("warning", message, self.lex.span(first, last)))

    # -- tokens -------------------------------------------------------------------------------------

    def expect(self, index: int, token: str) -> int:
        """The index behind `token`. Raises Failure where another token stands."""
        if self.tokens[index] != token:
            raise self.expected(index, f"'{token}'")
        return index + 1

    def word(self, index: int, word: str) -> int:
        """Like `expect`, for a keyword of the op that is being read."""
        return self.expect(index, word)

    def bracketed(self, index: int) -> int:
        """The index behind the bracket that closes the one at `index`."""
        closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
        stack: list[str] = []
        tokens = self.tokens
        i = index
        while True:
            token = tokens[i]
            if token in closing:
                stack.append(closing[token])
            elif stack and token == stack[-1]:
                stack.pop()
                if not stack:
                    return i + 1
            elif token == END:
                raise self.expected(i, f"'{stack[-1]}'" if stack else "a bracket")
            i += 1

    def integer(self, index: int) -> tuple[int, int]:
        token = self.tokens[index]
        try:
            return (int(token, 0) if "x" in token else int(token)), index + 1
        except ValueError:
            raise self.expected(index, "an integer") from None

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
        if base in self.poisoned:
            raise Failure(index, "")
        raise Failure(index, f"{token} is not defined here{self._hint(token, index)}")

    def _hint(self, token: str, index: int) -> str:
        later = any(
            self.tokens[i] == token and self.tokens[i + 1] in ("=", ":", ",")
            for i in range(index + 1, min(len(self.tokens) - 1, index + 100_000))
            if self.tokens[i] == token
        )
        return "; a value must be defined before it is used" if later else ""

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

    def leave(self, mark: int) -> None:
        """Take every name out of scope that was defined since `len(defined)` was `mark`."""
        for name in self.defined[mark:]:
            del self.values[name]
        del self.defined[mark:]

    # -- types and attributes -----------------------------------------------------------------------

    def type(self, index: int) -> tuple[Type, int]:
        """The type at a token and the index behind it. Raises Failure."""
        token = self.tokens[index]
        found = _types.get(token)
        if found is not None and self.tokens[index + 1] != "<":
            return found, index + 1
        text, behind = self._type_text(index)
        found = self._parse(index, text, parse_type)
        if not self.aliases.texts:
            if len(_types) > _MEMORY_LIMIT:
                _types.clear()
            _types[text] = found
        return found, behind

    def _type_text(self, index: int) -> tuple[str, int]:
        """The text of the type at a token, put together where it comes in several tokens."""
        tokens = self.tokens
        token = tokens[index]
        if token == "(":
            behind = self.bracketed(index)
            if tokens[behind] == "->":
                behind += 1
                if tokens[behind] == "(":
                    behind = self.bracketed(behind)
                else:
                    _, behind = self._type_text(behind)
            return " ".join(tokens[index:behind]), behind
        if not (token[:1].isalpha() or token[:1] in ("!", "_")):
            raise self.expected(index, "a type")
        behind = index + 1
        if tokens[behind] == "<":
            behind = self.bracketed(behind)
        elif tokens[behind][:1] == "<" and "<" not in token:
            # `tile <tile=(..)..>` with a space: the lexer saw the brackets as one token.
            behind += 1
        return "".join(tokens[index:behind]), behind

    def types(self, index: int) -> tuple[list[Type], int]:
        """A comma-separated list of types, at least one."""
        found, index = self.type(index)
        types = [found]
        while self.tokens[index] == ",":
            found, index = self.type(index + 1)
            types.append(found)
        return types, index

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
        behind = self._attribute_end(index)
        text = " ".join(self.tokens[index:behind])
        found = _attributes.get(text)
        if found is None:
            found = self._parse(index, text, parse_attribute)
            if not self.aliases.texts:
                if len(_attributes) > _MEMORY_LIMIT:
                    _attributes.clear()
                _attributes[text] = found
        return found, behind

    def _attribute_end(self, index: int) -> int:
        """The index behind an attribute: a token or bracket, then `<..>`, then `: type`."""
        tokens = self.tokens
        token = tokens[index]
        if token == END or token in (")", "]", "}", ">", ",", "="):
            raise self.expected(index, "an attribute")
        if token == "(":
            return self._type_text(index)[1]
        behind = self.bracketed(index) if token in ("[", "{") else index + 1
        if tokens[behind] == "<" and (token[0].isalpha() or token[0] in "#!"):
            behind = self.bracketed(behind)
        elif tokens[behind][:1] == "<" and token in ("array", "dense"):
            behind += 1
        numeric = token[0].isdigit() or token[0] == "-"
        dense = token.startswith("dense")
        if tokens[behind] == ":" and (numeric or dense):
            behind = self._type_text(behind + 1)[1]
        return behind

    def hints(self, index: int) -> tuple[OptimizationHintsAttr, int]:
        """`<sm_100 = {..}>` or `#cuda_tile.optimization_hints<..>`."""
        tokens = self.tokens
        token = tokens[index]
        if token == "<":
            behind = self.bracketed(index)
        elif tokens[index + 1] == "<" and token[:1] in "#o":
            behind = self.bracketed(index + 1)
        else:
            behind = index + 1
        text = " ".join(tokens[index:behind])
        found = _hints.get(text)
        if found is None:
            found = self._parse(index, text, parse_hints)
            if not self.aliases.texts:
                if len(_hints) > _MEMORY_LIMIT:
                    _hints.clear()
                _hints[text] = found
        return found, behind

    def dense(self, index: int) -> tuple[DenseElementsAttr, int]:
        """`<i32: 1> : tile<i32>`."""
        tokens = self.tokens
        token = tokens[index]
        if token == "<":
            behind = self.bracketed(index)
            inside = " ".join(tokens[index + 1 : behind - 1])
        elif token[:1] == "<":
            behind, inside = index + 1, token[1:-1]
        else:
            raise self.expected(index, "elements such as <i32: 0>")
        behind = self.expect(behind, ":")
        type, behind = self.type(behind)
        key = (inside, type)
        found = _dense.get(key)
        if found is None:
            found = self._parse(index, inside, lambda text, _: parse_dense(text, type), 1)
            if len(_dense) > _MEMORY_LIMIT:
                _dense.clear()
            _dense[key] = found
        return found, behind

    def _parse(self, index: int, text: str, parse, skip: int = 0):  # type: ignore[no-untyped-def]
        """Run a literal parser; turn its error into a Failure at the right place."""
        try:
            return parse(text, self.aliases)
        except LiteralError as error:
            whole = self.tokens[index]
            # Only where the literal is one token does an offset into it name a place in the file.
            offset = error.offset + skip if len(whole) == len(text) + 2 * skip else 0
            raise Failure(index, error.message, min(offset, max(0, len(whole) - 1))) from None

    # -- locations ----------------------------------------------------------------------------------

    def location(self, op: Operation, index: int) -> int:
        """The trailing `loc(..)` of an operation, where there is one."""
        token = self.tokens[index]
        if token[:4] == "loc(":
            self.pending_locations.append((op, token, index))
            return index + 1
        if token == "loc" and self.tokens[index + 1] == "(":
            behind = self.bracketed(index + 1)
            text = " ".join(self.tokens[index:behind])
            self.pending_locations.append((op, text, index))
            return behind
        return index

    def skip_location(self, index: int) -> int:
        """Pass over the `loc(..)` of a block argument."""
        token = self.tokens[index]
        if token[:4] == "loc(":
            return index + 1
        if token == "loc" and self.tokens[index + 1] == "(":
            return self.bracketed(index + 1)
        return index

    def settle_locations(self) -> None:
        """Give every operation its location, now that all aliases are known."""
        done: dict[str, Location] = {}
        for op, text, index in self.pending_locations:
            found = done.get(text)
            if found is None:
                try:
                    found = done[text] = parse_location(text, self.aliases)
                except LiteralError as error:
                    if len(self.errors) < MAX_ERRORS:
                        self.error(Failure(index, error.message))
                    continue
            op.location = found
        self.pending_locations.clear()
