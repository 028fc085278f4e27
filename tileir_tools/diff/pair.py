"""Two entries side by side, with what corresponds and what was found.

Place in the flow: facts -> **findings**; imports `analyze`, `match`, `finding`.
"""

from __future__ import annotations

from ..analyze.dataflow import Flow
from ..model import Operation
from .finding import Finding, make_finding, severity_of
from .match import Matching

# More differences than this in one value (an index, a mask, a bound) are one finding.
_SEVERAL = 2


class _Draft:
    """One difference, and the (rule, role) of everything that it shows in, with its operation."""

    __slots__ = ("generated", "reference", "status", "text", "uses")

    def __init__(
        self,
        status: str,
        text: str,
        reference: Operation | None,
        generated: Operation | None,
    ):
        self.status = status
        self.text = text
        self.reference = reference
        self.generated = generated
        self.uses: dict[tuple[str, str], Operation | None] = {}


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
        # Operations of effects that correspond: reference -> generated.
        self.counterpart: dict[Operation, Operation] = {a.op: b.op for a, b in matching.pairs}
        # Operations of the reference whose place is reported to be wrong: their order follows.
        self.misplaced: set[Operation] = set()
        self._drafts: dict[tuple[object, ...], _Draft] = {}

    def is_critical(self, code: str) -> bool:
        return severity_of(code, self.severities) == 0

    def report(
        self,
        code: str,
        status: str,
        text: str,
        reference: Operation | None = None,
        generated: Operation | None = None,
        role: str = "",
        root: Operation | None = None,
    ) -> None:
        """Add a difference.

        `role` says what differs because of it ("index 0 of load_view_tko"), `root` in which
        operation. One difference that shows in several roles is one finding, under the most severe
        of their rules; many differences in one role are one finding too.
        """
        key = (status, text, id(reference), id(generated), "" if role else code)
        self._add(key, code, status, text, reference, generated, role, root)

    def report_spread(
        self,
        code: str,
        status: str,
        text: str,
        reference: Operation | None,
        generated: Operation | None,
        role: str,
    ) -> None:
        """Add a difference that is one wherever it shows, such as another shape."""
        self._add((status, text), code, status, text, reference, generated, role, None)

    def _add(
        self,
        key: tuple[object, ...],
        code: str,
        status: str,
        text: str,
        reference: Operation | None,
        generated: Operation | None,
        role: str,
        root: Operation | None,
    ) -> None:
        draft = self._drafts.get(key)
        if draft is None:
            draft = self._drafts[key] = _Draft(status, text, reference, generated)
        draft.uses.setdefault((code, role), root)

    def findings(self) -> list[Finding]:
        """What was found, in the order in which it was."""
        chosen = [(self._worst(draft), draft) for draft in self._drafts.values()]
        together: dict[tuple[object, ...], list[_Draft]] = {}
        for (code, role), draft in chosen:
            root = draft.uses[code, role]
            single = root is None or not role or len(draft.uses) > 1
            place = (id(draft),) if single else (code, role, id(root))
            together.setdefault(place, []).append(draft)
        found = []
        for drafts in together.values():
            if len(drafts) > _SEVERAL:
                found.append(self._finding(drafts[0], len(drafts) - 1))
            else:
                found += [self._finding(draft, 0) for draft in drafts]
        return found

    def _worst(self, draft: _Draft) -> tuple[str, str]:
        """The rule and role under which a difference matters most."""
        return min(draft.uses, key=lambda use: severity_of(use[0], self.severities))

    def _finding(self, draft: _Draft, more: int) -> Finding:
        code, role = self._worst(draft)
        message = f"{role}: {draft.text}" if role else draft.text
        others = len({r for _, r in draft.uses} - {role})
        if others:
            message += f" (and {others} other {'use' if others == 1 else 'uses'})"
        if more:
            message += f", and {more} more differences in it"
        return make_finding(
            code, draft.status, message, draft.reference, draft.generated, self.severities
        )
