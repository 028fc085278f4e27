"""Step 3 of agent F: what the host code of the generated kernel does that the reference's does not.

Place in the flow: inputs -> **causes in the wrapper** -> verdict; imports `wrappers`, `diagnosis`.
"""

from __future__ import annotations

from ...wrappers import WrapperFinding, examine_wrapper
from .diagnosis import Cause, Evidence
from .inputs import Inputs

# Subject of a rule of wrappers -> what a cause is about.
_ABOUT = {
    "launches": "launches",
    "allocation": "launches",
    "tuning": "tuning",
    "dispatch": "dispatch",
    "hints": "tuning",
}


def wrapper_causes(inputs: Inputs) -> tuple[Cause, ...]:
    """A cause for each finding about the wrapper; none without one."""
    if inputs.wrapper is None:
        return ()
    wrapper, reference = inputs.wrapper
    found = examine_wrapper(wrapper, reference, inputs.analysis)
    return tuple(_cause(finding) for finding in found)


def _cause(finding: WrapperFinding) -> Cause:
    return Cause(
        code=finding.code,
        title=finding.title,
        message=finding.message,
        owner="host",
        action=finding.action,
        confidence=finding.confidence,
        evidence=(Evidence("wrapper source", finding.where, finding.excerpt),),
        about=_ABOUT.get(finding.about, "dispatch"),
    )
