"""What is wrong with a wrapper: one record for each fault.

Place in the flow: facts -> **findings** -> report; imports `rules`, `wrapper`.
"""

from __future__ import annotations

from typing import NamedTuple

from .rules import WRAPPER_RULES
from .wrapper import Wrapper

HIGH, MEDIUM, LOW = "high", "medium", "low"


class WrapperFinding(NamedTuple):
    """A fault.

    Attributes:
        code, title, consequence, about: of the rule.
        message: what was found, in terms of this wrapper and its reference.
        where: `file:line`, from the project's root.
        excerpt: that line.
        action: what to change.
        confidence: "high", "medium" or "low"; low where it shows for some inputs or machines only.
    """

    code: str
    title: str
    message: str
    where: str
    excerpt: str
    consequence: str
    action: str
    confidence: str
    about: str


def make_finding(
    wrapper: Wrapper, code: str, message: str, path: str, line: int, confidence: str = HIGH
) -> WrapperFinding:
    """A finding of a rule at a line of one of the wrapper's files."""
    rule = WRAPPER_RULES[code]
    return WrapperFinding(
        code,
        rule.title,
        message,
        f"{path}:{line}",
        wrapper.excerpt(path, line),
        rule.consequence,
        rule.action,
        confidence,
        rule.about,
    )
