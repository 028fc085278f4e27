"""Reports for other tools: SARIF, GitHub annotations, JUnit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from samples import FIXTURES

from tileir_tools.diff import Diff, EntryDiff, Finding, Place, Policy, diff
from tileir_tools.diff.policy import Ignore
from tileir_tools.read import parse
from tileir_tools.report.github import diff_github
from tileir_tools.report.junit import diff_junit
from tileir_tools.report.sarif import diff_sarif

TEXT = (FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir").read_text()
# The schema of OASIS (sarif-schema-2.1.0.json), where somebody has it.
SARIF_SCHEMA = os.environ.get("SARIF_SCHEMA", "")


def answer(policy: Policy | None = None) -> Diff:
    changed = TEXT.replace("padding_value = zero, ", "").replace(
        "ftof %for  :", "ftof %for rounding<zero> :"
    )
    left, right = parse(TEXT, "dumps/ref one.mlir"), parse(changed, "gen,1:2.mlir")
    return diff(left, right, policy=policy)


def nasty() -> Diff:
    """An answer with everything that a format must escape."""
    place = Place('a<b>&"c\n.mlir', 3, 4, "%0 = x", None)
    finding = Finding(
        "DFL007", "CRITICAL", "DIFFERS", "kernel", 'says "<script>\x00%\n::x', "Do.", place, place
    )
    return Diff((EntryDiff("k<&>", None, (finding,)),), ("sm_100",), ("a\nnote",))


# -- SARIF ------------------------------------------------------------------------------------------


def test_sarif_says_rule_place_and_both_sides() -> None:
    log = json.loads(diff_sarif(answer()))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["MEM007", "CVT003"]
    first, second, third = run["results"]
    assert [r["ruleId"] for r in run["results"]] == ["MEM007", "MEM007", "CVT003"]
    assert [r["ruleIndex"] for r in run["results"]] == [0, 0, 1]
    assert first["level"] == "error"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "gen%2C1%3A2.mlir"
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (40, 3)
    related = first["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "dumps/ref%20one.mlir"
    assert third["properties"]["status"] == "DIFFERS"
    assert run["properties"]["verdict"] == "FAIL_FIXABLE"
    assert second["locations"] != first["locations"]


def test_sarif_suppresses_what_is_ignored() -> None:
    policy = Policy(ignores=(Ignore("MEM007", "*", "sizes are even", None),))
    results = json.loads(diff_sarif(answer(policy)))["runs"][0]["results"]
    reasons = [[s["justification"] for s in r.get("suppressions", [])] for r in results]
    assert reasons == [["sizes are even"], ["sizes are even"], []]


@pytest.mark.skipif(not SARIF_SCHEMA, reason="SARIF_SCHEMA names no schema file")
def test_sarif_keeps_the_schema() -> None:
    schema = json.loads(Path(SARIF_SCHEMA).read_text())
    for found in (answer(), nasty(), diff(parse(TEXT), parse(TEXT))):
        jsonschema.validators.validator_for(schema)(schema).validate(json.loads(diff_sarif(found)))


# -- GitHub -----------------------------------------------------------------------------------------


def test_github_commands() -> None:
    lines = diff_github(answer()).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(
        "::error file=gen%2C1%3A2.mlir,line=40,col=3,title=MEM007 DIFFERS::padding_value of the view is "
        "zero in the reference and absent in the generated kernel. "
    )
    assert lines[-1] == "tileir-diff: FAIL_FIXABLE"


def test_github_commands_cannot_be_broken_out_of() -> None:
    lines = diff_github(nasty()).splitlines()
    assert lines[0].startswith(
        '::error file=a<b>&"c%0A.mlir,line=3,col=4,title=DFL007 DIFFERS::says '
    )
    assert "%25%0A::x. Do." in lines[0]
    assert lines[1:] == ["::notice::a%0Anote", "tileir-diff: FAIL_FIXABLE"]


# -- JUnit ------------------------------------------------------------------------------------------


def test_junit_fails_what_is_critical() -> None:
    suite = ElementTree.fromstring(diff_junit(answer(), "r", "g")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "MEM007"
    assert (failure.text or "").count("CRITICAL") == 3


def test_junit_passes_what_is_no_more_than_noted() -> None:
    policy = Policy({"MEM007": "WARN", "CVT003": "INFO"})
    suite = ElementTree.fromstring(diff_junit(answer(policy), "r", "g")).find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "0"
    assert (suite.findtext("testcase/system-out") or "").startswith("WARN MEM007 DIFFERS: ")


def test_junit_of_anything_is_xml() -> None:
    root = ElementTree.fromstring(diff_junit(nasty(), 'r<"', "g\x01"))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith('1 CRITICAL: says "<script>\ufffd%')
