"""Step 2 of agent A: the structural variants of an operation, and which configuration hits which one.

Place in the flow: dumps -> **variants** -> references; imports `diff`, `bench.node_ids`. Which kernels are
one variant is said by the fingerprints of their IR; when a variant is dispatched, by the source and by the
tests that launch it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...bench.node_ids import dtype_of
from ...diff import variants as group_variants
from ...diff.grouping import Variant as Group
from ..workspace import Workspace
from .captures import Dumps, Launch

Row = Mapping[str, Any]

# Of a variant's name, which stands in names of files.
_LONGEST_NAME = 60


class Supplement(NamedTuple):
    """The IR of a variant over another number format: its name, the kernel's row, conversions that it has
    and the variant's representative lacks."""

    dtype: str
    row: Row
    conversions: tuple[str, ...]


class Found(NamedTuple):
    """A structural variant.

    Attributes:
        name: "default" where it is the only one.
        function: the kernel's Python function.
        row: of the manifest, the kernel that stands for the variant.
        rows: all of its kernels.
        supplements: other number formats.
        labels: configurations that launch it, of the tests that count, in their order.
        tuned: configurations of searches that tried it, each once.
        best: the one that most searches on a GPU found best; None where none was measured.
        constants: what its kernels have compiled in: name -> values.
        own: whether the kernel is of the operation's own file.
    """

    name: str
    function: str
    row: Row
    rows: tuple[Row, ...]
    supplements: tuple[Supplement, ...]
    labels: tuple[str, ...]
    tuned: tuple[object, ...]
    best: object
    constants: Mapping[str, tuple[object, ...]]
    own: bool


class Structure(NamedTuple):
    """All variants of an operation.

    Attributes:
        variants: those that more configurations launch first come first within their order of launch.
        test: function whose configurations count: `test_perf`, or `test_op` where there is none.
        config_to_variant: label of a configuration -> the variant of its main kernel.
        config_launches: label -> all variants that it launches, for those that launch several.
        separations: sentences on what tells two variants apart.
    """

    variants: tuple[Found, ...]
    test: str
    config_to_variant: Mapping[str, str]
    config_launches: Mapping[str, tuple[str, ...]]
    separations: tuple[str, ...]


def find_variants(workspace: Workspace, dumps: Dumps, source: str) -> Structure:
    """The structural variants among the dumps.

    Args:
        workspace: of the kernel.
        dumps: of the operation's tests.
        source: the operation's file, relative to the project's root.
    """
    by_path = {str(workspace.path(f"{dumps.folder}/{r['bytecode']}")): r for r in dumps.rows}
    grouped = group_variants(list(by_path))
    launches = dumps.launches
    test = _counting_test(launches)
    measured = dumps.manifest.get("measured") or {}
    counting = [launch for launch in launches if launch.function == test]
    launched = {launch.row["bytecode"] for launch in _launched(counting)}
    # A kernel of another file that no configuration launches is another operation's, in the same tests.
    mine = [
        g
        for g in grouped.variants
        if any(r["bytecode"] in launched or _is_own(r, source) for r in _of(g, by_path))
    ]
    groups = sorted(mine, key=lambda g: _first_launch(g, by_path))
    names = _names([_of(group, by_path) for group in groups], workspace.kernel)
    found = tuple(
        _found(name, group, by_path, counting, launches, source, measured)
        for name, group in zip(names, groups)
    )
    renamed = dict(zip((g.name for g in groups), names))
    separations = tuple(
        f"{renamed[s.one]} and {renamed[s.other]}: {_plain(s.reason, renamed)} ({s.level})"
        for s in grouped.separations
        if s.one in renamed and s.other in renamed
    )
    return Structure(found, test, *_configs(found, counting), separations)


def _plain(reason: str, renamed: Mapping[str, str]) -> str:
    """A sentence with our names in place of those that grouping gave, longer names first."""
    names = sorted(renamed, key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w.]){re.escape(name)}(?![\w.])" for name in names)
    return re.sub(pattern, lambda m: renamed[m[0]], reason)


def _counting_test(launches: Sequence[Launch]) -> str:
    functions = Counter(launch.function for launch in launches)
    for name in ("test_perf", "test_op"):
        if name in functions:
            return name
    return functions.most_common(1)[0][0]


def _of(group: Group, by_path: Mapping[str, Row]) -> list[Row]:
    return [by_path[member.file] for member in group.members]


def _is_own(row: Row, source: str) -> bool:
    """Whether a kernel is of the operation's own file."""
    file: str = row["source"]["file"]
    return file.replace("\\", "/").endswith("/" + source)


def _first_launch(group: Group, by_path: Mapping[str, Row]) -> int:
    orders = (c["order"] for row in _of(group, by_path) for c in row.get("calls", ()))
    return min(orders, default=1 << 60)


# -- one variant ------------------------------------------------------------------------------------


