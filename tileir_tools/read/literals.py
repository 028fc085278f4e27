"""Tokens of a literal's text: numbers, strings, symbols, aliases.

Place in the flow: part of bytes -> Module for text; imports nothing of the package. The reader of operations
hands over whole texts (`tile<4xf32>`, `div_by<16>`, `loc(callsite(..))`) and remembers the answers, so that
`types`, `constants`, `attribute_values` and `locations`, which read them, run once per distinct text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

# Deeper nesting than any real file has; it keeps hostile input from exhausting the stack.
MAX_NESTING = 64

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_LEX = re.compile(
    rf"\s*(?:(?P<string>{_STRING})|(?P<symbol>@(?:[\w$.\-]+|{_STRING}))"
    r"|(?P<number>-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+\-]?\d+)?)?))"
    r"|(?P<word>[#!]?[A-Za-z_][\w$.]*)|(?P<arrow>->)|(?P<char>\S))",
    re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

# Reads an object at a cursor.
_Reader: TypeAlias = "Callable[[LiteralCursor], object]"


class LiteralError(Exception):
    """What is wrong with a literal, and at which offset of its text.

    `alias` is the alias whose definition the offset is in; None for the text itself.
    """

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.alias: str | None = None


class Aliases:
    """`#name = ..` and `!name = ..` definitions of a text, resolved when they are asked for."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        # Where each text stands: its first token and the token behind it.
        self.places: dict[str, tuple[int, int]] = {}
        # How often an alias was looked up: what was read without doing so means the same everywhere.
        self.asked = 0
        # By name and by what it was read as: `#a = "x"` is an attribute but no location.
        self._done: dict[tuple[str, _Reader], object] = {}
        self._open: set[str] = set()

    def resolved(self) -> set[str]:
        """The aliases that something asked for."""
        return {name for name, _ in self._done}

    def resolve(self, c: LiteralCursor, read: _Reader) -> object:
        """The object that the alias at the cursor stands for; `read` reads its text.

        Raises:
            LiteralError: the definition is malformed, or refers to itself.
        """
        name = c.take()
        self.asked += 1
        if (name, read) in self._done:
            return self._done[name, read]
        try:
            if name in self._open:
                raise LiteralError(f"alias {name} is defined by itself", 0)
            self._open.add(name)
            try:
                cursor = LiteralCursor(self.texts[name], self)
                # Nesting counts through aliases: a chain of them uses the stack as brackets do.
                cursor.depth = c.depth
                cursor.nest()
                self._done[name, read] = found = read(cursor)
                cursor.finish()
            finally:
                self._open.discard(name)
        except LiteralError as error:
            error.alias = error.alias or name
            raise
        return found


class LiteralCursor:
    """A position in a literal's text, one token at a time."""

    def __init__(self, text: str, aliases: Aliases | None = None):
        self.text = text
        self.aliases = aliases
        self.offset = 0
        self.depth = 0
        self._advance()

    def _advance(self) -> None:
        match = _LEX.match(self.text, self.offset)
        if match is None:
            self.kind, self.token = "end", ""
            self.start = self.next = len(self.text)
        else:
            self.kind = match.lastgroup or ""
            self.token = match[self.kind]
            self.start = match.start(self.kind)
            self.next = match.end()

    def take(self) -> str:
        """The current token; moves on."""
        token = self.token
        self.offset = self.next
        self._advance()
        return token

    def ahead(self) -> str:
        """The token after the current one."""
        match = _LEX.match(self.text, self.next)
        return match[match.lastgroup or 0] if match else ""

    def seek(self, offset: int) -> None:
        self.offset = offset
        self._advance()

    def accept(self, token: str) -> bool:
        if self.token != token or self.kind == "string":
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected '{token}'")

    def comma(self, closing: str) -> None:
        """The comma between two items of a list that `closing` ends."""
        if not self.accept(","):
            raise self.error(f"expected ',' or '{closing}'")

    def error(self, expected: str) -> LiteralError:
        found = shown(self.token) if self.token else "the end"
        return LiteralError(f"{expected}, found {found}", self.start)

    def integer(self) -> int:
        if self.kind != "number" or "." in self.token:
            raise self.error("expected an integer")
        try:
            value = to_integer(self.token)
        except ValueError as error:
            raise LiteralError(str(error), self.start) from None
        self.take()
        return value

    def string(self) -> str:
        if self.kind != "string":
            raise self.error("expected a string")
        return unescape(self.take()[1:-1])

    def nest(self) -> None:
        """Called on the way into every bracket."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise LiteralError(f"nested deeper than {MAX_NESTING} levels", self.start)

    def finish(self) -> None:
        if self.kind != "end":
            raise self.error("expected nothing more")

    def balanced(self) -> str:
        """The text of a word and the angle brackets that follow it."""
        start, end = self.start, self.next
        self.take()
        level = 0
        while self.token == "<" or level:
            if self.kind == "end":
                raise self.error("expected '>'")
            level += (self.token == "<") - (self.token == ">")
            end = self.next
            self.take()
        return self.text[start:end].strip()

    def items(self, opening: str, closing: str, read: Callable[[LiteralCursor], _T]) -> list[_T]:
        """A bracketed list with commas; `read` reads one item."""
        self.nest()
        self.expect(opening)
        found: list[_T] = []
        while not self.accept(closing):
            if found:
                self.comma(closing)
            found.append(read(self))
        self.depth -= 1
        return found

    def integers(self) -> tuple[int, ...]:
        """`[1, 0]`."""
        self.expect("[")
        values: list[int] = []
        while not self.accept("]"):
            if values:
                self.comma("]")
            values.append(self.integer())
        return tuple(values)


def shown(token: str) -> str:
    """A token as an error quotes it: cut where it is long."""
    return f"'{token}'" if len(token) <= 60 else f"'{token[:57]}...'"


def to_integer(text: str) -> int:
    """The number in a token of digits, decimal or hexadecimal.

    Raises:
        ValueError: it does not fit in 64 bits.
    """
    # The length first: Python takes quadratic time, or refuses, for thousands of digits.
    value = int(text, 16 if "x" in text else 10) if len(text) <= 40 else 1 << 64
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError(f"{shown(text)} does not fit in 64 bits")
    return value


def signed(value: int, width: int) -> int:
    """The signed number with the same bits as a number that may be written unsigned.

    Raises:
        ValueError: it does not fit in `width` bits.
    """
    if not -(1 << (width - 1)) <= value < 1 << width:
        raise ValueError(f"{value} does not fit in {width} bits")
    return value - (1 << width) if value >= 1 << (width - 1) and width > 1 else value


def unescape(text: str) -> str:
    """The string that the inside of a quoted token stands for.

    MLIR writes bytes as two hex digits (`\\22`); Rust printers write `\\n` and `\\u{e9}`.
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> bytes:
        hexadecimal, unicode, simple = match.groups()
        if hexadecimal:
            return bytes([int(hexadecimal, 16)])
        if unicode:
            code = int(unicode, 16)
            return chr(code if code <= 0x10FFFF else 0xFFFD).encode("utf-8", "surrogatepass")
        return _SIMPLE_ESCAPES.get(simple, simple).encode("utf-8", "surrogatepass")

    pieces, last = [], 0
    for match in _ESCAPE.finditer(text):
        pieces.append(text[last : match.start()].encode("utf-8", "surrogatepass"))
        pieces.append(replace(match))
        last = match.end()
    pieces.append(text[last:].encode("utf-8", "surrogatepass"))
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def symbol_name(token: str) -> str:
    """The name in `@name` or `@"name"`."""
    return unescape(token[2:-1]) if token.startswith('@"') else token[1:]
