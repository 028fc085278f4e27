"""Faults in what is tuned: no search, its key, its configurations.

Place in the flow: facts of a wrapper -> **findings**; imports `pairing`, `finding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..sources import Autotune, Conditional, Undecided
from .finding import HIGH, LOW, MEDIUM, WrapperFinding, make_finding
from .pairing import Pair, agree, aliases, canonical, configs_for, field, names_in, plain_configs
from .walk import KeyPart, Search
from .wrapper import Wrapper

# Configurations that a message names one by one.
_NAMED = 3
Known = Mapping[str, Any]


def tuning_findings(
    wrapper: Wrapper, pairs: Sequence[Pair], analysis: Known | None
) -> Iterator[WrapperFinding]:
    """Faults of searches, beside those of the reference and what an analysis knows."""
    tuned = [pair for pair in pairs if pair.search is not None]
    if tuned and wrapper.calls and not wrapper.searches:
        call = wrapper.calls[0]
        message = (
            f"the reference searches for the configuration of {tuned[0].kernel} "
            f"(line {tuned[0].search.line}); no autotune_launch is on the way to {call.symbol}"  # type: ignore[union-attr]
        )
        yield make_finding(wrapper, "WRP010", message, wrapper.path, call.step.line)
    for search in wrapper.searches:
        if search.key is not None:
            yield from _key(search, search.key, wrapper, tuned)
        if not isinstance(search.configs, Undecided):
            there = [pair for pair in pairs if pair.launch is not None]
            for pair in there or pairs:
                yield from _space(search, search.configs, wrapper, pair, analysis)


def tuning_undecided(
    wrapper: Wrapper, pairs: Sequence[Pair], analysis: Known | None
) -> Iterator[tuple[str, Undecided]]:
    """What of the searches could not be compared."""
    for search in wrapper.searches:
        if search.key is None:
            why = "it is called without a key that is seen"
            yield wrapper.path, Undecided("autotune_launch", search.step.line, why)
        for pair in pairs:
            tune = pair.search
            if tune is not None and _theirs(pair, analysis) is None:
                why = "what the reference tries is not decided without its device"
                yield wrapper.path, Undecided(tune.space, search.line, why)


# -- the key -----------------------------------------------------------------------------------------


def _key(
    search: Search, key: Sequence[KeyPart], wrapper: Wrapper, tuned: Sequence[Pair]
) -> Iterator[WrapperFinding]:
    line = key[0].line if key else search.step.line
    by_format = _several(search)
    theirs = [part for pair in tuned if pair.search is not None for part in pair.search.key]
    text = f"({', '.join(part.text for part in key)})"
    if not any(".dtype" in part.sources for part in key) and (by_format or _has(theirs, ".dtype")):
        message = f"the key {text} has no dtype: formats share a configuration"
        yield make_finding(wrapper, "WRP012", message, wrapper.path, line)
    if not any(".device" in part.sources for part in key) and _has(theirs, ".device"):
        message = f"the key {text} has no device; the reference's has: {_with(theirs, '.device')}"
        yield make_finding(wrapper, "WRP014", message, wrapper.path, line, LOW)
    flags = list(_flags(search, key, wrapper))
    for flag in flags:
        message = f"the key {text} lacks {flag}, which chooses what is launched"
        yield make_finding(wrapper, "WRP013", message, wrapper.path, line)
    for pair in tuned:
        for part in _sizes(pair, key, wrapper, flags):
            message = (
                f"the key {text} lacks {part}, which the reference's key for {pair.kernel} has"
            )
            yield make_finding(wrapper, "WRP011", message, wrapper.path, line, MEDIUM)


def _several(search: Search) -> bool:
    """Whether a search has to choose."""
    if isinstance(search.configs, Undecided):
        return False
    return any(sum(c.when == other.when for other in search.configs) > 1 for c in search.configs)


def _has(parts: Iterable[str], attribute: str) -> bool:
    return any(attribute in part for part in parts)


def _with(parts: Iterable[str], attribute: str) -> str:
    return next(part for part in parts if attribute in part)


def _flags(search: Search, key: Sequence[KeyPart], wrapper: Wrapper) -> Iterator[str]:
    """Conditions that choose a list of configurations, or an entry, and that the key does not decide."""
    meanings = aliases(wrapper)
    chosen: dict[str, None] = {}
    if not isinstance(search.configs, Undecided):
        texts = (canonical(text)[0] for config in search.configs for text in config.when)
        chosen |= dict.fromkeys(texts)
    for parameter in _selectors(wrapper):
        for call in wrapper.calls:
            if call.step.search == search.step.line:
                found = [a.meanings[-1][0] for a in call.arguments if a.parameter == parameter]
                chosen |= dict.fromkeys(found)
    done: set[str] = set()
    for text in chosen:
        last = meanings.get(text, (text, True))[0]
        if last not in done and not _decides(key, {text, last}, last, wrapper):
            done.add(last)
            yield last


def _decides(key: Sequence[KeyPart], texts: set[str], meaning: str, wrapper: Wrapper) -> bool:
    """Whether a key holds a condition, by one of its texts, or everything that it is computed from."""
    held = {text for part in key for text, _ in part.meanings}
    for part in key:
        # `str(flag)` says as much as `flag`.
        names = [source for source in part.sources if "()@" not in source]
        held |= set(names) if len(names) == 1 else set()
    needed = {
        name
        for name in names_in(meaning)
        if name not in wrapper.constants and name not in wrapper.refused
    }
    if "." in meaning:
        # Sizes are taken out of a tensor under any name.
        held |= {source for part in key for source in part.sources}
    return bool(texts & held) or needed <= held


def _selectors(wrapper: Wrapper) -> set[str]:
    """Parameters of exported functions that conditions on launches read."""
    return {
        parameter
        for export in wrapper.exports
        for launch in export.launches
        for condition in launch.conditions
        for parameter in export.parameters
        if parameter in condition.text.replace("(", " ").split()
    }


def _sizes(
    pair: Pair, key: Sequence[KeyPart], wrapper: Wrapper, missing: Sequence[str]
) -> Iterator[str]:
    """Parts of the reference's key that nothing in the wrapper's stands for.

    Equal names are each other's; what is left over on one side is taken for what is left over on the other, so
    that only as many are missing as are too few.
    """
    assert pair.search is not None
    selecting = _selecting(wrapper)
    ours = [
        part
        for part in key
        if not {".dtype", ".device"} & set(part.sources)
        and not {text for text, _ in part.meanings} & selecting
    ]
    names = {text.lower() for part in ours for text, _ in part.meanings}
    theirs = [
        part
        for part in pair.search.key
        if ".dtype" not in part and ".device" not in part and part not in wrapper.refused
    ]
    left = [part for part in theirs if part.lower() not in names and part not in missing]
    taken = {part.lower() for part in theirs}
    spare = [p for p in ours if not {text.lower() for text, _ in p.meanings} & taken]
    yield from left[len(spare) :]


def _selecting(wrapper: Wrapper) -> set[str]:
    """Texts of what chooses an entry."""
    selectors = _selectors(wrapper)
    return {
        text
        for call in wrapper.calls
        for argument in call.arguments
        if argument.parameter in selectors
        for text, _ in argument.meanings
    }


# -- the search space --------------------------------------------------------------------------------


def _space(
    search: Search,
    configs: Sequence[Conditional],
    wrapper: Wrapper,
    pair: Pair,
    analysis: Known | None,
) -> Iterator[WrapperFinding]:
    theirs = _theirs(pair, analysis) if pair.search is not None else []
    best = _best(pair, analysis)
    group = configs_for(pair, configs, theirs or [], aliases(wrapper))
    if not group:
        message = f"no configuration is tried where the reference launches {pair.kernel}"
        yield make_finding(wrapper, "WRP015", message, wrapper.path, search.line)
        return
    if not theirs and best is None:
        return
    ours = list(plain_configs(group))
    line = _made(search, group, wrapper)
    knobs = [name for name in _varied(theirs or []) if not any(name in config for config in ours)]
    for name in knobs:
        values = ", ".join(sorted({str(config.get(name)) for config in theirs or []}))
        message = (
            f"the reference tries {name} = {values} for {pair.kernel}; no configuration has it"
        )
        yield make_finding(wrapper, "WRP016", message, wrapper.path, line)
    missing = [c for c in theirs or [] if not any(agree(c, other) for other in ours)]
    if best is not None and not any(agree(best, other) for other in ours):
        message = f"{_said(best)}, the best for {pair.kernel} by the analysis, is not tried"
        yield make_finding(wrapper, "WRP017", message, wrapper.path, line)
        missing = [c for c in missing if c != best]
    if missing:
        named = "; ".join(map(_said, missing[:_NAMED]))
        more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        message = (
            f"{len(missing)} of {len(theirs or [])} configurations that the reference tries for "
            f"{pair.kernel} are not tried: {named}{more}"
        )
        yield make_finding(wrapper, "WRP015", message, wrapper.path, line, HIGH)


def _made(search: Search, group: Sequence[Conditional], wrapper: Wrapper) -> int:
    """The line of the function that makes some of the configurations; where they are handed over else."""
    meanings = aliases(wrapper)

    def meant(text: str, holds: bool = True) -> tuple[str, bool]:
        plain, holds = canonical(text, holds)
        stands_for, agrees = meanings.get(plain, (plain, True))
        return stands_for, holds == agrees

    when = {meant(text) for config in group for text in config.when}
    for conditions, line in search.makers:
        if when <= {meant(c.text, c.holds) for c in conditions}:
            return line
    return search.line


def _theirs(pair: Pair, analysis: Known | None) -> list[dict[str, object]] | None:
    """What the reference tries for a kernel; None where it is not decided."""
    search: Autotune | None = pair.search
    if search is not None and not isinstance(search.configs, Undecided):
        decided = [config for config in search.configs if not config.when]
        if decided:
            return _decided(plain_configs(decided))
    found = [v for v in _variants(pair, analysis) if v.get("autotune_configs")]
    configs = found[0]["autotune_configs"] if found else (analysis or {}).get("autotune_configs")
    if not isinstance(configs, list):
        return None
    return _decided(plain_configs(Conditional(config, ()) for config in configs))


def _decided(configs: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Without fields that are not decided."""
    return [
        {name: value for name, value in config.items() if not isinstance(value, Undecided)}
        for config in configs
    ]


def _variants(pair: Pair, analysis: Known | None) -> list[Mapping[str, Any]]:
    """What an analysis says of the variants of a kernel."""
    found = (analysis or {}).get("kernel_variants")
    every = found if isinstance(found, list) else []
    return [v for v in every if isinstance(v, dict) and v.get("kernel_function") == pair.kernel]


def _best(pair: Pair, analysis: Known | None) -> dict[str, object] | None:
    """The best configuration of a kernel, where an analysis names one."""
    places = [*_variants(pair, analysis), *([analysis] if analysis is not None else [])]
    for place in places:
        best = place.get("best_config")
        if isinstance(best, dict) and best:
            return {field(str(name)): value for name, value in best.items()}
    return None


def _varied(configs: Sequence[Mapping[str, object]]) -> list[str]:
    """Fields in which configurations differ."""
    names = dict.fromkeys(name for config in configs for name in config)
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def _said(config: Mapping[str, object]) -> str:
    return "(" + ", ".join(f"{name} {value}" for name, value in config.items()) + ")"
