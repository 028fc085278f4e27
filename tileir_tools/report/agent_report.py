"""The answer of a comparison as `diff_report.md`, in the shape that the porting pipeline's gate asks for.

Place in the flow: findings and facts -> **report**; imports `analyze`, `diff` and `verify` results. The shape
(sections, tables, one verdict word, owner and action items) is that of TileGym's cuTile-to-cutile-rs
pipeline: its agent C writes the file, `validate_diff_report.sh` checks it, later agents read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..analyze import analyze
from ..analyze.facts import EntryFacts, MemoryFact
from ..diff import CRITICAL, INFO, RULES, SEMANTIC_EQUIV, WARN, Diff, EntryDiff, Finding, Place
from ..model import Module
from ..verify import verify

_RANK = {CRITICAL: 0, WARN: 1, INFO: 2}


def agent_report(
    diff: Diff,
    kernel: str,
    reference: Sequence[Module],
    generated: Sequence[Module],
    names: tuple[str, str],
) -> str:
    """The report.

    Args:
        diff: the answer.
        kernel: what the heading calls it.
        reference, generated: the modules that were compared.
        names: what the two inputs are called.
    """
    arch = diff.arches[0] if diff.arches else None
    left, right = (
        {e.symbol: e for m in modules for e in analyze(m, arch).entries}
        for modules in (reference, generated)
    )
    lines = [f"VERDICT: {diff.verdict}", "", f"# IR Diff Report: {kernel}", "", "## Inputs", ""]
    lines += [f"- reference: `{names[0]}`", f"- generated: `{names[1]}`"]
    lines += [f"- hints resolved for: {', '.join(diff.arches) or 'default'}", ""]
    lines += ["## IR Validation", "", *_validation(names, (reference, generated)), ""]
    lines += ["## Automated Diff", "", *_automated(diff), ""]
    pairs = [(e, left.get(e.reference or ""), right.get(e.generated or "")) for e in diff.entries]
    lines += ["## Structural Comparison", ""]
    lines += _sections([(entry, _op_table(a, b)) for entry, a, b in pairs])
    lines += ["## Checklist Diff", ""]
    lines += _sections([(entry, _checklist(entry, a, b)) for entry, a, b in pairs])
    lines += ["## Root Cause Analysis", "", *_root_causes(diff), ""]
    lines += ["## Impact Assessment", "", *_impacts(diff), ""]
    lines += ["## Verdict", "", *_verdict(diff), ""]
    return "\n".join(lines)


def _counting(findings: Sequence[Finding]) -> list[Finding]:
    return [f for f in findings if f.ignored is None]


def _sections(parts: list[tuple[EntryDiff, list[str]]]) -> list[str]:
    """One part for one variant; headings where there are several."""
    lines = []
    for entry, part in parts:
        if len(parts) > 1:
            lines += [f"### `{entry.reference or entry.generated}`", ""]
        lines += [*part, ""]
    return lines


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_cell(c) for c in row) + " |" for row in cells]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) or "-"


def _validation(
    names: tuple[str, str], sides: tuple[Sequence[Module], Sequence[Module]]
) -> list[str]:
    rows = []
    for name, modules in zip(names, sides):
        errors = [d for m in modules for d in verify(m) if d.severity == "error"]
        entries = sum(len(m.entries) for m in modules)
        answer = f"{len(errors)} errors, first: {errors[0].message}" if errors else "valid"
        rows.append([f"`{name}`", str(entries), answer])
    return _table(["File", "Entries", "Verifier"], rows)


def _automated(diff: Diff) -> list[str]:
    counts = Counter(f.severity for f in _counting(diff.findings))
    shown = ", ".join(f"{counts[s]} {s}" for s in _RANK if counts[s]) or "no differences"
    ignored = sum(f.ignored is not None for f in diff.findings)
    rest = f", {ignored} ignored by policy" if ignored else ""
    return [f"`tileir-diff` exit code {diff.exit_code}: {shown}{rest}."]


def _op_table(left: EntryFacts | None, right: EntryFacts | None) -> list[str]:
    one = left.operations if left else {}
    other = right.operations if right else {}
    rows = [
        [f"`{op}`", str(one.get(op, 0)), str(other.get(op, 0)), _same(one.get(op), other.get(op))]
        for op in sorted({*one, *other})
    ]
    return _table(["Op", "Reference", "Generated", "Match"], rows)


def _same(one: object, other: object) -> str:
    return "yes" if one == other else "no"


# -- the checklist ----------------------------------------------------------------------------------


class _Item(NamedTuple):
    """One row: what is compared, how a side says it, and the rules that speak about it."""

    title: str
    values: Callable[[EntryFacts], Sequence[str]]
    codes: tuple[str, ...]


def _shape(fact: MemoryFact) -> str:
    return f"{fact.op} {'x'.join(map(str, fact.tile)) or 'scalar'} {fact.element}"


def _strides(fact: MemoryFact) -> str:
    return ",".join("?" if s is None else str(s) for s in fact.strides or ())


def _divisible(entry: EntryFacts, pointers: bool) -> list[str]:
    types = dict(entry.parameters)
    return [
        p
        for a in entry.assumes
        for p in a.predicates
        if p.startswith("div_by") and ("ptr<" in types.get(a.value, "")) is pointers
    ]


_HINTS = ("HNT001", "HNT002", "HNT003", "HNT008")
_ACCESSES = ("MEM001", "MEM002", "MEM003", "MEM005")

_ITEMS = (
    _Item("entry hints", lambda e: [f"{k}={v}" for k, v in e.resolved_hints.items()], _HINTS),
    _Item("parameters", lambda e: [t for _, t in e.parameters], ("ABI",)),
    _Item("memory operations and tile shapes", lambda e: list(map(_shape, e.memory)), _ACCESSES),
    _Item(
        "strides of tensor views",
        lambda e: [f"strides=[{_strides(f)}]" for f in e.memory if f.strides is not None],
        ("MEM009", "PRF004"),
    ),
    _Item("dim_map", lambda e: [f"{list(f.dim_map)}" for f in e.memory if f.dim_map], ("MEM008",)),
    _Item("padding_value", lambda e: [f.padding for f in e.memory if f.padding], ("MEM007",)),
    _Item("masks", lambda e: [f.op for f in e.memory if f.masked], ("MEM006",)),
    _Item("indices", lambda e: [", ".join(f.indices) for f in e.memory], ("MEM004",)),
    _Item(
        "mma operand and accumulator types",
        lambda e: [f"{m.op} {m.lhs} x {m.rhs} -> {m.accumulator}" for m in e.mma],
        ("MMA",),
    ),
    _Item(
        "mma accumulator carried by the loop",
        lambda e: ["carried" if m.accumulator_carried else "not carried" for m in e.mma],
        ("MMA003",),
    ),
    _Item(
        "conversions",
        lambda e: [f"{c.op} {c.source} -> {c.result}" for c in e.conversions],
        ("CVT",),
    ),
    _Item(
        "reductions and their identities",
        lambda e: [
            f"{r.op} dim {r.dim} by {','.join(r.body)} identities=[{', '.join(r.identities)}]"
            for r in e.reductions
        ],
        ("RED",),
    ),
    _Item(
        "loops",
        lambda e: [f"{f.op} {f.lower} to {f.upper} step {f.step}" for f in e.loops],
        ("LOP",),
    ),
    _Item("tokens", lambda e: [str(len(f.token_from)) for f in e.memory], ("MEM013",)),
    _Item("assume div_by on pointers", lambda e: _divisible(e, True), ("ASM",)),
    _Item("assume div_by on scalars", lambda e: _divisible(e, False), ("ASM",)),
    _Item(
        "flush_to_zero and rounding (approx, full, directed)",
        lambda e: [f"{name} x{count}" for name, count in e.modifiers.items()],
        ("FLT",),
    ),
    _Item(
        "latency",
        lambda e: [f"{f.op} {'absent' if f.latency is None else f.latency}" for f in e.memory],
        ("HNT004", "HNT005"),
    ),
    _Item(
        "allow_tma",
        lambda e: [f"{f.op} {str(f.allow_tma is not False).lower()}" for f in e.memory],
        ("HNT006", "HNT007"),
    ),
    _Item(
        "block mapping",
        lambda e: [
            f"{b.axis}{' swizzled' * b.swizzled}{' persistent' * b.persistent}"
            for b in e.block_mapping
        ],
        ("PRF001",),
    ),
)


def _checklist(entry: EntryDiff, left: EntryFacts | None, right: EntryFacts | None) -> list[str]:
    findings = _counting(entry.findings)
    rows = [_row(item, left, right, findings) for item in _ITEMS] if left and right else []
    rows += [_finding_row(f) for f in findings]
    numbered = [[str(k), *row] for k, row in enumerate(rows, 1)]
    head = ["#", "Item", "Reference value", "Generated value", "Status", "Severity", "Action"]
    return _table(head, numbered)


def _row(item: _Item, left: EntryFacts, right: EntryFacts, findings: list[Finding]) -> list[str]:
    one, other = (_summary(item.values(side)) for side in (left, right))
    if one == other:
        return [item.title, one, other, "MATCH", INFO, "none"]
    about = [f for f in findings if f.code.startswith(item.codes) and f.status != SEMANTIC_EQUIV]
    if not about:
        # Said in other words, and no rule objects.
        return [item.title, one, other, SEMANTIC_EQUIV, INFO, "none"]
    worst = min(about, key=lambda f: _RANK[f.severity])
    return [item.title, one, other, worst.status, worst.severity, worst.action]


def _summary(values: Sequence[str]) -> str:
    """Values with how often they come, in an order of their own."""
    counts = Counter(values)
    parts = [f"{v} (x{n})" if n > 1 else v for v, n in sorted(counts.items())]
    return "; ".join(parts) or "none"


def _finding_row(finding: Finding) -> list[str]:
    return [
        f"{finding.code} {finding.message}",
        _place(finding.reference),
        _place(finding.generated),
        finding.status,
        finding.severity,
        f"owner: {finding.owner}. {finding.action}",
    ]


def _place(place: Place | None) -> str:
    if place is None:
        return "absent"
    text = place.text if len(place.text) <= 90 else f"{place.text[:87]}..."
    return f"line {place.line}: `{text}`" if place.line else f"`{text}`"


# -- what it means ----------------------------------------------------------------------------------


def _root_causes(diff: Diff) -> list[str]:
    findings = _counting(diff.findings)
    if not findings:
        return ["No differences: nothing to explain (every item is semantic_equiv or a match)."]
    return [
        f"{k}. {f.code}: {f.message}. Category: {_category(f)}, owner: {f.owner}."
        for k, f in enumerate(findings, 1)
    ]


def _category(finding: Finding) -> str:
    if finding.status == SEMANTIC_EQUIV:
        return "semantic_equiv"
    # An operation or hint that we do not know may be one that the DSL cannot express.
    return "dsl_limitation" if finding.code in ("OPQ001", "HNT008") else "user_code"


def _impacts(diff: Diff) -> list[str]:
    rows = []
    for finding in _counting(diff.findings):
        equal = finding.status == SEMANTIC_EQUIV
        speed = RULES[finding.code].impact == "speed"
        rows.append(
            [
                f"{finding.code} {finding.message}",
                "none" if equal or speed else "yes",
                "yes" if speed and not equal else "none",
                "blocking" if finding.severity == CRITICAL else "no",
            ]
        )
    head = ["Difference", "Correctness impact", "Performance impact", "Blocking?"]
    return _table(head, rows or [["none", "none", "none", "no"]])


def _verdict(diff: Diff) -> list[str]:
    lines = [f"{diff.verdict}"]
    findings = _counting(diff.findings)
    critical = [f for f in findings if f.severity == CRITICAL]
    if critical:
        # Who must act first: a host that passes wrong values makes every kernel look wrong.
        owner = "host" if any(f.owner == "host" for f in critical) else "kernel"
        lines += ["", f"owner: {owner}", "", "### Action Items", ""]
        lines += [
            f"{k}. {f.code} ({f.owner}): {f.action} {_place(f.generated or f.reference)}"
            for k, f in enumerate(critical, 1)
        ]
    elif diff.verdict != "PASS":
        lines += ["", "### Known Gaps Accepted / Notes", ""]
        lines += [f"{k}. {f.code}: {f.message}." for k, f in enumerate(findings, 1)]
    return lines
