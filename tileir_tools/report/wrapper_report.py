"""What is wrong with a wrapper, as text or JSON.

Place in the flow: findings -> **report**; imports the records of `wrappers` and `sources`, and `plain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..sources import Undecided, as_json
from ..wrappers import Wrapper, WrapperFinding
from .plain import document

WRAPPER_SCHEMA = "tileir-wrapper/1"


def wrapper_json(
    wrapper: Wrapper,
    findings: Sequence[WrapperFinding],
    undecided: Sequence[tuple[str, Undecided]],
) -> str:
    """A document of schema `tileir-wrapper/1`; the texts of the files themselves are left out."""
    facts = {name: as_json(value) for name, value in wrapper._asdict().items()}
    del facts["sources"], facts["undecided"]
    content = {
        "wrapper": facts,
        "findings": as_json(list(findings)),
        "undecided": [{"path": path, **one._asdict()} for path, one in undecided],
    }
    return document(WRAPPER_SCHEMA, content)


def wrapper_text(
    wrapper: Wrapper,
    findings: Sequence[WrapperFinding],
    undecided: Sequence[tuple[str, Undecided]],
) -> str:
    """Findings first, then what was not decided, then how much was read."""
    return "\n".join(_lines(wrapper, findings, undecided))


def _lines(
    wrapper: Wrapper,
    findings: Sequence[WrapperFinding],
    undecided: Sequence[tuple[str, Undecided]],
) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.where}: {finding.code} {finding.title}: {finding.message}"
        yield f"    {finding.excerpt}"
        yield f"    {finding.consequence} ({finding.confidence} confidence): {finding.action}"
    for path, one in undecided:
        yield f"{path}:{one.line}: not decided: {one.text}: {one.why}"
    launches = sum(len(export.launches) for export in wrapper.exports)
    read = (
        f"{_count(len(wrapper.calls), 'call')} through the boundary, "
        f"{_count(launches, 'launch', 'launches')} in ffi.rs, "
        f"{_count(len(wrapper.searches), 'search', 'searches')}"
    )
    total = f"{_count(len(findings), 'finding')}, {len(undecided)} not decided"
    yield f"{wrapper.path}: {total}; read: {read}"


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
