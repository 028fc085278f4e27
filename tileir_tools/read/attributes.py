"""Attributes as operations spell them: keywords, `{..}` dictionaries, what the op table wants of each.

Place in the flow: part of bytes -> Module for text; imports `dialect`, `model`, `literals` and `state`.
"""

from __future__ import annotations

from ..dialect import (
    HEADED_KINDS,
    KEYWORD_ALIASES,
    KEYWORDS,
    OpSpec,
    enum_attribute,
    enum_attribute_by_number,
)
from ..model import (
    I32,
    I64,
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundedAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DivByAttr,
    EnumAttr,
    IntegerAttr,
    OpaqueAttr,
    OptimizationHintsAttr,
    SameElementsAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
)
from .lexer import LETTERS, is_string
from .literals import signed, symbol_name, unescape
from .state import Failure, State

# Kind -> keyword as written -> attribute.
BARE: dict[str, dict[str, EnumAttr]] = {
    kind: {
        keyword: found
        for keyword in (*keywords, *KEYWORD_ALIASES)
        if (found := enum_attribute(kind, keyword)) is not None
    }
    for kind, keywords in KEYWORDS.items()
}
# The same for kinds that are written with their head: `rounding<approx>`.
HEADED: dict[str, dict[str, EnumAttr]] = {
    kind: {f"{kind}<{keyword}>": found for keyword, found in BARE[kind].items()}
    for kind in HEADED_KINDS
}

_CLASSES: dict[str, type[Attribute] | tuple[type[Attribute], ...]] = {
    "i32": IntegerAttr,
    "i64": IntegerAttr,
    "bool": BoolAttr,
    "string": StringAttr,
    "symbol_name": StringAttr,
    "symbol": SymbolRefAttr,
    "dense": DenseElementsAttr,
    "identities": ArrayAttr,
    "dicts": ArrayAttr,
    "hints": OptimizationHintsAttr,
    "predicate": (DivByAttr, BoundedAttr, SameElementsAttr, OpaqueAttr),
    "type": TypeAttr,
}

# How an error names a kind.
_IN_WORDS: dict[str, str] = {
    "i32": "an i32 number",
    "i64": "an i64 number",
    "bool": "'true' or 'false'",
    "string": "a string",
    "symbol_name": "a string",
    "symbol": "a symbol such as @name",
    "dense": "elements such as <i32: 0>",
    "identities": "identities such as [0.0 : f32]",
    "dicts": "an array of dictionaries",
    "hints": "hints such as <sm_100 = {..}>",
    "predicate": "div_by<..>, bounded<..> or same_elements<..>",
    "type": "a type",
    "i32_array": "numbers such as [1, 0]",
    "bool_array": "flags such as [true, false]",
    "unit": "a flag without a value",
}


def in_words(kind: str) -> str:
    """What an error says was expected where an attribute of a kind should stand."""
    keywords = KEYWORDS.get(kind)
    return f"one of {', '.join(keywords)}" if keywords else _IN_WORDS.get(kind, kind)


def read_attribute(state: State, index: int, kind: str) -> tuple[Attribute, int]:
    """An attribute of a known kind, in the spelling that pretty forms use. Raises Failure."""
    token = state.tokens[index]
    if kind in KEYWORDS:
        return read_keyword(state, index, kind)
    if kind in ("i32", "i64"):
        value, behind = state.integer(index)
        return integer_attribute(value, kind) or _wrong_kind(state, index, kind), behind
    if kind == "string":
        if not is_string(token):
            raise state.expected(index, "a string")
        return StringAttr(unescape(token[1:-1])), index + 1
    if kind == "symbol":
        return SymbolRefAttr(symbol(state, index)), index + 1
    if kind == "symbol_name":
        return StringAttr(symbol(state, index)), index + 1
    if kind == "dense":
        return state.dense(index)
    if kind == "hints":
        return state.hints(index)
    try:
        found, behind = state.attribute(index)
    except Failure as failure:
        # Where the very first word is wrong, what was wanted says more than "an attribute".
        if failure.index == index and failure.offset == 0:
            raise state.expected(index, in_words(kind)) from None
        raise
    return conform(found, kind) or _wrong_kind(state, index, kind), behind


def symbol(state: State, index: int) -> str:
    """The name in a symbol token. Raises Failure."""
    token = state.tokens[index]
    if token[:1] != "@" or len(token) < 2 or (token[1] == '"' and not is_string(token[1:])):
        raise state.expected(index, "a symbol such as @name")
    return symbol_name(token)


def _wrong_kind(state: State, index: int, kind: str) -> Attribute:
    raise state.expected(index, in_words(kind))


def read_keyword(state: State, index: int, kind: str) -> tuple[Attribute, int]:
    """A keyword of an enum kind, in any of its spellings. Raises Failure."""
    token = state.tokens[index]
    found = BARE[kind].get(token)
    if found is not None:
        return found, index + 1
    if kind in HEADED_KINDS and token.removeprefix("#cuda_tile.") == kind:
        # `rounding negative_inf`, as the cutile-rs printer writes it, or brackets apart.
        bare = BARE[kind].get(state.tokens[index + 1])
        if bare is not None:
            return bare, index + 2
        if state.tokens[index + 1] != "<":
            raise state.expected(index + 1, in_words(kind))
    if token[:1] in ("#", "-") or token[:1].isdigit() or token.startswith(kind):
        attribute, behind = state.attribute(index)
        conformed = conform(attribute, kind)
        if conformed is not None:
            return conformed, behind
    raise state.expected(index, in_words(kind))


