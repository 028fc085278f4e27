"""What is wrong with a wrapper, beside its reference.

Place in the flow: facts of a wrapper -> **findings**; imports `launches`, `tuning`, `dispatch`, `hints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sources import OperationSource, Undecided
from .dispatch import dispatch_findings, dispatch_undecided
from .finding import WrapperFinding
from .hints import hint_findings
from .launches import launch_findings
from .pairing import of_wrapper, pairs_of
from .tuning import tuning_findings, tuning_undecided
from .wrapper import Wrapper

# Rules about what arguments are, by their places.
_BY_PLACE = ("WRP013", "WRP020", "WRP030", "WRP032", "WRP033", "WRP034")


def examine_wrapper(
    wrapper: Wrapper, reference: OperationSource, analysis: Mapping[str, Any] | None = None
) -> tuple[WrapperFinding, ...]:
    """Faults of a wrapper, in the order of its files and lines.

    Args:
        wrapper: that is examined.
        reference: what it stands for, read for one device: what a search of it tries only on some devices is
            not asked for.
        analysis: content of `analysis.json`: configurations that the source does not decide, and the best.
    """
    reference = of_wrapper(reference, wrapper)
    pairs = pairs_of(wrapper, reference)
    dispatch = list(dispatch_findings(wrapper, pairs))
    found = [
        *launch_findings(wrapper, reference),
        *tuning_findings(wrapper, pairs, analysis),
        *dispatch,
        *hint_findings(wrapper, pairs),
    ]
    if any(finding.code == "WRP024" for finding in dispatch):
        # What is passed for a flag or a hint is open where arguments stand in other places than their own.
        found = [finding for finding in found if finding.code not in _BY_PLACE]
    order = {path: place for place, path in enumerate(wrapper.sources)}
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: _place(finding, order)))


def _place(finding: WrapperFinding, order: Mapping[str, int]) -> tuple[int, int, str]:
    path, _, line = finding.where.rpartition(":")
    return order.get(path, len(order)), int(line), finding.code


def undecided_of(
    wrapper: Wrapper, reference: OperationSource, analysis: Mapping[str, Any] | None = None
) -> tuple[tuple[str, Undecided], ...]:
    """What could not be decided, each with the path of its file: of reading, and of setting beside."""
    pairs = pairs_of(wrapper, of_wrapper(reference, wrapper))
    found = [
        *wrapper.undecided,
        *tuning_undecided(wrapper, pairs, analysis),
        *dispatch_undecided(wrapper, pairs),
    ]
    if not pairs:
        why = "the reference launches nothing that is seen"
        found.append((reference.path, Undecided(reference.name, 1, why)))
    return tuple(dict.fromkeys(found))
