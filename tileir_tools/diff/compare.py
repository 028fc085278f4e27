"""Comparing two entries: from pairs of effects down to the operations that differ.

Place in the flow: facts -> **findings**; imports `analyze`, `forms`, `match`, `values`, `finding`.

Both dataflow graphs live in one node table, so equal values are one node and most of two kernels is
proven equal by identity. Where two corresponding values are not one node, `Values.explain` walks
down both expressions together until it meets the operations that differ; each difference is
reported once, under the rule that its operation and its use call for.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow, NodeTable, Plan, build_flow
from ..model import Entry, Module, Operation
from .assumptions import compare_assumptions
from .effects import compare_effects
from .finding import DIFFERS, EntryDiff, by_weight
from .hints import compare_hints
from .match import Matching, match_arguments, match_controls, match_effects
from .order import compare_order
from .pair import Pair
from .placement import compare_placement
from .rules import CRITICAL
from .values import Values
from .words import say_attribute


def compare_entries(
    reference: Entry,
    generated: Entry,
    reference_module: Module,
    generated_module: Module,
    arches: tuple[str | None, ...],
    severities: dict[str, str],
) -> EntryDiff:
    """Everything in which two corresponding entries differ.

    They are compared as they are written, where a difference is shown best. Where that finds something
    critical, they may still be equal in another form: see `forms`.
    """
    rest = (reference_module, generated_module, arches, severities)
    written = _compare_written(reference, generated, *rest)
    if not _fails(written):
        return written
    # Few comparisons get here, and all of them pay for what is imported.
    from .forms import forms

    for one, other in forms(reference, generated):
        found = _compare_written(one.entry, other.entry, *rest, maps=(one.maps, other.maps))
        if not _fails(found):
            return found
    return written


def _fails(found: EntryDiff) -> bool:
    return any(f.severity == CRITICAL for f in found.findings)


def _compare_written(
    reference: Entry,
    generated: Entry,
    reference_module: Module,
    generated_module: Module,
    arches: tuple[str | None, ...],
    severities: dict[str, str],
    *,
    maps: tuple[dict[Operation, str], dict[Operation, str]] = ({}, {}),
) -> EntryDiff:
    pair = prepare(reference, generated, reference_module, generated_module, arches, severities)
    values = Values(pair)
    _compare_parameters(pair)
    _compare_entry_attributes(pair)
    compare_effects(pair, values)
    compare_placement(pair)
    compare_order(pair)
    compare_assumptions(pair, values)
    compare_hints(pair)
    _compare_maps(pair, *maps)
    findings = sorted(pair.findings(), key=by_weight)
    return EntryDiff(reference.symbol, generated.symbol, tuple(findings))


# How often correspondence is looked for again with what is known by then.
_ROUNDS = 4


def prepare(
    reference: Entry,
    generated: Entry,
    reference_module: Module,
    generated_module: Module,
    arches: tuple[str | None, ...],
    severities: dict[str, str],
) -> Pair:
    """Build both graphs and find out what corresponds.

    What corresponds decides which values of the generated kernel are nodes of the reference, and
    these decide what corresponds: the generated graph is built again with the labels of the
    reference until nothing changes. For equal kernels that is at once.
    """
    table = NodeTable()
    left = build_flow(reference, reference_module, table)
    arguments = match_arguments(reference, generated)
    controls = match_controls(left, generated)
    labels = controls
    for _ in range(_ROUNDS):
        right = build_flow(generated, generated_module, table, Plan(arguments, labels, left))
        matching = match_effects(left, right)
        if all(a.label == b.label for a, b in matching.pairs):
            break
        labels = {**controls, **{b.op: a.label for a, b in matching.pairs}}
    else:
        right = build_flow(generated, generated_module, table, Plan(arguments, labels, left))
        matching = _in_flow(matching, right)
    return Pair(left, right, matching, arches, severities)


def _in_flow(matching: Matching, right: Flow) -> Matching:
    """The same matching, in the effects of a later build of the same entry."""
    again = {e.op: e for e in right.every_effect()}
    pairs = [(a, again[b.op]) for a, b in matching.pairs]
    return Matching(pairs, matching.missing, [again[e.op] for e in matching.extra])


def _compare_parameters(pair: Pair) -> None:
    left = [v.type for v in pair.reference.entry.arguments]
    right = [v.type for v in pair.generated.entry.arguments]
    if left == right:
        return
    text = f"{len(left)} parameters in the reference, {len(right)} in the generated kernel"
    if len(left) == len(right):
        different = [k for k, t in enumerate(left) if t is not right[k]]
        k = different[0]
        text = f"parameter {k} is {left[k]} in the reference and {right[k]} in the generated kernel"
        if len(different) > 1:
            text += f" (and {len(different) - 1} more differ)"
    pair.report("ABI001", DIFFERS, text, pair.reference.entry, pair.generated.entry)


# What is compared elsewhere, or is only a name.
_COMPARED = frozenset({"sym_name", "function_type", "optimization_hints"})


def _compare_entry_attributes(pair: Pair) -> None:
    """Attributes of parameters and results, and whatever else is written at the entry."""
    one, other = pair.reference.entry, pair.generated.entry
    for name in sorted({*one.attributes, *other.attributes} - _COMPARED):
        left, right = one.attributes.get(name), other.attributes.get(name)
        if left is not right:
            text = f"{name} of the entry is {say_attribute(left)} in the reference and "
            text += f"{say_attribute(right)} in the generated kernel"
            code = "ABI001" if name == "arg_attrs" else "DFL004"
            pair.report(code, DIFFERS, text, one, other)


def _compare_maps(pair: Pair, left: dict[Operation, str], right: dict[Operation, str]) -> None:
    """Report views that map dimensions in another form, where the elements are the same."""
    for one, other in pair.counterpart.items():
        here, there = left.get(one), right.get(other)
        if here is not None and there is not None and here != there:
            text = f"the view of {one.name} maps dimensions as {here} in the reference and as {there} in the "
            text += "generated kernel, with equal addresses"
            pair.report("PRF005", DIFFERS, text, one, other)
