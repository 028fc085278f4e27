"""The text format of cuda_tile types, attributes, hints, constants, locations and symbols, as grammars.

They are written down for other tools: highlighters, fuzzers, people who write a printer. The reader of
this package does not use them, because importing a parser generator takes longer than reading most
files; the tests check that reader and grammars agree. Each is LALR(1), in the notation of `lark`:

    from lark import Lark
    types = Lark.open_from_package("tileir_tools.grammars", "types.lark", start="type", parser="lalr")
    types.parse("tile<128x64xf16>")

| file | start rules |
| --- | --- |
| `symbols.lark` | `symbol` |
| `types.lark` | `type` |
| `attributes.lark` | `attribute`, `predicate` |
| `hints.lark` | `hints` |
| `constants.lark` | `constant`: what follows the op name, `<i32: [1, 2]> : tile<2xi32>` |
| `locations.lark` | `location`: `loc(..)`; `scope`: a debug-info node |

A grammar says what is well formed, not what is valid: that the elements of a constant make up its tile,
or that an alias is defined, is for the reader to say.
"""

from __future__ import annotations

from importlib import resources

NAMES: tuple[str, ...] = ("symbols", "types", "attributes", "hints", "constants", "locations")


def grammar_text(name: str) -> str:
    """The text of one grammar; see the table above.

    Raises:
        ValueError: there is no grammar of that name.
    """
    if name not in NAMES:
        raise ValueError(f"no grammar {name!r}; there are {', '.join(NAMES)}")
    return resources.files(__name__).joinpath(f"{name}.lark").read_text(encoding="utf-8")
