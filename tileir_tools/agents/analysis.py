"""`analysis.json`: what is known about a kernel before it is ported.

Place in the flow: facts and records -> **analysis.json** -> the agents that follow; imports `errors`,
`source`, `report.plain`. The fields are those of TileGym's agent A (docs/analysis.md), with additions of our
own, described by docs/schemas/tileir-analysis-1.json. Where contracts spell a field in two ways, both are
written; of two values, the one that the stricter contract takes.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from ..errors import Diagnostic, InputError, ParseError, UsageError
from ..report.plain import document
from ..source import Source, Span

ANALYSIS_SCHEMA = "tileir-analysis/1"

# `triton` and `triton_tileir` are one backend under two names.
BACKENDS = ("cutile", "triton", "triton_tileir")

# Spellings of one number: agent A's contract, its validator.
GEOMEAN_SPELLINGS = (
    ("cutile_geomean_ms", "cutile_geo_mean_ms"),
    ("triton_tileir_geomean_ms", "triton_geo_mean_ms"),
)

# Where IR goes that only proves how another dtype is lowered.
SUPPLEMENTS = "reference/supplements/"

# Keys of correctness_tolerance: number formats as Tile IR, PyTorch and people spell them.
DTYPE = re.compile(
    r"(torch\.)?(bf16|bfloat16|tf32|half|float|double|bool|(f|fp|float)(16|32|64)"
    r"|(f|fp|float)8(_?[eE]\d[mM]\d(fn|FN)?(u|U)?(z|Z)?)?|(f|float)4(_?[eE]2[mM]1(fn|FN)?)?"
    r"|i1|(i|u?int)(8|16|32|64))"
)

# An analysis has some kilobytes; much more is a mistake.
MAX_BYTES = 64 << 20

_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.S)

_FOUND = {list: "a list", str: "text", bool: "true or false", type(None): "null"}

Scalar = str | int | float | bool | None


class Tolerance(NamedTuple):
    """How far a result may be from the reference: absolute, and relative to the reference."""

    atol: float
    rtol: float


class Selection(NamedTuple):
    """Which backend is the reference.

    Attributes:
        winner: one of BACKENDS.
        geomeans_ms: backend -> geometric mean of its medians, in ms; a backend that did not run is absent.
        method: how that was measured.
    """

    winner: str
    geomeans_ms: Mapping[str, float]
    method: str = "CUPTI geomean over test_perf configs"


class PerfTest(NamedTuple):
    """The configurations of one performance test.

    Attributes:
        test: name of the function.
        param_names: its parameters.
        param_list: one row of values for each configuration, in the order of `param_names`.
    """

    test: str
    param_names: tuple[str, ...]
    param_list: tuple[tuple[Scalar, ...], ...]


class CorrectnessReference(NamedTuple):
    """The function that results are compared with: its text, and where it stands (`file::Class::name`)."""

    function: str
    source: str


class EntrySymbolPolicy(NamedTuple):
    """Whether the entry's symbol holds the kernel's name, by itself or by a dump under an alias."""

    reference_entry_contains_kernel_name: bool
    alias_used: bool
    real_kernel_function: str


class MatrixProduct(NamedTuple):
    """One matrix product of a variant: operation, types of its operands and of its accumulator."""

    op: str
    lhs: str
    rhs: str
    acc: str


class Conversion(NamedTuple):
    """One `ftof`: element types before and after, and the rounding mode (None: its default)."""

    source: str
    result: str
    rounding: str | None


class VariantIR(NamedTuple):
    """What a variant's reference IR holds.

    Attributes:
        entry: symbol of the entry.
        file: the IR, below the kernel's folder.
        fingerprints: level -> hash.
        hints: arch -> hint -> value, as written.
        tile_shapes: shapes that are loaded, stored or multiplied, each once.
        mma, ftof: matrix products and conversions, in file order.
        memory_ops, ops: operation -> how often.
        evidence: what a compiler said of it, where one was asked.
    """

    entry: str
    file: str
    fingerprints: Mapping[str, str]
    hints: Mapping[str, Mapping[str, Scalar]]
    tile_shapes: tuple[tuple[int, ...], ...]
    mma: tuple[MatrixProduct, ...]
    ftof: tuple[Conversion, ...]
    memory_ops: Mapping[str, int]
    ops: Mapping[str, int]
    evidence: Mapping[str, object] | None = None


class VariantEntry(NamedTuple):
    """One structural variant: what agent B has to write an entry for.

    Attributes:
        variant_name, variant_type: what it is called; "single", or what tells it from the others.
        kernel_function: the `@ct.kernel` function.
        dispatch_condition: when it is launched.
        reference_ir: its IR, below the kernel's folder (`reference/reference_NAME.mlir`).
        reference_backend: one of BACKENDS.
        supplements: dtype ("f32") -> file below `reference/supplements/`, None where there is none.
        constants: name -> value of what is compiled in.
        autotune_configs: None where nothing is tuned.
        best_config: the one that most searches on a GPU found best; None where none was measured.
        selection: which backend is faster on its configurations; None where it was not measured.
        ir: what its IR holds; None where nobody looked.
    """

    variant_name: str
    variant_type: str
    kernel_function: str
    dispatch_condition: str
    reference_ir: str
    reference_backend: str
    supplements: Mapping[str, str | None] = {}
    constants: tuple[Mapping[str, Scalar], ...] = ()
    autotune_configs: tuple[Mapping[str, Scalar], ...] | None = None
    best_config: Mapping[str, Scalar] | None = None
    selection: Selection | None = None
    ir: VariantIR | None = None


class Undecided(NamedTuple):
    """A question that reading could not answer: what, where (`file:line`), why not."""

    what: str
    where: str
    why: str


class Analysis(NamedTuple):
    """Everything that `analysis.json` says.

    Attributes:
        kernel_name: name of the operation, and of its folder.
        source: file of the kernel below the checkout.
        launch_path: "direct" or "autotune".
        pattern: "single" or "multi_variant".
        ops_used: cuTile operations of the source.
        selection: the reference backend over all configurations.
        tests: node ids of what was read.
        test_perf_configs: the performance tests.
        variants: at least one.
        config_to_variant: configuration (`m=256,n=2048,dtype=float16`) -> variant_name.
        correctness_reference: what results are compared with.
        correctness_tolerance: dtype ("f16") -> tolerance, with where it stands in `tolerance_source`.
        entry_symbol_policy: how the entries are named.
        autotune_backends, autotune_key, autotune_configs: what is tuned; None where nothing is.
        undecided: what is left to people.
    """

    kernel_name: str
    source: str
    launch_path: str
    pattern: str
    ops_used: tuple[str, ...]
    selection: Selection
    test_perf_configs: tuple[PerfTest, ...]
    variants: tuple[VariantEntry, ...]
    config_to_variant: Mapping[str, str]
    correctness_reference: CorrectnessReference
    correctness_tolerance: Mapping[str, Tolerance]
    tolerance_source: str
    entry_symbol_policy: EntrySymbolPolicy
    tests: tuple[str, ...] = ()
    autotune_backends: tuple[str, ...] = ()
    autotune_key: tuple[str, ...] = ()
    autotune_configs: tuple[Mapping[str, Scalar], ...] | None = None
    undecided: tuple[Undecided, ...] = ()


# -- writing ----------------------------------------------------------------------------------------


def to_json(analysis: Analysis) -> str:
    """The text of `analysis.json`; equal analyses give equal texts.

    Raises:
        UsageError: an unknown backend or dtype, a supplement outside of SUPPLEMENTS, a number that is not
            finite, or text with half of a surrogate pair.
    """
    content = _content(analysis)
    for place, value in leaves(content):
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"analysis: {place.path()!a} is {value}")
        if isinstance(value, str) and has_half_pair(value):
            raise UsageError(f"analysis: half of a surrogate pair in {value!a}")
    return document(ANALYSIS_SCHEMA, content)


def _content(analysis: Analysis) -> dict[str, object]:
    per_variant = {
        v.variant_name: _selection(v.selection)
        for v in analysis.variants
        if v.selection is not None
    }
    return {
        "kernel_name": analysis.kernel_name,
        "source": analysis.source,
        "source_file": analysis.source,
        "launch_path": analysis.launch_path,
        "pattern": analysis.pattern,
        "ops_used": list(analysis.ops_used),
        "reference_backend": _backend(analysis.selection.winner),
        "reference_backend_selection": {
            **_selection(analysis.selection),
            "per_variant": _sorted(per_variant),
        },
        "tests": list(analysis.tests),
        "test_perf_configs": [
            {
                "test": t.test,
                "param_names": list(t.param_names),
                "param_list": [list(row) for row in t.param_list],
            }
            for t in analysis.test_perf_configs
        ],
        "kernel_variants": [_variant(v) for v in analysis.variants],
        "config_to_variant": _sorted(analysis.config_to_variant),
        "correctness_reference": analysis.correctness_reference._asdict(),
        "correctness_tolerance": {
            **_sorted({_dtype(d): t._asdict() for d, t in analysis.correctness_tolerance.items()}),
            "source": analysis.tolerance_source,
        },
        "autotune_backends": list(analysis.autotune_backends),
        "autotune_key": list(analysis.autotune_key),
        "autotune_configs": _configs(analysis.autotune_configs),
        "entry_symbol_policy": analysis.entry_symbol_policy._asdict(),
        "undecided": [u._asdict() for u in analysis.undecided],
    }


def _backend(name: str) -> str:
    """The name that every contract takes. Raises UsageError."""
    if name not in BACKENDS:
        raise UsageError(f"unknown reference backend '{name}'; known: {', '.join(BACKENDS)}")
    return "triton" if name == "triton_tileir" else name


def _dtype(name: str) -> str:
    """Raises UsageError."""
    if not DTYPE.fullmatch(name):
        raise UsageError(f"unknown dtype '{name}' of an analysis; expected f16, bf16, f32..")
    return name


def _supplement(path: str) -> str:
    """Raises UsageError."""
    if not path.startswith(SUPPLEMENTS):
        raise UsageError(f"supplement '{path}' is not below {SUPPLEMENTS}")
    return path


def _selection(selection: Selection) -> dict[str, object]:
    means = {_backend(name): mean for name, mean in selection.geomeans_ms.items()}
    if len(means) != len(selection.geomeans_ms):
        raise UsageError("geomeans_ms names one backend twice: triton is triton_tileir")
    found: dict[str, object] = {"method": selection.method}
    for backend, spellings in zip(("cutile", "triton"), GEOMEAN_SPELLINGS):
        if backend in means:
            found |= dict.fromkeys(spellings, means[backend])
    return {**found, "winner": _backend(selection.winner)}


def _variant(variant: VariantEntry) -> dict[str, object]:
    found: dict[str, object] = {
        "variant_name": variant.variant_name,
        "variant_type": variant.variant_type,
        "kernel_function": variant.kernel_function,
        "dispatch_condition": variant.dispatch_condition,
        "reference_ir": variant.reference_ir,
    }
    for dtype, path in sorted(variant.supplements.items()):
        if path is not None:
            found[f"reference_ir_{_dtype(dtype)}_supplement"] = _supplement(path)
    found["constants"] = [_sorted(c) for c in variant.constants]
    found["reference_backend"] = _backend(variant.reference_backend)
    found["autotune_configs"] = _configs(variant.autotune_configs)
    if variant.best_config is not None:
        found["best_config"] = _sorted(variant.best_config)
    if variant.ir is not None:
        found["ir"] = _ir(variant.ir)
    return found


def _ir(ir: VariantIR) -> dict[str, object]:
    return {
        "entry": ir.entry,
        "file": ir.file,
        "fingerprints": _sorted(ir.fingerprints),
        "hints": _sorted({arch: _sorted(hints) for arch, hints in ir.hints.items()}),
        "tile_shapes": [list(shape) for shape in ir.tile_shapes],
        "mma": [product._asdict() for product in ir.mma],
        "ftof": [{"from": c.source, "to": c.result, "rounding": c.rounding} for c in ir.ftof],
        "memory_ops": _sorted(ir.memory_ops),
        "ops": _sorted(ir.ops),
        "evidence": None if ir.evidence is None else _sorted(ir.evidence),
    }


def _configs(configs: tuple[Mapping[str, Scalar], ...] | None) -> list[dict[str, object]] | None:
    return None if configs is None else [_sorted(config) for config in configs]


def _sorted(mapping: Mapping[str, object]) -> dict[str, object]:
    return dict(sorted(mapping.items()))


# -- reading ----------------------------------------------------------------------------------------


class Document(NamedTuple):
    """What a JSON file holds; `repeated`: keys that an object has twice, of which the last one counts."""

    content: dict[str, object]
    repeated: tuple[str, ...]


def read_analysis(path: str) -> dict[str, object]:
    """The content of an `analysis.json`, in whatever shape it is: `validate_analysis` says whether it keeps
    the contract.

    Raises:
        InputError: it cannot be read, is larger than MAX_BYTES, or is no object.
        ParseError: it is not JSON (NaN and Infinity are none); with its line and column.
    """
    return read_document(path).content


def read_document(path: str) -> Document:
    """As `read_analysis`, with the keys that stand in it twice."""
    source = _source(path, _bytes(path))
    repeated: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        built = dict(found)
        if len(built) != len(found):
            counts = Counter(key for key, _ in found)
            repeated.extend(key for key, count in counts.items() if count > 1)
        return built

    try:
        content = json.loads(source.text, object_pairs_hook=pairs, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        _refuse(source, error.pos, f"not JSON: {error.msg}")
    except RecursionError:
        _refuse(source, 0, "nested too deeply")
    except ValueError as error:
        # A constant that is no JSON, or digits beyond what Python converts.
        constants = (m.start(1) for m in _STRING_OR_CONSTANT.finditer(source.text) if m[1])
        _refuse(source, next(constants, 0), f"not JSON: {error}")
    if not isinstance(content, dict):
        found = _FOUND.get(type(content), "a number")
        raise InputError(f"{path}: error: expected an object, found {found}")
    return Document(content, tuple(dict.fromkeys(repeated)))


def _bytes(path: str) -> bytes:
    """Raises InputError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: error: cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: error: larger than {MAX_BYTES >> 20} MiB")
    return data


