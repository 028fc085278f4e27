"""The little language of the `form` column of the op table, as a list of parts.

Place in the flow: turns data of `ops` into what the text reader and the printer follow; imports `spec`.
The language itself is described in `ops`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .spec import OpSpec


class Part(NamedTuple):
    """One part of a form.

    `kind` is one of `literal` (text is in `name`), `operand`, `operands`, `attribute`, `flag`, `type`,
    `types`, `index_types`, `optional` (a flag is one whose only part is a literal), `lenient`,
    `repeated`, `dict`, `keyword_dict`. `anchor` is the operand or attribute whose presence decides an optional
    part.
    """

    kind: str
    name: str = ""
    parts: tuple[Part, ...] = ()
    anchor: str = ""


_GROUPS = {"(?": "optional", "(~": "lenient", "(!": "repeated"}

_PIECE = re.compile(
    r"(?P<open>\([?~!])|(?P<close>\))|%(?P<operand>\w+)(?P<many>\*?)|@(?P<attribute>\w+)"
    r"|<(?P<type>\w+)(?P<list>[*!]?)>|(?P<dict>\{\+?\})|(?P<literal>(?:[^(%@<{)]|\((?![?~!])|<(?!\w))+)"
)


def parse_form(spec: OpSpec) -> tuple[Part, ...]:
    """The parts of a row's form, in printed order."""
    stack: list[tuple[str, list[Part]]] = [("", [])]
    for match in _PIECE.finditer(spec.form):
        parts = stack[-1][1]
        if match["open"]:
            stack.append((_GROUPS[match["open"]], []))
        elif match["close"]:
            kind, inner = stack.pop()
            stack[-1][1].append(_group(spec, kind, tuple(inner)))
        elif match["operand"]:
            parts.append(Part("operands" if match["many"] else "operand", match["operand"]))
        elif match["attribute"]:
            parts.append(Part("attribute", match["attribute"]))
        elif match["type"]:
            kinds = {"": "type", "*": "types", "!": "index_types"}
            parts.append(Part(kinds[match["list"]], match["type"]))
        elif match["dict"]:
            parts.append(Part("dict" if match["dict"] == "{}" else "keyword_dict"))
        else:
            parts.append(Part("literal", match["literal"]))
    return tuple(stack[0][1])


def _group(spec: OpSpec, kind: str, parts: tuple[Part, ...]) -> Part:
    named = next((p for p in parts if p.kind != "literal"), None)
    if named is not None:
        return Part(kind, "", parts, named.name)
    flag = parts[0].name.strip()
    assert spec.attributes[flag].kind == "unit", (spec.mnemonic, flag)
    return Part("flag", parts[0].name, (), flag)
