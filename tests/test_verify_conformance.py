"""The verifier beside NVIDIA's own: the test inputs of the dialect with what cuda-tile-opt says of each.

The inputs are `../shared/conformance` beside the repository. Known differences are the lists in docs/verify.md.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from samples import CORPUS, ROOT

from tileir_tools import parse_all
from tileir_tools.errors import Diagnostic, ForeignFormatError, ParseError

CONFORMANCE = ROOT.parent / "shared" / "conformance"
PAGE = ROOT / "docs" / "verify.md"

needs_inputs = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="needs ../shared/conformance")


@cache
def records() -> list[dict[str, Any]]:
    return json.loads((CONFORMANCE / "dialect.json").read_text())  # type: ignore[no-any-return]


@cache
def chunks(file: str) -> list[str]:
    text = (CONFORMANCE / "dialect" / file).read_text()
    return re.split(r"^// -----.*\n", text, flags=re.MULTILINE)


def errors(record: dict[str, Any], **options: Any) -> list[Diagnostic]:
    """What `tileir verify` says of a chunk."""
    text = chunks(record["file"])[record["chunk"]]
    try:
        modules = parse_all(text, fragments=True)
    except ParseError as error:
        return error.diagnostics
    except ForeignFormatError:
        # Only comments.
        return []
    found = [d for module in modules for d in module.verify(**options)]
    return [d for d in found if d.severity == "error"]


def listed(section: str) -> set[tuple[str, int]]:
    """The chunks that a section of the page lists: "- `file`: 1, 2"."""
    text = PAGE.read_text(encoding="utf-8").split(f"### {section}\n")[1].split("\n#")[0]
    lines = re.findall(r"^- `([\w.]+)`: ([\d, ]+)$", text, re.MULTILINE)
    return {(file, int(chunk)) for file, numbers in lines for chunk in numbers.split(",")}


def differing(**options: Any) -> set[tuple[str, int]]:
    """The chunks whose verdict is not that of cuda-tile-opt."""
    return {
        (r["file"], r["chunk"])
        for r in records()
        if bool(errors(r, **options)) != (r["verdict"] == "reject")
    }


@needs_inputs
def test_verdicts_of_the_version_of_the_inputs_agree() -> None:
    assert len(records()) == 936
    assert differing(bytecode_version="13.3") == set()


@needs_inputs
def test_verdicts_without_a_version_differ_where_the_page_says() -> None:
    assert differing() == listed("Verdicts that differ without a version")


@needs_inputs
def test_first_lines_differ_where_the_page_says() -> None:
    usable = [r for r in records() if r["verdict"] == "reject" and r["errors"]]
    assert len(usable) == 818
    found = set()
    for record in usable:
        ours = errors(record, bytecode_version="13.3")
        line = ours[0].span.line if ours and ours[0].span else None
        if line != record["errors"][0]["line"]:
            found.add((record["file"], record["chunk"]))
    assert found == listed("First errors on another line")
    assert len(found) < 0.01 * len(usable)


@needs_inputs
def test_hints_are_errors_when_they_are_asked_for() -> None:
    record = [r for r in records() if r["file"] == "entry_opt_hints_error.mlir"]
    assert len(record) == 8
    assert not any(errors(r) for r in record)
    assert all(errors(r, strict_hints=True) for r in record)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus")
def test_every_kernel_of_the_corpus_is_valid() -> None:
    paths = [p for p in sorted(CORPUS.rglob("*")) if p.suffix in (".mlir", ".tileirbc")]
    assert paths
    for path in paths:
        assert invalid(path) == [], path


def invalid(path: Path) -> list[str]:
    modules = parse_all(path.read_bytes(), path.name)
    found = [d for module in modules for d in module.verify()]
    return [d.render() for d in found if d.severity == "error"]


# Texts about spelling that are no valid kernels: shapes, symbols and formats no compiler takes.
SPELLINGS_ONLY = {
    "arithmetic_that_kernels_rarely_use.mlir",
    "debug_info.mlir",
    "float8_in_both_cases.mlir",
    "ops_of_13_5.mlir",
    "shapes_that_look_like_numbers.mlir",
    "strings.mlir",
    "type_and_attribute_aliases.mlir",
}


def test_texts_about_spelling_are_valid_but_for_their_arguments() -> None:
    found = set()
    for path in sorted((ROOT / "tests" / "fixtures" / "text").glob("*.mlir")):
        # Their entries take tiles, to keep them short.
        if any("of an entry must be a scalar" not in message for message in invalid(path)):
            found.add(path.name)
    assert found == SPELLINGS_ONLY


def test_our_own_kernels_are_valid() -> None:
    fixtures = ROOT / "tests" / "fixtures"
    folders = [fixtures / "kernels", fixtures / "diff", ROOT / "examples" / "ir"]
    paths = [
        p for folder in folders for p in folder.rglob("*") if p.suffix in (".mlir", ".tileirbc")
    ]
    assert len(paths) > 100
    for path in paths:
        assert invalid(path) == [], path
