"""The rows of the judging policy, each with the kernels that prove it.

A row is proven by one or several of

- `case CODE`: a change of a small kernel in `fixtures/rules/cases.txt`;
- `kind NAME`: a kind of the mutation test; two mutants of it are judged here;
- `same NAME`: a kind of the equivalence test; two pairs of it are judged here;
- `edit KERNEL`: a change of a small kernel that stands here.

Where the policy says what the difference means the other way round, `turned` holds the worst severity then:
None where there is nothing to say.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import equivalence_kinds
import equivalences
import mutation_kinds
import mutations
import pytest
from mutation_kinds import CRITICAL, INFO, NONE, WARN
from samples import fixture_kernels
from test_diff import CASES, compare, kernel

from tileir_tools.diff import SEMANTIC_EQUIV, Finding
from tileir_tools.errors import ParseError

# Of a kind, this many are judged.
_FEW = 2
_ORDER = (CRITICAL, WARN, INFO, NONE)


class Row(NamedTuple):
    """One line of the policy: what it asks for, what it is about, and its proofs."""

    severity: str
    text: str
    proofs: tuple[str, ...]
    turned: str | None = "same"


class Edit(NamedTuple):
    """A change of a small kernel, and the rule that has to say it; `given` is changed on both sides."""

    kernel: str
    code: str
    edits: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...] = ()


EDITS = {
    "view for pointers, stored": Edit(
        "raw",
        "MEM003",
        (
            (
                "%t2 = store_ptr_tko weak %at, %x, %in token=%t1 : tile<64xptr<f32>>, tile<64xf32>, "
                "tile<64xi1> -> token",
                "%v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> "
                "tensor_view<?xf32, strides=[1]>\n"
                "  %a = make_partition_view %v : partition_view<tile=(64), tensor_view<?xf32, "
                "strides=[1]>>\n  %zero = constant <i32: 0> : tile<i32>\n"
                "  %t2 = store_view_tko weak %x, %a[%zero] token = %t1 : tile<64xf32>, "
                "partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token",
            ),
        ),
    ),
    "accumulator not carried": Edit("product", "MMA003", (("mmaf %x, %y, %acc", "mmaf %x, %y, %zero"),)),
    "scope of an atomic": Edit("raw", "MEM012", (("relaxed device", "relaxed sys"),)),
    "fma gone": Edit("small", "FLT001", (("%y = subf %x, %one", "%y = fma %x, %x, %one"),)),
    "exp for exp2": Edit("small", "FLT001", (("exp %y", "exp2 %y"),)),
    "rsqrt for sqrt": Edit("small", "FLT001", (("exp %y", "rsqrt %y"),)),
    "exp rounded otherwise": Edit("small", "FLT002", (("exp %y", "exp %y rounding<approx>"),)),
    "block id of another axis": Edit("small", "MEM004", (("%b[%bx]", "%b[%by]"),)),
    "warps for occupancy": Edit("raw", "HNT002", (("occupancy = 2", "num_worker_warps_per_cta = 8"),)),
    "warps in conflict": Edit(
        "raw", "HNT001", (("per_cta = 4", "per_cta = 8"),),
        (("occupancy = 2", "num_worker_warps_per_cta = 4"),),
    ),
    "blocks of a cluster in conflict": Edit(
        "raw", "HNT001", (("in_cga = 1", "in_cga = 2"),), (("occupancy = 2", "num_cta_in_cga = 1"),)
    ),
    "latency absent in a loop": Edit(
        "product", "HNT004", ((" optimization_hints = <sm_100 = {latency = 4}>", ""),)
    ),
    "latency 1 for 4 in a loop": Edit("product", "HNT004", (("latency = 4", "latency = 1"),)),
    "assert in the loop": Edit(
        "places", "PRF002",
        (('  assert %ok, "size" : tile<i1>\n', ""),
         ("step %c1) : tile<i32> {\n", 'step %c1) : tile<i32> {\n    assert %ok, "size" : tile<i1>\n')),
        (("  for %i in", "  %ok = cmpi less_than %m, %n, signed : tile<i32> -> tile<i1>\n"
          '  assert %ok, "size" : tile<i1>\n  for %i in'),),
    ),
    "locations": Edit(
        "small", "", (("%y = subf %x, %one : tile<64xf32>",
                       '%y = subf %x, %one : tile<64xf32> loc("kernel.py":12:7)'),)
    ),
    "grid size promised": Edit(
        "small", "ASM004", (
            ("%bx, %by, %bz = get_tile_block_id : tile<i32>",
             "%bx, %by, %id = get_tile_block_id : tile<i32>\n"
             "  %bz = assume bounded<0, ?>, %id : tile<i32>"),
            ("%b[%bx]", "%b[%bz]"), ("%a[%bx]", "%a[%bz]"),
        ),
    ),
}  # fmt: skip

ROWS = (
    # -- CRITICAL
    Row(CRITICAL, "memory op family", ("case MEM003", "edit view for pointers, stored")),
    Row(CRITICAL, "count of loads, stores and atomics", (
        "case MEM001", "case MEM002", "kind store or atomic dropped", "kind store or atomic repeated",
        "kind load repeated", "kind load dropped, a constant in its place")),
    Row(CRITICAL, "view kind that changes the addresses", (
        "case MEM008", "kind a partition view became a strided one", "kind traversal strides changed",
        "kind sparse dimension changed")),
    Row(CRITICAL, "indices in another order", ("kind indices of an access transposed",)),
    Row(CRITICAL, "tile shape that changes the elements touched", ("case MEM005",)),
    Row(CRITICAL, "mma: presence", ("case MMA004", "kind mma dropped")),
    Row(CRITICAL, "mma: operand order", ("kind mma operands swapped", "kind mma scales swapped")),
    Row(CRITICAL, "mma: operand or accumulator type", ("case MMA002",)),
    Row(CRITICAL, "mma: an accumulator that is not the loop-carried one", (
        "case MMA003", "edit accumulator not carried",
        "kind mma accumulates into the start value, not the carried one")),
    Row(CRITICAL, "mma: fast_acc, signedness", ("case MMA005", "kind signedness of mmai changed")),
    Row(CRITICAL, "reduce and scan: dimension", ("kind reduction along another dimension",)),
    Row(CRITICAL, "reduce and scan: identity", ("case RED002",)),
    Row(CRITICAL, "reduce and scan: body", (
        "case RED003", "kind values that a reduction's body yields swapped")),
    Row(CRITICAL, "reduce and scan: reverse", ("case RED001", "kind direction of a scan changed")),
    Row(CRITICAL, "exp, exp2, rsqrt, fma and any transcendental: presence", (
        "edit fma gone", "edit exp for exp2", "edit rsqrt for sqrt", "case FLT001")),
    Row(CRITICAL, "transcendentals: rounding mode", ("edit exp rounded otherwise", "case FLT002")),
    Row(CRITICAL, "flush_to_zero that the generated lacks", ("case FLT003",)),
    Row(CRITICAL, "propagate_nan", ("case FLT005",)),
    Row(CRITICAL, "ftof to tf32 before mmaf, or narrower before a store, missing", (
        "case CVT001", "kind ftof dropped")),
    Row(CRITICAL, "rounding of a conversion changed", ("kind rounding of ftof changed",)),
    Row(CRITICAL, "int conversions whose signedness changed", (
        "kind signedness of an int conversion changed",)),
    Row(CRITICAL, "bounded `for` against unbounded `loop`", ("case LOP001",)),
    Row(CRITICAL, "loops: lower bound, upper bound or step", (
        "case LOP002", "case LOP003", "kind lower bound of a loop changed",
        "kind upper bound of a loop changed")),
    Row(CRITICAL, "loops: iter_values", (
        "case LOP004", "kind updates of two carried values swapped",
        "kind update of a carried value dropped")),
    Row(CRITICAL, "loops: trip count floor against ceil", ("case LOP007",)),
    Row(CRITICAL, "padding_value dropped or changed", (
        "case MEM007", "kind padding_value dropped", "kind padding_value changed")),
    Row(CRITICAL, "mask or padding operand of load_ptr_tko missing", (
        "case MEM006", "kind mask dropped", "kind padding operand dropped")),
    Row(CRITICAL, "an ordering edge that the generated lacks", (
        "case MEM013", "kind token dropped", "kind token of an iteration not carried to the next"),
        None),
    Row(CRITICAL, "memory ordering and scope", ("case MEM012", "edit scope of an atomic")),
    Row(CRITICAL, "mode of an atomic", ("case MEM014",)),
    Row(CRITICAL, "entry hints in conflict", (
        "case HNT001", "edit warps in conflict", "edit blocks of a cluster in conflict")),
    Row(CRITICAL, "allow_tma true in the reference and false in the generated", ("case HNT006",), WARN),
    Row(CRITICAL, "latency that differs on an access inside a loop", (
        "case HNT004", "edit latency absent in a loop", "edit latency 1 for 4 in a loop")),
    Row(CRITICAL, "reference constant lowered as a runtime argument", ("case ABI002",)),
    Row(CRITICAL, "parameters", ("case ABI001", "kind two parameters of one type exchanged")),
    Row(CRITICAL, "div_by on pointers missing where raw pointers are used", ("case ASM002",)),
    Row(CRITICAL, "a promise that the reference does not make", (
        "case ASM001", "kind div_by strengthened", "kind bounded strengthened"), WARN),
    Row(CRITICAL, "overflow flags the reference does not promise", ("case OVF001",), WARN),
    Row(CRITICAL, "inbounds the reference does not promise", ("case MEM010",), WARN),
    Row(CRITICAL, "constants, predicates, select arms, permutations, iota, block-id axes", (
        "case DFL002", "case DFL003", "case DFL004", "case DFL006", "edit block id of another axis")),
    Row(CRITICAL, "dataflow into a branch, an assert or a print", ("case LOP005", "case DFL007")),
    Row(CRITICAL, "an op replaced by another (addf by subf, maxf by minf)", (
        "kind maxf for minf and back", "kind float operation replaced by one of the same signature")),
    Row(CRITICAL, "an unknown op whose text differs", ("case OPQ002",)),
    # -- WARN
    Row(WARN, "entry hint missing in the generated or extra", (
        "case HNT002", "case HNT003", "edit warps for occupancy")),
    Row(WARN, "latency that differs outside loops", ("case HNT005",)),
    Row(WARN, "allow_tma false in the reference and true in the generated", ("case HNT007",), CRITICAL),
    Row(WARN, "div_by on pointers missing on a view path; on scalars missing", (
        "case ASM003", "kind alignment of a pointer under a view dropped",
        "kind assume about a scalar dropped"), CRITICAL),
    Row(WARN, "arithmetic by a named algebraic rewrite", (
        "case ALG001", "kind a - b written as a + (-b)", "kind fma split into mulf and addf",
        "kind mulf and addf fused into fma", "kind a + b + c added in another order",
        "kind division by a power of two written as multiplication")),
    Row(WARN, "missing block swizzle", ("case PRF001", "kind block swizzle left out"), CRITICAL),
    Row(WARN, "an op that moved into a loop body", (
        "case PRF002", "kind operation moved into the loop"), None),
    Row(WARN, "an assert inside a loop", ("edit assert in the loop",), CRITICAL),
    Row(WARN, "a load that moved across a loop", ("case MEM015", "kind load moved into the loop")),
    Row(WARN, "an assert that the reference does not have", ("case DFL008",), CRITICAL),
    Row(WARN, "strided last dimension not the constant 1", ("case PRF004",), CRITICAL),
    Row(WARN, "dim_map or strides in another form with equal addresses", (
        "case PRF005", "same tile loaded transposed and permuted",
        "same tile permuted and stored transposed", "same dim_map by a tensor view of turned dimensions")),
    Row(WARN, "partition view re-made inside the loop", (
        "case PRF003", "kind view made inside the loop"), None),
    Row(WARN, "overflow flags or inbounds that the generated does not promise", (
        "case OVF002", "case MEM011"), CRITICAL),
    # -- SEMANTIC_EQUIV / INFO
    Row(INFO, "division that rounds up for (a + b - 1) / b", (
        "kind division that rounds up spelled out",
        "same division that rounds up: the divisor less one is a constant",
        "same division that rounds up: (a + b) - 1 over b")),
    Row(INFO, "mini for compare-and-select", (
        "case EQV001", "kind mini or maxi spelled as comparison and selection")),
    Row(INFO, "index space shape for (dim + tile - 1) / tile", (
        "kind index space spelled as a division",)),
    Row(INFO, "remi with or without the negative correction", (
        "same remainder corrected for signs that cannot differ",)),
    Row(INFO, "strided view plus element offsets for partition view plus tile indices", (
        "same partition view as a strided view", "same tile indices as element offsets")),
    Row(INFO, "promises about block ids, grid sizes and loop indices", (
        "case ASM004", "kind assume about a block id added", "same promise about the size of the grid",
        "same promise about the index of a loop from 0 upwards"), None),
    Row(INFO, "hints that cannot be expressed there, absent", ("case HNT009",), WARN),
    Row(NONE, "debug info absent", ("edit locations", "same pass: strip_debug")),
    Row(NONE, "shared against separate tokens when the induced order is the same", (
        "kind tokens joined once more", "same tokens joined two by two",
        "same token joined with one that it comes after")),
    # -- what normalisation removes
    Row(NONE, "names, comments, white space, prefixes, wrapper, defaults, hexadecimal", (
        "same text: Other names for all values",
        "same text: Comments at the ends of lines and on lines of their own",
        "same text: Attributes that say what holds without them",
        "same text: The bits of floating-point constants instead of decimals",
        "same module: Put a `cuda_tile.module` around the text, under another name")),
    Row(NONE, "common subexpressions, dead code, order of independent ops", (
        "kind dead operation added", "kind common subexpression computed twice",
        "kind independent pure operations exchanged")),
    Row(NONE, "default = {..} against the same hints under the target's own key", (
        "same module: Write the hints of `default` under the name of a target, where no target is named",)),
    Row(NONE, "the entry's symbol", ("same pass: rename_entry",)),
)  # fmt: skip


# -- proofs ----------------------------------------------------------------------------------------


def _texts(proof: str) -> tuple[str, str, str]:
    """Reference, generated and the rule, of a case or an edit."""
    how, name = proof.split(" ", 1)
    if how == "case":
        case = next(case for case in CASES if case.code == name)
        text, edits, turned, code = kernel(case.kernel), tuple(case.edits), case.turned, name
    else:
        edit = EDITS[name]
        text = _changed(kernel(edit.kernel), edit.given)
        edits, turned, code = edit.edits, False, edit.code
    changed = _changed(text, edits)
    return (changed, text, code) if turned else (text, changed, code)


def _changed(text: str, edits: tuple[tuple[str, str], ...]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def _found(reference: str, generated: str) -> list[Finding]:
    # One of the kernels has an unknown operation, which any comparison notes.
    return [f for f in compare(reference, generated).findings if f.code != "OPQ001"]


def _worst(findings: list[Finding]) -> str:
    return min((f.severity for f in findings), key=_ORDER.index, default=NONE)


@cache
def _mutated() -> list[mutations.Kernel]:
    return mutations.opened(fixture_kernels())


@cache
def _rewritten() -> list[equivalences.Kernel]:
    return equivalences.opened(fixture_kernels())


def _problems(how: str, name: str, severity: str) -> list[str]:
    """What the differ says wrongly about the kernels of a kind; a kind without kernels is a problem too."""
    if how == "kind":
        kind = next(k for k in mutation_kinds.KINDS if k.name == name)
        assert kind.severity == severity
        results = [j.problem for j in mutations.judged(kind, _mutated(), _FEW)]
    else:
        same = next(k for k in equivalence_kinds.KINDS if k.name == name)
        assert same.severity == severity
        results = [j.problem for j in equivalences.judged(same, _rewritten(), _FEW)]
    return [problem for problem in results if problem] if results else ["no kernel has any"]


_PROOFS = [
    pytest.param(row, proof, id=f"{row.severity}: {row.text}: {proof}")
    for row in ROWS
    for proof in row.proofs
]


@pytest.mark.parametrize(("row", "proof"), _PROOFS)
def test_row(row: Row, proof: str) -> None:
    how, name = proof.split(" ", 1)
    if how in ("kind", "same"):
        assert _problems(how, name, row.severity) == []
        return
    reference, generated, code = _texts(proof)
    found = _found(reference, generated)
    assert _worst(found) == row.severity
    assert not code or code in [f.code for f in found]


_TURNED = [
    pytest.param(row, proof, id=f"{row.text}: {proof}")
    for row in ROWS
    for proof in row.proofs
    if proof.split(" ")[0] in ("case", "edit")
]


@pytest.mark.parametrize(("row", "proof"), _TURNED)
def test_row_the_other_way_round(row: Row, proof: str) -> None:
    reference, generated, _ = _texts(proof)
    wanted = {"same": row.severity, None: NONE}.get(row.turned, row.turned)
    assert _worst(_found(generated, reference)) == wanted


def test_what_is_forgiven_is_proven_equal() -> None:
    for row in ROWS:
        for proof in row.proofs:
            if (
                row.severity == INFO
                and proof.startswith(("case", "edit"))
                and "HNT009" not in proof
            ):
                reference, generated, _ = _texts(proof)
                assert all(f.status == SEMANTIC_EQUIV for f in _found(reference, generated))


def test_a_rounding_mode_on_a_maximum_cannot_be_read() -> None:
    """The policy's row about superfluous rounding: a default is not stored, a maximum has none."""
    text = kernel("small")
    with pytest.raises(ParseError, match="expected ':', found 'rounding<nearest_even>'"):
        compare(text, text.replace("maxf %e, %x", "maxf %e, %x rounding<nearest_even>"))
    said = text.replace("subf %x, %one", "subf %x, %one rounding<nearest_even>")
    assert compare(text, said).findings == ()


def test_every_rule_of_the_policy_is_in_some_row() -> None:
    named = {
        proof.split(" ", 1)[1] for row in ROWS for proof in row.proofs if proof.startswith("case")
    }
    # Entries without a counterpart, and what other rows' rules say in a corner of their own.
    others = {
        "OPQ001",
        "CVT002",
        "CVT003",
        "DFL001",
        "DFL005",
        "FLT004",
        "HNT008",
        "LOP006",
        "MEM004",
    }
    others |= {"MEM009", "MEM016", "MMA001", "RED004"}
    assert not {case.code for case in CASES} - named - others
