"""Two entries side by side, with what corresponds and what was found.

Place in the flow: facts -> **findings**; imports `analyze`, `match`, `finding`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow
from ..model import Operation
from .finding import Finding, make_finding
from .match import Matching


class Pair:
    """Two entries being compared, and what was found so far."""

    def __init__(
        self,
        reference: Flow,
        generated: Flow,
        matching: Matching,
        arches: tuple[str | None, ...],
        severities: dict[str, str],
    ):
        self.reference = reference
        self.generated = generated
        self.matching = matching
        self.arches = arches
        self.severities = severities
        self.findings: list[Finding] = []
        self._seen: set[tuple[object, ...]] = set()

    def report(
        self,
        code: str,
        status: str,
        message: str,
        reference: Operation | None = None,
        generated: Operation | None = None,
    ) -> None:
        """Add a finding, once for each rule, message and pair of operations."""
        key = (code, status, message, id(reference), id(generated))
        if key not in self._seen:
            self._seen.add(key)
            self.findings.append(
                make_finding(code, status, message, reference, generated, self.severities)
            )
