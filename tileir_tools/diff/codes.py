"""Which rule a difference between two values falls under.

Place in the flow: facts -> **findings**; imports `analyze`, `dialect`, `model`. `use` is the rule
that the use of a value calls for (an index, a mask, a bound), None where the operation that differs
decides.
"""

from __future__ import annotations

from ..analyze.dataflow import Node
from ..dialect import OPS
from ..model import EnumAttr
from .words import CONVERSIONS

_MMA = frozenset({"mmaf", "mmai", "mmaf_scaled"})
_REDUCTIONS = frozenset({"reduce", "scan"})

# Attribute -> rule, where the attribute alone decides.
_ATTRIBUTES = {
    "propagate_nan": "FLT005",
    "fast_acc": "MMA005",
    "signedness_lhs": "MMA005",
    "signedness_rhs": "MMA005",
    "reverse": "RED001",
    "identities": "RED002",
    "saturating": "CVT003",
}

_PROMISES: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "no_signed_wrap": frozenset("s"),
    "no_unsigned_wrap": frozenset("u"),
    "no_wrap": frozenset("su"),
}


def attribute_code(a: Node, b: Node, name: str, use: str | None) -> str:
    """The rule for an attribute that differs."""
    if name in ("rounding", "rounding_mode"):
        return _rounding_code(a, use)
    if name == "flush_to_zero":
        return "FLT003" if a.attribute(name) is not None else "FLT004"
    if name == "overflow":
        return "OVF002" if _promises(b) <= _promises(a) else "OVF001"
    if name == "dim" and a.name in _REDUCTIONS:
        return "RED001"
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name]
    if a.name in CONVERSIONS:
        return "CVT003"
    return use or ("DFL002" if name in ("value", "global") else "DFL004")


def _rounding_code(a: Node, use: str | None) -> str:
    if a.name in CONVERSIONS:
        return "CVT003"
    if a.name == "divi":
        return "LOP007" if use == "LOP002" else use or "DFL004"
    return "FLT002"


def _promises(node: Node) -> frozenset[str]:
    found = node.attribute("overflow")
    return _PROMISES[found.value] if isinstance(found, EnumAttr) else frozenset()


def default_code(a: Node, code: str, use: str | None) -> str:
    """The rule for what an operation reads: its use's, a matrix product's, else `code`."""
    return use or ("MMA001" if a.name in _MMA else code)


def gone_code(node: Node, use: str | None, of_reference: bool) -> str:
    """The rule for an operation that only one side has."""
    if node.name in CONVERSIONS and use is None:
        return "CVT001" if of_reference else "CVT002"
    return replaced_code(node, node, "", use)


def replaced_code(a: Node, b: Node, role: str, use: str | None) -> str:
    """The rule for two values that are not computed by the same operation."""
    if use is not None:
        return use
    names = {a.name, b.name}
    if names & _MMA:
        return "MMA004"
    if names & _REDUCTIONS:
        return "RED004"
    if a.is_leaf:
        is_product = b.is_leaf and role.split(" of ")[-1] in _MMA
        return "MMA001" if is_product else "DFL006"
    return "FLT001" if _is_float_op(a.name) else "DFL001"


def _is_float_op(name: str) -> bool:
    spec = OPS.get(name)
    return spec is not None and any("float" in o.constraint for o in spec.operands)
