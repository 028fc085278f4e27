"""What the contract of TileGym's agent A asks of `analysis.json` and its validator does not.

Place in the flow: part of `analysis`; imports `agents.analysis`. The types are those of
docs/schemas/tileir-analysis-1.json; tests hold both against each other.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator

from tileir_tools.agents.analysis import (
    ANALYSIS_SCHEMA,
    BACKENDS,
    DTYPE,
    GEOMEAN_SPELLINGS,
    SUPPLEMENTS,
    leaves,
)

_DTYPE_OF_VARIANT = re.compile(r"_(f16|f32|f64|bf16|tf32|fp8|float16|float32|bfloat16)$")
_SUPPLEMENT_KEY = re.compile(r"reference_ir_.+_supplement")

_Dict = dict[str, object]


def breaches(content: _Dict, kernel: str, folder: str) -> Iterator[str]:
    """What is wrong with an analysis beyond what the script says, one sentence each.

    Args:
        content: of `FOLDER/reference/analysis.json`.
        kernel: name of the kernel's folder.
        folder: that folder; IR is looked for below it.
    """
    yield from _types(content)
    yield from _numbers(content)
    if isinstance(content.get("kernel_name"), str) and content["kernel_name"] != kernel:
        yield f"kernel_name is {content['kernel_name']!r} in the folder {kernel!r}"
    yield from _spellings(content.get("reference_backend_selection"))
    yield from _dtypes(content.get("correctness_tolerance"))
    variants = [row for row in _list(content.get("kernel_variants")) if isinstance(row, dict)]
    called = (v.get("variant_name") for v in variants)
    names = Counter(name for name in called if isinstance(name, str))
    yield from (f"variant {name!r} stands twice" for name, count in names.items() if count > 1)
    yield from _files(content, folder)
    yield from _unowned(variants, folder)
    if variants:
        yield from _unknown(content, names, variants)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> _Dict:
    return value if isinstance(value, dict) else {}


# -- types ------------------------------------------------------------------------------------------


def _is_count(value: object) -> bool:
    return _is_number(value) and value % 1 == 0  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _each(value: object, kind: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(kind, value))


def _by_name(value: object, kind: Callable[[object], bool]) -> bool:
    return isinstance(value, dict) and all(map(kind, value.values()))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


_A_BACKEND = f"one of {', '.join(BACKENDS)}"

# What a message calls it -> whether a value is one.
_KINDS: dict[str, Callable[[object], bool]] = {
    "text": _is_text,
    "text or null": lambda v: v is None or isinstance(v, str),
    "true or false": lambda v: isinstance(v, bool),
    "a number, not negative": _is_number,
    "a list": lambda v: isinstance(v, list),
    "a list or an object": lambda v: isinstance(v, (list, dict)),
    "a list of texts": lambda v: _each(v, _is_text),
    "a list of objects": lambda v: _each(v, _is_dict),
    "a list of objects or null": lambda v: v is None or _each(v, _is_dict),
    "a list of lists of whole numbers": lambda v: _each(v, lambda row: _each(row, _is_count)),
    "an object": _is_dict,
    "an object or null": lambda v: v is None or isinstance(v, dict),
    "an object of objects": lambda v: _by_name(v, _is_dict),
    "an object of texts": lambda v: _by_name(v, _is_text),
    "an object of whole numbers": lambda v: _by_name(v, _is_count),
    _A_BACKEND: lambda v: v in BACKENDS,
    ANALYSIS_SCHEMA: lambda v: v == ANALYSIS_SCHEMA,
}

_TOP = {
    "schema": ANALYSIS_SCHEMA,
    "kernel_name": "text",
    "source": "text",
    "source_file": "text",
    "launch_path": "text",
    "pattern": "text",
    "ops_used": "a list of texts",
    "reference_backend": _A_BACKEND,
    "reference_backend_selection": "an object",
    "tests": "a list of texts",
    "test_perf_configs": "a list or an object",
    "kernel_variants": "a list of objects",
    "config_to_variant": "an object of texts",
    "correctness_reference": "an object",
    "correctness_tolerance": "an object",
    "autotune_backends": "a list of texts",
    "autotune_key": "a list of texts",
    "autotune_configs": "a list of objects or null",
    "entry_symbol_policy": "an object",
    "undecided": "a list of objects",
}
_VARIANT = {
    "variant_name": "text",
    "variant_type": "text",
    "kernel_function": "text",
    "dispatch_condition": "text",
    "reference_ir": "text",
    "supplements": "an object",
    "constants": "a list or an object",
    "reference_backend": _A_BACKEND,
    "autotune_configs": "a list of objects or null",
    "best_config": "an object",
    "ir": "an object",
}
_SELECTION = {
    "method": "text",
    "winner": _A_BACKEND,
    **{key: "a number, not negative" for pair in GEOMEAN_SPELLINGS for key in pair},
    "per_variant": "an object of objects",
}
_REFERENCE = {"function": "text", "source": "text"}
_TOLERANCE = {"atol": "a number, not negative", "rtol": "a number, not negative"}
_POLICY = {
    "reference_entry_contains_kernel_name": "true or false",
    "alias_used": "true or false",
    "real_kernel_function": "text",
}
_UNDECIDED = {"what": "text", "where": "text", "why": "text"}
_IR = {
    "entry": "text",
    "file": "text",
    "fingerprints": "an object of texts",
    "hints": "an object of objects",
    "tile_shapes": "a list of lists of whole numbers",
    "mma": "a list of objects",
    "ftof": "a list of objects",
    "memory_ops": "an object of whole numbers",
    "ops": "an object of whole numbers",
    "evidence": "an object or null",
}
_MMA = {"op": "text", "lhs": "text", "rhs": "text", "acc": "text"}
_FTOF = {"from": "text", "to": "text", "rounding": "text or null"}
# Records of which no field may be missing, beyond those that the script asks for.
_WHOLE = (_UNDECIDED, _MMA, _FTOF)


def _types(content: _Dict) -> Iterator[str]:
    for where, value, fields in _records(content):
        for name, kind in fields.items():
            if name in value and not _KINDS[kind](value[name]):
                yield f"{where}{name} must be {kind}"
            elif name not in value and fields in _WHOLE:
                yield f"{where}{name} is missing"


def _records(content: _Dict) -> Iterator[tuple[str, _Dict, dict[str, str]]]:
    """Every object whose fields have types: the path before them, itself, field -> kind."""
    yield "", content, _TOP
    selection = _dict(content.get("reference_backend_selection"))
    yield "reference_backend_selection.", selection, _SELECTION
    for name, chosen in _dict(selection.get("per_variant")).items():
        yield f"reference_backend_selection.per_variant[{name}].", _dict(chosen), _SELECTION
    configs = content.get("test_perf_configs")
    for name, row in _dict(configs).items():
        yield f"test_perf_configs[{name}].", _dict(row), {"shapes": "a list"}
    for where, row in _rows(content, "test_perf_configs"):
        yield where, row, {"param_list": "a list", "param_names": "a list of texts", "test": "text"}
    yield "correctness_reference.", _dict(content.get("correctness_reference")), _REFERENCE
    tolerance = _dict(content.get("correctness_tolerance"))
    yield "correctness_tolerance.", tolerance, {"source": "text", "notes": "text"}
    for dtype, entry in tolerance.items():
        yield f"correctness_tolerance[{dtype}].", _dict(entry), _TOLERANCE
    yield "entry_symbol_policy.", _dict(content.get("entry_symbol_policy")), _POLICY
    for where, row in _rows(content, "undecided"):
        yield where, row, _UNDECIDED
    for where, variant in _rows(content, "kernel_variants"):
        yield where, variant, _VARIANT
        ir = _dict(variant.get("ir"))
        yield f"{where}ir.", ir, _IR
        for field, fields in (("mma", _MMA), ("ftof", _FTOF)):
            for inner, row in _rows(ir, field):
                yield f"{where}ir.{inner}", row, fields


def _rows(owner: _Dict, field: str) -> Iterator[tuple[str, _Dict]]:
    """The objects of a list, each with the path of its fields."""
    for index, row in enumerate(_list(owner.get(field))):
        if isinstance(row, dict):
            yield f"{field}[{index}].", row


# -- values -----------------------------------------------------------------------------------------


def _numbers(content: _Dict) -> Iterator[str]:
    """The first number that overflows."""
    for place, value in leaves(content):
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{place.path()} is larger than any number that is read exactly"
            return


def _spellings(selection: object) -> Iterator[str]:
    """Where one number is written twice, it is one number."""
    found = _dict(selection)
    for pair in GEOMEAN_SPELLINGS:
        one, other = pair
        if all(_is_number(found.get(key)) for key in pair) and found[one] != found[other]:
            yield f"reference_backend_selection: {one} and {other} differ"


def _dtypes(tolerance: object) -> Iterator[str]:
    for key in _dict(tolerance):
        if key not in ("source", "notes") and not DTYPE.fullmatch(key):
            yield f"correctness_tolerance[{key}] is no dtype that is known"


# -- files ------------------------------------------------------------------------------------------


def _supplements(variant: _Dict) -> Iterator[tuple[str, object]]:
    """(field, value) of every supplement that a variant names."""
    for key, value in variant.items():
        if _SUPPLEMENT_KEY.fullmatch(key):
            yield key, value
    for dtype, value in _dict(variant.get("supplements")).items():
        yield f"supplements[{dtype}]", value


def _files(content: _Dict, folder: str) -> Iterator[str]:
    for where, variant in _rows(content, "kernel_variants"):
        reference = variant.get("reference_ir")
        if isinstance(reference, str):
            wrong = _misplaced(folder, reference, "")
            if not wrong and os.path.normpath(reference).startswith(SUPPLEMENTS):
                wrong = "is a supplement, of which no variant is made"
            yield from [f"{where}reference_ir {reference!r} {wrong}"] if wrong else []
        for field, path in _supplements(variant):
            if path is not None and not isinstance(path, str):
                yield f"{where}{field} must be text or null"
            elif path is not None:
                wrong = _misplaced(folder, path, SUPPLEMENTS)
                yield from [f"{where}{field} {path!r} {wrong}"] if wrong else []


def _misplaced(folder: str, path: str, below: str) -> str:
    """Why a path is not that of a file in a part of the kernel's folder; empty where it is."""
    if not path:
        return "is empty"
    if os.path.isabs(path):
        return "is absolute"
    inside = os.path.normpath(path)
    if not path.startswith(below) or not f"{inside}/".startswith(below):
        return f"is not below {below}"
    if inside.split(os.sep)[0] in ("..", "."):
        return "is outside of the kernel's folder"
    try:
        real = os.path.realpath(os.path.join(folder, inside))
        is_there = os.path.isfile(real)
    except ValueError:
        return "is no file name"
    if real != os.path.join(os.path.realpath(folder), inside):
        return "leads through a symbolic link"
    return "" if is_there else "is not there"


