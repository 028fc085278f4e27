"""The proof that a kernel dumped under an alias is the kernel itself.

Place in the flow: facts -> **findings** -> report; imports `analyze`, `strict`. An alias is the function
name `{op}__{real}` in front of the mangling of the original: the same kernel compiled once more
under a name that says which operation it implements. Proven means: equal operations in the same
order with equal attributes and types, equal globals, the same mangling, and equal entry hints.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from ..analyze import demangle
from ..analyze.fingerprint import same_dataflow
from ..analyze.hints import raw_hints
from ..analyze.sequence import steps
from ..analyze.symbols import Symbol
from ..errors import UsageError
from ..model import Entry, Module
from .strict import Difference, first_difference

_ORIGINAL, _ALIAS = "the original", "the alias"

EQUAL, DATAFLOW, DIFFERENT = "equal", "dataflow", "different"


class AliasProof(NamedTuple):
    """Whether an alias is its original, and if not, why.

    Attributes:
        original, alias: the symbols.
        op, kernel: the halves of the alias's function name.
        mangling: whether both symbols end alike.
        body: "equal"; "dataflow" where the kernels compute the same but not in the same operations;
            "different".
        operations: how many operations the original has.
        difference: the first difference of the bodies.
        hints: the entry hints that differ, one sentence each.
        reasons: why the alias is not proven, one sentence each; none: it is.
    """

    original: str
    alias: str
    op: str
    kernel: str
    mangling: bool
    body: str
    operations: int
    difference: Difference | None
    hints: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def proven(self) -> bool:
        """Whether nothing speaks against it; the same as the truth of this record."""
        return not self.reasons

    def __bool__(self) -> bool:
        return self.proven


def prove_alias(original: Module, alias: Module, kernel: str, op: str | None = None) -> AliasProof:
    """Compare a kernel with the same kernel dumped under the name `{op}__{kernel}`.

    Args:
        original: the module that holds the kernel under its own name.
        alias: the module that holds it under the alias.
        kernel: the function name of the kernel, as its source has it.
        op: the operation that the alias names; None: whatever stands before `__{kernel}`.

    Raises:
        UsageError: a module has no such kernel, or several.
    """
    one = _original(original, alias, kernel)
    other = _alias(alias, kernel, op)
    left, right = demangle(one.symbol), demangle(other.symbol)
    difference = first_difference(one, other, original, alias, _ORIGINAL, _ALIAS)
    body = EQUAL
    if difference is not None:
        body = DATAFLOW if same_dataflow(one, other, original, alias) else DIFFERENT
    hints = _hints_differ(one, other)
    reasons = [*_body_reasons(body, difference)]
    if left.suffix != right.suffix:
        reasons.append(_mangling_differs(left, right))
    if hints:
        reasons.append(_hints_reason(hints, one))
    return AliasProof(
        one.symbol,
        other.symbol,
        right.function.removesuffix(f"__{kernel}"),
        kernel,
        left.suffix == right.suffix,
        body,
        sum(1 for _ in steps(one, original)) - 1,
        difference,
        hints,
        tuple(reasons),
    )


# -- the two entries -------------------------------------------------------------------------------


def _original(original: Module, alias: Module, kernel: str) -> Entry:
    found = [e for e in original.entries if demangle(e.symbol).function == kernel]
    if not found:
        hint = ""
        for entry in alias.entries:
            symbol = demangle(entry.symbol)
            if symbol.op == kernel:
                hint = (
                    f"; '{kernel}' is the operation of the alias, the kernel is '{symbol.alias_of}'"
                )
        raise UsageError(f"the original has no kernel '{kernel}'{_known(original)}{hint}")
    return _only(found, f"the original has several kernels '{kernel}'")


def _alias(alias: Module, kernel: str, op: str | None) -> Entry:
    if op is not None:
        found = [e for e in alias.entries if demangle(e.symbol).function == f"{op}__{kernel}"]
        wanted = f"{op}__{kernel}"
    else:
        found = [e for e in alias.entries if _is_alias(demangle(e.symbol).function, kernel)]
        wanted = f"..__{kernel}"
    if not found:
        raise UsageError(f"the alias has no kernel '{wanted}'{_known(alias)}")
    return _only(found, f"the alias has several kernels '{wanted}'")


def _is_alias(function: str, kernel: str) -> bool:
    op = function.removesuffix(f"__{kernel}")
    return op != function and bool(op)


def _only(entries: list[Entry], otherwise: str) -> Entry:
    if len(entries) > 1:
        symbols = ", ".join(f"@{entry.symbol}" for entry in entries)
        raise UsageError(f"{otherwise}: {symbols}")
    return entries[0]


def _known(module: Module) -> str:
    functions = sorted({demangle(entry.symbol).function for entry in module.entries})
    return f" (it has {', '.join(functions)})" if functions else " (it has none)"


# -- what differs ----------------------------------------------------------------------------------


def _body_reasons(body: str, difference: Difference | None) -> list[str]:
    if difference is None:
        return []
    where = f"operation {difference.number}: " if difference.number else ""
    if body == DATAFLOW:
        return [
            f"the bodies compute the same, but are not the same operations in the same order; first "
            f"difference: {where}{difference.message}"
        ]
    return [f"the bodies differ; first difference: {where}{difference.message}"]


def _mangling_differs(one: Symbol, other: Symbol) -> str:
    """In what two symbols were specialised differently."""
    if one.convention != other.convention:
        return f"the mangling differs: {one.convention} in the original, {other.convention} in the alias"
    for number, (a, b) in enumerate(zip_longest(one.parameters, other.parameters)):
        if a is None or b is None:
            counts = len(one.parameters), len(other.parameters)
            return f"the mangling differs: {counts[0]} parameters in the original, {counts[1]} in the alias"
        if a != b:
            return (
                f"the mangling differs: parameter {number} is {a.text} in the original and {b.text} in "
                "the alias"
            )
    return f"the mangling differs: {one.suffix} in the original, {other.suffix} in the alias"


def _hints_differ(one: Entry, other: Entry) -> tuple[str, ...]:
    """The entry hints that differ as written, target by target."""
    left, right = raw_hints(one.hints), raw_hints(other.hints)
    found = []
    for target in sorted({*left, *right}):
        mine, theirs = left.get(target, {}), right.get(target, {})
        for key in sorted({*mine, *theirs}):
            a, b = mine.get(key), theirs.get(key)
            if a == b:
                continue
            if b is None:
                found.append(f"{key} = {a} for {target} is lost in the alias")
            elif a is None:
                found.append(f"{key} = {b} for {target} is only in the alias")
            else:
                found.append(f"{key} for {target} is {a} in the original and {b} in the alias")
    return tuple(found)


# Entry hint -> the option of cuTile's decorator that sets it.
_OPTIONS = {
    "num_cta_in_cga": "num_ctas",
    "num_worker_warps_per_cta": "num_worker_warps",
    "occupancy": "occupancy",
}


def _hints_reason(hints: tuple[str, ...], original: Entry) -> str:
    text = f"the entry hints differ: {'; '.join(hints)}"
    if not any("is lost" in hint for hint in hints):
        return text
    return (
        f"{text}. `ct.kernel(k._pyfunc)` forgets the options of the original's decorator: carry them "
        f"over, as in `ct.kernel(k._pyfunc).replace_hints({_options(original)})`"
    )


def _options(entry: Entry) -> str:
    """The options of cuTile's decorator that give an entry the hints it has."""
    targets = raw_hints(entry.hints)
    keys = dict.fromkeys(key for values in targets.values() for key in values)
    texts = []
    for key in keys:
        by_target = {target: values[key] for target, values in targets.items() if key in values}
        distinct = set(by_target.values())
        if len(by_target) == len(targets) and len(distinct) == 1:
            shown = str(distinct.pop())
        else:
            pairs = ", ".join(f"{target}={value}" for target, value in by_target.items())
            shown = f"ct.ByTarget({pairs})"
        texts.append(f"{_OPTIONS.get(key, key)}={shown}")
    return ", ".join(texts)
