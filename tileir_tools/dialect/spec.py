"""What a row of the op table says, as objects.

Place in the flow: the shape of the data in `ops`, consulted by read, write, verify, analyze and diff;
imports `model.attributes` and `constraints`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.attributes import Attribute
from .constraints import TILE_CONSTRAINTS


class OperandSpec(NamedTuple):
    """One operand group: arity "" (exactly one), "?" (optional) or "*" (any number).

    `constraint` names the values allowed (`constraints`). `since` is the bytecode version that brought the
    operand.
    """

    name: str
    arity: str
    constraint: str
    since: str


class AttributeSpec(NamedTuple):
    """One attribute: kind (an enum kind, or `unit i32 i64 bool string symbol symbol_name i32_array bool_array
    dense predicate identities hints type dicts`), default, whether it may be absent.

    `allowed` are the keywords of its kind that the op takes; empty: all of them.
    """

    name: str
    kind: str
    default: Attribute | None
    optional: bool
    since: str
    allowed: tuple[str, ...] = ()


class ResultSpec(NamedTuple):
    """One result; arity "" or "*", `constraint` as of an operand."""

    name: str
    arity: str
    constraint: str
    since: str


class OpSpec:
    """One row of the table.

    Attributes:
        mnemonic: name without the dialect's prefix.
        since: bytecode version that brought the op.
        operands, attributes, results: in the order of the dialect's definition.
        regions: names of the regions.
        traits: `pure commutative terminator loads stores atomic orders control segments testing`.
        same: groups of operand and result names that have one type.
        alike: what else groups of them have in common: ("shape", "element", "rank" or "pointee", names).
        form: the pretty form (the language is described in `ops`); "" where the reader and the printer
            have a function of their own for the op.
    """

    __slots__ = (
        "_operand_index",
        "_result_index",
        "alike",
        "attributes",
        "form",
        "is_pure",
        "is_terminator",
        "mnemonic",
        "operands",
        "regions",
        "results",
        "same",
        "since",
        "single_operands",
        "takes_anything",
        "takes_tiles_only",
        "traits",
    )

    def __init__(
        self,
        mnemonic: str,
        since: str,
        operands: tuple[OperandSpec, ...],
        attributes: dict[str, AttributeSpec],
        results: tuple[ResultSpec, ...],
        regions: tuple[str, ...],
        traits: frozenset[str],
        same: tuple[tuple[str, ...], ...],
        form: str,
        alike: tuple[tuple[str, tuple[str, ...]], ...] = (),
    ):
        self.mnemonic = mnemonic
        self.since = since
        self.operands = operands
        self.attributes = attributes
        self.results = results
        self.regions = regions
        self.traits = traits
        self.same = same
        self.alike = alike
        self.form = form
        self._operand_index = {o.name: i for i, o in enumerate(operands)}
        self._result_index = {r.name: i for i, r in enumerate(results)}
        self.single_operands = not any(o.arity for o in operands)
        constraints = {o.constraint for o in operands} | {r.constraint for r in results}
        self.takes_anything = constraints == {"any"}
        self.takes_tiles_only = constraints <= TILE_CONSTRAINTS
        self.is_pure = "pure" in traits
        self.is_terminator = "terminator" in traits

    def operand_index(self, name: str) -> int:
        """The place of an operand group. Raises KeyError where there is none of that name."""
        return self._operand_index[name]

    def result_index(self, name: str) -> int:
        """The place of a result. Raises KeyError where there is none of that name."""
        return self._result_index[name]

    def default(self, name: str) -> Attribute | None:
        """The default of an attribute; None where it has none or the op has no such attribute."""
        found = self.attributes.get(name)
        return found.default if found else None

    def __reduce__(self) -> tuple[object, ...]:
        # There is one row of each op: copies and pickles of operations have the same.
        return _row, (self.mnemonic,)

    def __repr__(self) -> str:
        return f"<OpSpec {self.mnemonic}>"


def _row(mnemonic: str) -> OpSpec:
    from .ops import OPS

    return OPS[mnemonic]