def _unowned(variants: list[_Dict], folder: str) -> Iterator[str]:
    """Structural IR that stands for no variant: agent B would write an entry for it."""
    named = [v.get("reference_ir") for v in variants]
    owned = {os.path.normpath(path) for path in named if isinstance(path, str)}
    try:
        names = sorted(os.listdir(os.path.join(folder, "reference")))
    except OSError:
        return
    for name in names:
        stem, extension = os.path.splitext(name)
        if not stem.startswith("reference_") or extension != ".mlir":
            continue
        if os.path.join("reference", name) not in owned:
            move = f": a dtype belongs in {SUPPLEMENTS}" if _DTYPE_OF_VARIANT.search(stem) else ""
            yield f"reference/{name} is the IR of no variant{move}"


# -- names of variants ------------------------------------------------------------------------------


def _unknown(content: _Dict, names: Counter[str], variants: list[_Dict]) -> Iterator[str]:
    proofs = {name for v in variants for _, path in _supplements(v) for name in _called(path)}
    for config, name in _dict(content.get("config_to_variant")).items():
        if isinstance(name, str) and name not in names:
            what = "a supplement" if name in proofs else "an unknown variant"
            yield f"config_to_variant[{config}] is {what}: {name!r}"
    selection = _dict(content.get("reference_backend_selection"))
    for name in _dict(selection.get("per_variant")):
        if name not in names:
            yield f"reference_backend_selection.per_variant names an unknown variant: {name!r}"


def _called(path: object) -> tuple[str, ...]:
    """What a supplement may be called where a variant is asked for."""
    if not isinstance(path, str):
        return ()
    name = os.path.basename(path)
    stem = os.path.splitext(name)[0]
    return path, name, stem, stem.removeprefix("reference_")
