"""Do the parameters of cutile-rs entries fit how the reference touches memory? Takes the place of TileGym's
`validate_entry_pattern.sh KERNEL`.

Place in the flow: a thin consumer of bytes -> Module, and of Rust source; imports `read`, `outcome`.

An entry whose reference loads and stores through views takes `&Tensor<..>` parameters, one whose reference uses
pointers takes `*mut E`. The reference is read as Tile IR: names of operations in comments or strings do not
count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tileir_tools.errors import TileIRError
from tileir_tools.read import load_all

from .outcome import Line, Outcome

_VIEWS = frozenset({"load_view_tko", "store_view_tko", "atomic_red_view_tko"})
_POINTERS = frozenset({"load_ptr_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko"})
_DTYPE = re.compile(r"^reference_(.+)_(f16|f32|bf16|fp8|tf32|float16|float32)$")
_ENTRY = re.compile(r"#\[cutile::entry\b")
_FUNCTION = re.compile(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?fn\s+(\w+)")

_ADVICE = {
    "tensor": (
        "take `&Tensor<E, {[-1, ..]}>` instead of `*mut E`: the macro makes the view",
        "outputs too are `&Tensor`, written through `partition_full_mut`, never `&mut Tensor`",
    ),
    "ptr": (
        "take `*mut E` instead of `&Tensor`",
        "address with iota, mask and offset, and use load_ptr_tko and store_ptr_tko",
    ),
}


class _Reference(NamedTuple):
    """A structural reference: file name, variant ("" where there is one only), what it asks for
    ("tensor", "ptr", or None where it says neither), how many accesses of each family."""

    name: str
    variant: str
    wanted: str | None
    views: int
    pointers: int


def validate_entry_pattern(kernel: str, root: str) -> Outcome:
    """Whether `ROOT/KERNEL/kernel.rs` fits `ROOT/KERNEL/reference/reference*.mlir`.

    Args:
        kernel: name of the kernel's folder.
        root: the folder of all kernels (`CUTILE_KERNEL_OUT_ROOT`).
    """
    source = Path(root) / kernel / "kernel.rs"
    folder = Path(root) / kernel / "reference"
    lines: list[Line] = []
    try:
        entries = dict(_entries(source.read_text(encoding="utf-8", errors="replace")))
    except OSError as error:
        return _failed(source, f"kernel.rs not found at {source}: {error.strerror}")
    if not folder.is_dir():
        return _failed(source, f"reference dir not found at {folder}")
    if not entries:
        return _failed(source, f"no #[cutile::entry] function found in {source}")
    paths, supplements = _structural(folder)
    if not paths:
        return _failed(source, f"no structural reference IR (.mlir) found in {folder}")
    try:
        references = [_reference(path, len(paths) > 1) for path in paths]
    except TileIRError as error:
        return _failed(source, str(error))
    for reference in references:
        lines += _judge(reference, entries)
    lines += [Line("WARN", f"{p.name} is a dtype supplement: not matched") for p in supplements]
    if not any(line.level == "FAIL" for line in lines):
        shown = tuple(f"entry `{name}` -> {kind}" for name, kind in entries.items())
        lines.append(Line("PASS", "entry pattern matches structural reference IR", shown))
    return Outcome("entry_pattern", str(source), tuple(lines))


def _failed(path: Path, message: str) -> Outcome:
    return Outcome("entry_pattern", str(path), (Line("FAIL", message),))


# -- references -------------------------------------------------------------------------------------


def _structural(folder: Path) -> tuple[list[Path], list[Path]]:
    """The references that ask for an entry, and the supplements, which do not."""
    variants = sorted(folder.glob("reference_*.mlir"))
    stems = {path.stem for path in variants}
    declared = _declared_supplements(folder / "analysis.json")
    supplements = [p for p in variants if p.name in declared or _is_dtype_of(p.stem, stems)]
    structural = [p for p in variants if p not in supplements]
    single = folder / "reference.mlir"
    if not structural and single.is_file():
        structural = [single]
    return structural, supplements


def _is_dtype_of(stem: str, stems: set[str]) -> bool:
    match = _DTYPE.match(stem)
    return match is not None and f"reference_{match[1]}" in stems


def _declared_supplements(path: Path) -> set[str]:
    """Names of .mlir files that analysis.json lists under a key that says supplement."""
    try:
        content = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return set()
    return {Path(value).name for value in _strings(content, False) if value.endswith(".mlir")}


def _strings(value: object, inside: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, inside or "supplement" in str(key).lower())
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, inside)
    elif inside and isinstance(value, str):
        yield value


def _reference(path: Path, several: bool) -> _Reference:
    """Raises TileIRError."""
    names = [op.name for module in load_all(path) for op in module.walk()]
    views = sum(name in _VIEWS for name in names)
    pointers = sum(name in _POINTERS for name in names)
    wanted = None if bool(views) == bool(pointers) else "tensor" if views else "ptr"
    variant = path.stem.removeprefix("reference_").lower() if several else ""
    return _Reference(path.name, variant, wanted, views, pointers)


# -- Rust -------------------------------------------------------------------------------------------


def _entries(source: str) -> Iterator[tuple[str, str]]:
    """(name, kind of parameters: "tensor", "ptr", "mixed" or "unknown") of every entry."""
    source = _without_comments(source)
    for found in _ENTRY.finditer(source):
        behind = _closing(source, found.start() + 1)
        function = _FUNCTION.match(source, behind)
        if function is None:
            continue
        start = source.find("(", _generics_end(source, function.end()))
        if start < 0:
            continue
        yield function[1], _kind(source[start : _closing(source, start)])


def _without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)


_PAIRS = {"[": "]", "(": ")", "<": ">"}


def _closing(source: str, start: int) -> int:
    """The index behind the bracket that closes the one at `start`; the end where none does."""
    opening, closing = source[start], _PAIRS[source[start]]
    depth = 0
    for index in range(start, len(source)):
        if source[index] == opening:
            depth += 1
        elif source[index] == closing and not (closing == ">" and source[index - 1] in "-="):
            depth -= 1
            if depth == 0:
                return index + 1
    return len(source)


def _generics_end(source: str, index: int) -> int:
    while index < len(source) and source[index].isspace():
        index += 1
    return _closing(source, index) if source[index : index + 1] == "<" else index


def _kind(parameters: str) -> str:
    tensor = re.search(r"&\s*(?:'\w+\s+)?Tensor\s*<", parameters) is not None
    pointer = re.search(r"\*\s*mut\s+E\b", parameters) is not None
    if tensor and pointer:
        return "mixed"
    return "tensor" if tensor else "ptr" if pointer else "unknown"


# -- judging ----------------------------------------------------------------------------------------


def _judge(reference: _Reference, entries: dict[str, str]) -> list[Line]:
    counts = f"views {reference.views}, pointers {reference.pointers}"
    if reference.wanted is None:
        message = f"{reference.name} asks for no pattern ({counts}): not checked"
        return [Line("WARN", message)]
    matched = [name for name in entries if _belongs(name.lower(), reference.variant)]
    if not matched:
        return [Line("FAIL", f"no entry matches variant {reference.variant} ({reference.name})")]
    return [
        Line(
            "FAIL",
            f"entry `{name}` takes {entries[name]} parameters, {reference.name} asks for "
            f"{reference.wanted} ({counts})",
            _ADVICE[reference.wanted],
        )
        for name in matched
        if entries[name] != reference.wanted
    ]


def _belongs(entry: str, variant: str) -> bool:
    """Whether an entry's name says the variant: whole, by its initials, or by all of its words."""
    if not variant or variant in entry:
        return True
    words = variant.split("_")
    initials = "".join(word[:1] for word in words)
    if len(words) > 1 and f"_{initials}_" in f"_{entry}_":
        return True
    return all(word in entry for word in words)
