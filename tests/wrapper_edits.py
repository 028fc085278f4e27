"""Edits of TileGym's wrappers, and what is said of each: `TILEGYM_PATH=.. python tests/wrapper_edits.py`.

Prints the table of docs/wrappers.md, and every edit of which nothing is said on the standard error stream. An
edit is made in a copy of one file; what is said of it is what is not said of the wrapper as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tileir_tools.errors import TileIRError
from tileir_tools.sources import find_project, read_operation
from tileir_tools.wrappers import examine_wrapper, read_wrapper

NAMES = ("attention_sink", "bmm", "matmul", "silu_and_mul", "swiglu")
_OPS = "src/tilegym/ops"
_CALL = re.compile(r"rc = lib\.\w+\(\n(.*?)\n    \)\n", re.DOTALL)
_KEY = re.compile(r"\bkey=\((.*?)\),\n")


class Edit(NamedTuple):
    """One edit: what was done, and the text of the file after it."""

    what: str
    text: str


def _replaced(
    pattern: str, new: str | Callable[[re.Match[str]], str]
) -> Callable[[str], Iterator[Edit]]:
    """Edits that replace one place of a pattern each."""

    def edits(text: str) -> Iterator[Edit]:
        for found in re.finditer(pattern, text, re.MULTILINE):
            piece = found.expand(new) if isinstance(new, str) else new(found)
            yield Edit(found[0].strip(), text[: found.start()] + piece + text[found.end() :])

    return edits


def _listed(
    place: re.Pattern[str],
    separator: str,
    change: Callable[[list[str]], Iterator[tuple[str, list[str]]]],
) -> Callable[[str], Iterator[Edit]]:
    """Edits of a list that stands in a text."""

    def edits(text: str) -> Iterator[Edit]:
        for found in place.finditer(text):
            items = [item.strip() for item in re.split(rf"{separator}(?![^(]*\))", found[1])]
            for what, changed in change([item for item in items if item]):
                joint = ", ".join(changed)
                yield Edit(what, text[: found.start(1)] + joint + text[found.end(1) :])

    return edits


def _without_one(items: list[str]) -> Iterator[tuple[str, list[str]]]:
    for place, item in enumerate(items):
        yield item, items[:place] + items[place + 1 :]


def _two_changed(items: list[str]) -> Iterator[tuple[str, list[str]]]:
    for place, (one, other) in enumerate(pairwise(items)):
        if one != other:
            yield f"{one} and {other}", [*items[:place], other, one, *items[place + 2 :]]


_VEC = re.compile(r"vec!\[(.*?)\]", re.DOTALL)
_LAUNCH = r"^(    )(result = autotune_launch)"
_TRIED = r"^        return (launch_with_cfg\(cfg\)|o_local|out_local)$"

# Kind of edit -> file, how it is made.
KINDS: dict[str, tuple[str, Callable[[str], Iterator[Edit]]]] = {
    "`torch.empty` to `torch.zeros`": (".py", _replaced(r"torch\.empty", "torch.zeros")),
    "a canary before the search": (".py", _replaced(_LAUNCH, r"\1kernel_fn(_canary)\n\1\2")),
    "`.clone()` of what is tried": (".py", _replaced(_TRIED, r"        return \1.clone()")),
    "a part of the key left out": (".py", _listed(_KEY, ",", _without_one)),
    "a configuration left out": (".py", _replaced(r"^ +SimpleNamespace\(.*\),\n", "")),
    "a hint of a configuration changed": (
        ".py",
        _replaced(r"(OCCUPANCY|NUM_CTAS|NUM_CTA_IN_CGA)=[124]\b", r"\1=7"),
    ),
    "an argument left out": (".py", _listed(_CALL, ",", _without_one)),
    "two arguments changed places": (".py", _listed(_CALL, ",", _two_changed)),
    "the variant's condition inverted": (
        "_kernel/ffi.rs",
        _replaced(r"if persistent != 0", "if persistent == 0"),
    ),
    "a number format left out": ("_kernel/ffi.rs", _replaced(r", (f32|f16|bf16)(?=[,)])", "")),
    "options in another order": (
        "_kernel/ffi.rs",
        _replaced(r"\(occupancy, num_cta_in_cga\)", "(num_cta_in_cga, occupancy)"),
    ),
    "options left out": ("_kernel/ffi.rs", _replaced(r"\n *\.compile_options\(opts\)", "")),
    "a generic left out": ("_kernel/ffi.rs", _listed(_VEC, ",", _without_one)),
    "two generics changed places": ("_kernel/ffi.rs", _listed(_VEC, ",", _two_changed)),
    "the grid by a hint": ("_kernel/ffi.rs", _replaced(r"\(num_programs as", "(occupancy as")),
    "the entry's hint changed": (
        "_kernel/kernel.rs",
        _replaced(r"occupancy = \d", "occupancy = 7"),
    ),
}


def copied(tilegym: Path, to: Path) -> Path:
    """The five wrappers and their references, in a project of their own."""
    for name in NAMES:
        for path in (f"cutile/{name}.py", f"cutile_rs/{name}.py"):
            (to / _OPS / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tilegym / _OPS / path, to / _OPS / path)
        shutil.copytree(
            tilegym / _OPS / f"cutile_rs/{name}_kernel", to / _OPS / f"cutile_rs/{name}_kernel"
        )
    shutil.copy(tilegym / _OPS / "cutile_rs/ffi_util.rs", to / _OPS / "cutile_rs")
    return to


def said_of(root: Path, name: str) -> set[tuple[str, str]]:
    """Codes and messages of a wrapper's findings on sm_100; one of an error where it cannot be read."""
    project = find_project(root)
    reference = read_operation(f"{_OPS}/cutile/{name}.py", project.root, capability=(10, 0))
    try:
        wrapper = read_wrapper(project, name)
    except TileIRError as error:
        return {("refused", str(error))}
    assert wrapper is not None
    return {(finding.code, finding.message) for finding in examine_wrapper(wrapper, reference)}


def main() -> None:
    tilegym = Path(os.environ["TILEGYM_PATH"])
    counts: dict[str, tuple[int, int, set[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = copied(tilegym, Path(folder))
        for name in NAMES:
            before = said_of(root, name)
            for kind, (end, edits) in KINDS.items():
                path = root / _OPS / "cutile_rs" / f"{name}{end}"
                text = path.read_text()
                for edit in edits(text):
                    path.write_text(edit.text)
                    new = {code for code, message in said_of(root, name) - before}
                    made, told, codes = counts.get(kind, (0, 0, set()))
                    counts[kind] = (made + 1, told + bool(new), codes | new)
                    if not new:
                        print(f"{name}: {kind}: {edit.what}", file=sys.stderr)
                path.write_text(text)
    print("| edit | made | told | by |\n| --- | --- | --- | --- |")
    for kind, (made, told, codes) in counts.items():
        print(f"| {kind} | {made} | {told} | {', '.join(sorted(codes))} |")
    print(
        f"| all | {sum(c[0] for c in counts.values())} | {sum(c[1] for c in counts.values())} | |"
    )


if __name__ == "__main__":
    main()
