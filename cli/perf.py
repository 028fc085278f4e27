"""`tileir perf FILE.. [--reference FILE]`: performance records, geometric means, ratios, launches.

Place in the flow: a thin consumer of `bench` and `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tileir_tools.errors import UsageError

from .completing import files
from .running import examples, output_option, write_output

if TYPE_CHECKING:
    from tileir_tools.bench import Comparison, LaunchComparison, Measurement


@click.command(
    name="perf",
    epilog=examples("""
        tileir perf gen.log
            Records and their geometric means.
        tileir perf gen.log --reference ref.log
            How much slower, configuration by configuration.
        tileir perf gen.log --by dtype --format json
            One mean for each number format, for other programs.
    """),
)
@click.argument("files", shell_complete=files, nargs=-1, required=True)
@click.option(
    "--reference",
    metavar="FILE",
    shell_complete=files,
    help="Records to compare with; may be one of FILES.",
)
@click.option("--backend", metavar="NAME", help="Only this backend of FILES.")
@click.option("--reference-backend", metavar="NAME", help="Only this backend of the reference.")
@click.option(
    "--direction", type=click.Choice(["forward", "backward"]), help="Only this direction."
)
@click.option(
    "--by",
    type=click.Choice(["all", "dtype", "shape"]),
    default="all",
    show_default=True,
    help="One geometric mean for each of these.",
)
@click.option("--method", metavar="NAME", help="How records were measured that do not say so.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@output_option
@click.help_option("-h", "--help")
def command(
    files: tuple[str, ...],
    reference: str | None,
    backend: str | None,
    reference_backend: str | None,
    direction: str | None,
    by: str,
    method: str | None,
    form: str,
    output: str | None,
) -> None:
    """Show performance records, and ratios to those of a reference.

    FILES are logs of pytest, JUnit XML, and what nsys, ncu, torch.profiler and proton write. With
    --reference, also the ratio of every configuration that both have (above 1: slower than the
    reference), how the ratios are spread, and what the slowest configuration launches on both sides.
    Records of different methods of measurement are not compared.

    Exit codes: 0 shown, 3 could not run.
    """
    from tileir_tools.bench import GROUPINGS, compare, read_performance, summarise
    from tileir_tools.report.perf_report import PerfAnswer, perf_json, perf_text

    if reference is None and reference_backend is not None:
        raise UsageError("--reference-backend chooses from --reference FILE")
    logs = [read_performance(path, method=method) for path in files]
    shown = _chosen([m for log in logs for m in log.measurements], backend, direction)
    answer = PerfAnswer(tuple(logs), tuple(shown), summarise(shown, GROUPINGS[by]))
    if reference is not None:
        log = read_performance(reference, method=method)
        wanted = _chosen(list(log.measurements), reference_backend, direction)
        comparison = compare(wanted, shown)
        answer = answer._replace(
            logs=(*logs, log),
            comparison=comparison,
            launches=_slowest(comparison, wanted, shown),
        )
    write_output(perf_json(answer) if form == "json" else perf_text(answer), output)


def _chosen(
    measurements: list[Measurement], backend: str | None, direction: str | None
) -> list[Measurement]:
    """Those of a backend and direction. Raises UsageError where a backend has none."""
    from tileir_tools.bench import backend_name

    if direction is not None:
        measurements = [m for m in measurements if m.direction == direction]
    if backend is None:
        return measurements
    found = [m for m in measurements if m.backend == backend_name(backend)]
    if not found:
        known = ", ".join(dict.fromkeys(str(m.backend) for m in measurements)) or "none"
        raise UsageError(f"no records of backend {backend!r}; there are {known}")
    return found


def _slowest(
    comparison: Comparison, reference: list[Measurement], generated: list[Measurement]
) -> tuple[Measurement, LaunchComparison] | None:
    """The launches of the configuration with the largest ratio, where both sides name kernels."""
    from tileir_tools.bench import compare_launches

    for row in sorted(comparison.rows, key=lambda row: -row.ratio):
        # A record may leave its direction out.
        known = (row.direction, None)
        left, right = (
            [m for m in side if m.config == row.config and m.direction in known and m.kernels]
            for side in (reference, generated)
        )
        if left and right:
            return right[0], compare_launches(left[0], right[0])
    return None
