"""Variants and supplements as text or JSON.

Place in the flow: findings -> **report**; imports `diff.grouping` records and `plain`.
"""

from __future__ import annotations

from collections import Counter

from ..diff.grouping import Member, Other, Supplement, Variant, Variants
from .plain import document, plain

VARIANTS_SCHEMA = "tileir-variants/1"
# Members listed one by one in the text; the JSON has all.
_SHOWN = 5


def variants_json(found: Variants) -> str:
    """A document of schema `tileir-variants/1`."""
    return document(
        VARIANTS_SCHEMA,
        {
            "variants": [_variant_data(v) for v in found.variants],
            "separations": plain(found.separations),
            "unread": plain(found.unread),
        },
    )


def _variant_data(variant: Variant) -> dict[str, object]:
    return {
        "name": variant.name,
        "representative": _member_data(variant.representative),
        "members": len(variant.members),
        "others": [_other_data(o) for o in variant.others],
        "supplements": [_supplement_data(s) for s in variant.supplements],
    }


def _supplement_data(supplement: Supplement) -> dict[str, object]:
    return {
        "dtypes": list(supplement.dtypes),
        "representative": _other_data(supplement.representative),
        "conversions": list(supplement.conversions),
        "others": [_other_data(o) for o in supplement.others],
    }


def _other_data(other: Other) -> dict[str, object]:
    return {
        **_member_data(other.member),
        "equal_from": other.equal_from,
        "reason": other.reason,
    }


def _member_data(member: Member) -> dict[str, object]:
    return {
        "file": member.file,
        "entry": member.entry,
        "symbol": member.symbol,
        "function": member.function,
        "dtypes": list(member.dtypes),
        "fingerprints": plain(member.fingerprints),
    }


def variants_text(found: Variants) -> str:
    """For a terminal: each variant with what represents it, then what tells variants apart."""
    entries = Counter(m.file for v in found.variants for m in v.members)
    writer = _Writer({file for file, count in entries.items() if count > 1})
    lines = [_summary(found, len(entries), entries.total())]
    for variant in found.variants:
        lines += ["", *writer.variant(variant)]
    if found.separations:
        lines += ["", "what tells them apart:"]
        lines += [f"  {s.one} | {s.other}: {s.level}: {s.reason}" for s in found.separations]
    if found.unread:
        lines += ["", f"{_count(len(found.unread), 'file')} could not be read:"]
        lines += [f"  {unread.error.splitlines()[0]}" for unread in found.unread]
    return "\n".join(lines)


def _summary(found: Variants, files: int, entries: int) -> str:
    supplements = sum(len(v.supplements) for v in found.variants)
    return (
        f"{_count(entries, 'entry', 'entries')} in {_count(files, 'file')}: "
        f"{_count(len(found.variants), 'structural variant')}, "
        f"{_count(supplements, 'dtype supplement')}"
    )


class _Writer:
    """Writes variants; `several` are the files in which an entry has to be named."""

    def __init__(self, several: set[str]):
        self.several = several

    def variant(self, variant: Variant) -> list[str]:
        one = variant.representative
        lines = [
            f"variant {variant.name}  [{', '.join(one.dtypes) or 'no pointers'}]  "
            f"{_count(len(variant.members), 'member')}",
            f"  representative  {self._place(one)}",
        ]
        lines += self._others(variant.others, "  ")
        for supplement in variant.supplements:
            lines += self._supplement(supplement)
        return lines

    def _supplement(self, supplement: Supplement) -> list[str]:
        first = supplement.representative
        brought = (
            f"; converts {', '.join(supplement.conversions)}" if supplement.conversions else ""
        )
        dtypes = ", ".join(supplement.dtypes)
        line = f"  supplement [{dtypes}]  {self._place(first.member)}  ({_level(first)}{brought})"
        return [line, *self._others(supplement.others, "    ")]

    def _others(self, others: tuple[Other, ...], indent: str) -> list[str]:
        """Members counted by level; those with another body by the reason, once each."""
        counts = Counter(o.equal_from for o in others if not o.reason)
        lines = [
            f"{indent}{_count(n, 'member')} equal {_modulo(level)}" for level, n in counts.items()
        ]
        reasons: dict[str, list[Other]] = {}
        for other in others:
            if other.reason:
                reasons.setdefault(other.reason, []).append(other)
        for reason, those in list(reasons.items())[:_SHOWN]:
            lines.append(
                f"{indent}{_count(len(those), 'member')} of this structure with another body, as "
                f"{self._place(those[0].member)}: {reason}"
            )
        if len(reasons) > _SHOWN:
            lines.append(f"{indent}and {len(reasons) - _SHOWN} more bodies")
        return lines

    def _place(self, member: Member) -> str:
        if member.file not in self.several:
            return member.file
        symbol = member.symbol if len(member.symbol) <= 60 else f"{member.symbol[:57]}..."
        return f"{member.file} entry {member.entry} @{symbol}"


def _level(other: Other) -> str:
    return other.reason or f"equal {_modulo(other.equal_from)}"


def _modulo(level: str) -> str:
    return "operation by operation" if level == "exact" else f"modulo {level}"


def _count(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
