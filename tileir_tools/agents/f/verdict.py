"""Step 5 of agent F: the causes in their order, the verdict, and how sure it is.

Place in the flow: causes -> **verdict** -> reports; imports `diagnosis`, `measured`, `device`.

FIXABLE: something concrete can be done, and there is a gap, or the host code is wrong whatever it costs.
ALIGNED: no gap beyond noise, or a gap that neither launches, nor host code, nor IR explain. BLOCKED: what is
there does not carry a diagnosis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...wrappers import WRAPPER_RULES
from .device import Compared
from .diagnosis import ALIGNED, BLOCKED, FIXABLE, Cause
from .measured import Measured

# Rules of host code that gives another kernel, another configuration or other results than was meant.
_WRONG = frozenset(
    code
    for code, rule in WRAPPER_RULES.items()
    if rule.consequence
    in ("wrong cache hit", "other kernel", "wrong results", "wrong grid", "call fails")
)

_LEVELS = ("low", "medium", "high")


class Decision(NamedTuple):
    """Verdict, ranked causes, confidence ("high", "medium" or "low"), and why, a sentence each."""

    verdict: str
    causes: tuple[Cause, ...]
    confidence: str
    reasons: tuple[str, ...]


def decide(
    measured: Measured, host: Sequence[Cause], device: Compared | None, has_wrapper: bool
) -> Decision:
    """The verdict, as the contract selects it.

    Args:
        measured: ratios and launches.
        host: causes in the wrapper.
        device: the comparison of the kernels; None where they could not be compared.
        has_wrapper: whether there was a wrapper to look at.
    """
    causes = ranked(measured, host, device)
    gap = _gap(measured)
    refuted = _refuted(measured, host)
    fixable = [
        c for c in causes if c.about != "measurement" and c not in refuted and _counts(c, gap)
    ]
    if why := _blocked(causes, fixable, device, gap):
        return Decision(BLOCKED, causes, "low", (why,))
    confidence = _confidence(measured, device, has_wrapper, fixable)
    if fixable:
        return Decision(FIXABLE, causes, confidence, (f"first cause: {fixable[0].title}",))
    return Decision(
        ALIGNED, causes, confidence, tuple(_aligned(measured, device, has_wrapper, gap))
    )


def ranked(measured: Measured, host: Sequence[Cause], device: Compared | None) -> tuple[Cause, ...]:
    """Launches before dispatch, dispatch before tuning, tuning before IR, measurement last.

    What the host code does to launch more is named before the launches that were counted: it says where. Where
    launches were counted and are as many as the reference's, host code that could launch more did not in this
    call; it comes last.
    """
    counted = measured.launches is not None
    more = any(c.about == "launches" for c in measured.causes)
    order = {"launches": 0, "dispatch": 1, "tuning": 2, "ir": 3, "measurement": 5}

    def place(cause: Cause, is_host: bool) -> tuple[int, int]:
        at = order.get(cause.about, 4)
        if is_host and cause.about == "launches":
            at = 0 if more or not counted else 4
        if is_host and cause.confidence == "low":
            at = 4
        return at, _LEVELS[::-1].index(cause.confidence) if is_host else 0

    found = [(place(c, True), 0, n, c) for n, c in enumerate(host)]
    found += [(place(c, False), 1, n, c) for n, c in enumerate(measured.causes)]
    found += [(place(c, False), 2, n, c) for n, c in enumerate(device.causes if device else ())]
    return tuple(cause for _, _, _, cause in sorted(found, key=lambda item: item[:3]))


def _refuted(measured: Measured, host: Sequence[Cause]) -> list[Cause]:
    """What the host code could launch more, where launches were counted and are no more."""
    if measured.launches is None or any(c.about == "launches" for c in measured.causes):
        return []
    return [cause for cause in host if cause.about == "launches"]


def _gap(measured: Measured) -> bool | None:
    """Whether the generated kernel is slower beyond noise; None where no valid ratio says so."""
    if not any(r.valid and r.ratio is not None for r in measured.ratios):
        return None
    return bool(measured.slow)


def _counts(cause: Cause, gap: bool | None) -> bool:
    """Whether a cause makes the verdict FIXABLE: with a gap all that may explain it; without one only work on
    the GPU that was counted, and host code that calls the wrong thing whatever it costs."""
    if gap is False:
        wrong = cause.about == "launches" or cause.code in _WRONG
        return cause.confidence == "high" and wrong
    return cause.confidence != "low"


def _blocked(
    causes: Sequence[Cause], fixable: Sequence[Cause], device: Compared | None, gap: bool | None
) -> str | None:
    """Why what is there carries no diagnosis; None where it does."""
    if gap is None:
        if any(c.about == "measurement" for c in causes):
            return "the records of both sides were taken by different methods"
        # Without a time, only something that surely has to change carries a verdict.
        sure = any(c.confidence == "high" for c in fixable)
        return (
            None
            if sure
            else "no configuration was timed on both sides, and nothing is surely wrong"
        )
    if gap and not fixable and device is None:
        return "there is a gap, and the kernels could not be compared"
    return None


def _confidence(
    measured: Measured, device: Compared | None, has_wrapper: bool, fixable: Sequence[Cause]
) -> str:
    """By what there is: times, launches, and for a cause in the kernel the machine code of both."""
    level = 2
    if _gap(measured) is None:
        level -= 1
    if measured.launches is None:
        level -= 1
    first = fixable[0] if fixable else None
    if first is None:
        # Nothing was found: how much was looked at?
        looked = (device is not None) + has_wrapper + (measured.launches is not None)
        level = min(level, looked - 1)
        if device is not None and not device.compiled:
            level = min(level, 1)
    else:
        level = min(level, _LEVELS.index(first.confidence))
    return _LEVELS[max(level, 0)]


def _aligned(
    measured: Measured, device: Compared | None, has_wrapper: bool, gap: bool | None
) -> list[str]:
    """What the verdict rests on: only what was looked at."""
    looked = {
        "launches": measured.launches is not None,
        "host code": has_wrapper,
        "IR": device is not None,
    }
    if gap is False:
        reasons = ["no configuration is slower than the reference beyond noise"]
    else:
        told = ", ".join(name for name, seen in looked.items() if seen)
        reasons = [f"nothing in {told} explains the gap: compiler or noise"]
    unseen = [name for name, seen in looked.items() if not seen]
    if unseen:
        reasons.append(f"not looked at: {', '.join(unseen)}")
    if measured.launches is not None:
        reasons.append(f"launches: {measured.launches.verdict}")
    if device is not None:
        reasons.append("the kernels are the same" if device.same else "the kernels differ")
    return reasons
