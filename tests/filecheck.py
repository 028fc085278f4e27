"""As much of LLVM's FileCheck as the dialect's own tests need.

`CHECK`, `CHECK-LABEL`, `CHECK-NEXT` and `CHECK-NOT`, with `{{regex}}`, `[[NAME:regex]]` and `[[NAME]]`.
Patterns are looked for in order; a NOT must not occur between the matches around it.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(r"//\s*CHECK(-LABEL|-NEXT|-NOT)?:\s*(.*)")
_PIECE = re.compile(r"\{\{(.*?)\}\}|\[\[(\w+)(?::(.*?))?\]\](?!\])")
_NAME = r"[^ ,:)\n]*"


def directives(source: str) -> list[tuple[str, str]]:
    """(kind, pattern) of every directive: kind "", "-LABEL", "-NEXT" or "-NOT"."""
    return [(m[1] or "", m[2].strip()) for m in map(_DIRECTIVE.search, source.splitlines()) if m]


def failure(source: str, output: str) -> str | None:
    """The first directive of a test that an output does not satisfy; None where all are."""
    text = re.sub(r"[ \t]+", " ", output)
    names: dict[str, str] = {}
    at = 0
    unwanted: list[str] = []
    for kind, pattern in directives(source):
        if kind == "-NOT":
            unwanted.append(pattern)
            continue
        match = _regex(pattern, names).search(text, at)
        if match is None:
            return f"CHECK{kind}: {pattern}"
        if kind == "-NEXT" and text.count("\n", at, match.start()) != 1:
            return f"CHECK-NEXT: {pattern}"
        for pattern_not in unwanted:
            if _regex(pattern_not, names).search(text, at, match.start()):
                return f"CHECK-NOT: {pattern_not}"
        unwanted = []
        names.update({k: v for k, v in match.groupdict().items() if v is not None})
        at = match.end()
    for pattern_not in unwanted:
        if _regex(pattern_not, names).search(text, at):
            return f"CHECK-NOT: {pattern_not}"
    return None


def _regex(pattern: str, names: dict[str, str]) -> re.Pattern[str]:
    out, end, own = "", 0, set()
    pattern = re.sub(r"[ \t]+", " ", pattern)
    for piece in _PIECE.finditer(pattern):
        out += re.escape(pattern[end : piece.start()])
        regex, name, rule = piece.groups()
        if name is None:
            out += f"(?:{regex})"
        elif rule is not None:
            # `.*` in a capture is meant for one name.
            out += f"(?P<{name}>{rule.replace('.*', _NAME)})"
            own.add(name)
        else:
            out += f"(?P={name})" if name in own else re.escape(names[name])
        end = piece.end()
    return re.compile(out + re.escape(pattern[end:]))
