"""Which entry of a wrapper stands for which kernel of the reference, and how their words compare.

Place in the flow: facts of a wrapper -> **findings**; imports the records of `sources` and of `wrapper`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..sources import BACKWARD, Autotune, Condition, Conditional, Launch, OperationSource
from .ffi import Export, RustLaunch
from .walk import FfiCall
from .wrapper import Wrapper

# Words for the same field of a configuration; the first is what messages of ours call it.
_FIELDS = (
    *(
        tuple(
            word.format(d)
            for word in ("tile_{}", "b{}", "tile_size_{}", "block_{}", "block_size_{}")
        )
        for d in "mnkd"
    ),
    ("occupancy", "occ"),
    ("num_ctas", "num_cta", "num_cta_in_cga", "num_ctas_in_cga"),
    ("latency", "load_latency", "num_stages"),
    ("group_size_m", "group_m", "group_size"),
)
_FIELD_OF = {word: words[0] for words in _FIELDS for word in words}
# Words in names of kernels that do not tell one from another.
_PLAIN = ("", "kernel", "forward", "fwd")


class Pair(NamedTuple):
    """A kernel of the reference and the launches that stand for it.

    Attributes:
        kernel: its name.
        launches: of the reference.
        search: that tunes it; None where nothing does.
        options: of `@ct.kernel`.
        rivals: other kernels, for which nothing stands and that the entry may be meant for as well.
        export, rust: what stands for it, all launches of one entry; None and none where nothing does.
    """

    kernel: str
    launches: tuple[Launch, ...]
    search: Autotune | None
    options: Mapping[str, str]
    rivals: tuple[str, ...]
    export: Export | None
    rust: tuple[RustLaunch, ...]

    @property
    def launch(self) -> RustLaunch | None:
        """The first of the launches that stand for it."""
        return self.rust[0] if self.rust else None

    def conditions(self) -> tuple[tuple[Condition, ...], ...]:
        """Conditions of every forward way to the reference's launches."""
        return tuple(
            chain.conditions
            for launch in self.launches
            for chain in launch.chains
            if is_forward(chain.conditions)
        )


def field(name: str) -> str:
    """The word for a field of a configuration, or for a hint, whatever a source calls it."""
    return _FIELD_OF.get(name.lower(), name.lower())


def is_forward(conditions: Iterable[Condition]) -> bool:
    return all(condition.text != BACKWARD for condition in conditions)


def of_wrapper(reference: OperationSource, wrapper: Wrapper) -> OperationSource:
    """The part of a reference that what the wrapper registers comes to; all where names tell nothing."""
    public = {registration.name for registration in wrapper.registrations}
    starts = {r.function for r in reference.registrations if r.name in public}
    if not starts:
        return reference
    launches = (
        launch._replace(chains=tuple(c for c in launch.chains if c.functions[0] in starts))
        for launch in reference.launches
    )
    return reference._replace(launches=tuple(launch for launch in launches if launch.chains))


def forward_launches(reference: OperationSource) -> tuple[Launch, ...]:
    """Launches that a call reaches without gradients."""
    return tuple(
        launch
        for launch in reference.launches
        if any(is_forward(chain.conditions) for chain in launch.chains)
    )


def forward_functions(reference: OperationSource) -> frozenset[str]:
    """Functions on the ways of `forward_launches`."""
    return frozenset(
        function
        for launch in reference.launches
        for chain in launch.chains
        if is_forward(chain.conditions)
        for function in chain.functions
    )


def backward_functions(reference: OperationSource) -> frozenset[str]:
    """Functions that only gradients need."""
    every = {f for launch in reference.launches for c in launch.chains for f in c.functions}
    return frozenset(every) - forward_functions(reference)


def pairs_of(wrapper: Wrapper, reference: OperationSource) -> tuple[Pair, ...]:
    """Every kernel that the reference launches forward, with what stands for it."""
    launches = forward_launches(reference)
    names = list(dict.fromkeys(name for launch in launches for name in launch.kernels))
    called = {call.symbol for call in wrapper.calls}
    free: dict[str, tuple[Export, tuple[RustLaunch, ...]]] = {}
    for export in wrapper.exports:
        for entry in dict.fromkeys(launch.entry for launch in export.launches):
            if export.name in called:
                of_entry = tuple(launch for launch in export.launches if launch.entry == entry)
                free.setdefault(entry, (export, of_entry))
    matched = _match(names, list(free))
    options = {kernel.name: kernel.options for kernel in reference.kernels}
    return tuple(
        Pair(
            name,
            tuple(launch for launch in launches if name in launch.kernels),
            next((tune for tune in reference.autotunes if name in tune.kernels), None),
            options.get(name, {}),
            tuple(n for n in names if n not in matched and _likeness(n, matched.get(name, "")) > 0),
            *(free[matched[name]] if name in matched else (None, ())),
        )
        for name in names
    )


