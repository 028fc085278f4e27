"""The kinds of rewriting that keep what a kernel means: the equivalence table asks the differ about each.

A kind makes another module of a freshly parsed one: the text or the bytecode of it, None where the kernel
has nothing of the kind. `severity` is what the judging policy allows at most: NONE (not a word), INFO (proven
equal, PASS), WARN (a note of one of `codes`, PASS_WITH_NOTES, and not less).

Imports `respell` (edits and spellings), `mutation_kinds` (changes that the policy forgives) and `editing`;
`rewritings` holds what is made here for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

import mutation_kinds
import rewritings
from editing import Facts
from mutation_kinds import CRITICAL, INFO, NONE, WARN
from respell import EDITS, SPELLINGS, respelled

from tileir_tools.errors import TileIRError
from tileir_tools.model import Module, Operation
from tileir_tools.transform import PASSES, rename_entry

Remake = Callable[[Module, Random], "str | bytes | None"]
__all__ = ["CRITICAL", "INFO", "KINDS", "NONE", "WARN", "Equivalence"]


class Equivalence(NamedTuple):
    """One kind of rewriting. `turned`: what is made is the reference, the kernel is the generated one."""

    name: str
    severity: str
    codes: frozenset[str]
    remake: Remake
    turned: bool = False


# -- spelling --------------------------------------------------------------------------------------


def _respelled(edits: list[str], spellings: list[str], generic: bool) -> Remake:
    def remake(module: Module, random: Random) -> str | None:
        if generic and module.warnings:
            # The pretty and the generic form of an unknown operation are different texts.
            return None
        return respelled(module, edits, spellings, random, generic)

    return remake


def _first_line(function: object) -> str:
    return (function.__doc__ or "").split("\n")[0].rstrip(".")


def _spelling_kinds() -> list[Equivalence]:
    ways = [(f"text: {_first_line(f)}", [], [name], False) for name, f in SPELLINGS.items()]
    ways += [(f"module: {_first_line(f)}", [name], [], False) for name, f in EDITS.items()]
    ways.append(("text: generic form", [], [], True))
    ways.append(("all of these edits, generic form", list(EDITS), [], True))
    ways.append(("all of these edits and spellings", list(EDITS), list(SPELLINGS), False))
    return [Equivalence(n, NONE, frozenset(), _respelled(*way)) for n, *way in ways]


# -- passes and round trips ------------------------------------------------------------------------

# What these do is more than another spelling.
_NOT_EQUAL = ("fuse_fma", "loop_split")


def _passed(name: str, module: Module, random: Random) -> str:
    PASSES[name](module)
    return module.to_text()


def _renamed(module: Module, random: Random) -> str:
    for number, entry in enumerate(module.entries):
        rename_entry(module, entry.symbol, f"another_{number}")
    return module.to_text()


def _encoded(version: str, module: Module, random: Random) -> bytes | None:
    try:
        return module.to_bytecode(version)
    except TileIRError:
        # This version cannot say everything that the kernel says.
        return None


def _with_locations(module: Module, random: Random) -> str:
    return module.to_text(debug_info=True)


def _pass_kinds() -> list[Equivalence]:
    def equal(name: str, remake: Remake) -> Equivalence:
        return Equivalence(name, NONE, frozenset(), remake)

    passes = [n for n in PASSES if n not in _NOT_EQUAL]
    found = [equal(f"pass: {name}", partial(_passed, name)) for name in passes]
    found.append(equal("pass: rename_entry", _renamed))
    found.append(equal("round trip: text with locations", _with_locations))
    versions = ("13.1", "13.2", "13.3", "13.4", "13.5")
    found += [equal(f"round trip: bytecode {v}", partial(_encoded, v)) for v in versions]
    return found


# -- changes of operations -------------------------------------------------------------------------

# A change is made at that many places of one kernel.
_PLACES = 6


def _everywhere(
    make: rewritings.Maker, ops: frozenset[str], most: int, module: Module, random: Random
) -> str | None:
    """Make a change wherever it can be made, up to a number of places."""
    facts, places = Facts(module), 0
    for op in list(module.walk()):
        if places == most or not _stands(op, module) or (ops and op.name not in ops):
            continue
        if make(op, facts):
            places += 1
            facts = Facts(module)
    return module.to_text() if places else None


def _stands(op: Operation, module: Module) -> bool:
    """Whether an operation is still there: another change may have erased it."""
    around: Operation | None = op
    while around is not None and around.parent is not None:
        if around in module.operations:
            return True
        around = around.parent_op
    return around in module.operations


# Mutations that cost nothing but a note, and mean the same: (name, rule, also as the reference).
_NOTED = (
    ("operation moved into the loop", "PRF002", True),
    ("view made inside the loop", "PRF003", True),
    ("static stride 1 given at run time", "PRF004", False),
    ("assume about a scalar dropped", "ASM003", False),
    ("alignment of a pointer under a view dropped", "ASM003", False),
    ("allow_tma = false dropped", "HNT007", False),
    ("assert added", "DFL008", False),
)


def _forgiven_kinds() -> list[Equivalence]:
    """The kinds of the mutation test that the policy forgives."""
    by_name = {kind.name: kind for kind in mutation_kinds.KINDS}
    noted = {name for name, _, _ in _NOTED}
    found = []
    for name, kind in by_name.items():
        algebra = kind.codes == {"ALG001"}
        if kind.severity in (NONE, INFO) or algebra or name in noted:
            # The policy forgives the reassociation of two operations, not of many.
            remake = partial(_everywhere, kind.make, kind.ops, 1 if algebra else _PLACES)
            found.append(Equivalence(name, kind.severity, kind.codes, remake))
    for name, _, turned in _NOTED:
        if turned:
            kind = by_name[name]
            remake = partial(_everywhere, kind.make, kind.ops, _PLACES)
            found.append(Equivalence(f"{name}, in the reference", NONE, frozenset(), remake, True))
    return found


def _new_kinds() -> list[Equivalence]:
    return [
        Equivalence(r.name, r.severity, r.codes, partial(_everywhere, r.make, r.ops, _PLACES))
        for r in rewritings.REWRITINGS
    ]


KINDS: list[Equivalence] = [
    *_spelling_kinds(),
    *_pass_kinds(),
    *_forgiven_kinds(),
    *_new_kinds(),
]
