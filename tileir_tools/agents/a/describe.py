"""Step 6 of agent A: everything that is known about the kernel, as an `Analysis`.

Place in the flow: sources, variants, records, reference IR -> **analysis.json**; imports the steps before it,
`agents.analysis`, `analyze`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...analyze import analyze
from ...analyze.facts import EntryFacts
from ...bench import Choice
from ...bench.node_ids import dtype_of
from ...errors import TileIRError
from ...model import Module
from ...read import load
from ...sources import Dtype
from ...sources import Undecided as Unknown
from ..analysis import (
    Analysis,
    Conversion,
    CorrectnessReference,
    EntrySymbolPolicy,
    MatrixProduct,
    PerfTest,
    Scalar,
    Selection,
    Tolerance,
    Undecided,
    VariantEntry,
    VariantIR,
)
from .benchmarks import TIMED_TEST, Benchmarks
from .conditions import Configs, dispatch_condition
from .references import Installed
from .request import Request
from .sources import BACKEND, Sources
from .structure import Found, Structure


class Material(NamedTuple):
    """What the steps before have found."""

    sources: Sources
    structure: Structure
    configs: Configs
    installed: tuple[Installed, ...]
    benchmarks: Benchmarks


def describe(request: Request, material: Material) -> Analysis:
    """The analysis of the request's kernel.

    Raises:
        TileIRError: a reference cannot be read again.
    """
    sources, structure = material.sources, material.structure
    operation = sources.operation
    variants = tuple(_variant(request, material, found) for found in structure.variants)
    tuned = _tuning(config for found in structure.variants for config in found.tuned)
    configs = tuned or _tuning(_in_source(sources))
    tolerances, doubts = _tolerances(material)
    perf_test, more_doubts = _perf_configs(material)
    return Analysis(
        kernel_name=request.workspace.kernel,
        source=operation.path,
        launch_path="autotune" if configs else "direct",
        pattern="single" if len(variants) == 1 else "multi_variant",
        ops_used=operation.ops,
        selection=_overall(material),
        test_perf_configs=(perf_test,),
        variants=variants,
        config_to_variant=structure.config_to_variant,
        correctness_reference=_reference(sources),
        correctness_tolerance=tolerances,
        tolerance_source=_tolerance_source(sources),
        entry_symbol_policy=_policy(request, material),
        tests=tuple(f"{sources.target}::{p.name}" for p in _tests(sources)),
        autotune_backends=(BACKEND,) if configs else (),
        autotune_key=tuple(dict.fromkeys(k for tune in operation.autotunes for k in tune.key)),
        autotune_configs=configs,
        undecided=(
            *_unknown(sources),
            *_never_launched(material),
            *doubts,
            *more_doubts,
            *_of_benchmarks(material),
        ),
    )


def _tests(sources: Sources) -> list[Any]:
    return [p for p in (sources.tests.op, sources.tests.perf) if p is not None]


# -- variants ---------------------------------------------------------------------------------------


def _variant(request: Request, material: Material, found: Found) -> VariantEntry:
    mine = [item for item in material.installed if item.variant == found.name]
    reference = next(item for item in mine if not item.dtype)
    return VariantEntry(
        variant_name=found.name,
        variant_type="single" if len(material.structure.variants) == 1 else "structural",
        kernel_function=found.function,
        dispatch_condition=dispatch_condition(
            found, material.structure, material.sources, material.configs
        ),
        reference_ir=reference.file,
        reference_backend=BACKEND,
        supplements={item.dtype: item.file for item in mine if item.dtype},
        constants=({name: _scalar(v) for name, v in reference.row["constants"].items()},),
        autotune_configs=_tuning(found.tuned),
        best_config=None if found.best is None else _fields(found.best),
        selection=_selection(material, found.name),
        ir=_ir(request, reference),
    )


def _tuning(configs: Iterable[object]) -> tuple[Mapping[str, Scalar], ...] | None:
    """Configurations of searches, each once."""
    found: list[Mapping[str, Scalar]] = []
    for config in configs:
        row = _fields(config)
        if row not in found:
            found.append(row)
    return tuple(found) or None


def _fields(config: object) -> Mapping[str, Scalar]:
    """The fields of a configuration; a plain value under the name `config`."""
    fields = config if isinstance(config, Mapping) else {"config": config}
    return {str(name): _scalar(value) for name, value in fields.items()}


def _in_source(sources: Sources) -> Iterator[object]:
    """Configurations that the source searches, for an operation whose tests made no search."""
    for tune in sources.operation.autotunes:
        if not isinstance(tune.configs, Unknown):
            yield from (
                config.value for config in tune.configs if isinstance(config.value, Mapping)
            )


def _scalar(value: object) -> Scalar:
    if value is None or isinstance(value, (bool, int, float, str)):
        return str(value) if isinstance(value, Dtype) else value
    return str(value)


def _ir(request: Request, item: Installed) -> VariantIR:
    module = load(request.workspace.path(item.file))
    arch = item.row["arch"]
    facts = analyze(module, arch, with_fingerprints=True).entries[0]
    shapes = [m.tile for m in facts.memory] + [_shape(t) for m in facts.mma for t in (m.lhs, m.rhs)]
    prints = facts.fingerprints
    return VariantIR(
        entry=facts.symbol,
        file=item.file,
        fingerprints=dict(prints._asdict()) if prints is not None else {},
        hints={arch: dict(hints) for arch, hints in facts.hints.items()},
        tile_shapes=tuple(dict.fromkeys(shapes)),
        mma=tuple(MatrixProduct(m.op, m.lhs, m.rhs, m.accumulator) for m in facts.mma),
        ftof=tuple(
            Conversion(c.source, c.result, c.rounding) for c in facts.conversions if c.op == "ftof"
        ),
        memory_ops=_counts(m.op for m in facts.memory),
        ops=facts.operations,
        evidence=_evidence(request, module, facts, arch) if request.evidence else None,
    )


def _shape(type: str) -> tuple[int, ...]:
    """`128x64xf16` as a shape."""
    parts = type.removeprefix("tile<").removesuffix(">").split("x")
    return tuple(int(part) for part in parts[:-1] if part.isdecimal())


def _counts(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def _evidence(
    request: Request, module: Module, facts: EntryFacts, arch: str | None
) -> Mapping[str, object] | None:
    """What the compiler made of the reference; None where it is not there or refuses."""
    from ...toolchain.compiling import compile_module

    if arch is None:
        return None
    try:
        found = compile_module(module, arch, cached=False)
    except TileIRError as error:
        request.say("analysis", f"{facts.symbol[:40]}: no evidence: {str(error).splitlines()[0]}")
        return None
    function = found.functions[0]
    return {
        "arch": arch,
        "registers": function.registers,
        "stack": function.stack,
        "shared": function.shared,
        "spills": function.spills,
        "instructions": dict(sorted(function.instructions.items())),
        "versions": dict(found.versions),
    }


# -- backends ---------------------------------------------------------------------------------------


def _selection(material: Material, variant: str) -> Selection | None:
    found = material.benchmarks.selection
    choices = found.choices if found is not None else ()
    choice = next((c for c in choices if c.variant == variant), None)
    return None if choice is None else _chosen(material, choice)


def _overall(material: Material) -> Selection:
    overall = material.benchmarks.overall
    if overall is None or not overall.choices:
        return Selection(BACKEND, {}, "not measured: no performance records")
    return _chosen(material, overall.choices[0])


def _chosen(material: Material, choice: Choice) -> Selection:
    method = f"{choice.method.upper()} geomean over {material.structure.test} configs"
    return Selection(choice.winner, choice.geomeans_ms, method)


def _of_benchmarks(material: Material) -> list[Undecided]:
    return [
        Undecided("benchmark", "baseline_perf_*.txt", note) for note in material.benchmarks.notes
    ]


# -- tests ------------------------------------------------------------------------------------------


def _perf_configs(material: Material) -> tuple[PerfTest, list[Undecided]]:
    """The configurations of the test that counts, as the source has them, else as they were launched."""
    test = material.structure.test
    parametrisation = material.sources.parametrisation(test)
    doubts = []
    path = material.sources.tests.path
    if test != TIMED_TEST:
        why = "is there" if material.sources.tests.perf is None else "that ran launched a kernel"
        doubts.append(
            Undecided("test_perf_configs", path, f"no {TIMED_TEST} {why}: they are of {test}")
        )
    labels = [label for label in material.structure.config_to_variant if label]
    rows: list[tuple[Scalar, ...]] = []
    names: tuple[str, ...] = ("id",)
    if parametrisation is not None and not parametrisation.undecided:
        configs = list({id(v): v for v in material.configs.values()}.values())
        names = tuple(dict.fromkeys(name for config in configs for name in config))
        rows = [tuple(_scalar(config.get(name)) for name in names) for config in configs]
    elif parametrisation is not None:
        why = parametrisation.undecided[0].why
        doubts.append(Undecided("test_perf_configs", f"{path}:{parametrisation.line}", why))
    if not rows:
        names, rows = ("id",), [(label,) for label in labels]
    unknown = [label for label in labels if label not in material.configs]
    if rows and names != ("id",) and unknown:
        why = f"{len(unknown)} launched configurations are none of the source's: {unknown[0]}"
        doubts.append(Undecided("config_to_variant", path, why))
    idle = [label for label in material.configs if label not in labels]
    doubts += _idle(material, idle)
    return PerfTest(test, names, tuple(rows)), doubts


def _idle(material: Material, labels: Sequence[str]) -> list[Undecided]:
    """Configurations that launched nothing: skipped, refused, or of a bounded run."""
    launched = {
        id(material.configs[x])
        for x in material.structure.config_to_variant
        if x in material.configs
    }
    idle: dict[int, str] = {}
    for label in labels:
        if id(material.configs[label]) not in launched:
            idle.setdefault(id(material.configs[label]), label)
    if not idle:
        return []
    shown = ", ".join(list(idle.values())[:3])
    why = f"{len(idle)} configurations launched no kernel (skipped, failed or left out): {shown}"
    return [Undecided("config_to_variant", material.sources.tests.path, why)]


def _reference(sources: Sources) -> CorrectnessReference:
    tests = sources.tests
    if not tests.references:
        return CorrectnessReference("", tests.path)
    found = tests.references[0]
    text = "\n\n".join([*(helper.text for helper in found.helpers), found.text])
    scope = f"::{tests.class_name}" if tests.class_name else ""
    return CorrectnessReference(text, f"{found.file}{scope}::{found.name} (line {found.line})")


def _tolerance_source(sources: Sources) -> str:
    tests = sources.tests
    lines = sorted({t.line for t in tests.tolerances if t.source == "stated"})
    places = [f"{tests.path}:{line}" for line in lines]
    places += sorted({t.source for t in tests.tolerances if t.source != "stated"})
    return ", ".join(places) or tests.path


def _tolerances(material: Material) -> tuple[dict[str, Tolerance], list[Undecided]]:
    """The tolerance of each number format; the strictest where tests have several."""
    found: dict[str, Tolerance] = {}
    doubts: list[Undecided] = []
    for t in material.sources.tests.tolerances:
        where = f"{material.sources.tests.path}:{t.line}"
        if not isinstance(t.atol, (int, float)) or not isinstance(t.rtol, (int, float)):
            unknown = t.atol if isinstance(t.atol, Unknown) else t.rtol
            why = unknown.why if isinstance(unknown, Unknown) else "the comparison's own default"
            doubts.append(Undecided(f"tolerance of {t.dtype or 'any dtype'}", where, why))
            continue
        for dtype in [dtype_of(t.dtype) or t.dtype] if t.dtype else _dtypes(material):
            one = Tolerance(float(t.atol), float(t.rtol))
            before = found.setdefault(dtype, one)
            if before != one:
                found[dtype] = Tolerance(min(before.atol, one.atol), min(before.rtol, one.rtol))
                doubts.append(
                    Undecided(
                        f"tolerance of {dtype}", where, "tests have several; the strictest is taken"
                    )
                )
    return found, list(dict.fromkeys(doubts))


def _dtypes(material: Material) -> list[str]:
    """Number formats that the tests' parameters name; f32 where none does."""
    values = (v for config in material.configs.values() for v in config.values())
    named = [dtype_of(str(v)) for v in values if isinstance(v, Dtype)]
    return list(dict.fromkeys(name for name in named if name)) or ["f32"]


