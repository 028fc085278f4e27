"""Faults in what a call launches and allocates besides its kernel.

Place in the flow: facts of a wrapper -> **findings**; imports `pairing`, `finding`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..sources import Condition, Launch, OperationSource, Work
from ..sources.work import ALLOCATE, COMPUTE, COPY, FILL
from .finding import HIGH, LOW, MEDIUM, WrapperFinding, make_finding
from .pairing import backward_functions, exclusive, forward_functions, forward_launches, names_in
from .walk import Done, FfiCall, Search, Step
from .wrapper import Wrapper


def launch_findings(wrapper: Wrapper, reference: OperationSource) -> Iterator[WrapperFinding]:
    """Launches that the reference does not have, and work for PyTorch."""
    expected = _together(reference)
    for search in wrapper.searches:
        yield from _beside(search, wrapper)
        tried = [c for c in wrapper.calls if c.step.search == search.step.line]
        tried = [c for c in tried if c.step.root == search.step.root]
        yield from _repeated(tried, expected, wrapper, search)
    for root in dict.fromkeys(call.step.root for call in wrapper.calls):
        if not any(search.step.root == root for search in wrapper.searches):
            calls = [call for call in wrapper.calls if call.step.root == root]
            yield from _repeated(calls, expected, wrapper, None)
    yield from _works(wrapper, reference)


def _together(reference: OperationSource) -> int:
    """How many launches of the reference one call may come to."""
    launches = forward_launches(reference)
    return max(
        (
            sum(
                not exclusive(one.conditions, other.conditions)
                for other in launches
                if _one_way(one, other)
            )
            for one in launches
        ),
        default=1,
    )


def _one_way(one: Launch, other: Launch) -> bool:
    """Whether launches lie on one way: no way to the one excludes every way to the other."""
    ways = [[c.conditions for c in launch.chains] for launch in (one, other)]
    return any(not exclusive(first, second) for first in ways[0] for second in ways[1])


def _beside(search: Search, wrapper: Wrapper) -> Iterator[WrapperFinding]:
    """Launches outside of a search on a way that also comes to the search."""
    for call in wrapper.calls:
        step = call.step
        if step.root != search.step.root or step.search is not None or step.handles:
            continue
        if exclusive(step.conditions, search.step.conditions):
            continue
        extra = [c for c in step.conditions if c not in search.step.conditions]
        if any(_remembers(condition, wrapper) for condition in extra):
            continue
        line = _parting(step, search.step)
        place = "before" if line < search.step.line else "after"
        under = f" where {extra[0].text}" if extra else ""
        message = (
            f"{call.symbol} is launched {place} autotune_launch (line {search.step.line}){under}: "
            "every call launches it besides the tuned one"
        )
        confidence = MEDIUM if extra else HIGH
        yield make_finding(wrapper, "WRP001", message, wrapper.path, line, confidence)


def _remembers(condition: Condition, wrapper: Wrapper) -> bool:
    """Whether a condition asks whether something was done before: what stands under it is done once."""
    asks = " not in " in condition.text or ".get(" in condition.text
    return asks or bool(names_in(condition.text) & set(wrapper.state))


def _parting(step: Step, other: Step) -> int:
    """The line where the way to a step leaves the way to another."""
    common = zip(step.way, other.way)
    place = next((i for i, (one, two) in enumerate(common) if one != two), 0)
    return step.way[place][1]


def _repeated(
    calls: Sequence[FfiCall], expected: int, wrapper: Wrapper, search: Search | None
) -> Iterator[WrapperFinding]:
    """Launches beyond as many as the reference has; the last ones are the extra ones."""
    kept: list[FfiCall] = []
    for call in calls:
        if call.step.handles:
            continue
        same = [k for k in kept if not exclusive(k.step.conditions, call.step.conditions)]
        if len(same) < expected:
            kept.append(call)
            continue
        where = "the function that autotune_launch tries" if search is not None else call.step.root
        message = (
            f"{where} comes to {len(same) + 1} launches; a call of the reference to {expected}"
        )
        code = "WRP002" if search is not None else "WRP001"
        yield make_finding(wrapper, code, message, wrapper.path, _parting(call.step, same[-1].step))


def _works(wrapper: Wrapper, reference: OperationSource) -> Iterator[WrapperFinding]:
    """Work for PyTorch: inside of a search always, elsewhere where the reference has no such work."""
    seen: set[tuple[int, str]] = set()
    outside: list[Done] = []
    for done in wrapper.works:
        if (done.step.line, done.work.text) in seen:
            continue
        seen.add((done.step.line, done.work.text))
        if done.step.search is None:
            outside.append(done)
        elif done.work.kind != ALLOCATE:
            message = (
                f"{done.work.text} runs for every configuration that is tried, and on every call"
            )
            yield make_finding(wrapper, "WRP003", message, wrapper.path, done.step.line)
    for done in _without_counterpart(outside, reference):
        yield from _work(done, wrapper)
    yield from _second_output(outside, wrapper)


def _work(done: Done, wrapper: Wrapper) -> Iterator[WrapperFinding]:
    work, path, line = done.work, wrapper.path, done.step.line
    under = "".join(f" where {_said(c.text, c.holds)}" for c in done.step.conditions[-1:])
    if work.kind == FILL:
        message = f"{work.text} fills a buffer on every call{under}; the reference fills none"
        yield make_finding(wrapper, "WRP005", message, path, line, MEDIUM if under else HIGH)
    elif work.kind == COMPUTE:
        after = " after a launch failed" if done.step.handles else under
        message = f"{work.text} is computed by PyTorch{after}; the reference does not"
        yield make_finding(wrapper, "WRP004", message, path, line, HIGH)
    elif work.kind == COPY and done.is_result:
        message = f"{work.text} copies what the kernel wrote{under}; the reference's kernel writes it there"
        yield make_finding(wrapper, "WRP007", message, path, line, MEDIUM if under else HIGH)
    elif work.kind == COPY and done.used:
        # Most inputs lie contiguously, and are not copied then.
        only = " that does not lie contiguously" if work.name == "contiguous" else ""
        message = f"{work.text} copies an input{only}{under}; the reference does not"
        yield make_finding(wrapper, "WRP006", message, path, line, LOW if only else MEDIUM)


def _said(text: str, holds: bool) -> str:
    return text if holds else f"not ({text})"


def _without_counterpart(done: Sequence[Done], reference: OperationSource) -> list[Done]:
    """Work that no work of the reference's forward pass stands beside.

    Equal texts are each other's, then those whose last two links are equal (`.transpose(1, 2).contiguous()`),
    then those that call the same. A function on no way to a launch, a decorator say, has its work on every way.
    """
    never = backward_functions(reference)
    always = forward_functions(reference)
    theirs = [work for work in reference.works if work.function not in never]
    left = list(done)
    for alike in (_text, _links, _name):
        for work in list(theirs):
            for one in left:
                if one.work.kind == work.kind and alike(one.work) == alike(work):
                    left.remove(one)
                    if work.function in always:
                        theirs.remove(work)
                        break
    return left


def _text(work: Work) -> str:
    return work.text


def _name(work: Work) -> str:
    return work.name


def _links(work: Work) -> str:
    """The last two links of a chain of methods."""
    node = ast.parse(work.text, mode="eval").body
    links: list[str] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        links.append(f".{node.func.attr}({', '.join(map(ast.unparse, node.args))})")
        node = node.func.value
    return "".join(reversed(links[:2])) if len(links) > 1 else work.text


def _second_output(outside: Sequence[Done], wrapper: Wrapper) -> Iterator[WrapperFinding]:
    """Allocations before a search that no launch reads, where what is tried allocates its own."""
    for search, done in ((s, d) for s in wrapper.searches for d in outside):
        inner = [
            other
            for other in wrapper.works
            if other.work.kind == ALLOCATE
            and other.step.search == search.step.line
            and other.step.root == search.step.root == done.step.root
            and other.used
        ]
        together = not exclusive(done.step.conditions, search.step.conditions)
        if done.work.kind == ALLOCATE and not done.used and inner and together:
            message = (
                f"{done.work.text} is read by no launch; the kernel writes what line "
                f"{inner[0].step.line} allocates"
            )
            yield make_finding(wrapper, "WRP008", message, wrapper.path, done.step.line)
