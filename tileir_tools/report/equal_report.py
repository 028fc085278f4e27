"""Whether kernels are equal, and whether an alias is its original, as text or JSON.

Place in the flow: findings -> **report**; imports `diff` records and `plain`.
"""

from __future__ import annotations

from ..analyze.levels import LEVELS
from ..diff.alias import AliasProof
from ..diff.equality import EntryEquality, Equality
from .plain import document, plain

EQUAL_SCHEMA = "tileir-equal/1"
ALIAS_SCHEMA = "tileir-alias/1"


def equal_json(answer: Equality, reference: str, generated: str) -> str:
    """A document of schema `tileir-equal/1`."""
    return document(
        EQUAL_SCHEMA,
        {
            "equal": answer.equal,
            "level": answer.level,
            "reason": answer.reason,
            "reference": reference,
            "generated": generated,
            "arches": list(answer.arches),
            "entries": plain(answer.entries),
        },
    )


def equal_text(answer: Equality) -> str:
    """For a terminal: one line."""
    found = answer.first_unequal
    if found is None:
        finest = max(LEVELS.index(e.equal_from or LEVELS[-1]) for e in answer.entries)
        return f"yes: {_how(LEVELS[finest])}"
    return f"no: {_apart(found)}"


def _how(level: str) -> str:
    return "equal, operation by operation" if level == "exact" else f"equal modulo {level}"


def _apart(found: EntryEquality) -> str:
    code = f"{found.finding.code}: " if found.finding is not None else ""
    text = f"{code}{found.reason}"
    if found.reference is None or found.generated is None:
        return text
    if found.equal_from is None:
        return f"{text} (not even one structure)"
    return f"{text} (equal modulo {found.equal_from})"


def alias_json(proof: AliasProof, original: str, alias: str) -> str:
    """A document of schema `tileir-alias/1`."""
    content = plain(proof)
    assert isinstance(content, dict)
    symbols = {"original": content.pop("original"), "alias": content.pop("alias")}
    files = {"original": original, "alias": alias}
    return document(
        ALIAS_SCHEMA, {"proven": proof.proven, "files": files, "symbols": symbols, **content}
    )


def alias_text(proof: AliasProof) -> str:
    """For a terminal: the answer, then each reason against it with the places of the difference."""
    if proof.proven:
        return (
            f"proven: @{proof.alias} is @{proof.original} under the name of operation '{proof.op}': "
            f"{proof.operations} operations, equal in order, attributes and types; entry hints equal"
        )
    lines = [f"not proven: @{proof.alias} is not @{proof.original} under another name"]
    lines += [f"  {reason}" for reason in proof.reasons]
    if proof.difference is not None:
        sides = (("original", proof.difference.one), ("alias", proof.difference.other))
        for side, place in sides:
            if place is not None:
                where = f"{place.file}:{place.line}:{place.column}: " if place.line else ""
                lines.append(f"    {side}: {where}{place.text.strip()}")
    return "\n".join(lines)
