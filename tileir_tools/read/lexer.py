"""Text to tokens.

Place in the flow: the first step of bytes -> Module for text; imports `source`.

One regular expression finds every token, so that the work is done in C. Types and attributes with angle
brackets are one token each (`tile<128x64xf32>`, `div_by<16>`, `<i32: 1>`): a file repeats a few of them
hundreds of times, and the reader looks each up by its text. Where brackets hold a comment, a string or
deeper nesting the pieces come as single tokens and the reader puts them together.

Tokens are plain strings; where they stand is found again only when somebody asks (an error, a span).
"""

from __future__ import annotations

import re

from ..source import Source, Span

# The inside of angle brackets, four levels deep. Strings, comments, SSA names and line-crossing braces
# do not occur inside types, and leaving them out keeps a missing `>` from eating the rest of the file.
_FLAT = r'[^<>"%/\n]*'
_INSIDE = _FLAT
for _ in range(4):
    _INSIDE = rf"{_FLAT}(?:<{_INSIDE}>{_FLAT})*"

_TOKEN = re.compile(
    r"(?:\s+|//[^\n]*)*("
    r"%[\w$.\-]+(?:\#\d+)?"
    r"|loc\(\#\w+\)"
    rf"|[\#!]?[A-Za-z_][\w$.]*(?:<{_INSIDE}>)?"
    r"|->"
    r'|"(?:[^"\\\n]|\\.)*"'
    r'|@(?:[\w$.\-]+|"(?:[^"\\\n]|\\.)*")'
    r"|-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+\-]?\d+)?)?)"
    rf"|<[A-Za-z]\w*\s*[:=]{_INSIDE}>"
    r"|\^[\w$.\-]+"
    r"|::|\{-\#|\#-\}"
    r"|[\s\S]|\Z)",
    re.ASCII,
)

# Marks the end of the tokens; no real token is empty.
END = ""


class Tokens:
    """The tokens of one stretch of a source; `texts` ends with several END tokens."""

    __slots__ = ("_offsets", "end", "source", "start", "texts")

    def __init__(self, source: Source, start: int = 0, end: int | None = None):
        self.source = source
        self.start = start
        self.end = len(source.text) if end is None else end
        self.texts: list[str] = _TOKEN.findall(source.text, self.start, self.end)
        # The reader looks a few tokens ahead; END beyond the end saves it every bounds check.
        self.texts += [END] * 4
        self._offsets: list[int] | None = None

    def offset(self, index: int) -> int:
        """The character offset in the source of a token."""
        if self._offsets is None:
            found = _TOKEN.finditer(self.source.text, self.start, self.end)
            self._offsets = [m.start(1) for m in found]
        if index >= len(self._offsets):
            return self.end
        return self._offsets[index]

    def span(self, first: int, last: int | None = None) -> Span:
        """The span from the start of token `first` to the end of token `last` (default: `first`)."""
        last = first if last is None else last
        start = self.offset(first)
        return Span(self.source, start, self.offset(last) + len(self.texts[last]))

    def starts_line(self, index: int) -> bool:
        """Whether only white space stands before the token on its line."""
        offset = self.offset(index)
        before = self.source.text.rfind("\n", 0, offset) + 1
        return not self.source.text[before:offset].strip()
