"""Texts and places in them: offsets, lines, columns, carets.

Place in the flow: below everything; imports nothing of the package. Lines and columns count from 1;
a column counts characters. Offsets count characters from 0.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import NamedTuple

# A printed source line longer than this is cut around the caret: dumps have lines of megabytes.
_EXCERPT_WIDTH = 160

# So many positions are found by counting line breaks before a table of them is made.
_BEFORE_TABLE = 64


class Source:
    """One input text and the name it is reported under."""

    __slots__ = ("_asked", "_line_starts", "name", "text")

    def __init__(self, text: str, name: str = "<string>"):
        self.text = text
        self.name = name
        self._line_starts: array[int] | None = None
        self._asked = 0

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset."""
        start, _ = self.line_bounds(offset)
        if self._line_starts is None:
            # Counting is quick and takes no memory; a table pays off for many questions only.
            self._asked += 1
            if self._asked <= _BEFORE_TABLE:
                return self.text.count("\n", 0, offset) + 1, offset - start + 1
            breaks = (match.end() for match in re.finditer("\n", self.text))
            self._line_starts = array("Q", breaks)
        return bisect_right(self._line_starts, offset) + 1, offset - start + 1

    def line_bounds(self, offset: int) -> tuple[int, int]:
        """The offsets of the start and the end of the line around an offset, without its line break."""
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end

    def line_at(self, offset: int) -> str:
        """The text of the line around an offset, without its line break."""
        start, end = self.line_bounds(offset)
        return self.text[start:end].rstrip("\r")


class Span(NamedTuple):
    """The stretch `start <= offset < end` of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line of the first character, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, from 1."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """What stands there."""
        return self.source.text[self.start : self.end]

    def where(self) -> str:
        """`file:line:column` of the first character."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def source_line(self) -> str:
        """The whole line on which the span starts, stripped of white space around it."""
        return self.source.line_at(self.start).strip()

    def excerpt(self) -> str:
        """The source line with a caret below the first character; empty where there is no line."""
        start, end = self.source.line_bounds(self.start)
        column = self.start - start + 1
        # A long line is cut before anything else is done with it: some hold megabytes.
        if end - start > _EXCERPT_WIDTH:
            first = max(0, column - 1 - _EXCERPT_WIDTH // 2)
            start, end = start + first, min(end, start + first + _EXCERPT_WIDTH)
            column -= first
        shown = self.source.text[start:end].rstrip("\r")
        if not shown.strip():
            return ""
        # Tabs keep their place, so that the caret stands below its character in any terminal.
        pad = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
        on_line = max(1, min(self.end - self.start, len(shown) - len(pad)))
        return f"  {shown}\n  {pad}^{'~' * (on_line - 1)}"
