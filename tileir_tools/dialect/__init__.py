"""What cuda_tile is, as data: ops, enums, hints.

Place in the flow: beside the whole flow; every stage consults it. Imports `model.attributes`. Adding an
op is adding a row to `ops`.
"""

from .enums import (
    HEADED_KINDS,
    KEYWORD_ALIASES,
    KEYWORDS,
    PLAIN_INTEGER_KINDS,
    enum_attribute,
    enum_attribute_by_number,
    enum_number,
)
from .hints import ABSENT_MEANS, ARCHES, BOOLEAN_HINTS, DEFAULT_KEY, HINT_KEYS
from .ops import ALIASES, OPS, VERSIONS
from .spec import AttributeSpec, OperandSpec, OpSpec, ResultSpec

__all__ = [
    "ABSENT_MEANS",
    "ALIASES",
    "ARCHES",
    "BOOLEAN_HINTS",
    "DEFAULT_KEY",
    "HEADED_KINDS",
    "HINT_KEYS",
    "KEYWORDS",
    "KEYWORD_ALIASES",
    "OPS",
    "PLAIN_INTEGER_KINDS",
    "VERSIONS",
    "AttributeSpec",
    "OpSpec",
    "OperandSpec",
    "ResultSpec",
    "enum_attribute",
    "enum_attribute_by_number",
    "enum_number",
]
