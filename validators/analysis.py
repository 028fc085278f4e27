"""Does a kernel's `analysis.json` say what it must? Takes the place of TileGym's `validate_analysis.sh KERNEL`.

Place in the flow: a thin consumer of `analysis.json`; imports `agents.analysis`, `analysis_shape`, `errors`,
`outcome`.

What the script refuses is refused, with its words. What makes it stop with a traceback is refused by name.
What it takes although the contract of agent A does not (`analysis_shape`) is a warning, or, where asked for,
an error.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator

from tileir_tools.agents.analysis import (
    BACKENDS,
    GEOMEAN_SPELLINGS,
    has_half_pair,
    read_document,
)
from tileir_tools.errors import InputError, ParseError

from .analysis_shape import breaches
from .outcome import Line, Outcome, kernel_folder, printable

_REQUIRED = ("kernel_name", "source", "launch_path", "pattern", "ops_used", "test_perf_configs")


def validate_analysis(kernel: str, root: str, strict: bool = False) -> Outcome:
    """Whether `ROOT/KERNEL/reference/analysis.json` has every field that the pipeline reads.

    Args:
        kernel: name of the kernel's folder.
        root: the folder of all kernels (`CUTILE_KERNEL_OUT_ROOT`).
        strict: make what only the contract of agent A refuses an error instead of a warning.

    Raises:
        UsageError: `kernel` is no plain name.
    """
    folder = kernel_folder(root, kernel)
    path = os.path.join(folder, "reference", "analysis.json")
    if not os.path.isfile(path):
        return _failed(path, f"{path} not found")
    if os.path.getsize(path) == 0:
        return _failed(path, f"{path} is empty")
    try:
        content, repeated = read_document(path)
        summary = _summary(content)
        lines = list(_contract(content, folder))
        if any(map(has_half_pair, (*summary, *(line.text for line in lines)))):
            # The script stops where it prints one.
            lines.append(_error("a name holds half of a surrogate pair"))
        level = "ERROR" if strict else "WARN"
        lines += [Line(level, f'key "{key}" stands twice in an object') for key in repeated]
        lines += [Line(level, text) for text in breaches(content, kernel, folder)]
    except ParseError as error:
        return _failed(path, f"{path} is not valid JSON", str(error))
    except InputError as error:
        return _failed(path, str(error))
    return _outcome(path, summary, lines)


def _failed(path: str, message: str, detail: str = "") -> Outcome:
    line = Line("FAIL", printable(message), tuple(map(printable, detail.splitlines())))
    return Outcome("analysis", path, (line,), counted=False)


def _outcome(path: str, summary: tuple[str, ...], lines: list[Line]) -> Outcome:
    lines.sort(key=lambda line: line.level != "ERROR")
    errors = sum(line.level == "ERROR" for line in lines)
    counts = f"errors: {errors}, warnings: {len(lines) - errors}"
    if errors:
        lines.append(Line("FAIL", "analysis.json validation failed. Re-run Agent A."))
    else:
        lines.append(Line("PASS", "analysis.json has all required fields"))
    shown = tuple(line._replace(text=printable(line.text)) for line in lines)
    heading = "\n".join(map(printable, (*summary, counts)))
    return Outcome("analysis", path, shown, heading, counted=False)


def _said(value: object) -> str:
    """A value of a file in a message: text as it is, anything else cut short."""
    return value if isinstance(value, str) else reprlib.repr(value)


def _error(text: str) -> Line:
    return Line("ERROR", text)


def _warn(text: str) -> Line:
    return Line("WARN", text)


def _summary(content: dict[str, object]) -> tuple[str, ...]:
    reference = content.get("correctness_reference")
    function = reference.get("function", "MISSING") if isinstance(reference, dict) else "MISSING"
    variants = _dicts(content.get("kernel_variants"))
    backends = content.get("autotune_backends", [])
    of_variants = sum(len(_rows(v.get("autotune_configs"))) for v in variants)
    return (
        f"kernel: {_said(content.get('kernel_name', 'MISSING'))}",
        f"shapes: {_shapes(content.get('test_perf_configs'))[0]}",
        f"variants: {len(variants)} {[_said(v.get('variant_name', '?')) for v in variants]}",
        f"reference: {_said(function)[:60]}",
        f"tolerance: {list(_dtypes(content.get('correctness_tolerance')))}",
        f"autotune: {'yes' if _is_tuned(content) else 'no'} backends={_said(backends)} "
        f"top_configs={len(_rows(content.get('autotune_configs')))} variant_configs={of_variants}",
    )


def _rows(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dicts(value: object) -> list[dict[str, object]]:
    return [row for row in _rows(value) if isinstance(row, dict)]


# -- the script's contract --------------------------------------------------------------------------


def _contract(content: dict[str, object], folder: str) -> Iterator[Line]:
    """Errors and warnings in the order in which the script finds them."""
    for field in _REQUIRED:
        if field not in content:
            yield _error(f"Missing required field: {field}")
    yield from _backend(content, "", " (defaults to cutile for backward compat)")
    yield from _selection(content.get("reference_backend_selection"))
    yield from _shapes(content.get("test_perf_configs"))[1]
    yield from _variants(content, folder)
    yield from _reference(content.get("correctness_reference"))
    yield from _tolerance(content.get("correctness_tolerance"))
    yield from _autotune(content)


def _backend(owner: dict[str, object], where: str, default: str = "") -> Iterator[Line]:
    backend = owner.get("reference_backend")
    if backend is None:
        missing = f"{where} missing" if where else "Missing"
        wanted = f'should be "cutile" or "triton"{default}'
        yield _warn(f"{missing} reference_backend — {wanted}")
    elif backend not in BACKENDS:
        field = f"{where} reference_backend".lstrip()
        yield _error(f'{field} must be "cutile" or "triton", got "{_said(backend)}"')


def _selection(selection: object) -> Iterator[Line]:
    if selection is None:
        yield _warn(
            "Missing reference_backend_selection — Agent A should compare cutile vs triton perf "
            "and pick the winner"
        )
    if not isinstance(selection, dict):
        return
    if "winner" not in selection:
        yield _warn('reference_backend_selection missing "winner" field')
    if not any(key in selection for key in (*GEOMEAN_SPELLINGS[0], "per_variant")):
        needed = "need cutile_geo_mean_ms or per_variant"
        yield _warn(f"reference_backend_selection has no perf data ({needed})")


def _shapes(configs: object) -> tuple[int, list[Line]]:
    """How many configurations are listed, and what is wrong with the lists."""
    rows: Iterable[tuple[object, object]] = ()
    field = "param_list"
    if isinstance(configs, dict):
        rows, field = configs.items(), "shapes"
    elif isinstance(configs, list):
        rows = enumerate(configs)
    count = 0
    lines = []
    for key, row in rows:
        shapes = row.get(field, []) if isinstance(row, dict) else None
        # Text and dicts have a length too: `analysis_shape` asks for a list.
        if isinstance(shapes, (list, dict, str)):
            count += len(shapes)
        else:
            what = f"{field} must be a list" if isinstance(row, dict) else "must be a dict"
            lines.append(_error(f"test_perf_configs[{key}] {what}"))
    if count == 0:
        lines.append(_error("test_perf_configs has 0 shapes"))
    return count, lines


def _variants(content: dict[str, object], folder: str) -> Iterator[Line]:
    variants = content.get("kernel_variants")
    if variants is None:
        return
    if not isinstance(variants, list):
        yield _error("kernel_variants must be a list of variant dicts")
        return
    if not variants:
        yield _warn("kernel_variants is empty — should have at least 1 entry")
        return
    for index, variant in enumerate(variants):
        if isinstance(variant, dict):
            yield from _variant(f"kernel_variants[{index}]", variant, index, folder)
        else:
            yield _error(f"kernel_variants[{index}] must be a dict")
    yield from _selected(content.get("reference_backend_selection"), variants)
    mapping = content.get("config_to_variant")
    if mapping is None:
        yield _warn(
            "kernel_variants exist but config_to_variant is missing — Agent E needs this to "
            "compare variant-to-variant"
        )
    elif not isinstance(mapping, dict) or not mapping:
        yield _warn("config_to_variant is empty — should map each test_perf config to its variant")


def _variant(place: str, variant: dict[str, object], index: int, folder: str) -> Iterator[Line]:
    where = f"{place} ({_said(variant.get('variant_name', f'variant_{index}'))})"
    for field in ("variant_name", "kernel_function", "reference_ir"):
        if field not in variant:
            yield _error(f"{where} missing {field}")
    if "dispatch_condition" not in variant:
        yield _warn(f"{where} missing dispatch_condition")
    yield from _backend(variant, where)
    reference = variant.get("reference_ir")
    if not reference:
        return
    if not isinstance(reference, str):
        yield _error(f"{where} reference_ir must be text, got {_said(reference)}")
        return
    path = os.path.normpath(os.path.join(folder, reference))
    if not os.path.isfile(path):
        yield _error(f"{where} reference_ir file not found: {reference} (resolved: {path})")


def _selected(selection: object, variants: list[object]) -> Iterator[Line]:
    """Whether each variant has a comparison of its own."""
    if not isinstance(selection, dict) or not selection:
        return
    chosen = selection.get("per_variant")
    if chosen is None:
        yield _warn(
            "reference_backend_selection missing per_variant — should have per-variant perf comparison"
        )
    if not isinstance(chosen, dict):
        return
    for index, variant in enumerate(variants):
        name = variant.get("variant_name", f"variant_{index}") if isinstance(variant, dict) else ""
        if isinstance(name, (list, dict)):
            yield _error(f"kernel_variants[{index}] variant_name must be text")
        elif isinstance(variant, dict) and name not in chosen:
            yield _warn(f'reference_backend_selection.per_variant missing entry for "{name}"')


def _reference(reference: object) -> Iterator[Line]:
    if reference is None:
        yield _error(
            "Missing correctness_reference — extract def reference(...) from tilegym test class"
        )
    elif not isinstance(reference, dict):
        yield _error("correctness_reference must be a dict with function and source keys")
    else:
        function = reference.get("function")
        if not function:
            yield _error("correctness_reference.function is empty")
        elif not isinstance(function, (str, list)):
            yield _error("correctness_reference.function must be text")
        if "source" not in reference:
            yield _warn("correctness_reference missing source (file:line)")


def _dtypes(tolerance: object) -> dict[str, object]:
    entries = tolerance.items() if isinstance(tolerance, dict) else ()
    return {key: value for key, value in entries if key not in ("source", "notes")}


def _tolerance(tolerance: object) -> Iterator[Line]:
    if tolerance is None:
        yield _error("Missing correctness_tolerance — extract atol/rtol from tilegym test_op")
        return
    if not isinstance(tolerance, dict):
        yield _error("correctness_tolerance must be a dict with dtype keys")
        return
    entries = _dtypes(tolerance)
    if not entries:
        yield _error("correctness_tolerance has no dtype entries (need f32/f16/bf16)")
    for dtype, entry in entries.items():
        if not isinstance(entry, dict):
            yield _error(f"correctness_tolerance[{dtype}] must have atol and rtol")
            continue
        for field in ("atol", "rtol"):
            if field not in entry:
                yield _error(f"correctness_tolerance[{dtype}] missing {field}")
    if "source" not in tolerance:
        yield _warn("correctness_tolerance missing source (file:line)")


# -- autotuning -------------------------------------------------------------------------------------


def _is_tuned(content: dict[str, object]) -> bool:
    return content.get("launch_path") == "autotune" or bool(content.get("autotune_backends"))


def _autotune(content: dict[str, object]) -> Iterator[Line]:
    backends = content.get("autotune_backends", [])
    by_path = content.get("launch_path") == "autotune"
    if not by_path and not isinstance(backends, (list, dict, str)):
        yield _error(f"autotune_backends must be a list, got {_said(backends)}")
        return
    if not _is_tuned(content):
        return
    owners = [("", content.get("autotune_configs"))]
    for index, variant in enumerate(_rows(content.get("kernel_variants"))):
        if isinstance(variant, dict):
            owners.append((f"kernel_variants[{index}].", variant.get("autotune_configs")))
    for where, configs in owners:
        for index, config in enumerate(_rows(configs)):
            yield from _config(f"{where}autotune_configs[{index}]", config, shown=not where)
    if not any(_rows(configs) for _, configs in owners):
        yield _error(
            "autotune detected (launch_path=autotune or autotune_backends set) but no autotune_configs "
            "found. Must be in top-level autotune_configs OR kernel_variants[].autotune_configs."
        )
    if not backends or not isinstance(backends, list):
        yield _warn(
            "autotune_backends missing — should list which backends use autotune "
            '(e.g. ["cutile", "triton"])'
        )
    if not content.get("autotune_key"):
        yield _warn(
            'autotune_key missing — should list cache key dimensions (e.g. ["M", "N", "K"])'
        )


def _config(where: str, config: object, shown: bool) -> Iterator[Line]:
    if not isinstance(config, dict):
        yield _error(f"{where} must be a dict")
    elif not any(key.startswith(("BLOCK_", "TILE_")) for key in config):
        keys = f": {list(config)}" if shown else ""
        yield _warn(f"{where} has no BLOCK_*/TILE_* fields{keys}")
