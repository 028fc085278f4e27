"""Faults in hints: not handed on, not applied, lost, forced; and grids that take hints for something else.

Place in the flow: facts of a wrapper -> **findings**; imports `pairing`, `finding`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ..sources import Conditional, Undecided
from .ffi import HINTS, Export, RustEntry, RustLaunch
from .finding import LOW, MEDIUM, WrapperFinding, make_finding
from .pairing import Pair, aliases, configs_for, field, main_call, plain_configs
from .walk import FfiArgument, FfiCall
from .wrapper import Wrapper

# A hint by the name that configurations have for it -> by the name of cutile-rs.
_OF_FIELD = {field(hint): hint for hint in HINTS}
_MULTIPROCESSORS = re.compile(r"num_sms?\b|multi_processor_count", re.IGNORECASE)


def hint_findings(wrapper: Wrapper, pairs: Sequence[Pair]) -> Iterator[WrapperFinding]:
    """Faults of hints and grids; what is said of one line for several kernels is said once."""
    said: set[tuple[str, str]] = set()
    for finding in _all(wrapper, pairs):
        if (finding.code, finding.where) not in said:
            said.add((finding.code, finding.where))
            yield finding


def _all(wrapper: Wrapper, pairs: Sequence[Pair]) -> Iterator[WrapperFinding]:
    for pair in pairs:
        if pair.export is None or pair.launch is None or pair.rivals:
            continue
        call = main_call(wrapper, pair.export)
        if call is not None:
            for name in _OF_FIELD:
                yield from _hint(name, pair, pair.launch, pair.export, call, wrapper)
            yield from _grid(pair, pair.launch, pair.export, call, wrapper)
    for export in wrapper.exports:
        yield from _applied(export, wrapper)


# -- from the configuration to the compiler ----------------------------------------------------------


def _applied(export: Export, wrapper: Wrapper) -> Iterator[WrapperFinding]:
    """Parameters that are hints, and what `CompileOptions` are given of them."""
    said: set[tuple[int, str]] = set()
    for launch in export.launches:
        for hint in HINTS:
            if hint not in export.parameters or (launch.options_line, hint) in said:
                continue
            said.add((launch.options_line, hint))
            given = (launch.hints or {}).get(hint)
            if launch.hints is None:
                message = (
                    f"{launch.entry} is launched without compile_options: {hint} has no effect"
                )
            elif given is None:
                message = f"the options of {launch.entry} are not given {hint}"
            elif given != hint and given in export.parameters:
                message = f"the options of {launch.entry} are given {given} for {hint}"
            else:
                continue
            yield make_finding(wrapper, "WRP031", message, export.path, launch.options_line)
            if given in HINTS:
                # Two that changed places are one fault.
                break


def _hint(
    name: str, pair: Pair, launch: RustLaunch, export: Export, call: FfiCall, wrapper: Wrapper
) -> Iterator[WrapperFinding]:
    """One hint of the reference beside the wrapper's; `name` as configurations have it."""
    argument = _argument(call, _OF_FIELD[name])
    ours = _values(name, pair, call, wrapper)
    entry = next((e for e in wrapper.entries if e.name == launch.entry), None)
    if pair.search is not None and name in _tuned_hints(pair):
        yield from _tuned(name, pair, argument, ours, call, wrapper)
        return
    wanted = next((text for key, text in pair.options.items() if field(key) == name), None)
    if wanted is not None:
        yield from _fixed(name, wanted, pair, entry, argument, ours, wrapper)
    else:
        yield from _forced(name, pair, entry, argument, ours, wrapper)


def _argument(call: FfiCall, hint: str) -> FfiArgument | None:
    return next((a for a in call.arguments if a.parameter == hint), None)


