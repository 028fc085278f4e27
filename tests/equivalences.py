"""Equivalence test of the differ: a kernel and the same kernel written differently.

    python tests/equivalences.py [--diff-ir-sh PATH] [--kind NAME]

prints the table of docs/equivalences.md, and on the standard error stream every pair that was not judged as the
policy asks; the exit status is 1 if there is one. `equivalence_kinds` holds the kinds of rewriting, `samples`
the kernels. With the path of TileGym's `diff_ir.sh` a part of the pairs is given to that script too (`beside`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

from beside import MOST, Beside, column_of, passing, without_scalar_promises
from equivalence_kinds import INFO, KINDS, NONE, WARN, Equivalence
from samples import corpus_kernels, fixture_kernels

from tileir_tools.diff import SEMANTIC_EQUIV, Finding, diff
from tileir_tools.errors import ParseError
from tileir_tools.model import Module
from tileir_tools.read import parse_all


class Kernel(NamedTuple):
    """One kernel: its name and its text as the printer writes it."""

    name: str
    text: str

    def module(self) -> Module:
        return parse_all(self.text, self.name)[0]


class Judged(NamedTuple):
    """What the differ said about a pair; `problem` is empty where the policy agrees."""

    kernel: str
    findings: tuple[Finding, ...]
    problem: str
    texts: tuple[str, str]


def opened(paths: list[Path]) -> list[Kernel]:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return [
        Kernel(path.name, parse_all(text, path.name)[0].to_text())
        for path, text in zip(paths, texts, strict=True)
    ]


def judge(kind: Equivalence, kernel: Kernel) -> Judged | None:
    """Rewrite a kernel and compare; None where the kernel has nothing of the kind."""
    made = kind.remake(kernel.module(), Random(kernel.name))
    if made is None:
        return None
    try:
        other = parse_all(made, "rewritten")
    except ParseError as error:
        return Judged(kernel.name, (), f"cannot be read: {error}", (kernel.text, str(made)))
    shown = made if isinstance(made, str) else other[0].to_text()
    sides, texts = (kernel.module(), other), (kernel.text, shown)
    if kind.turned:
        sides, texts = (other, kernel.module()), (shown, kernel.text)
    found = diff(*sides)
    # An unknown operation is worth a note in any comparison.
    findings = tuple(f for f in found.findings if f.code != "OPQ001")
    return Judged(kernel.name, findings, _problem(kind, findings), texts)


def _problem(kind: Equivalence, findings: tuple[Finding, ...]) -> str:
    """What is wrong with the findings; empty where nothing is."""
    for finding in findings:
        proven = kind.severity == INFO and finding.status == SEMANTIC_EQUIV
        noted = kind.severity == WARN and finding.severity in (WARN, INFO)
        if not proven and not (noted and finding.code in {*kind.codes, "EQV001"}):
            return f"{finding.severity} {finding.code}: {finding.message}"
    if kind.severity == WARN and not any(f.code in kind.codes for f in findings):
        return "not noted"
    return ""


def judged(kind: Equivalence, kernels: list[Kernel], most: int | None = None) -> list[Judged]:
    """Judge the pairs of a kind; at most `most` of them."""
    # Each kind starts at another kernel, so that few pairs see many kernels.
    start = KINDS.index(kind) * 7 % len(kernels)
    found: list[Judged] = []
    for kernel in (*kernels[start:], *kernels[:start]):
        if most is not None and len(found) == most:
            break
        one = judge(kind, kernel)
        if one is not None:
            found.append(one)
    return found


_ANSWERS = {NONE: "PASS", INFO: "PASS", WARN: "PASS_WITH_NOTES"}


def table(results: dict[str, list[Judged]], script: dict[str, Beside]) -> str:
    """The results by kind, as a Markdown table."""
    head, line = (
        "| kind | kernels | judged right | asked for | rules |",
        "| --- | ---: | ---: | --- | --- |",
    )
    rows = [head + column_of(script, "diff_ir.sh right"), line + column_of(script, "---:")]
    for kind in KINDS:
        mine = results[kind.name]
        right = sum(1 for j in mine if not j.problem)
        codes = " ".join(sorted({f.code for j in mine for f in j.findings})) or "-"
        row = f"| {kind.name} | {len(mine)} | {right} | {_ANSWERS[kind.severity]} | {codes} |"
        rows.append(row + column_of(script, kind.name))
    everything = [j for mine in results.values() for j in mine]
    right = sum(1 for j in everything if not j.problem)
    total = f"| **{len(KINDS)} kinds** | **{len(everything)}** | **{right}** | | |"
    rows.append(total + column_of(script, "all"))
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--diff-ir-sh", type=Path, metavar="PATH", help="TileGym's script, run beside"
    )
    parser.add_argument("--kind", metavar="NAME", help="only kinds whose name contains this")
    arguments = parser.parse_args()
    kernels = opened([*fixture_kernels(), *corpus_kernels()])
    wanted = arguments.kind or ""
    results = {k.name: judged(k, kernels) if wanted in k.name else [] for k in KINDS}
    script: dict[str, Beside] = {}
    if arguments.diff_ir_sh is not None:
        count = passing(arguments.diff_ir_sh, (kernel.text for kernel in kernels))
        plain = [Kernel(k.name, without_scalar_promises(k.text)) for k in kernels]
        print(f"diff_ir.sh: {count} of {len(kernels)} kernels pass against themselves")
        for kind in KINDS:
            # What means the same must not fail.
            pairs = [(j.texts, False) for j in judged(kind, plain, MOST)]
            script[kind.name] = Beside.of(arguments.diff_ir_sh, pairs)
    wrong = [(name, j) for name, mine in results.items() for j in mine if j.problem]
    for name, one in wrong:
        print(f"{name}: {one.kernel}: {one.problem}", file=sys.stderr)
    print(f"{len(kernels)} kernels\n\n{table(results, script)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