def _match(names: Sequence[str], entries: Sequence[str]) -> dict[str, str]:
    """Kernel -> its entry: equal words first, then most words in common, then what is left."""
    found: dict[str, str] = {}
    rated = sorted(
        ((-_likeness(name, entry), name, entry) for name in names for entry in entries),
        key=lambda one: one[0],
    )
    for likeness, name, entry in rated:
        alone = len(names) == 1 or len(entries) - len(found) == len(names) - len(found) == 1
        if name not in found and entry not in found.values() and (likeness < 0 or alone):
            found[name] = entry
    return found


def main_call(wrapper: Wrapper, export: Export) -> FfiCall | None:
    """The call of an exported function that counts: one that a search tries, where any does."""
    calls = [call for call in wrapper.calls if call.symbol == export.name]
    return next((c for c in calls if c.step.search is not None), calls[0] if calls else None)


def _likeness(name: str, entry: str) -> float:
    one, other = ({w for w in n.split("_") if w not in _PLAIN} for n in (name, entry))
    return len(one & other) / len(one | other) if one | other else 0.0


def canonical(text: str, holds: bool = True) -> tuple[str, bool]:
    """A condition without negations around it, and whether it then holds."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text, holds
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, holds = node.operand, not holds
    return ast.unparse(node), holds


def names_in(text: str) -> frozenset[str]:
    """Names that a text of Python reads."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return frozenset()
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def plain_configs(configs: Iterable[Conditional]) -> Iterator[dict[str, object]]:
    """Configurations with the fields' common words; those that are no records left out."""
    for config in configs:
        if isinstance(config.value, dict):
            yield {field(str(name)): value for name, value in config.value.items()}


def aliases(wrapper: Wrapper) -> dict[str, tuple[str, bool]]:
    """Texts of conditions -> what they stand for in terms of a registered function, and whether they agree."""
    found: dict[str, tuple[str, bool]] = {}
    for call in wrapper.calls:
        for argument in call.arguments:
            last, last_holds = argument.meanings[-1]
            for text, holds in argument.meanings:
                found.setdefault(text, (last, holds == last_holds))
    return found


def configs_for(
    pair: Pair,
    configs: Sequence[Conditional],
    wanted: Sequence[Mapping[str, object]],
    meanings: Mapping[str, tuple[str, bool]],
) -> list[Conditional]:
    """The configurations that the wrapper tries for a kernel.

    Where conditions choose between lists, the one whose condition is the reference's; else, of those that it
    does not exclude, the one that has most of the `wanted` ones. None where all are excluded.
    """
    groups: dict[tuple[str, ...], list[Conditional]] = {}
    for config in configs:
        groups.setdefault(config.when, []).append(config)
    known = {canonical(c.text, c.holds) for way in pair.conditions() for c in way}
    left: list[list[Conditional]] = []
    for when, group in groups.items():
        said = {canonical(text) for text in when}
        said |= {
            (meanings[text][0], holds == meanings[text][1])
            for text, holds in said
            if text in meanings
        }
        if said & known:
            return group
        if not {(text, not holds) for text, holds in said} & known:
            left.append(group)
    return max(left, key=lambda group: _overlap(list(plain_configs(group)), wanted), default=[])


def _overlap(group: Sequence[Mapping[str, object]], wanted: Sequence[Mapping[str, object]]) -> int:
    return sum(any(agree(config, other) for other in group) for config in wanted)


def agree(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether configurations have the same values in all fields that both have, and some in common."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[name] == other[name] for name in shared)


def exclusive(one: Iterable[Condition], other: Iterable[Condition]) -> bool:
    """Whether conditions of two places cannot hold together."""
    first = {canonical(c.text, c.holds) for c in one}
    return any(
        (text, not holds) in first for text, holds in (canonical(c.text, c.holds) for c in other)
    )