def integer_attribute(value: int, kind: str) -> IntegerAttr | None:
    """A number as an attribute of kind `i32` or `i64`; None where it does not fit."""
    type = I32 if kind == "i32" else I64
    try:
        return IntegerAttr(signed(value, type.width), type)
    except ValueError:
        return None


def conform(found: Attribute, kind: str) -> Attribute | None:
    """The attribute as the op table wants it, from any of its spellings; None where it is not one.

    The generic form and older printers write keywords as numbers, arrays as `array<..>`.
    """
    if kind in KEYWORDS:
        if isinstance(found, IntegerAttr):
            return enum_attribute_by_number(kind, found.value)
        if isinstance(found, StringAttr):
            return enum_attribute(kind, found.value)
        return found if isinstance(found, EnumAttr) and found.kind == kind else None
    if kind in ("i32", "i64") and isinstance(found, IntegerAttr):
        return integer_attribute(found.value, kind)
    if kind in ("i32_array", "bool_array"):
        return _array(found, kind)
    if kind == "symbol" and isinstance(found, StringAttr):
        return SymbolRefAttr(found.value)
    wanted = _CLASSES.get(kind)
    return found if wanted is None or isinstance(found, wanted) else None


def _array(found: Attribute, kind: str) -> Attribute | None:
    element = "i32" if kind == "i32_array" else "i1"
    if isinstance(found, DenseArrayAttr):
        return DenseArrayAttr(element, found.values)
    if not isinstance(found, ArrayAttr):
        return None
    values: list[int] = []
    for item in found.items:
        if not isinstance(item, (IntegerAttr, BoolAttr)):
            return None
        values.append(int(item.value))
    return DenseArrayAttr(element, tuple(values))


def is_default(spec: OpSpec, name: str, value: Attribute) -> bool:
    """Whether an attribute says what its absence says: it is not stored then."""
    row = spec.attributes.get(name)
    if row is None:
        return False
    if row.kind == "bool_array":
        return isinstance(value, DenseArrayAttr) and not any(value.values)
    if row.kind == "unit":
        return isinstance(value, BoolAttr) and not value.value
    if row.kind == "hints":
        return (
            isinstance(value, OptimizationHintsAttr)
            and spec.mnemonic == "entry"
            and (not value.value.items)
        )
    if row.kind == "dicts":
        return isinstance(value, ArrayAttr) and all(
            getattr(item, "items", None) == () for item in value.items
        )
    return row.default is value


def read_dict(state: State, index: int, spec: OpSpec, into: dict[str, Attribute]) -> int:
    """`{name = value, flag}` behind an operation. Raises Failure."""
    tokens = state.tokens
    index = state.expect(index, "{")
    while tokens[index] != "}":
        if tokens[index - 1] != "{":
            index = state.comma(index, "}")
        index = read_pair(state, index, spec, into)
    return index + 1


def read_pair(state: State, index: int, spec: OpSpec, into: dict[str, Attribute]) -> int:
    """`name = value` or `flag`. Raises Failure."""
    at = index
    name = _attribute_name(state, index)
    if name in into:
        raise Failure(at, f"attribute '{name}' is given twice")
    index += 1
    value: Attribute = UNIT
    if state.tokens[index] == "=":
        value, index = _dict_value(state, index + 1, spec, name)
    add_attribute(spec, name, value, into, at)
    return index


def _attribute_name(state: State, index: int) -> str:
    token = state.tokens[index]
    if is_string(token):
        return unescape(token[1:-1])
    if token[:1] not in LETTERS:
        raise state.expected(index, "an attribute name or '}'")
    return token


def _dict_value(state: State, index: int, spec: OpSpec, name: str) -> tuple[Attribute, int]:
    row = spec.attributes.get(name)
    if row is not None and row.kind == "hints":
        return state.hints(index)
    if row is not None and row.kind in KEYWORDS:
        return read_keyword(state, index, row.kind)
    return state.attribute(index)


def add_attribute(
    spec: OpSpec, name: str, value: Attribute, into: dict[str, Attribute], at: int
) -> None:
    """Store an attribute as the table wants it, unless it is at its default. Raises Failure."""
    row = spec.attributes.get(name)
    if row is not None and not is_default(spec, name, value):
        conformed = _flag(value) if row.kind == "unit" else conform(value, row.kind)
        if conformed is None:
            raise Failure(at, f"attribute '{name}' of {spec.mnemonic} must be {in_words(row.kind)}")
        value = conformed
    if not is_default(spec, name, value):
        into[name] = value


def _flag(value: Attribute) -> Attribute | None:
    """`flag`, `flag = unit` and `flag = true` all set a flag."""
    return UNIT if value is UNIT or isinstance(value, BoolAttr) else None