def _found(
    name: str,
    group: Group,
    by_path: Mapping[str, Row],
    counting: Sequence[Launch],
    launches: Sequence[Launch],
    source: str,
    measured: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Found:
    rows = _of(group, by_path)
    files = {row["bytecode"] for row in rows}
    mine = [launch for launch in launches if launch.row["bytecode"] in files]
    really = _launched(counting)
    labels = [launch.label for launch in really if launch.row["bytecode"] in files]
    same_dtypes = [by_path[group.representative.file]] + [
        by_path[o.member.file] for o in group.others
    ]
    row = _representative(same_dtypes, really)
    supplements = _supplements(group, by_path)
    values: dict[str, list[object]] = {}
    for each in rows:
        for constant, value in each["constants"].items():
            if value not in values.setdefault(constant, []):
                values[constant].append(value)
    tuned: list[object] = []
    for launch in mine:
        if launch.config is not None and launch.config not in tuned:
            tuned.append(launch.config)
    return Found(
        name,
        row["kernel"],
        row,
        tuple(rows),
        supplements,
        tuple(dict.fromkeys(labels)),
        tuple(tuned),
        _best(rows, measured),
        {k: tuple(v) for k, v in values.items()},
        _is_own(row, source),
    )


def _best(rows: Sequence[Row], measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> object:
    """The configuration that most of the searches which tried these kernels found best."""
    calls = [call for row in rows for call in row.get("calls", ()) if call["tuning"] is not None]
    searches = dict.fromkeys(str(call["tuning"]["search"]) for call in calls)
    winners = [measured[search][0]["config"] for search in searches if measured.get(search)]
    return max(winners, key=winners.count) if winners else None


def _supplements(group: Group, by_path: Mapping[str, Row]) -> tuple[Supplement, ...]:
    """One for each number format that the representative lacks; a second one of a format says nothing new."""
    found: dict[str, Supplement] = {}
    for item in group.supplements:
        brought = [
            d for d in item.dtypes if d not in group.representative.dtypes and d not in found
        ]
        if brought:
            row = by_path[item.representative.member.file]
            found[brought[0]] = Supplement(brought[0], row, item.conversions)
    return tuple(found.values())


def _representative(rows: Sequence[Row], really: Sequence[Launch]) -> Row:
    """The kernel that most configurations launch; of equals, the one that grouping put first."""
    counts = Counter(launch.row["bytecode"] for launch in really)
    return max(rows, key=lambda row: counts[row["bytecode"]])


def _launched(launches: Sequence[Launch]) -> list[Launch]:
    """Launches outside of searches; those of a search too where a test made no other."""
    plain = {launch.test for launch in launches if launch.config is None}
    return [x for x in launches if x.config is None or x.test not in plain]


def _configs(
    found: Sequence[Found], counting: Sequence[Launch]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    home = {row["bytecode"]: variant for variant in found for row in variant.rows}
    of_label: dict[str, list[Found]] = {}
    for launch in _launched(counting):
        of_label.setdefault(launch.label, []).append(home[launch.row["bytecode"]])
    main = {
        label: next((v for v in variants if v.own), variants[0]).name
        for label, variants in of_label.items()
    }
    several = {
        label: tuple(dict.fromkeys(v.name for v in variants))
        for label, variants in of_label.items()
    }
    return main, {label: names for label, names in several.items() if len(names) > 1}


# -- names ------------------------------------------------------------------------------------------


def _names(groups: Sequence[Sequence[Row]], kernel: str) -> list[str]:
    """A name for each variant: what its function has more than the operation's name, and the constants that
    are true in it and false in another variant of the function; numbers where that is not enough."""
    if len(groups) == 1:
        return ["default"]
    functions = [Counter(row["kernel"] for row in rows).most_common(1)[0][0] for rows in groups]
    names = []
    for rows, function in zip(groups, functions):
        alike = [r for r, f in zip(groups, functions) if f == function]
        short = _short(function, kernel)
        name = "_".join(part for part in (short, *_true_in(rows, alike)) if part) or "base"
        name = name if len(name) <= _LONGEST_NAME else short
        # A name that ends in a number format would be taken for that of a supplement.
        names.append(f"{name}_kernel" if dtype_of(name.rpartition("_")[2]) else name)
    seen: Counter[str] = Counter()
    counts = Counter(names)
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if counts[name] == 1 or seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def _short(function: str, kernel: str) -> str:
    """A function's name without the operation's name and the word kernel."""
    text = f"_{function.strip('_')}_".replace(f"_{kernel}_", "_", 1)
    return "_".join(part for part in text.split("_") if part and part != "kernel")


def _true_in(rows: Sequence[Row], alike: Sequence[Sequence[Row]]) -> list[str]:
    """Constants that are true in all of these kernels, and that tell them from others of the function:
    each variant has one value of them."""
    found = []
    for constant in rows[0]["constants"]:
        values = [{row["constants"].get(constant) for row in variant} for variant in alike]
        own = {row["constants"].get(constant) for row in rows}
        telling = all(v in ({True}, {False}) for v in values) and {False} in values
        if telling and own == {True}:
            found.append(constant.lower().strip("_"))
    return found
