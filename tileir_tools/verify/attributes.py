"""Rules that an op's row in the table says of its attributes.

Place in the flow: beside Module; imports `dialect`, `model`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..dialect import OpSpec
from ..model import EnumAttr, Operation


def check_present(op: Operation, spec: OpSpec) -> Iterator[str]:
    """Attributes that the op cannot do without."""
    for name, row in spec.attributes.items():
        if row.default is None and not row.optional and name not in op.attributes:
            yield f"needs an attribute '{name}'"


def check_keywords(op: Operation, spec: OpSpec) -> Iterator[str]:
    """Keywords of enum attributes that the op does not take: rounding modes, orderings, scopes.."""
    for name, value in op.attributes.items():
        row = spec.attributes.get(name)
        if row is None or not row.allowed or not isinstance(value, EnumAttr):
            continue
        if value.value not in row.allowed:
            yield f"{name} must be one of {', '.join(row.allowed)}, found {value.value}"
