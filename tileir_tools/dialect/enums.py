"""The keyword sets of cuda_tile attributes, in the order of their numbers.

Place in the flow: data that read, write, verify and diff consult; imports `model.attributes`. Source of
the facts: the enum definitions of the dialect's public table (NVIDIA/cuda-tile, 13.3) and the encoder of
cuda-tile 1.7.0 for what 13.4 and 13.5 add.
"""

from __future__ import annotations

from ..model.attributes import EnumAttr

# kind -> keywords; a keyword's number is its place.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "signedness": ("unsigned", "signed"),
    "overflow": ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"),
    "rounding": (
        "nearest_even",
        "zero",
        "negative_inf",
        "positive_inf",
        "approx",
        "full",
        "nearest_int_to_zero",
        "nearest_away",
    ),
    "comparison_ordering": ("unordered", "ordered"),
    "comparison_predicate": (
        "equal",
        "not_equal",
        "less_than",
        "less_than_or_equal",
        "greater_than",
        "greater_than_or_equal",
    ),
    "atomic_rmw_mode": (
        "and",
        "or",
        "xor",
        "add",
        "addf",
        "max",
        "min",
        "umax",
        "umin",
        "xchg",
    ),
    "memory_scope": ("tl_blk", "device", "sys"),
    "memory_ordering_semantics": ("weak", "relaxed", "acquire", "release", "acq_rel"),
    "padding_value": ("zero", "neg_zero", "nan", "pos_inf", "neg_inf"),
    "symbol_visibility": ("public", "private"),
    "multimem_reduction_kind": ("add", "min", "max", "and", "or", "xor", "umin", "umax"),
}

# (kind, keyword) -> the bytecode version that brought it, where that is later than its kind.
KEYWORDS_SINCE: dict[tuple[str, str], str] = {("rounding", "nearest_away"): "13.4"}

# Short spellings of the cutile-rs printer.
KEYWORD_ALIASES: dict[str, str] = {
    "nsw": "no_signed_wrap",
    "nuw": "no_unsigned_wrap",
    "nw": "no_wrap",
}

# These are plain i32 attributes in MLIR's generic form (`mode = 3 : i32`); the others print as
# `#cuda_tile.kind<keyword>`.
PLAIN_INTEGER_KINDS = frozenset({"atomic_rmw_mode", "memory_scope", "memory_ordering_semantics"})

# Printed with the kind as a head, `rounding<approx>`; the others print the bare keyword.
HEADED_KINDS = frozenset({"rounding", "overflow"})


def enum_attribute(kind: str, keyword: str) -> EnumAttr | None:
    """The attribute for a keyword; None where the kind has no such keyword."""
    keyword = KEYWORD_ALIASES.get(keyword, keyword)
    return EnumAttr(kind, keyword) if keyword in KEYWORDS[kind] else None


def enum_attribute_by_number(kind: str, number: int) -> EnumAttr | None:
    """The attribute for a number; None where the kind has no such number."""
    keywords = KEYWORDS[kind]
    return EnumAttr(kind, keywords[number]) if 0 <= number < len(keywords) else None


def enum_number(attribute: EnumAttr) -> int:
    """The number that bytecode and the generic form use for a keyword."""
    return KEYWORDS[attribute.kind].index(attribute.value)
