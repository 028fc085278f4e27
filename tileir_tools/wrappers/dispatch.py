"""Faults in what is called through the boundary: variants, number formats, arguments, generics.

Place in the flow: facts of a wrapper -> **findings**; imports `pairing`, `finding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..sources import Condition, Undecided
from .ffi import Export, RustEntry, RustLaunch, known_types
from .finding import HIGH, MEDIUM, WrapperFinding, make_finding
from .pairing import Pair, canonical, field, main_call, names_in
from .walk import FfiArgument, FfiCall
from .wrapper import Wrapper

# torch's names of number formats -> Rust's; others have the same.
_RUST_TYPES = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int32": "i32",
    "int64": "i64",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fn": "f8e4m3fn",
    "uint8": "f4e2m1fnx2",
}
_NO_FLOAT = re.compile(r"[iu](8|16|32|64|size)$|\*")
# Characters that the beginning of a word must have to stand for it.
_SHORTEST = 3
_FLAG = re.compile(r"(?P<name>[a-z_]\w*)(?: (?P<op>==|!=|>) (?P<number>-?\d+))?$")


def dispatch_findings(wrapper: Wrapper, pairs: Sequence[Pair]) -> Iterator[WrapperFinding]:
    """What is called as another thing than it is."""
    yield from _declared(wrapper)
    for call in _once(wrapper.calls):
        export = _export(call, wrapper)
        if export is not None:
            yield from _arguments(call, export, wrapper)
    for export in wrapper.exports:
        yield from _formats(export, wrapper)
        for launch in export.launches:
            entry = next((e for e in wrapper.entries if e.name == launch.entry), None)
            if entry is not None and launch.generics is not None:
                yield from _generics(launch, launch.generics, entry, export, wrapper)
    yield from _missing(pairs, wrapper)
    for judged in _variants(pairs, wrapper):
        if isinstance(judged, WrapperFinding):
            yield judged


def dispatch_undecided(wrapper: Wrapper, pairs: Sequence[Pair]) -> Iterator[tuple[str, Undecided]]:
    """Which variant is launched when, where that could not be compared."""
    for pair in pairs:
        if pair.rivals and pair.launch is not None and pair.export is not None:
            others = ", ".join(pair.rivals)
            why = f"whether it stands for {pair.kernel}, or for {others}"
            yield pair.export.path, Undecided(pair.launch.entry, pair.launch.line, why)
    for judged in _variants(pairs, wrapper):
        if not isinstance(judged, WrapperFinding):
            yield judged


def _once(calls: Sequence[FfiCall]) -> Iterator[FfiCall]:
    """Calls, each line once: several ways may lead to it."""
    seen: set[int] = set()
    for call in calls:
        if call.step.line not in seen:
            seen.add(call.step.line)
            yield call


def _export(call: FfiCall, wrapper: Wrapper) -> Export | None:
    return next((export for export in wrapper.exports if export.name == call.symbol), None)


# -- arguments ---------------------------------------------------------------------------------------


def _declared(wrapper: Wrapper) -> Iterator[WrapperFinding]:
    """The C declaration beside the exported function."""
    for declaration in wrapper.declarations:
        export = next((e for e in wrapper.exports if e.name == declaration.symbol), None)
        if export is not None and declaration.parameters != tuple(export.parameters):
            ours, theirs = declaration.parameters, tuple(export.parameters)
            message = f"{declaration.symbol} is declared with {_difference(ours, theirs)}"
            line = declaration.line
            yield make_finding(wrapper, "WRP024", message, wrapper.path, line)


def _difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} parameters; ffi.rs has {len(theirs)}"
    place = next(i for i, (one, other) in enumerate(zip(ours, theirs)) if one != other)
    return f"{ours[place]} as parameter {place + 1}; ffi.rs has {theirs[place]} there"


def _arguments(call: FfiCall, export: Export, wrapper: Wrapper) -> Iterator[WrapperFinding]:
    names = list(export.parameters)
    if call.arguments and len(call.arguments) != len(names):
        message = (
            f"{call.symbol} is called with {len(call.arguments)} arguments; it takes {len(names)}"
        )
        yield make_finding(wrapper, "WRP024", message, wrapper.path, call.step.line)
        return
    for name, argument in zip(names, call.arguments):
        # What is called as two parameters are tells nothing.
        is_tensor = export.parameters[name].startswith("*")
        said = {field(called) for called in (argument.made_of if is_tensor else argument.names)}
        if len(argument.sources) == 1 and argument.sources[0].startswith("cfg."):
            said.add(field(argument.sources[0].removeprefix("cfg.")))
        others = [other for other in names if field(other) in said]
        is_float = argument.text.startswith("float(") and _NO_FLOAT.match(export.parameters[name])
        if is_float or (len(others) == 1 and name != others[0]):
            meant = (
                f"ffi.rs has a parameter {others[0]}"
                if others
                else "that is no number with a point"
            )
            message = f"{argument.text} is passed for {name}; {meant}"
            yield make_finding(wrapper, "WRP024", message, wrapper.path, argument.line)
            # The one that it changed places with would be said once more.
            return


# -- number formats ----------------------------------------------------------------------------------


def _formats(export: Export, wrapper: Wrapper) -> Iterator[WrapperFinding]:
    types = known_types(export)
    for arm in export.dtypes:
        if arm.type not in (arm.dtype, "$ty"):
            message = f"{arm.dtype} is dispatched to {arm.type}"
            yield make_finding(wrapper, "WRP023", message, export.path, arm.line)
    if not types or not any(call.symbol == export.name for call in wrapper.calls):
        return
    for gate in wrapper.gates:
        for name in gate.dtypes:
            if _RUST_TYPES.get(name, name) not in types:
                message = f"{name} is let through; {export.name} dispatches {', '.join(types)}"
                yield make_finding(wrapper, "WRP022", message, wrapper.path, gate.line)


# -- generics ----------------------------------------------------------------------------------------


def _generics(
    launch: RustLaunch,
    given: Sequence[str],
    entry: RustEntry,
    export: Export,
    wrapper: Wrapper,
) -> Iterator[WrapperFinding]:
    if len(given) != len(entry.generics):
        message = f"{entry.name} is given {len(given)} generics; it has {len(entry.generics)}"
        yield make_finding(wrapper, "WRP025", message, export.path, launch.line)
        return
    for text, own in zip(given, entry.generics):
        meant = [name for name in entry.generics if _alike(text, name)]
        if len(meant) == 1 and meant[0] != own:
            message = f"{text} is given for {own} of {entry.name} ({', '.join(entry.generics)})"
            yield make_finding(wrapper, "WRP025", message, export.path, launch.line)
            return


def _alike(one: str, other: str) -> bool:
    """Whether names are made of the same words; `trans` is `transpose`."""
    pairs = [one.lower().split("_"), other.lower().split("_")]
    if len(pairs[0]) != len(pairs[1]):
        return False
    return all(
        a == b or (min(len(a), len(b)) >= _SHORTEST and (a.startswith(b) or b.startswith(a)))
        for a, b in zip(*pairs)
    )


# -- variants ----------------------------------------------------------------------------------------


def _missing(pairs: Sequence[Pair], wrapper: Wrapper) -> Iterator[WrapperFinding]:
    """Kernels of the reference that nothing stands for, at the first exported function."""
    missing = [pair for pair in pairs if pair.launch is None]
    there = [pair for pair in pairs if pair.export is not None]
    if not missing or not there:
        return
    export, first = there[0].export, there[0]
    assert export is not None
    named = ", ".join(f"{pair.kernel} (line {pair.launches[0].line})" for pair in missing)
    message = f"no launch stands for {named} of the reference"
    if first.rivals and first.launch is not None:
        message += f"; {first.launch.entry} is taken for {first.kernel}"
    yield make_finding(wrapper, "WRP021", message, export.path, export.line, MEDIUM)


def _variants(
    pairs: Sequence[Pair], wrapper: Wrapper
) -> Iterator[WrapperFinding | tuple[str, Undecided]]:
    """Conditions of launches beside those of the reference, where it has several kernels."""
    seen: set[tuple[str, int]] = set()
    every = {canonical(c.text)[0] for pair in pairs for way in pair.conditions() for c in way}
    for pair in pairs if len(pairs) > 1 else ():
        if pair.launch is None or pair.export is None or pair.rivals:
            continue
        theirs = {canonical(c.text, c.holds) for way in pair.conditions() for c in way}
        for condition in pair.launch.conditions:
            everywhere = {
                c.holds for rust in pair.rust for c in rust.conditions if c[::2] == condition[::2]
            }
            if (condition.text, condition.line) in seen or len(everywhere) > 1:
                continue
            seen.add((condition.text, condition.line))
            yield from _variant(condition, pair, pair.export, theirs, every, wrapper)


def _variant(
    condition: Condition,
    pair: Pair,
    export: Export,
    theirs: set[tuple[str, bool]],
    every: set[str],
    wrapper: Wrapper,
) -> Iterator[WrapperFinding | tuple[str, Undecided]]:
    assert pair.launch is not None
    claim = _claim(condition, export, wrapper)
    if claim is None:
        why = f"when {pair.launch.entry} is launched is not understood"
        yield export.path, Undecided(condition.text, condition.line, why)
        return
    argument, truth = claim
    said = [canonical(text, holds == truth) for text, holds in argument.meanings]
    known = [(text, holds) for text, holds in said if text in every]
    if known:
        text, holds = known[0]
        if (text, holds) not in theirs:
            message = (
                f"{pair.launch.entry} is launched where {_said(text, holds)}; the reference launches "
                f"{pair.kernel} where {_said(text, not holds)}"
            )
            yield make_finding(wrapper, "WRP020", message, export.path, condition.line, HIGH)
        return
    text = argument.meanings[-1][0]
    near = next((t for t in every if names_in(t) == names_in(text)), None)
    if near is not None and not text.isidentifier():
        message = f"{argument.parameter} is {text}; the reference asks {near}"
        yield make_finding(wrapper, "WRP020", message, wrapper.path, argument.line, MEDIUM)
    else:
        why = "the reference has no condition on the same names"
        yield wrapper.path, Undecided(argument.text, argument.line, why)


def _claim(
    condition: Condition, export: Export, wrapper: Wrapper
) -> tuple[FfiArgument, bool] | None:
    """The argument that a condition of Rust asks for, and whether it is asked to be true."""
    found = _FLAG.match(condition.text)
    call = main_call(wrapper, export)
    if found is None or call is None:
        return None
    argument = next((a for a in call.arguments if a.parameter == found["name"]), None)
    number = int(found["number"] or 0)
    if argument is None or number not in (0, 1):
        return None
    asks = {"==": number == 1, "!=": number == 0, ">": True, None: True}[found["op"]]
    return argument, asks is condition.holds


def _said(text: str, holds: bool) -> str:
    return text if holds else f"not ({text})"