def _values(name: str, pair: Pair, call: FfiCall, wrapper: Wrapper) -> set[object] | None:
    """What the wrapper's configurations for a kernel have for a field; None where they do not have it."""
    for search in wrapper.searches:
        if search.step.line != call.step.search or isinstance(search.configs, Undecided):
            continue
        configs: list[Conditional] = configs_for(
            pair, search.configs, _reference_configs(pair), aliases(wrapper)
        )
        found = [config for config in plain_configs(configs) if name in config]
        return {config[name] for config in found} if found else None
    return None


def _reference_configs(pair: Pair) -> list[dict[str, object]]:
    search = pair.search
    if search is None or isinstance(search.configs, Undecided):
        return []
    return list(plain_configs(search.configs))


def _tuned_hints(pair: Pair) -> dict[str, str]:
    """Hints that the reference's search gives, by name: texts of their values."""
    found: dict[str, str] = {}
    for text in pair.search.hints if pair.search is not None else ():
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant):
                    found[field(str(key.value))] = ast.unparse(value)
    return found


def _tuned(
    name: str,
    pair: Pair,
    argument: FfiArgument | None,
    ours: set[object] | None,
    call: FfiCall,
    wrapper: Wrapper,
) -> Iterator[WrapperFinding]:
    """A hint that the reference gives with every configuration."""
    if not wrapper.searches:
        # That nothing is tuned is said elsewhere.
        return
    passed = argument is not None and any(
        field(source.removeprefix("cfg.")) == name
        for source in argument.sources
        if source.startswith("cfg.")
    )
    if passed:
        return
    theirs = {repr(config.get(name)) for config in _reference_configs(pair) if name in config}
    if argument is not None and repr(argument.constant) in theirs and len(theirs) == 1:
        return
    text = argument.text if argument is not None else "nothing"
    line = argument.line if argument is not None else call.step.line
    if ours is not None:
        message = f"configurations have {name}, {_OF_FIELD[name]} is passed {text}"
        yield make_finding(wrapper, "WRP030", message, wrapper.path, line)
    elif len(theirs) == 1:
        message = (
            f"every configuration that the reference tries for {pair.kernel} launches with {name} = "
            f"{next(iter(theirs))}; {_OF_FIELD[name]} is passed {text}"
        )
        yield make_finding(wrapper, "WRP030", message, wrapper.path, line, LOW)


def _fixed(
    name: str,
    wanted: str,
    pair: Pair,
    entry: RustEntry | None,
    argument: FfiArgument | None,
    ours: set[object] | None,
    wrapper: Wrapper,
) -> Iterator[WrapperFinding]:
    """A hint of `@ct.kernel(..)` that nothing tunes."""
    if entry is None:
        return
    if argument is not None and argument.constant is not None and argument.constant > 0:
        given = {str(argument.constant)}
    elif ours is not None and ours != {None}:
        given = set(map(str, ours))
    else:
        given = set()
    if given:
        if given != {_for_target(wanted, None)}:
            passed = ", ".join(sorted(given))
            message = f"the reference's {pair.kernel} has {name} = {wanted}; {passed} is passed"
            line = argument.line if argument is not None else 1
            yield make_finding(wrapper, "WRP032", message, wrapper.path, line)
        return
    found = {
        target: hints[_OF_FIELD[name]]
        for target, hints in entry.hints.items()
        if _OF_FIELD[name] in hints
    }
    if not found:
        message = (
            f"the reference's {pair.kernel} has {name} = {wanted}; {entry.name} has no such hint"
        )
        yield make_finding(wrapper, "WRP032", message, entry.path, entry.line)
    for target, value in found.items():
        if value != _for_target(wanted, target):
            theirs = f"the reference's {pair.kernel} has {name} = {wanted}"
            message = f"{theirs}; {entry.name} has {value} for {target}"
            yield make_finding(wrapper, "WRP032", message, entry.path, entry.line)


