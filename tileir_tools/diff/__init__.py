"""Comparing a generated module with a reference.

Place in the flow: bytes -> Module -> facts -> **findings** -> report. Imports `analyze`, `model`,
`dialect`, `errors`; what comparing needs is imported when something is compared, so that
`import tileir_tools` stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..collector import without_collecting
from ..errors import UsageError
from ..model import Module
from .finding import (
    BLOCKED,
    DIFFERS,
    EXIT_CODES,
    EXTRA,
    FAIL_FIXABLE,
    MISSING,
    PASS,
    PASS_WITH_NOTES,
    SEMANTIC_EQUIV,
    Diff,
    EntryDiff,
    Finding,
    Place,
    make_finding,
    verdict_of,
)
from .policy import Policy, apply_ignores, check_policy
from .rules import CRITICAL, INFO, RULES, WARN, Rule

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from .equality import Equality
    from .grouping import Variants
    from .match import EntryPair


@without_collecting
def diff(
    reference: Module | Sequence[Module],
    generated: Module | Sequence[Module],
    *,
    arch: str | None = None,
    policy: Policy | None = None,
    entry: str | None = None,
) -> Diff:
    """In what a generated module differs from a reference, and whether it matters.

    Args:
        reference: the module (or modules) that is right.
        generated: the module (or modules) to judge.
        arch: target for which hints are resolved (`sm_100`); None: those of the policy, else every
            target that either side names, `default` alone where none is named.
        policy: severities that differ from the rules' own, and what to ignore; see `policy`.
        entry: compare only entries whose symbol contains this text.

    Returns:
        A Diff; `verdict` is "PASS", "FAIL_FIXABLE" or "PASS_WITH_NOTES".

    Raises:
        UsageError: unknown arch, rule code or severity; a side without entries; no entry of that
            name.
    """
    from ..analyze.hints import arches_named, check_arch
    from .match import match_entries, modules_of, selected

    left, right = modules_of(reference), modules_of(generated)
    policy = policy or Policy()
    if not isinstance(policy, Policy):
        raise UsageError(f"a policy is a Policy, not {type(policy).__name__}")
    check_policy(policy)
    wanted = (arch,) if arch is not None else policy.arches
    for name in wanted:
        check_arch(name)
    pairs = selected(match_entries(left, right), entry)
    if not pairs:
        raise UsageError(f"no entry to compare{f': none contains {entry!r}' if entry else ''}")
    arches = wanted or tuple(arches_named(*left, *right))
    severities = dict(policy.severities)
    entries = tuple(_compare(pair, arches or (None,), severities) for pair in pairs)
    answer = Diff(entries, arches)
    if not policy.ignores:
        return answer
    import datetime

    return apply_ignores(answer, policy.ignores, datetime.date.today())


def equal(
    reference: Module | Sequence[Module],
    generated: Module | Sequence[Module],
    *,
    level: str = "names",
    arch: str | None = None,
    entry: str | None = None,
) -> Equality:
    """Whether two modules are equal at a level of detail, and the shortest reason if they are not.

    Args:
        reference: what to compare with, a module or a list of modules.
        generated: what is compared, likewise.
        level: what may differ: nothing but names of values ("exact"); names, spelling and order
            ("names"); hints ("hints"); number formats ("dtype"); shapes and constants ("sizes"); arithmetic
            ("structure"). Each level forgets what those before it forget, too.
        arch: target for which hints are resolved; None: every target that either side names.
        entry: compare only entries whose symbol contains this text.

    Returns:
        An Equality: true in a condition if the modules are equal; `reason` says why they are not.

    Raises:
        UsageError: unknown level or arch; a side without entries; no entry of that name.
    """
    from .equality import equal as compute

    return compute(reference, generated, level=level, arch=arch, entry=entry)


def variants(
    inputs: Sequence[str | os.PathLike[str] | Module],
    *,
    arch: str | None = None,
    executor: Executor | None = None,
) -> Variants:
    """Group kernels into structural variants, and each variant's members by number format.

    Args:
        inputs: files, folders (searched for files of Tile IR) and modules.
        arch: target for which hints are resolved; None: hints as they are written.
        executor: reads files at the same time; any `concurrent.futures.Executor`.

    Returns:
        A Variants. Files that cannot be read are in `unread`, and stop nothing.

    Raises:
        UsageError: unknown arch; no input, or no entry in any of them.
    """
    from .grouping import variants as compute

    return compute(inputs, arch=arch, executor=executor)


def _compare(
    pair: EntryPair, arches: tuple[str | None, ...], severities: dict[str, str]
) -> EntryDiff:
    from .compare import compare_entries

    one, other = pair.reference, pair.generated
    if one is not None and other is not None:
        assert pair.reference_module is not None
        assert pair.generated_module is not None
        return compare_entries(
            one, other, pair.reference_module, pair.generated_module, arches, severities
        )
    if one is not None:
        message = f"entry @{one.symbol} of the reference has no counterpart"
        finding = make_finding("ENT001", MISSING, message, one, None, severities)
        return EntryDiff(one.symbol, None, (finding,))
    assert other is not None
    message = f"entry @{other.symbol} of the generated module has no counterpart"
    finding = make_finding("ENT002", EXTRA, message, None, other, severities)
    return EntryDiff(None, other.symbol, (finding,))


__all__ = [
    "BLOCKED",
    "CRITICAL",
    "DIFFERS",
    "EXIT_CODES",
    "EXTRA",
    "FAIL_FIXABLE",
    "INFO",
    "MISSING",
    "PASS",
    "PASS_WITH_NOTES",
    "RULES",
    "SEMANTIC_EQUIV",
    "WARN",
    "Diff",
    "EntryDiff",
    "Finding",
    "Place",
    "Policy",
    "Rule",
    "diff",
    "equal",
    "variants",
    "verdict_of",
]