# -- the rest ---------------------------------------------------------------------------------------


def _policy(request: Request, material: Material) -> EntrySymbolPolicy:
    structural = [item for item in material.installed if not item.dtype]
    return EntrySymbolPolicy(
        all(request.workspace.kernel in item.symbol for item in structural),
        any(item.proof is not None for item in structural),
        material.structure.variants[0].function,
    )


def _never_launched(material: Material) -> list[Undecided]:
    """Kernels that the source launches and no test did: a backward pass behind a comparison, mostly."""
    operation = material.sources.operation
    launched = {found.function for found in material.structure.variants}
    lines: dict[str, int] = {}
    for launch in operation.launches:
        for kernel in launch.kernels:
            if kernel not in launched:
                lines.setdefault(kernel, launch.line)
    return [
        Undecided(
            f"variants of {kernel}", f"{operation.path}:{line}", "no test that ran launches it"
        )
        for kernel, line in lines.items()
    ]


def _unknown(sources: Sources) -> list[Undecided]:
    found = [
        Undecided(item.text, f"{path}:{item.line}", item.why)
        for path, items in (
            (sources.operation.path, sources.operation.undecided),
            (sources.tests.path, sources.tests.undecided),
        )
        for item in items
    ]
    found += [
        Undecided("tests", sources.tests.path, f"the class {name} was not looked at")
        for name in sources.tests.other_classes
    ]
    return list(dict.fromkeys(found))
