"""`tileir agent NAME KERNEL`: agents of the porting pipeline.

Place in the flow: a thin consumer of `agents`. The standard output is the final response alone; progress goes
to the standard error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import click

from tileir_tools.errors import UsageError

from .completing import arches, folders
from .progress import steps
from .running import examples, write_output

# As `agents.a.STEPS`, which importing this module should not have to load.
_STEPS = ("read", "dump", "variants", "benchmark", "reference", "analysis", "gate")


# Options that both agents have.
_out_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--out",
    metavar="DIR",
    shell_complete=folders,
    help="The folder that holds KERNEL; $CUTILE_KERNEL_OUT_ROOT.",
)
_scripts_option: Callable[[Callable[..., object]], Callable[..., object]] = click.option(
    "--scripts",
    metavar="DIR",
    shell_complete=folders,
    help="Run TileGym's shell validators in DIR as the gate.",
)


@click.group(
    name="agent",
    epilog=examples("""
        tileir agent a rms_norm --project TileGym --out kernels
            Reference IR, performance and analysis of a kernel.
        tileir agent f rms_norm --project TileGym --out kernels
            Why its port is slower.
    """),
)
@click.help_option("-h", "--help")
def command() -> None:
    """Run an agent of the pipeline that ports cuTile kernels.

    Exit codes: 0 done, 1 the validators refuse the result, 3 BLOCKED or could not run.
    """


@command.command(
    name="a",
    epilog=examples("""
        tileir agent a rms_norm --project TileGym --out kernels
            Everything, on the GPU that is here.
        tileir agent a rms_norm --out kernels --until variants
            No further than the variants; --project is $TILEGYM_PATH here.
        tileir agent a rms_norm --out kernels --perf-log cutile=cutile.log
            With records measured elsewhere.
    """),
)
@click.argument("kernel")
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=folders,
    help="Checkout of TileGym, or of a project laid out like it; $TILEGYM_PATH.",
)
@_out_option
@click.option(
    "--arch",
    metavar="ARCH",
    shell_complete=arches,
    help="Target; by default that of the GPU, sm_100 without one.",
)
@click.option(
    "-k",
    "select",
    metavar="EXPRESSION",
    default="",
    help="Bound the tests that run, as pytest's -k.",
)
@click.option(
    "--perf-log",
    "logs",
    metavar="BACKEND=FILE",
    multiple=True,
    help="Take the records in FILE (a pytest log, JUnit XML..) in place of measuring; may be repeated.",
)
@click.option("--until", type=click.Choice(_STEPS), default=_STEPS[-1], help="Stop after a step.")
@click.option("--fresh", is_flag=True, help="Dump and measure again what an earlier run has done.")
@click.option("--no-evidence", is_flag=True, help="Do not compile reference IR for the analysis.")
@click.option(
    "--canonicalizer",
    type=click.Choice(["ours", "cuda-tile-opt"]),
    default="ours",
    help="What canonicalises reference IR.",
)
@_scripts_option
@click.option(
    "--timeout",
    type=click.IntRange(min=1),
    default=1800,
    show_default=True,
    help="Seconds of each run of the project's tests.",
)
@click.help_option("-h", "--help")
def agent_a(
    kernel: str,
    project: str | None,
    out: str | None,
    arch: str | None,
    select: str,
    logs: tuple[str, ...],
    until: str,
    fresh: bool,
    no_evidence: bool,
    canonicalizer: str,
    scripts: str | None,
    timeout: int,
) -> int:
    """Dump and analyse KERNEL: reference IR, analysis.json, reports.

    \b
    read       the operation's source and tests
    dump       every kernel that its tests launch
    variants   what is one structure, and which configuration hits which
    benchmark  records of each backend: given, of an earlier run, or measured
    reference  reference/reference*.mlir and supplements, aliases with proof
    analysis   reference/analysis.json
    gate       all validators, reports, the verdict

    A run that was cut goes on where it was; so does one that was told to stop after a step. Prints a
    <VALIDATOR_OUTPUT> block and one VERDICT line.

    Exit codes: 0 PASS, 1 FAIL_FIXABLE, 3 BLOCKED.
    """
    from tileir_tools.agents.a import Request, run_agent_a
    from tileir_tools.agents.workspace import open_workspace, plain_name
    from tileir_tools.sources import find_project

    plain_name(kernel)
    home = find_project(_folder(project, "TILEGYM_PATH", "--project"))
    root = _folder(out, "CUTILE_KERNEL_OUT_ROOT", "--out")
    records = _logs(logs)
    _is_there(scripts, "--scripts", os.path.isdir)
    request = Request(
        open_workspace(root, kernel),
        home,
        arch=arch,
        select=select,
        timeout=float(timeout),
        logs=records,
        canonicalizer=canonicalizer,
        scripts=scripts,
        evidence=not no_evidence,
        fresh=fresh,
    )
    with steps() as say:
        answer = run_agent_a(request._replace(say=say), until)
    for reason in answer.why:
        click.echo(f"{answer.verdict}: {reason}", err=True)
    if answer.verdict is not None:
        write_output(answer.text(), None)
    return answer.exit_code


@command.command(
    name="f",
    epilog=examples("""
        tileir agent f rms_norm --project TileGym --out kernels
            Causes, ranked, with evidence.
        tileir agent f rms_norm --out kernels --no-evidence
            Without compiling anything.
        tileir agent f rms_norm --out kernels --run dumps --arch sm_90
            And time on the GPU what would help.
    """),
)
@click.argument("kernel")
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=folders,
    help="Checkout that holds the wrapper and its reference; $TILEGYM_PATH, where it is set.",
)
@_out_option
@click.option(
    "--arch",
    metavar="ARCH",
    shell_complete=arches,
    help="Target; by default the one that the analysis names, else sm_100.",
)
@click.option("--no-evidence", is_flag=True, help="Do not compile the kernels.")
@click.option(
    "--run",
    "launches",
    metavar="DIR",
    shell_complete=folders,
    help="Time what-ifs on the GPU, as the manifest in DIR says.",
)
@click.option(
    "--profile",
    "profiles",
    metavar="SIDE=FILE",
    multiple=True,
    help="What a profiler (nsys stats, ncu --csv, torch, proton) saw of the reference, and of the generated "
    "kernel: for launches, where the logs name no kernels.",
)
@_scripts_option
@click.help_option("-h", "--help")
def agent_f(
    kernel: str,
    project: str | None,
    out: str | None,
    arch: str | None,
    no_evidence: bool,
    launches: str | None,
    profiles: tuple[str, ...],
    scripts: str | None,
) -> int:
    """Find why the generated KERNEL is slower than its reference.

    Reads what agents A, B and E have left, the wrapper and its reference; writes below reports/ only.
    Prints a <VALIDATOR_OUTPUT> block and one VERDICT line: FIXABLE, ALIGNED or BLOCKED.

    Exit codes: 0 a diagnosis (FIXABLE or ALIGNED), 1 the validator refuses the reports, 3 BLOCKED.
    """
    from tileir_tools.agents.f import Request, run_agent_f
    from tileir_tools.agents.workspace import existing_workspace, plain_name
    from tileir_tools.analyze.hints import check_arch
    from tileir_tools.sources import find_project

    plain_name(kernel)
    check_arch(arch)
    _is_there(scripts, "--scripts", os.path.isdir)
    _is_there(launches, "--run", os.path.isdir)
    checkout = project or os.environ.get("TILEGYM_PATH")
    home = find_project(checkout) if checkout else None
    workspace = existing_workspace(_folder(out, "CUTILE_KERNEL_OUT_ROOT", "--out"), kernel)
    request = Request(
        workspace,
        home,
        arch=arch,
        scripts=scripts,
        evidence=not no_evidence,
        launches=launches,
        profiles=_profiles(profiles),
    )
    with steps() as say:
        answer = run_agent_f(request._replace(say=say))
    write_output(answer.text(), None)
    return answer.exit_code


def _profiles(texts: Sequence[str]) -> dict[str, str]:
    """`SIDE=FILE` texts by side. Raises UsageError."""
    from tileir_tools.agents.f.inputs import SIDES

    found: dict[str, str] = {}
    for text in texts:
        side, separator, file = text.partition("=")
        if not separator or side not in SIDES or side in found:
            sides = " and ".join(SIDES)
            raise UsageError(f"--profile takes SIDE=FILE, once for {sides}; not '{text}'")
        _is_there(file, "--profile", os.path.isfile)
        found[side] = file
    return found


def _is_there(path: str | None, option: str, test: Callable[[str], bool]) -> None:
    """Raises UsageError: what was asked for by name is not there."""
    if path is not None and not test(path):
        raise UsageError(f"{option} {path}: not there")


def _folder(given: str | None, variable: str, option: str) -> str:
    """A folder by option or environment. Raises UsageError."""
    found = given or os.environ.get(variable)
    if not found:
        raise UsageError(f"{variable} is not set; set it, or give {option}")
    return found


def _logs(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`BACKEND=FILE` texts by backend. Raises UsageError."""
    from tileir_tools.agents.a.benchmarks import BESIDE, CANDIDATES
    from tileir_tools.bench import backend_name

    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        backend, separator, file = text.partition("=")
        name = "triton_tileir" if backend_name(backend) == "triton" else backend_name(backend)
        if not separator or name not in (*CANDIDATES, *BESIDE):
            known = ", ".join((*CANDIDATES, *BESIDE))
            raise UsageError(f"--perf-log takes BACKEND=FILE, BACKEND one of {known}; not '{text}'")
        _is_there(file, "--perf-log", os.path.isfile)
        found[name] = (*found.get(name, ()), file)
    return found
