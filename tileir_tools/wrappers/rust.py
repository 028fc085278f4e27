"""Rust as tokens, brackets and functions: as much as wrappers of kernels need.

Place in the flow: files -> **facts of a wrapper**; imports `errors`, `source`. It knows comments, strings,
lifetimes and nesting, functions with their attributes, generics and parameters; it knows no types and expands
no macro.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ..errors import Diagnostic, ParseError
from ..source import Source, Span

NAME, NUMBER, STRING, CHARACTER, LIFETIME, PUNCTUATION = (
    "name number string char lifetime punct".split()
)

_SKIPPED = re.compile(r"\s+|//[^\n]*")
_LEXEMES = re.compile(
    r"""(?P<raw>b?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes))
    |(?P<string>b?"(?:\\(?:.|\n)|[^"\\])*")
    |(?P<char>b?'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])')
    |(?P<lifetime>'[A-Za-z_]\w*)
    |(?P<name>(?:r\#)?[^\W\d]\w*)
    |(?P<number>\d(?:[\w]|\.(?=\d))*)
    |(?P<punct>::|->|=>|&&|\|\||==|!=|<=|>=|\+=|-=|\*=|/=|\.\.=|\.\.\.|\.\.|[-+*/%^!&|=<>@.,;:\#$?~(){}\[\]\\])""",
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A lexeme: "name", "number", "string", "char", "lifetime" or "punct"; `start` counts characters."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Part(NamedTuple):
    """Tokens of a file, from `start` up to, not including, `end`."""

    start: int
    end: int


class RustFunction(NamedTuple):
    """A function.

    Attributes:
        name, line: of it.
        attributes: texts inside of `#[..]`, in order.
        abi: of `extern "C"`, `C`; None for none.
        generics: name -> text of its type for `const`, None for types and lifetimes; in order.
        parameters: name -> text of its type, in order.
        body: its tokens, without braces; empty for one that is only declared.
    """

    name: str
    line: int
    attributes: tuple[str, ...]
    abi: str | None
    generics: dict[str, str | None]
    parameters: dict[str, str]
    body: Part


class RustFile:
    """A file of Rust.

    Attributes:
        path: relative to the project's root.
        text: all of it.
        tokens: without comments.
        closes: place of an opening bracket -> place of its closing one.
    """

    def __init__(self, text: str, path: str):
        self.text = text
        self.path = path
        self.tokens = list(_tokens(text, path))
        self.closes = _brackets(self.tokens, text, path)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def line(self, place: int) -> int:
        """The line of a token, from 1."""
        if place >= len(self.tokens):
            return len(self._starts)
        return bisect_right(self._starts, self.tokens[place].start)

    def slice(self, part: Part) -> str:
        """What tokens say, whitespace and comments made one space."""
        found = ""
        last = -1
        for token in self.tokens[part.start : part.end]:
            found += ("" if last in (-1, token.start) else " ") + token.text
            last = token.end
        return found

    def is_at(self, place: int, *texts: str) -> bool:
        """Whether these tokens stand at a place."""
        found = [token.text for token in self.tokens[place : place + len(texts)]]
        return found == list(texts)

    def step(self, place: int) -> int:
        """The place after a token, or after the bracket that it opens."""
        return self.closes.get(place, place) + 1

    def find(self, part: Part, *texts: str) -> int | None:
        """The first place outside of brackets where one of these tokens stands."""
        place = part.start
        while place < part.end:
            if self.tokens[place].text in texts:
                return place
            place = self.step(place)
        return None

    def split(self, part: Part, *, types: bool = False) -> list[Part]:
        """The parts between commas outside of brackets, of `<..>` too where they are types; no empty ones."""
        found: list[Part] = []
        start = place = part.start
        angles = 0
        while place < part.end:
            text = self.tokens[place].text
            angles += types and (text == "<") - (text == ">" and angles > 0)
            if text == "," and angles == 0:
                found.append(Part(start, place))
                start = place + 1
            place = self.step(place)
        found.append(Part(start, part.end))
        return [one for one in found if one.start < one.end]

    def inside(self, place: int) -> Part:
        """What stands in the bracket that opens at a place."""
        return Part(place + 1, self.closes[place])

    @cached_property
    def functions(self) -> tuple[RustFunction, ...]:
        """All functions, in order."""
        return tuple(
            self._function(place)
            for place, token in enumerate(self.tokens[:-1])
            if token.text == "fn" and token.kind == NAME and self.tokens[place + 1].kind == NAME
        )

    @cached_property
    def helpers(self) -> dict[str, RustFunction]:
        """Functions with a body that are not exported, by their names."""
        return {f.name: f for f in self.functions if f.abi is None and f.body.start < f.body.end}

    def _function(self, place: int) -> RustFunction:
        attributes, abi = self._before(place)
        at = place + 2
        generics: dict[str, str | None] = {}
        if self.is_at(at, "<"):
            end = self._angle(at)
            generics = dict(map(self._generic, self.split(Part(at + 1, end), types=True)))
            at = end + 1
        parameters: dict[str, str] = {}
        if self.is_at(at, "("):
            found = map(self._parameter, self.split(self.inside(at), types=True))
            parameters = {name: kind for name, kind in found if kind}
            at = self.closes[at] + 1
        angles = 0
        while at < len(self.tokens) and not (angles == 0 and self.tokens[at].text in "{;"):
            text = self.tokens[at].text
            angles += (text == "<") - (text == ">" and angles > 0)
            at = self.step(at)
        body = self.inside(at) if self.is_at(at, "{") else Part(at, at)
        name = self.tokens[place + 1].text
        return RustFunction(name, self.line(place), attributes, abi, generics, parameters, body)

    def _angle(self, place: int) -> int:
        """The place of the `>` for the `<` at a place; the end of the file where there is none."""
        depth = 0
        while place < len(self.tokens):
            text = self.tokens[place].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return place
            place = self.step(place)
        return place

    def _generic(self, part: Part) -> tuple[str, str | None]:
        if self.is_at(part.start, "const") and part.end - part.start > 3:
            return self.tokens[part.start + 1].text, self.slice(Part(part.start + 3, part.end))
        return self.tokens[part.start].text, None

    def _parameter(self, part: Part) -> tuple[str, str]:
        colon = self.find(part, ":")
        if colon is None or colon == part.start:
            return self.slice(part), ""
        return self.tokens[colon - 1].text, self.slice(Part(colon + 1, part.end))

    def _before(self, place: int) -> tuple[tuple[str, ...], str | None]:
        """Attributes and ABI of the function whose `fn` stands at a place."""
        opens = self._opens
        abi = None
        at = place - 1
        while at >= 0:
            token = self.tokens[at]
            if token.kind == STRING and self.is_at(at - 1, "extern"):
                abi = token.text.strip('"')
            elif token.text == ")" and self.is_at(opens[at] - 1, "pub"):
                at = opens[at]
            elif token.text not in ("pub", "unsafe", "extern", "const", "async"):
                break
            at -= 1
        attributes: list[str] = []
        while at >= 0 and self.tokens[at].text == "]" and self.is_at(opens[at] - 1, "#"):
            attributes.append(self.slice(Part(opens[at] + 1, at)))
            at = opens[at] - 2
        return tuple(reversed(attributes)), abi

    @cached_property
    def _opens(self) -> dict[int, int]:
        return {close: place for place, close in self.closes.items()}


def _tokens(text: str, path: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        skipped = _SKIPPED.match(text, at)
        if skipped is not None:
            at = skipped.end()
        elif text.startswith("/*", at):
            at = _comment_end(text, at, path)
        else:
            found = _LEXEMES.match(text, at)
            if found is None:
                raise _error(
                    text, path, at, f"no Rust: {text[at : at + 10].split()[0]!r} ends nowhere"
                )
            kind = found.lastgroup or PUNCTUATION
            yield Token(STRING if kind in ("raw", "hashes") else kind, found[0], at)
            at = found.end()


def _comment_end(text: str, start: int, path: str) -> int:
    """The end of a comment; comments nest."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise _error(text, path, start, "no Rust: a comment that ends nowhere")


def _brackets(tokens: list[Token], text: str, path: str) -> dict[int, int]:
    closes: dict[int, int] = {}
    waiting: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind != PUNCTUATION:
            continue
        if token.text in _CLOSING:
            waiting.append(place)
        elif token.text in _CLOSING.values():
            if not waiting or _CLOSING[tokens[waiting[-1]].text] != token.text:
                raise _error(text, path, token.start, f"no Rust: {token.text!r} closes nothing")
            closes[waiting.pop()] = place
    if waiting:
        token = tokens[waiting[-1]]
        raise _error(text, path, token.start, f"no Rust: {token.text!r} is closed nowhere")
    return closes


def _error(text: str, path: str, at: int, message: str) -> ParseError:
    return ParseError([Diagnostic("error", message, Span(Source(text, path), at, at))])
