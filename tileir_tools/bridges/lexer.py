"""A lexer for pygments: Tile IR in colour, in documents, terminals and notebooks.

Place in the flow: beside bytes -> Module; imports `dialect`, `model` and pygments, which loads it by its entry
point. It takes every spelling that the reader takes, and colours what is no Tile IR as well as it can.
"""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from ..dialect import ALIASES, ARCHES, DEFAULT_KEY, KEYWORD_ALIASES, KEYWORDS, OPS
from ..model.types import ELEMENT_NAMES

_PREFIX = r"(?:cuda_tile\.)?"
_OF_CONTROL = frozenset(
    name
    for name, spec in OPS.items()
    if spec.traits & {"control", "terminator", "testing"} or name in ("module", "entry", "global")
)
_CONTROL = "|".join(re.escape(name) for name in OPS if name in _OF_CONTROL)
_OPS = "|".join((*(name for name in OPS if name not in _OF_CONTROL), *ALIASES))
_CONSTANTS = (
    *(keyword for keywords in KEYWORDS.values() for keyword in keywords if keyword not in OPS),
    *KEYWORD_ALIASES,
    "true",
    "false",
    "inf",
    "nan",
    "unit",
)
_TYPES = "tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view"
_ELEMENTS = "|".join(sorted({n for e in ELEMENT_NAMES for n in (e, e.lower())}, reverse=True))
# Words of the pretty forms.
_WORDS = ("attributes", "else", "in", "iter_values", "to", "step", "constant")
_END = r"(?![\w$.])"


class CudaTileLexer(RegexLexer):
    """CUDA Tile IR: NVIDIA's `cuda_tile` dialect of MLIR, as text."""

    name = "CUDA Tile IR"
    aliases: ClassVar = ["cuda_tile", "tileir"]
    filenames: ClassVar = ["*.cuda_tile.mlir"]
    url = "https://docs.nvidia.com/cuda/tile-ir/"

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            # What frames the IR in a log.
            (r"^[ \t]*===[^\n]*", Comment.Special),
            include("values"),
            include("attributes"),
            include("types"),
            include("operations"),
            (r'@"(?:[^"\\\n]|\\.)*"|@[\w$.\-]+', Name.Function),
            (r'"(?:cuda_tile|builtin)\.[\w$]+"(?=\s*\()', Name.Builtin),
            (r'"', String.Double, "string"),
            (r"-?0[xX][0-9A-Fa-f]+(?!\w)", Number.Hex),
            (r"-?\d+\.\d*(?:[eE][+\-]?\d+)?", Number.Float),
            (r"-?\d+", Number.Integer),
            (r"[A-Za-z_][\w$.]*", Name),
            (r"->|[=*+/|&]", Operator),
            (r"\{-#|#-\}|[\[\](){}<>,:;?.@#!^%$\-]", Punctuation),
        ],
        "values": [
            # What is assigned is an operation, whether we know it or not.
            (
                rf"(%[\w$.\-]+)(?:(:)(\d+))?(\s*)(=)(\s*)({_PREFIX}(?:{_CONTROL}){_END})",
                bygroups(
                    Name.Variable,
                    Punctuation,
                    Number.Integer,
                    Whitespace,
                    Operator,
                    Whitespace,
                    Keyword,
                ),
            ),
            (
                r"(%[\w$.\-]+)(?:(:)(\d+))?(\s*)(=)(\s*)([A-Za-z_][\w$.]*)",
                bygroups(
                    Name.Variable,
                    Punctuation,
                    Number.Integer,
                    Whitespace,
                    Operator,
                    Whitespace,
                    Name.Builtin,
                ),
            ),
            (r"%[\w$.\-]+(?:#\d+)?", Name.Variable),
            (r"\^[\w$.\-]+", Name.Label),
        ],
        "attributes": [
            (r"#loc\w*", Name.Label),
            (r"#[A-Za-z_][\w$.]*", Name.Decorator),
            (r"loc(?=\s*\()", Keyword.Pseudo),
            # A name in front of `=` is that of an attribute; `==` does not occur.
            (r"[A-Za-z_][\w$.]*(?=\s*=)", Name.Attribute),
            (words((*ARCHES, DEFAULT_KEY), suffix=_END), Name.Attribute),
            (r"(?:rounding|overflow|div_by|bounded|same_elements)(?=\s*<)", Name.Attribute),
            (words(_CONSTANTS, suffix=_END), Keyword.Constant),
        ],
        "types": [
            (r"![A-Za-z_][\w$.]*", Keyword.Type),
            (rf"(?:{_TYPES})(?=\s*<)", Keyword.Type),
            (rf"token{_END}", Keyword.Type),
            (rf"(?:{_ELEMENTS}){_END}", Keyword.Type),
            # Sizes: `128x?xf16`.
            (
                rf"(\d+|\?)(x)(?=[\d?!]|(?:{_ELEMENTS})\b|ptr\b)",
                bygroups(Number.Integer, Operator),
            ),
            (rf"(x)((?:{_ELEMENTS}){_END})", bygroups(Operator, Keyword.Type)),
        ],
        "operations": [
            (rf"{_PREFIX}(?:{_CONTROL}){_END}", Keyword),
            (words(_WORDS, suffix=_END), Keyword.Reserved),
            (rf"{_PREFIX}(?:{_OPS}){_END}", Name.Builtin),
        ],
        "string": [
            (r'[^"\\\n]+', String.Double),
            (r"\\(?:[0-9A-Fa-f]{2}|[^\n])", String.Escape),
            (r"\\", String.Double),
            (r'"', String.Double, "#pop"),
            # A string ends with its line.
            (r"\n", Whitespace, "#pop"),
        ],
    }
