"""How each op is encoded in each version of the bytecode, read off its row in the op table.

Place in the flow: data that the bytecode reader and writer consult; imports `ops`, `bytecode`, `spec`.

An operation is its opcode, its result types (counted where operands or results can be any number), a word
of flags for what is optional, its attributes, its operands, its regions.
"""

from __future__ import annotations

from .bytecode import OPCODES, version_key
from .ops import OPS
from .spec import AttributeSpec, OpSpec


class Plan:
    """How one op is encoded in one version.

    Attributes:
        counted_results: whether the number of results is written.
        fixed_results: whether the op always gives so many results.
        results: how many results are written; `added` token results that later versions have.
        flags: whether a word of flags is written.
        attributes: (name, row, flag bit or 0) of the attributes that are written, in order.
        units: (name, bit) of the flags that are attributes themselves.
        operand_bits: bit of each operand group that is optional, else 0.
        operands: "fixed", "counted" (one number for all) or "grouped" (one per variadic group).
    """

    __slots__ = (
        "added",
        "attributes",
        "counted_results",
        "fixed_results",
        "flags",
        "operand_bits",
        "operands",
        "regions",
        "results",
        "spec",
        "units",
    )

    def __init__(self, spec: OpSpec, version: tuple[int, int]):
        def is_there(since: str) -> bool:
            return version_key(since) <= version

        self.spec = spec
        variadic = any(r.arity for r in spec.results) or any(o.arity == "*" for o in spec.operands)
        self.counted_results = variadic
        self.fixed_results = not any(r.arity for r in spec.results)
        self.results = sum(1 for r in spec.results if is_there(r.since))
        self.added = len(spec.results) - self.results
        flagged = [a for a in spec.attributes.values() if a.optional and a.kind != "bool_array"]
        grouped = "segments" in spec.traits
        optional = [o for o in spec.operands if o.arity == "?"] if grouped else []
        marked = [(item.name, item.since) for item in flagged]
        marked += [(item.name, item.since) for item in optional]
        self.flags = any(is_there(since) for _, since in marked)
        bits = {name: 1 << k for k, (name, _) in enumerate(marked)}
        self.attributes: list[tuple[str, AttributeSpec, int]] = [
            (a.name, a, bits.get(a.name, 0))
            for a in spec.attributes.values()
            if a.kind != "unit" and is_there(a.since)
        ]
        self.units = [(a.name, bits[a.name]) for a in flagged if a.kind == "unit"]
        self.operand_bits = [bits.get(o.name, 0) for o in spec.operands]
        self.operands = "grouped" if grouped else "fixed" if spec.single_operands else "counted"
        self.regions = len(spec.regions)


_plans: dict[tuple[int, int], dict[int, Plan]] = {}


def plans_for(version: tuple[int, int]) -> dict[int, Plan]:
    """Opcode -> plan, for the ops that a version has."""
    found = _plans.get(version)
    if found is None:
        found = _plans[version] = {
            opcode: Plan(OPS[name], version)
            for name, opcode in OPCODES.items()
            if version_key(OPS[name].since) <= version and name not in ("module", "entry", "global")
        }
    return found
