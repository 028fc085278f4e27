"""Step 8 of agent A: `reports/agent_a.md` for readers, `reports/agent_logs/agent_a.md` for those who audit.

Place in the flow: everything -> **reports**; imports the steps before it, `report.markdown`,
`toolchain.find`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from ...bench import summarise
from ...errors import TileIRError
from ...report.markdown import bullets, code_block, table
from ...toolchain.find import all_tools
from ..analysis import Analysis
from ..gate import Check
from .benchmarks import ENVIRONMENT, TIMED_TEST, Benchmarks, benchmark_command
from .captures import Dumps
from .describe import Material
from .request import Request
from .sources import BACKEND

REPORT = "reports/agent_a.md"
AUDIT = "reports/agent_logs/agent_a.md"


def report(
    request: Request,
    dumps: Dumps,
    material: Material,
    analysis: Analysis,
    checks: Sequence[Check],
    verdict: str,
    why: Sequence[str],
) -> str:
    """The text of `reports/agent_a.md`."""
    sources, structure = material.sources, material.structure
    test = sources.parametrisation(structure.test)
    parts = [
        f"# Agent A: {request.workspace.kernel}",
        f"Verdict: {verdict}" + "".join(f"\n- {reason}" for reason in why),
        "## Sources",
        bullets(
            [
                sources.operation.path,
                *([sources.triton] if sources.triton else []),
                sources.tests.path,
                f"test class: {sources.tests.class_name}",
                f"configurations: {structure.test}, line {test.line if test else '?'}: "
                f"{len(analysis.test_perf_configs[0].param_list)} in the source, "
                f"{len(structure.config_to_variant)} launched",
            ]
        ),
        "## Benchmarks",
        _benchmarks(material.benchmarks),
        "## Structural variants",
        _variants(analysis, material),
        "### What tells them apart",
        bullets(structure.separations),
        "## Supplements",
        bullets(
            f"{item.file}: {item.variant}, {item.dtype}"
            for item in material.installed
            if item.dtype
        ),
        "## Dumps",
        _dumps(dumps),
        "## Entry symbols",
        bullets(_symbols(material)),
        "## analysis.json",
        bullets(_summary(analysis)),
        "## Not decided",
        bullets(f"{u.what} ({u.where}): {u.why}" for u in analysis.undecided),
        "## Validators",
        code_block("\n".join(check.block() for check in checks)),
    ]
    return "\n\n".join(parts) + "\n"


def audit(request: Request, dumps: Dumps, material: Material, checks: Sequence[Check]) -> str:
    """The text of `reports/agent_logs/agent_a.md`: tools, environment, commands, files, outputs."""
    workspace = request.workspace
    tools = [f"{t.name}: {t.path or 'not found'} {t.version or ''}".rstrip() for t in all_tools()]
    files = [
        f"{name}: {(workspace.read(name) or '').count(chr(10))} lines"
        for pattern in ("*.txt", "reference/*", "reference/supplements/*")
        for name in workspace.names(pattern)
    ]
    commands = [f"{log.backend}: {log.origin}" for log in material.benchmarks.logs] or [
        "to measure: "
        + shlex.join(
            benchmark_command(request, material.sources, material.structure.test, BACKEND)[1:]
        )
    ]
    script = dumps.manifest["script"]
    parts = [
        f"# Commands of agent A: {workspace.kernel}",
        "## Tools",
        bullets([*tools, f"GPU: {gpu_name() or 'none'}"]),
        "## Environment of benchmarks",
        bullets(f"{name}={value}" for name, value in ENVIRONMENT.items()),
        "## Commands",
        bullets([*commands, f"dump: pytest {shlex.join(script['arguments'])}"]),
        "## Skips and bounds",
        bullets(
            [
                *([f"-k {request.select}"] if request.select else []),
                *material.benchmarks.notes,
                *(
                    f"not compiled: {f['kernel']} ({f['test']}): {f['error']}"
                    for f in dumps.manifest["failures"]
                ),
            ]
        ),
        "## Files",
        bullets(files),
        "## Validators",
        code_block("\n".join(check.block() for check in checks)),
    ]
    return "\n\n".join(parts) + "\n"


def gpu_name() -> str | None:
    """What the driver's own tool says; None without one."""
    from ...toolchain.run import run_tool

    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = run_tool(query, timeout=20.0)
    except TileIRError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.code == 0 else None


