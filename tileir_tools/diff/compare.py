"""Comparing two entries: from pairs of effects down to the operations that differ.

Place in the flow: facts -> **findings**; imports `analyze`, `match`, `rewrites`, `rules`, `finding`.

Both dataflow graphs live in one node table, so equal values are one node and most of two kernels is
proven equal by identity. Where two corresponding values are not one node, `Values.explain` walks down
both expressions together until it meets the operations that differ; each difference is reported once,
under the rule that its operation and its use call for.
"""

from __future__ import annotations

from ..analyze.dataflow import NodeTable, Plan, build_flow
from ..model import Entry, Module
from .assumptions import compare_assumptions
from .effects import compare_effects
from .finding import DIFFERS, EntryDiff, severity_rank
from .hints import compare_hints
from .match import Matching, match_arguments, match_controls, match_effects
from .order import compare_order
from .pair import Pair
from .placement import compare_placement
from .values import Values


def compare_entries(
    reference: Entry,
    generated: Entry,
    reference_module: Module,
    generated_module: Module,
    arches: tuple[str | None, ...],
    severities: dict[str, str],
) -> EntryDiff:
    """Everything in which two corresponding entries differ."""
    pair = _prepare(reference, generated, reference_module, generated_module, arches, severities)
    values = Values(pair)
    _compare_parameters(pair)
    compare_effects(pair, values)
    compare_order(pair)
    compare_assumptions(pair)
    compare_hints(pair)
    compare_placement(pair)
    findings = sorted(pair.findings, key=severity_rank)
    return EntryDiff(reference.symbol, generated.symbol, tuple(findings))


def _prepare(
    reference: Entry,
    generated: Entry,
    reference_module: Module,
    generated_module: Module,
    arches: tuple[str | None, ...],
    severities: dict[str, str],
) -> Pair:
    """Build both graphs. The generated one is built twice: to find out what corresponds, and again
    with the labels of the reference, so that what comes from corresponding effects is one node."""
    table = NodeTable()
    left = build_flow(reference, reference_module, table)
    arguments = match_arguments(reference, generated)
    labels = match_controls(left, generated)
    first = build_flow(generated, generated_module, table, Plan(arguments, labels, left))
    matching = match_effects(left, first)
    labels = {**labels, **{b.op: a.label for a, b in matching.pairs}}
    right = build_flow(generated, generated_module, table, Plan(arguments, labels, left))
    # The matching speaks of the first build's effects; the second has the same operations.
    again = {e.op: e for e in right.every_effect()}
    matching = Matching(
        [(a, again[b.op]) for a, b in matching.pairs],
        matching.moved,
        matching.missing,
        [again[e.op] for e in matching.extra],
    )
    return Pair(left, right, matching, arches, severities)


def _compare_parameters(pair: Pair) -> None:
    left = [v.type for v in pair.reference.entry.arguments]
    right = [v.type for v in pair.generated.entry.arguments]
    if left == right:
        return
    count = f"{len(left)} parameters in the reference, {len(right)} in the generated kernel"
    if len(left) == len(right):
        k = next(k for k, (a, b) in enumerate(zip(left, right)) if a is not b)
        count = f"parameter {k} is {left[k]} in the reference and {right[k]} in the generated kernel"
    pair.report("ABI001", DIFFERS, count, pair.reference.entry, pair.generated.entry)
