"""The differ: what it is asked, what it answers, and one small pair of kernels for each rule."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import pytest
from samples import ROOT, fixture_kernels, fixture_versions

from tileir_tools.diff import (
    CRITICAL,
    EXTRA,
    INFO,
    MISSING,
    RULES,
    WARN,
    Diff,
    Policy,
    diff,
)
from tileir_tools.errors import UsageError
from tileir_tools.model import Module
from tileir_tools.read import parse_all


def modules(text: str) -> list[Module]:
    return parse_all(text)


def compare(reference: str, generated: str, **options: object) -> Diff:
    return diff(modules(reference), modules(generated), **options)  # type: ignore[arg-type]


RULE_FILES = ROOT / "tests" / "fixtures" / "rules"


def kernel(name: str) -> str:
    """One of the small kernels that the rules are tried on."""
    return (RULE_FILES / f"{name}.mlir").read_text(encoding="utf-8")


# -- one pair for each rule ------------------------------------------------------------------------


class Case(NamedTuple):
    """A change of a small kernel and the finding that it has to give; see `cases.txt`."""

    code: str
    kernel: str
    status: str
    turned: bool
    also: tuple[str, ...]
    edits: list[tuple[str, str]]
    reference: str | None
    generated: str | None


def _cases() -> list[Case]:
    found = []
    text = (RULE_FILES / "cases.txt").read_text(encoding="utf-8")
    for block in text.split("\n== ")[1:]:
        head, *lines = block.split("\n")
        code, kernel, status, *rest = head.split()
        also = tuple(rest[rest.index("also") + 1 :]) if "also" in rest else ()
        shown = {line[0]: line[2:] for line in lines if line[:2] in ("< ", "> ")}
        edits = _edits([line for line in lines if line[:1] in ("-", "+")])
        found.append(
            Case(
                code,
                kernel,
                status,
                "turned" in rest,
                also,
                edits,
                shown.get("<"),
                shown.get(">"),
            )
        )
    return found


def _edits(lines: list[str]) -> list[tuple[str, str]]:
    """Pairs of old and new text; without new text the line break goes too."""
    hunks = re.findall(
        r"((?:^-.*\n)+)((?:^\+.*\n)*)", "".join(f"{x}\n" for x in lines), re.MULTILINE
    )
    pairs = []
    for removed, added in hunks:
        old, new = (re.sub("^[-+] ?", "", part, flags=re.MULTILINE) for part in (removed, added))
        pairs.append((old, new) if not new else (old[:-1], new[:-1]))
    return pairs


CASES = _cases()


def _line(text: str, piece: str | None) -> int | None:
    if piece is None:
        return None
    return next(k for k, line in enumerate(text.split("\n"), 1) if piece in line)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_rule(case: Case) -> None:
    text = changed = kernel(case.kernel)
    for old, new in case.edits:
        assert old in changed, old
        changed = changed.replace(old, new)
    reference, generated = (changed, text) if case.turned else (text, changed)
    found = list(compare(reference, generated).findings)
    if case.edits:
        # One kernel has an unknown operation, which any comparison notes.
        found = [f for f in found if f.code != "OPQ001"]
    assert {f.code for f in found} - {*case.also} == {case.code}
    finding = next(f for f in found if f.code == case.code)
    rule = RULES[case.code]
    said = (finding.status, finding.severity, finding.owner, finding.action)
    assert said == (case.status, rule.severity, rule.owner, rule.action)
    lines = [place.line if place else None for place in (finding.reference, finding.generated)]
    assert lines == [_line(reference, case.reference), _line(generated, case.generated)]


def test_every_rule_has_a_case() -> None:
    # Entries without a counterpart take modules with several entries; see below.
    assert {case.code for case in CASES} | {"ENT001", "ENT002"} == set(RULES)


# -- what is asked ---------------------------------------------------------------------------------


def test_one_module_or_several() -> None:
    [one] = modules(kernel("small"))
    assert diff(one, one).verdict == diff([one], [one]).verdict == "PASS"


def test_pass_without_findings() -> None:
    result = compare(kernel("small"), kernel("small"))
    assert (result.verdict, result.exit_code, result.findings) == ("PASS", 0, ())
    assert [(e.reference, e.generated, e.verdict) for e in result.entries] == [
        ("small", "small", "PASS")
    ]


@pytest.mark.parametrize(
    ("code", "verdict", "exit_code"),
    [("MEM004", "FAIL_FIXABLE", 1), ("HNT002", "PASS_WITH_NOTES", 2), ("EQV001", "PASS", 0)],
)
def test_verdict_follows_the_most_severe_finding(code: str, verdict: str, exit_code: int) -> None:
    result = _compared(code)
    assert (result.verdict, result.exit_code) == (verdict, exit_code)


def _compared(code: str, **options: object) -> Diff:
    case = next(case for case in CASES if case.code == code)
    # Without the unknown operation, which is a note in any comparison.
    unknown = "frobnicate %both {mode = 3 : i32} : tile<i32> -> tile<i32>"
    text = changed = kernel(case.kernel).replace(unknown, "absi %both : tile<i32>")
    for old, new in case.edits:
        changed = changed.replace(old, new)
    return compare(text, changed, **options)


def test_policy_overrides_severities() -> None:
    assert _compared("MEM004", policy=Policy({"MEM004": WARN})).verdict == "PASS_WITH_NOTES"
    assert _compared("MEM004", policy=Policy({"MEM004": INFO})).verdict == "PASS_WITH_NOTES"
    assert _compared("EQV001", policy=Policy({"EQV001": CRITICAL})).verdict == "FAIL_FIXABLE"
    assert _compared("HNT002", policy=Policy({"HNT002": CRITICAL})).exit_code == 1
    assert _compared("MEM004", policy=Policy({"MEM005": INFO})).verdict == "FAIL_FIXABLE"


def test_one_difference_in_two_roles_is_the_worse_one() -> None:
    # The block id is an index of the load and of the store, and then a size as well.
    text = kernel("small")
    changed = text.replace("%bx, %by, %bz = get", "%by, %bx, %bz = get")
    [finding] = compare(text, changed).findings
    assert finding.code == "MEM004"
    assert finding.message.endswith("(and 1 other use)")
    ids = "  %bx, %by, %bz = get_tile_block_id : tile<i32>\n"
    text = text.replace(ids, "").replace("  %t = make", f"{ids}  %t = make")
    text = text.replace("shape = [%n]", "shape = [%bx]")
    changed = text.replace("%bx, %by, %bz = get", "%by, %bx, %bz = get")
    assert compare(text, changed, policy=Policy({"MEM004": INFO})).verdict == "FAIL_FIXABLE"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "sm_999"}, "unknown arch 'sm_999'"),
        ({"policy": Policy({"MEM999": WARN})}, "policy: unknown rule 'MEM999'"),
        (
            {"policy": Policy({"MEM001": "FATAL"})},
            "policy: MEM001: 'FATAL' is not CRITICAL, WARN or INFO",
        ),
        ({"entry": "absent"}, "no entry to compare: none contains 'absent'"),
    ],
)
def test_wrong_requests(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        compare(kernel("small"), kernel("small"), **options)


def test_nothing_to_compare() -> None:
    with pytest.raises(UsageError, match="no entry to compare"):
        diff([], [])


# -- hints for a target ----------------------------------------------------------------------------


def test_hints_are_those_of_the_target() -> None:
    text = kernel("raw")
    hints = "sm_100 = {occupancy = 2}"
    other = text.replace(hints, "default = {occupancy = 2}")
    assert compare(text, other).verdict == "PASS"
    assert compare(text, other).arches == ("sm_100",)
    # For another target, `default` is a hint that the reference does not give.
    assert [f.code for f in compare(text, other, arch="sm_90").findings] == ["HNT003"]
    contradicted = text.replace(hints, "sm_90 = {occupancy = 2}, sm_100 = {occupancy = 4}")
    assert [(f.code, f.severity) for f in compare(text, contradicted).findings] == [
        ("HNT001", CRITICAL),
        ("HNT003", WARN),
    ]
    assert [f.code for f in compare(text, contradicted, arch="sm_90").findings] == ["HNT003"]


def test_default_hints_count_where_no_target_is_named() -> None:
    text = kernel("raw").replace("sm_100", "default")
    assert compare(text, text.replace("occupancy = 2", "occupancy = 4")).exit_code == 1
    assert compare(text, text.replace("default = {occupancy = 2}", "")).exit_code == 2


def test_absent_allow_tma_is_true() -> None:
    text = kernel("product")
    said = text.replace("latency = 4", "allow_tma = true, latency = 4")
    assert compare(text, said).verdict == compare(said, text).verdict == "PASS"


# -- entries ---------------------------------------------------------------------------------------


def _entry(name: str, body: str = "") -> str:
    return f"entry @{name}(%p: tile<ptr<i32>>) {{\n{body}}}\n"


def _store(value: int) -> str:
    return (
        f"  %c = constant <i32: {value}> : tile<i32>\n"
        "  %t = store_ptr_tko weak %p, %c : tile<ptr<i32>>, tile<i32> -> token\n"
    )


def _pairs(result: Diff) -> list[tuple[str | None, str | None]]:
    return [(e.reference, e.generated) for e in result.entries]


def test_single_entries_correspond_whatever_their_names() -> None:
    result = compare(_entry("one", _store(1)), _entry("entirely_other", _store(1)))
    assert (result.verdict, _pairs(result)) == ("PASS", [("one", "entirely_other")])


def test_entries_correspond_by_name_in_any_order_and_file() -> None:
    left = parse_all(_entry("f", _store(1)) + _entry("g", _store(2)))
    right = [*parse_all(_entry("g", _store(2))), *parse_all(_entry("f", _store(3)))]
    result = diff(left, right)
    assert _pairs(result) == [("f", "f"), ("g", "g")]
    assert [e.verdict for e in result.entries] == ["FAIL_FIXABLE", "PASS"]


def test_entries_correspond_by_what_the_symbol_encodes() -> None:
    left = _entry("add_Kt1_A1i32_I64", _store(1)) + _entry("add_Kt1_A1i32_I128", _store(2))
    right = _entry("add_Kt1_A1i32_1t1_I128", _store(2)) + _entry("add_Kt1_A1i32_I64", _store(1))
    pairs = _pairs(compare(left, right))
    assert ("add_Kt1_A1i32_I64", "add_Kt1_A1i32_I64") in pairs
    assert ("add_Kt1_A1i32_I128", "add_Kt1_A1i32_1t1_I128") in pairs


def test_entries_correspond_by_the_name_behind_an_alias() -> None:
    left = _entry("softmax", _store(1)) + _entry("matmul", _store(2))
    right = _entry("fast__matmul", _store(2)) + _entry("fast__softmax", _store(1))
    assert _pairs(compare(left, right)) == [
        ("softmax", "fast__softmax"),
        ("matmul", "fast__matmul"),
    ]


def test_entries_without_a_counterpart() -> None:
    both = _entry("f", _store(1)) + _entry("g", "  %t = make_token : token\n")
    missing = compare(both, _entry("f", _store(1)))
    assert [(f.code, f.status, f.severity) for f in missing.findings] == [
        ("ENT001", MISSING, CRITICAL)
    ]
    assert _pairs(missing) == [("f", "f"), ("g", None)]
    [finding] = missing.findings
    assert finding.generated is None
    assert finding.reference is not None
    assert finding.reference.line == 5
    extra = compare(_entry("f", _store(1)), both)
    assert [(f.code, f.status, f.severity) for f in extra.findings] == [("ENT002", EXTRA, WARN)]
    assert _pairs(extra) == [("f", "f"), (None, "g")]


def test_selecting_entries() -> None:
    left = _entry("f", _store(1)) + _entry("g", _store(2))
    right = _entry("f", _store(1)) + _entry("g", _store(3))
    assert compare(left, right, entry="f").verdict == "PASS"
    assert compare(left, right, entry="g").verdict == "FAIL_FIXABLE"
    assert _pairs(compare(left, right, entry="g")) == [("g", "g")]


# -- places ----------------------------------------------------------------------------------------


def test_places_name_file_line_column_and_text() -> None:
    left = parse_all(_entry("f", _store(1)), "reference.mlir")
    right = parse_all("// a comment\n" + _entry("f", _store(2)), "generated.mlir")
    [finding] = diff(left, right).findings
    assert finding.reference is not None
    assert finding.generated is not None
    assert finding.reference[:3] == ("reference.mlir", 2, 3)
    assert finding.generated[:3] == ("generated.mlir", 3, 3)
    assert finding.generated.text == "%c = constant <i32: 2> : tile<i32>"
    assert finding.reference.origin is None


def test_places_name_the_producers_source() -> None:
    located = _store(1).replace("tile<i32>\n", 'tile<i32> loc("kernel.py":12:7)\n', 1)
    [finding] = compare(_entry("f", located), _entry("f", _store(2))).findings
    assert finding.reference is not None
    assert finding.reference.origin == ("kernel.py", 12)


def test_values_of_a_changed_global_differ() -> None:
    body = (
        "  %g = get_global @G : tile<ptr<i32>>\n"
        "  %x, %t1 = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token\n"
        "  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token\n"
    )
    text = (
        "cuda_tile.module @m {\nglobal @G <i32: [1, 2]> : tile<2xi32>\n" + _entry("f", body) + "}\n"
    )
    assert compare(text, text.replace("@G", "@Other")).verdict == "PASS"
    [finding] = compare(text, text.replace("[1, 2]", "[1, 3]")).findings
    assert (finding.code, finding.severity) == ("MEM004", CRITICAL)


# -- corner cases ----------------------------------------------------------------------------------


def _codes(reference: str, generated: str) -> list[str]:
    return [f.code for f in compare(reference, generated).findings]


def _body(*lines: str) -> str:
    head = "entry @f(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>, %c: tile<i1>) {"
    return "\n".join([head, *(f"  {line}" for line in lines), "}"])


LOAD_P = "load_ptr_tko weak %p token={} : tile<ptr<i32>> -> tile<i32>, token"
STORE_Q = "store_ptr_tko weak %q, {} token={} : tile<ptr<i32>>, tile<i32> -> token"


def test_a_promise_of_one_branch_is_none_for_the_whole_kernel() -> None:
    assumed = "%m = assume div_by<16>, %n : tile<i32>"
    store = "%t1 = " + STORE_Q.format("%m", "%t")
    token = "%t = make_token : token"
    inside = _body(token, "if %c {", assumed, store, "}")
    outside = _body(token, assumed, "if %c {", store, "}")
    assert _codes(inside, outside) == ["ASM001"]
    assert _codes(outside, inside) == []
    assert _codes(inside, inside) == []


def test_order_over_an_access_that_does_not_count() -> None:
    """The first load is ordered before the store only by way of the second one."""
    first, second = "%x, %t1 = " + LOAD_P.format("%t"), "%y, %t2 = " + LOAD_P.format("%t1")
    store = "%t3 = " + STORE_Q.format("%s", "%t2")
    lines = ["%t = make_token : token", first, second, "%s = addi %x, %y : tile<i32>", store]
    lost = [line.replace("token=%t1", "token=%t") for line in lines]
    [finding] = compare(_body(*lines), _body(*lost)).findings
    assert finding.code == "MEM013"
    assert "load_ptr_tko (line 3) is ordered before store_ptr_tko" in finding.message


def test_a_load_out_of_a_branch_may_touch_what_it_must_not() -> None:
    token, load = "%t = make_token : token", "%x, %t1 = " + LOAD_P.format("%t")
    store = "%t2 = " + STORE_Q.format("%x", "%t1")
    guarded = _body(token, "if %c {", load, store, "}")
    assert _codes(guarded, _body(token, load, "if %c {", store, "}")) == ["MEM016"]


def test_another_loop_around_everything_is_one_difference() -> None:
    text = kernel("product")
    body = text[text.index("  %sum = for") : text.rindex("}")]
    loop = "  for %o in (%c0 to %m, step %c1) : tile<i32> {\n" + body + "  }\n"
    assert _codes(text, text.replace(body, loop)) == ["LOP001"]
    assert _codes(text.replace(body, loop), text) == ["LOP001"]


def test_more_accesses_than_the_reference_are_told_from_those_it_has() -> None:
    text = kernel("small")
    load = next(line for line in text.splitlines(keepends=True) if "%x, %t1 = load" in line)
    other = load.replace("%x, %t1", "%unused, %t9")
    for added in (other + load, load + other):
        [finding] = compare(text, text.replace(load, added)).findings
        assert (finding.code, finding.reference) == ("MEM002", None)
        assert finding.generated is not None
        assert finding.generated.text.startswith("%unused")


def test_attributes_of_parameters_and_entries() -> None:
    text = _body("%t = make_token : token")
    assert _codes(text, text.replace("%n: tile<i32>", "%n: tile<i32> {noted = 1 : i32}")) == [
        "ABI001"
    ]
    assert _codes(text, text + " {noted}") == ["DFL004"]


def test_unknown_operations_in_a_reduction() -> None:
    unknown = "frobnicate %both {mode = 3 : i32} : tile<i32> -> tile<i32>"
    text = kernel("sum").replace(unknown, "absi %both : tile<i32>")
    inside = text.replace(
        "%f = addf %u, %w : tile<f32>",
        "%f = frobnicate %u, %w {mode = 3 : i32} : tile<f32>, tile<f32> -> tile<f32>",
    )
    assert _codes(inside, inside) == ["OPQ001"]
    assert "OPQ002" in _codes(inside, inside.replace("mode = 3", "mode = 4"))


def test_a_wider_index_is_the_same_index() -> None:
    text = kernel("small")
    extended = "  %wide = exti %bx signed : tile<i32> -> tile<i64>\n  %x, %t1 ="
    wider = text.replace("  %x, %t1 =", extended).replace("%a[%bx]", "%a[%wide]")
    wider = wider.replace(", tile<i32> -> tile<64xf32>", ", tile<i64> -> tile<64xf32>")
    assert _codes(text, wider) == ["EQV001"]
    assert _codes(text, wider.replace("exti %bx", "exti %by")) == ["MEM004"]


# -- real kernels ----------------------------------------------------------------------------------


def test_versions_of_one_kernel_are_equal() -> None:
    compared = 0
    for name, paths in fixture_versions().items():
        if name.startswith("collatz"):
            # Without tokens for prints, 13.1 takes a lock around them.
            paths = paths[1:]
        texts = [parse_all(path.read_text(), path.name) for path in paths]
        for older, newer in pairwise(texts):
            compared += 1
            # Before 13.3 a kernel has the hints of the target alone that it was exported for.
            findings = diff(older, newer, arch=name.split("__")[2]).findings
            assert [f for f in findings if f.severity == CRITICAL] == []
    assert compared > 40


def test_any_two_kernels_can_be_compared() -> None:
    texts = [parse_all(path.read_text(), path.name) for path in fixture_kernels()]
    for distance in (1, 5, 11):
        for one, other in zip(texts, texts[distance:], strict=False):
            assert diff(one, other).verdict == "FAIL_FIXABLE"
            assert diff(other, one).verdict == "FAIL_FIXABLE"


def test_a_kernel_equals_itself() -> None:
    different = []
    for path in (path for paths in fixture_versions().values() for path in paths):
        left, right = (parse_all(path.read_text(), path.name) for _ in range(2))
        if diff(left, right).findings:
            different.append(path.name)
    assert different == []