# -- parts ------------------------------------------------------------------------------------------


def _benchmarks(benchmarks: Benchmarks) -> str:
    parts = [bullets([f"{log.backend}: {log.origin} -> {log.file}" for log in benchmarks.logs])]
    rows = []
    for log in benchmarks.logs:
        for g in summarise(log.records).groups:
            spread = "" if g.rel_std is None else f"{100 * g.rel_std:.1f} %"
            n = sum(m.nrep or 0 for m in log.records if m.direction == g.direction)
            rows.append(
                [
                    log.backend,
                    g.direction or "",
                    g.method,
                    str(g.configs),
                    f"{g.geomean_ms:.6g}",
                    str(n),
                    spread,
                ]
            )
    if rows:
        head = [
            "backend",
            "direction",
            "method",
            "configs",
            "geomean ms",
            "n",
            "relative deviation",
        ]
        parts.append(table(head, rows))
    if benchmarks.selection is not None:
        parts.append(
            table(
                ["variant", "winner", "configs", "geomeans ms"],
                [
                    [
                        c.variant,
                        c.winner,
                        str(c.configs),
                        ", ".join(f"{b} {ms:.6g}" for b, ms in c.geomeans_ms.items()),
                    ]
                    for c in benchmarks.selection.choices
                ],
            )
        )
    parts.append(bullets(benchmarks.notes))
    return "\n\n".join(parts)


def _variants(analysis: Analysis, material: Material) -> str:
    rows = []
    for entry, found in zip(analysis.variants, material.structure.variants):
        rows.append(
            [
                entry.variant_name,
                entry.kernel_function,
                entry.dispatch_condition,
                entry.reference_ir,
                str(len(found.labels)),
                str(len(found.rows)),
                str(len(found.tuned) or ""),
            ]
        )
    head = ["variant", "kernel", "dispatch", "reference", "configs", "dumps", "tuned"]
    return table(head, rows)


def _dumps(dumps: Dumps) -> str:
    arguments = shlex.join(dumps.manifest["script"]["arguments"])
    lines = [f"pytest {arguments}", f"{len(dumps.rows)} kernels, {dumps.folder}/manifest.json"]
    lines += [f"{row['bytecode']} -> {row['canonical']}" for row in dumps.rows]
    return bullets(lines)


def _symbols(material: Material) -> Iterable[str]:
    for item in material.installed:
        if item.proof is None:
            yield f"{item.file}: @{item.symbol}"
        else:
            yield (
                f"{item.file}: @{item.symbol} is @{item.proof.original} under an alias: bodies of "
                f"{item.proof.operations} operations {item.proof.body}, mangling "
                f"{'equal' if item.proof.mangling else 'different'}, entry hints equal; "
                f"the original is {item.original}"
            )


def _summary(analysis: Analysis) -> Iterable[str]:
    yield f"launch_path {analysis.launch_path}, pattern {analysis.pattern}"
    yield f"reference backend {analysis.selection.winner}: {analysis.selection.method}"
    yield f"{len(analysis.variants)} variants, {len(analysis.config_to_variant)} configurations mapped"
    yield f"tolerances: {', '.join(analysis.correctness_tolerance) or 'none'}"
    yield f"correctness reference: {analysis.correctness_reference.source}"
    if analysis.autotune_configs:
        yield f"{len(analysis.autotune_configs)} configurations are tuned over"
    if analysis.test_perf_configs[0].test != TIMED_TEST:
        yield f"configurations are those of {analysis.test_perf_configs[0].test}"
