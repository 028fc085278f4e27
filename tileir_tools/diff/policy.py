"""How findings are judged, as data: severities, what to ignore and until when, targets.

Place in the flow: facts -> **findings**; imports `finding`, `rules`, `errors`. A policy is one of the
named ones (`default`, `strict`, `legacy`), changed by a file: `tileir.toml`, or the table `[tool.tileir]`
of a `pyproject.toml`:

    policy = "default"                # the named policy to start from
    arch = ["sm_90", "sm_100"]        # targets for which hints are resolved

    [severity]                        # in pyproject.toml: [tool.tileir.severity]
    HNT004 = "WARN"

    [threshold]                       # from when on `tileir explain` names a cause
    spills = 16                       # loads and stores of local memory beside the reference's
    shared = 0.75                     # part of the reference's shared memory
    reuse = 0.75                      # part of its operations for each byte loaded

    [[ignore]]
    rule = "ASM003"
    entry = "softmax*"                # symbols of the reference; default: all
    reason = "the host checks the size"
    until = 2027-06-30                # from the day after, it counts again
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError, UsageError
from .finding import Diff, EntryDiff, Finding
from .rules import CRITICAL, INFO, RULES, WARN

if TYPE_CHECKING:
    import datetime

_LEVELS = (CRITICAL, WARN, INFO)


class Ignore(NamedTuple):
    """Findings of one rule that do not count: in entries whose symbol fits `entry` (`*` and `?`), for a
    reason, until and on a day (None: for ever)."""

    rule: str
    entry: str
    reason: str
    until: datetime.date | None


class Policy(NamedTuple):
    """How to judge.

    Attributes:
        severities: rule -> severity, where it is not the rule's own.
        ignores: what does not count.
        arches: targets for which hints are resolved; empty: those that the kernels name.
        thresholds: from when on a change in the machine code is a cause; see `THRESHOLDS`.
    """

    severities: Mapping[str, str] = {}
    ignores: tuple[Ignore, ...] = ()
    arches: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = {}

    def threshold(self, name: str) -> float:
        """A threshold, as the policy sets it or as it is. Raises KeyError: there is none of that name."""
        return self.thresholds.get(name, THRESHOLDS[name])


# Spills beside the reference's that a kernel can have without being slower for them; and the parts of the
# reference's shared memory, reuse and warps at a time below which a kernel of the measured kind
# (docs/explain.md) is slower.
THRESHOLDS: dict[str, float] = {"spills": 16, "shared": 0.75, "reuse": 0.75, "occupancy": 0.75}


# Where the shell script `diff_ir.sh` is lenient on purpose. Where it is lenient because it does not see
# a difference (swapped operands, a dropped padding value, another index), the rule stays as it is.
_LEGACY = {"HNT004": WARN, "CVT001": INFO, "CVT002": INFO, "CVT003": INFO}

# Everything that could matter, fails.
_STRICT = {code: CRITICAL for code, rule in RULES.items() if rule.severity == WARN}

NAMED: dict[str, Policy] = {
    "default": Policy(),
    "strict": Policy(_STRICT),
    "legacy": Policy(_LEGACY),
}


def check_policy(policy: Policy) -> None:
    """Raises UsageError: an unknown rule or severity."""
    for code, severity in policy.severities.items():
        _check_rule(code, "policy")
        if severity not in _LEVELS:
            raise UsageError(f"policy: {code}: '{severity}' is not CRITICAL, WARN or INFO")
    for ignore in policy.ignores:
        _check_rule(ignore.rule, "policy: ignore")


def _check_rule(code: str, where: str) -> None:
    if code not in RULES:
        raise UsageError(f"{where}: unknown rule '{code}'")


# -- from a file ------------------------------------------------------------------------------------

_KEYS = ("policy", "arch", "severity", "ignore", "threshold")


def policy_from(table: object, where: str) -> Policy:
    """The policy that a table says. Raises InputError, which names the key that is wrong.

    Args:
        table: the content of `tileir.toml` or of `[tool.tileir]`.
        where: what errors call it.
    """
    if not isinstance(table, dict):
        raise InputError(f"{where}: error: expected a table")
    for key in table:
        if key not in _KEYS:
            raise InputError(f"{where}: error: unknown key '{key}'; known: {', '.join(_KEYS)}")
    name = table.get("policy", "default")
    if name not in NAMED:
        raise InputError(f"{where}: error: policy: '{name}' is none of {', '.join(NAMED)}")
    base = NAMED[name]
    severities = {**base.severities, **_severities(table.get("severity", {}), where)}
    ignores = tuple(
        _ignore(item, where) for item in _list(table.get("ignore", []), "ignore", where)
    )
    arches = table.get("arch", [])
    arches = _list([arches] if isinstance(arches, str) else arches, "arch", where)
    thresholds = _thresholds(table.get("threshold", {}), where)
    policy = Policy(severities, ignores, tuple(map(str, arches)), thresholds)
    try:
        check_policy(policy)
    except UsageError as error:
        raise InputError(f"{where}: error: {error}") from None
    return policy


def _list(value: object, key: str, where: str) -> list[object]:
    if not isinstance(value, list):
        raise InputError(f"{where}: error: {key}: expected a list")
    return value


def _severities(table: object, where: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise InputError(f"{where}: error: severity: expected a table of rules and severities")
    return {str(code): str(level).upper() for code, level in table.items()}


def _thresholds(table: object, where: str) -> dict[str, float]:
    if not isinstance(table, dict):
        raise InputError(f"{where}: error: threshold: expected a table of names and numbers")
    for name, value in table.items():
        if name not in THRESHOLDS:
            known = ", ".join(THRESHOLDS)
            raise InputError(f"{where}: error: threshold: unknown '{name}'; known: {known}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise InputError(f"{where}: error: threshold: {name}: expected a number from 0 on")
    return dict(table)


def _ignore(item: object, where: str) -> Ignore:
    if not isinstance(item, dict):
        raise InputError(f"{where}: error: ignore: expected a table with rule and reason")
    for key in item:
        if key not in Ignore._fields:
            raise InputError(f"{where}: error: ignore: unknown key '{key}'")
    for key in ("rule", "reason"):
        if not isinstance(item.get(key), str) or not item[key].strip():
            raise InputError(f"{where}: error: ignore: needs a {key}")
    # Imported when a policy has something to ignore: it costs as much as a small module of ours.
    import datetime

    until = item.get("until")
    if until is not None and type(until) is not datetime.date:
        raise InputError(f"{where}: error: ignore: until: expected a date such as 2027-06-30")
    return Ignore(item["rule"], str(item.get("entry", "*")), item["reason"], until)


# -- what does not count ----------------------------------------------------------------------------


def apply_ignores(diff: Diff, ignores: Iterable[Ignore], today: datetime.date) -> Diff:
    """The answer with findings marked that a policy ignores, and a note for what it ignores no more."""
    current = [i for i in ignores if i.until is None or i.until >= today]
    entries = tuple(
        entry._replace(findings=tuple(_judged(f, entry, current) for f in entry.findings))
        for entry in diff.entries
    )
    expired = [i for i in ignores if i.until is not None and i.until < today]
    notes = tuple(
        f"{i.rule} is no longer ignored since {i.until} ({i.reason})"
        for i in expired
        if any(_fits(f, entry, i) for entry in diff.entries for f in entry.findings)
    )
    return diff._replace(entries=entries, notes=diff.notes + notes)


def _judged(finding: Finding, entry: EntryDiff, ignores: list[Ignore]) -> Finding:
    for ignore in ignores:
        if _fits(finding, entry, ignore):
            return finding._replace(ignored=ignore.reason)
    return finding


def _fits(finding: Finding, entry: EntryDiff, ignore: Ignore) -> bool:
    symbol = entry.reference or entry.generated or ""
    return finding.code == ignore.rule and fnmatch.fnmatchcase(symbol, ignore.entry)
