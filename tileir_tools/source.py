"""Texts and places in them: offsets, lines, columns, carets.

Place in the flow: below everything; imports nothing of the package. Lines and columns count from 1;
a column counts characters. Offsets count characters from 0.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

# A printed source line longer than this is cut around the caret: dumps have lines of megabytes.
_EXCERPT_WIDTH = 160


class Source:
    """One input text and the name it is reported under."""

    __slots__ = ("_line_starts", "name", "text")

    def __init__(self, text: str, name: str = "<string>"):
        self.text = text
        self.name = name
        self._line_starts: list[int] | None = None

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            starts = [0]
            find = self.text.find
            newline = find("\n")
            while newline != -1:
                starts.append(newline + 1)
                newline = find("\n", newline + 1)
            self._line_starts = starts
        return self._line_starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset."""
        starts = self._starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its line break."""
        starts = self._starts()
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")


class Span(NamedTuple):
    """The stretch `start <= offset < end` of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def where(self) -> str:
        """`file:line:column` of the first character."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def source_line(self) -> str:
        """The whole line on which the span starts, stripped of white space around it."""
        return self.source.line(self.line).strip()

    def excerpt(self) -> str:
        """The source line with a caret below the first character; empty where there is no line."""
        line_number, column = self.source.position(self.start)
        line = self.source.line(line_number)
        if not line.strip():
            return ""
        first = max(0, column - 1 - _EXCERPT_WIDTH // 2) if len(line) > _EXCERPT_WIDTH else 0
        shown = line[first : first + _EXCERPT_WIDTH]
        # Tabs keep their place, so that the caret stands below its character in any terminal.
        pad = "".join("\t" if c == "\t" else " " for c in shown[: column - 1 - first])
        on_line = max(1, min(self.end - self.start, len(shown) - len(pad)))
        return f"  {shown}\n  {pad}^{'~' * (on_line - 1)}"