def _for_target(text: str, target: str | None) -> str | None:
    """The value of an option on a target: `ct.ByTarget(sm_80=1, default=2)` has one for each."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if not isinstance(node, ast.Call):
        return text
    values = {k.arg: ast.unparse(k.value) for k in node.keywords}
    return values.get(target, values.get("default"))


def _forced(
    name: str,
    pair: Pair,
    entry: RustEntry | None,
    argument: FfiArgument | None,
    ours: set[object] | None,
    wrapper: Wrapper,
) -> Iterator[WrapperFinding]:
    """A hint that the reference does not give at all."""
    hint = _OF_FIELD[name]
    pinned = sorted(str(v) for v in ours or () if isinstance(v, int) and v > 0)
    if argument is not None and argument.constant is not None and argument.constant > 0:
        pinned = [str(argument.constant)]
    if pinned and argument is not None:
        message = (
            f"{hint} is passed {', '.join(pinned)}; the reference launches {pair.kernel} without"
        )
        yield make_finding(wrapper, "WRP033", message, wrapper.path, argument.line, MEDIUM)
    for target, hints in entry.hints.items() if entry is not None else ():
        if hint in hints and entry is not None:
            mine = f"{entry.name} has {hint} = {hints[hint]} for {target}"
            message = f"{mine}; the reference's {pair.kernel} has none"
            yield make_finding(wrapper, "WRP033", message, entry.path, entry.line, MEDIUM)


# -- the grid ----------------------------------------------------------------------------------------


def _grid(
    pair: Pair, launch: RustLaunch, export: Export, call: FfiCall, wrapper: Wrapper
) -> Iterator[WrapperFinding]:
    """What the grid depends on, beside what the reference's does."""
    if launch.grid is None:
        return
    hints = [name for name in launch.grid if name in HINTS]
    if hints:
        message = f"the grid of {launch.entry} is {launch.grid_text}: {hints[0]} is a hint"
        yield make_finding(wrapper, "WRP034", message, export.path, launch.line)
        return
    arguments = [a for a in call.arguments if a.parameter in launch.grid]
    for name in (*_OF_FIELD, "multiprocessors"):
        ours = [a for a in arguments if name in _reads(a.sources)]
        theirs = name in _reference_reads(pair)
        if ours and not theirs and _only_here(pair, export, launch):
            message = f"the grid of {launch.entry} depends on {name}; the reference's of {pair.kernel} does not"
            yield make_finding(wrapper, "WRP034", message, wrapper.path, ours[0].line)
        elif theirs and not ours and arguments:
            message = f"the grid of {pair.kernel} depends on {name}; the wrapper's of {launch.entry} does not"
            yield make_finding(wrapper, "WRP034", message, wrapper.path, arguments[0].line)


def _only_here(pair: Pair, export: Export, launch: RustLaunch) -> bool:
    """Whether no other launch takes its grid from the same parameters, where a condition may choose."""
    others = [other for other in export.launches if other is not launch]
    return not any(set(other.grid or ()) & set(launch.grid or ()) for other in others)


def _reads(sources: Sequence[str]) -> set[str]:
    """Hints that sources read, and whether they count multiprocessors."""
    found = {field(source.removeprefix("cfg.")) for source in sources if source.startswith("cfg.")}
    if any(_MULTIPROCESSORS.search(source) for source in sources):
        found.add("multiprocessors")
    return found


def _reference_reads(pair: Pair) -> set[str]:
    """The same for the reference's grid: its texts, and those that its names stand for."""
    texts = [text for launch in pair.launches for text in launch.grid]
    texts += pair.search.grid if pair.search is not None else ()
    sizes: Mapping[str, Sequence[str]] = {
        name: found for launch in pair.launches for name, found in launch.sizes.items()
    }
    found: set[str] = set()
    seen: set[str] = set()
    while texts:
        text = texts.pop()
        if text in seen:
            continue
        seen.add(text)
        words = re.findall(r"[A-Za-z_]\w*", text)
        found |= {field(word) for word in words}
        if _MULTIPROCESSORS.search(text):
            found.add("multiprocessors")
        texts += [inner for word in words for inner in sizes.get(word, ())]
    return found
