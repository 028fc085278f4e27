"""Text to tokens.

Place in the flow: the first step of bytes -> Module for text; imports `source` and `errors`.

One regular expression finds every token, so that the work is done in C. Types and attributes with angle
brackets are one token each (`tile<128x64xf32>`, `div_by<16>`, `<i32: 1>`): a file repeats a few of them
hundreds of times, and the reader looks each up by its text. Where brackets hold a comment, a string or
deeper nesting the pieces come as single tokens and the reader puts them together.

Tokens are plain strings; where they stand is found again only when somebody asks (an error, a span).
"""

from __future__ import annotations

import re
from array import array
from string import ascii_letters

from ..errors import Diagnostic, ParseError
from ..source import Source, Span

# The inside of angle brackets, four levels deep. Strings, comments, SSA names and line-crossing braces
# do not occur inside types, and leaving them out keeps a missing `>` from eating the rest of the file.
_FLAT = r'[^<>"%/\n]*'


def _inside(levels: int) -> str:
    # No type has more than two or three brackets side by side. The count is bounded because `re` keeps
    # a record of every repetition until the whole match is done: gigabytes for a hostile line.
    return rf"{_FLAT}(?:<{_inside(levels - 1)}>{_FLAT}){{0,9}}" if levels else _FLAT


# The commonest case first: no brackets inside the brackets.
_ANGLES = rf"<{_FLAT}(?:>|<{_inside(3)}>{_FLAT}(?:<{_inside(3)}>{_FLAT}){{0,9}}>)"

# A string that does not end on its line is one token up to the end of the line. The count of escapes is
# bounded for the same reason.
_STRING = r'"[^"\\\n]*(?:"|(?:\\.[^"\\\n]*){1,9999}"|[^\n]*)'

# Comments are matched outside of the group, so that they come out as empty tokens. `0xf8E4M3FN` begins
# like a hexadecimal number, but is a size and an element type.
_TOKEN = re.compile(
    r"\s*(?:("
    r"%[\w$.\-]+(?:\#\d+)?"
    r"|[,:=()}\[\]]"
    r"|loc\(\#\w+\)"
    rf"|[\#!]?[A-Za-z_][\w$.]*(?:{_ANGLES})?"
    r"|->"
    rf"|<(?:[A-Za-z]\w*\s*[:=]{_inside(4)}>)?"
    r"|\{(?:-\#)?"
    rf"|{_STRING}"
    rf"|@(?:[\w$.\-]+|{_STRING})?"
    r"|-?(?:0x[0-9A-Fa-f]+(?!\w)|\d+(?:\.\d*(?:[eE][+\-]?\d+)?)?)"
    r"|\^[\w$.\-]+"
    r"|\#-\}"
    r"|[^\s/]|/(?!/))"
    r"|//[^\n]*|\Z)",
    re.ASCII,
)

# What a word starts with.
LETTERS = frozenset(ascii_letters + "_")

# Marks the end of the tokens; no real token is empty.
END = ""

# A line this long is looked at before it is cut into tokens: with more tokens than this in its beginning
# it is no IR but a file gone wrong, and cutting up all of it would take gigabytes.
_LONG_LINE = 4_000_000
_MAX_TOKENS = 1_500_000

# Lines are not indented further than this.
_WIDEST = 1000


class Tokens:
    """The tokens of one stretch of a source; `texts` ends with several END tokens."""

    __slots__ = ("_offsets", "end", "source", "start", "texts")

    def __init__(self, source: Source, start: int = 0, end: int | None = None):
        self.source = source
        self.start = start
        self.end = len(source.text) if end is None else end
        if self.end - start > _LONG_LINE:
            _refuse_overlong_lines(source, start, self.end)
        self.texts: list[str] = _TOKEN.findall(source.text, start, self.end)
        if source.text.find("//", start, self.end) >= 0:
            self.texts = list(filter(None, self.texts))
        # The reader looks a few tokens ahead; END beyond the end saves it every bounds check.
        self.texts += [END] * 4
        # Where the tokens stand, as far as anybody has asked. Replaced, never changed: several threads may ask.
        self._offsets = array("Q")

    def offset(self, index: int) -> int:
        """The character offset in the source of a token."""
        offsets = self._offsets
        if self.texts[index] == END:
            return self.end
        if index >= len(offsets):
            self._offsets = offsets = self._found_offsets(offsets, index)
        return offsets[index]

    def _found_offsets(self, known: array[int], index: int) -> array[int]:
        """The offsets of more tokens than were known: up to one, and as many again, so that asking for each in
        turn looks at each a few times."""
        offsets = array("Q", known)
        start = offsets[-1] + len(self.texts[len(offsets) - 1]) if offsets else self.start
        wanted = 2 * index + 4096
        for match in _TOKEN.finditer(self.source.text, start, self.end):
            if match[1]:
                offsets.append(match.start(1))
                if len(offsets) > wanted:
                    break
        return offsets

    def span(self, first: int, last: int | None = None) -> Span:
        """The span from the start of token `first` to the end of token `last` (default: `first`)."""
        last = first if last is None else last
        start = self.offset(first)
        return Span(self.source, start, self.offset(last) + len(self.texts[last]))

    def starts_line(self, index: int) -> bool:
        """Whether a line break stands between a token and the token before it."""
        if index == 0:
            return True
        before = self.offset(index - 1) + len(self.texts[index - 1])
        return self.source.text.find("\n", before, self.offset(index)) >= 0

    def indentation(self, index: int) -> int:
        """How far the line that a token is on is indented."""
        start, end = self.source.line_bounds(self.offset(index))
        line = self.source.text[start : min(end, start + _WIDEST)]
        return len(line) - len(line.lstrip())


def is_string(token: str) -> bool:
    """Whether a token is a string that ends on its line."""
    if token[:1] != '"' or token[-1] != '"' or len(token) < 2:
        return False
    inside = token[1:-1]
    # The last quote ends the string unless it is escaped: an odd number of backslashes before it.
    return (len(inside) - len(inside.rstrip("\\"))) % 2 == 0


def _refuse_overlong_lines(source: Source, start: int, end: int) -> None:
    """Raises ParseError where a line holds far too many tokens."""
    position = start
    while end - position > _LONG_LINE:
        line_break = source.text.rfind("\n", position, position + _LONG_LINE)
        if line_break < 0:
            window_end = position + _LONG_LINE
            if len(_TOKEN.findall(source.text, position, window_end)) > _MAX_TOKENS:
                message = f"a line of more than {_MAX_TOKENS} tokens is not read"
                span = Span(source, position, position + 1)
                raise ParseError([Diagnostic("error", message, span)])
            line_break = source.text.find("\n", window_end, end)
            if line_break < 0:
                return
        position = line_break + 1
