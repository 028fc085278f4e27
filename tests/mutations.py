"""Mutation test of the differ: one change in a kernel, and what the differ says about it.

    python tests/mutations.py [--diff-ir-sh PATH]

prints the table of docs/mutations.md, and every mutant that was not judged as expected on the
standard error stream. With the path of TileGym's `diff_ir.sh` a part of the mutants of each kind is
given to that script too (`beside`). `mutation_kinds` holds the kinds of change; `samples` the kernels. Each
mutant is printed and parsed again, so that the differ sees what it would see in a file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from beside import MOST, Beside, column_of, passing, without_scalar_promises
from editing import Facts
from mutation_kinds import CRITICAL, INFO, KINDS, NONE, WARN, Kind, Site
from samples import corpus_kernels, fixture_kernels

from tileir_tools.diff import SEMANTIC_EQUIV, Finding, diff
from tileir_tools.errors import ParseError
from tileir_tools.model import Module, Operation
from tileir_tools.read import parse_all

# How many mutants of one kind one kernel gives.
MUTANTS_PER_KERNEL = 2
_VERDICTS = {CRITICAL: "FAIL_FIXABLE", WARN: "PASS_WITH_NOTES", INFO: "PASS", NONE: "PASS"}


class Mutant(NamedTuple):
    """One changed kernel; lines are those on which a finding has to stand, None where any does."""

    kernel: str
    reference: Module
    generated: Module
    reference_line: int | None
    generated_line: int | None


class Judged(NamedTuple):
    """What the differ said about a mutant; `problem` is empty where the policy agrees."""

    kind: Kind
    kernel: str
    findings: tuple[Finding, ...]
    problem: str


class Kernel:
    """One reference kernel, parsed again after every change."""

    def __init__(self, name: str, text: str):
        self.name = name
        self.text = parse_all(text, name)[0].to_text()
        self.reference = parse_all(self.text, "reference")[0]
        self._fresh: tuple[list[Operation], Facts] | None = None

    def _open(self) -> tuple[list[Operation], Facts]:
        """The operations of a module that nobody has changed yet."""
        if self._fresh is None:
            module = parse_all(self.text, "reference")[0]
            self._fresh = list(module.walk()), Facts(module)
        return self._fresh

    def mutants(self, kind: Kind) -> Iterator[Mutant]:
        """Every mutant of a kind, in the order of the text."""
        for index in range(len(self._open()[0])):
            operations, facts = self._open()
            op = operations[index]
            if kind.ops and op.name not in kind.ops:
                continue
            site = kind.make(op, facts)
            if site is not None:
                self._fresh = None
                mutant = self._printed(facts.module, site)
                if mutant is not None:
                    yield mutant

    def _printed(self, module: Module, site: Site) -> Mutant | None:
        try:
            changed = parse_all(module.to_text(), "generated")[0]
        except ParseError:
            # Some changes of types make text that cannot be read; there are others of the kind.
            return None
        reference_line = generated_line = None
        if site.reference is not None and site.reference.span is not None:
            reference_line = site.reference.span.line
        if site.generated is not None:
            place = [op is site.generated for op in module.walk()].index(True)
            span = list(changed.walk())[place].span
            generated_line = span.line if span is not None else None
        return Mutant(self.name, self.reference, changed, reference_line, generated_line)


def opened(paths: list[Path]) -> list[Kernel]:
    return [Kernel(path.name, path.read_text(encoding="utf-8")) for path in paths]


def judge(kind: Kind, mutant: Mutant) -> Judged:
    """Compare a mutant with its kernel and say whether the answer is right."""
    found = diff(mutant.reference, mutant.generated)
    # An unknown operation is worth a note in any comparison.
    findings = tuple(f for f in found.findings if f.code != "OPQ001")
    return Judged(kind, mutant.kernel, findings, _problem(kind, mutant, findings))


def _problem(kind: Kind, mutant: Mutant, findings: tuple[Finding, ...]) -> str:
    """What is wrong with the findings; empty where nothing is."""
    if kind.severity == NONE:
        return f"reported: {findings[0].code}" if findings else ""
    if not findings:
        return "not found"
    if kind.severity == INFO and any(f.status != SEMANTIC_EQUIV for f in findings):
        return "not proven equal"
    worst = min((CRITICAL, WARN, INFO).index(f.severity) for f in findings)
    if (CRITICAL, WARN, INFO)[worst] != kind.severity:
        return f"severity {(CRITICAL, WARN, INFO)[worst]}"
    right = [f for f in findings if f.code in kind.codes and f.severity == kind.severity]
    if not right:
        return f"code {findings[0].code}"
    if not any(_in_place(f, mutant) for f in right):
        return "place"
    return ""


def _in_place(finding: Finding, mutant: Mutant) -> bool:
    """Whether a finding shows the lines that were changed."""
    for place, line in (
        (finding.reference, mutant.reference_line),
        (finding.generated, mutant.generated_line),
    ):
        if line is not None and (place is None or place.line != line):
            return False
    return True


def _mutants(kind: Kind, kernels: list[Kernel]) -> Iterator[Mutant]:
    # Each kind starts at another kernel, so that few mutants see many kernels.
    start = KINDS.index(kind) * 7 % len(kernels)
    return chain.from_iterable(
        islice(kernel.mutants(kind), MUTANTS_PER_KERNEL)
        for kernel in (*kernels[start:], *kernels[:start])
    )


def judged(kind: Kind, kernels: list[Kernel], most: int | None = None) -> list[Judged]:
    """Judge the mutants of a kind; at most `most` of them."""
    return [judge(kind, mutant) for mutant in islice(_mutants(kind, kernels), most)]


def asked_beside(script: Path, kind: Kind, kernels: list[Kernel]) -> Beside:
    """What the script says about the first mutants of a kind: it must fail those that are CRITICAL."""
    texts = [
        (mutant.reference.to_text(), mutant.generated.to_text())
        for mutant in islice(_mutants(kind, kernels), MOST)
    ]
    return Beside.of(script, [(pair, kind.severity == CRITICAL) for pair in texts])


def table(results: dict[str, list[Judged]], script: dict[str, Beside]) -> str:
    """The results by kind, as a Markdown table."""
    head = "| kind | mutants | judged right | severity | rules | findings each |"
    line = "| --- | ---: | ---: | --- | --- | ---: |"
    rows = [head + column_of(script, "diff_ir.sh right"), line + column_of(script, "---:")]
    for kind in KINDS:
        mine = results[kind.name]
        right = sum(1 for j in mine if not j.problem)
        codes = sorted({f.code for j in mine for f in j.findings if f.code in kind.codes})
        each = sum(len(j.findings) for j in mine) / len(mine) if mine else 0
        shown = " ".join(codes) or "-"
        row = f"| {kind.name} | {len(mine)} | {right} | {kind.severity} | {shown} | {each:.1f} |"
        rows.append(row + column_of(script, kind.name))
    everything = [j for mine in results.values() for j in mine]
    right = sum(1 for j in everything if not j.problem)
    total = f"| **{len(KINDS)} kinds** | **{len(everything)}** | **{right}** | | | |"
    rows.append(total + column_of(script, "all"))
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--diff-ir-sh", type=Path, metavar="PATH", help="TileGym's script, run beside"
    )
    script = parser.parse_args().diff_ir_sh
    kernels = opened([*fixture_kernels(), *corpus_kernels()])
    results = {kind.name: judged(kind, kernels) for kind in KINDS}
    beside = {}
    if script is not None:
        count = passing(script, (k.text for k in kernels))
        plain = [Kernel(k.name, without_scalar_promises(k.text)) for k in kernels]
        print(f"diff_ir.sh: {count} of {len(kernels)} kernels pass against themselves")
        beside = {kind.name: asked_beside(script, kind, plain) for kind in KINDS}
    wrong = [j for mine in results.values() for j in mine if j.problem]
    for one in wrong:
        print(f"{one.kind.name}: {one.kernel}: {one.problem}", file=sys.stderr)
    print(f"{len(kernels)} kernels\n\n{table(results, beside)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