def _source(path: str, data: bytes) -> Source:
    """Raises ParseError."""
    try:
        return Source(data.decode("utf-8"), os.fspath(path))
    except UnicodeDecodeError as error:
        shown = Source(data.decode("utf-8", "replace"), os.fspath(path))
        _refuse(shown, len(data[: error.start].decode("utf-8")), "not UTF-8")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _refuse(source: Source, offset: int, message: str) -> NoReturn:
    """Raises ParseError."""
    raise ParseError([Diagnostic("error", message, Span(source, offset, offset + 1))]) from None


class Place(NamedTuple):
    """Where a value stands in a JSON value: the place of the object or list, and the key or index."""

    above: Place | None
    step: str | int

    def path(self) -> str:
        """`kernel_variants[0].reference_ir`."""
        steps = []
        place: Place | None = self
        while place is not None:
            steps.append(f"[{place.step}]" if isinstance(place.step, int) else f".{place.step}")
            place = place.above
        return "".join(reversed(steps)).removeprefix(".")


def leaves(content: dict[str, object]) -> Iterator[tuple[Place, object]]:
    """Every key and every scalar of a JSON object, however deep, with its place, in document order."""
    # Places are linked and not spelled out: below a long key stand many values.
    waiting = [(Place(None, key), value) for key, value in reversed(content.items())]
    while waiting:
        place, value = waiting.pop()
        yield place, place.step
        if isinstance(value, dict):
            waiting += [(Place(place, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [(Place(place, i), value[i]) for i in reversed(range(len(value)))]
        else:
            yield place, value


def has_half_pair(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which no file can hold."""
    return any("\ud800" <= c <= "\udfff" for c in text)
