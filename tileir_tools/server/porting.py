"""Tools about porting a kernel: sources, wrappers, times, contracts, the agents.

Place in the flow: client -> **tools** -> commands; imports `door`, `answers`, mcp.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from ..agents.workspace import plain_name
from ..errors import UsageError
from .answers import DEFAULT, MaxChars, Offset, Page, Part, Reply, answer_of, failed
from .calls import Command, Ended
from .door import Door, options
from .kernels import Arch, Target

Project = Annotated[str, Field(description="folder below a root, laid out as TileGym is")]
Out = Annotated[
    str | None,
    Field(
        description="folder that holds the kernel's folder ($CUTILE_KERNEL_OUT_ROOT); none: the first root"
    ),
]
Kernel = Annotated[str, Field(description="name of the operation, and of its folder below out")]
Contract = Literal[
    "ir", "analysis", "diff-report", "entry-pattern", "perf-log", "perf-investigation"
]
# As `agents.a.STEPS`.
Step = Literal["read", "dump", "variants", "benchmark", "reference", "analysis", "gate"]

_READ = {0: "read"}
_ANALYSIS, _DIAGNOSIS = "reference/analysis.json", "reports/agent_f.json"


class PortingTools:
    """Tools that read a project and a kernel's folder, and the agents, which write one."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def source(
        self,
        ctx: Context[Any, Any],
        project: Project,
        names: Annotated[list[str] | None, Field(description="operations; none: all")] = None,
        arch: Arch = None,
        backends: Annotated[
            list[str] | None, Field(description="assume that these, and no others, are available")
        ] = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """What the source of a cuTile-Python operation and its tests say, without importing or running them.

        Kernels, launches and their conditions, what a search tries, configurations of the tests, reference,
        tolerances, and what the source alone does not decide. The document is tileir-source/1.
        """
        words = [
            "source",
            "--format=json",
            *options(project=self._door.access.folder(project), arch=arch),
        ]
        words += [f"--backend={backend}" for backend in backends or []]
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, Command((*words, "--", *(names or []))), page, _READ)

    async def wrapper(
        self,
        ctx: Context[Any, Any],
        name: Annotated[str, Field(description="operation")],
        project: Project,
        arch: Target = "sm_100",
        analysis: Annotated[
            str | None, Field(description="analysis.json of the operation, below a root")
        ] = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """What is wrong with the host code of a cutile-rs wrapper beside the cuTile operation.

        Extra launches, faults of caches and search spaces, wrong dispatch, lost hints. Nothing is imported or
        run. Exit codes: 0 nothing found, 1 findings. The document is tileir-wrapper/1.
        """
        access = self._door.access
        known = access.path(analysis) if analysis is not None else None
        chosen = options(project=access.folder(project), arch=arch, analysis=known)
        command = Command(("wrapper", "--format=json", *chosen, "--", name))
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, command, page, {0: "nothing found", 1: "findings"})

    async def perf(
        self,
        ctx: Context[Any, Any],
        files: Annotated[
            list[str],
            Field(
                min_length=1,
                description="logs of pytest, JUnit XML, exports of nsys, ncu, torch, proton",
            ),
        ],
        reference: Annotated[str | None, Field(description="file to compare with")] = None,
        backend: Annotated[str | None, Field(description="only this backend of files")] = None,
        reference_backend: Annotated[
            str | None, Field(description="only this backend of the reference")
        ] = None,
        direction: Literal["forward", "backward"] | None = None,
        by: Annotated[
            Literal["all", "dtype", "shape"], Field(description="one mean for each of these")
        ] = "all",
        method: Annotated[
            str | None, Field(description="how records were measured that do not say so")
        ] = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Performance records: geometric means, ratios over a reference (above 1 is slower), launches.

        Records of different methods of measurement are not compared. The document is tileir-perf/1.
        """
        access = self._door.access
        against = access.path(reference) if reference is not None else None
        chosen = options(
            reference=against,
            backend=backend,
            reference_backend=reference_backend,
            direction=direction,
            by=by,
            method=method,
        )
        command = Command(("perf", "--format=json", *chosen, "--", *map(access.path, files)))
        return await self._door.ask(ctx, command, Page(part, offset, max_chars), _READ)

    async def validate(
        self,
        ctx: Context[Any, Any],
        contract: Annotated[
            Contract,
            Field(
                description="ir: file is Tile IR with an entry for kernel; perf-log: file has a record for "
                "each test; the others check the folder of kernel below out"
            ),
        ],
        kernel: Annotated[str | None, Field(description="for all but perf-log")] = None,
        file: Annotated[str | None, Field(description="for ir and perf-log")] = None,
        out: Out = None,
        strict: Annotated[
            bool, Field(description="for analysis, perf-investigation: fail more")
        ] = False,
        label: Annotated[
            str | None, Field(description="for perf-log: stands before messages")
        ] = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Whether a file or a kernel's folder keeps a contract of the cuTile-to-cutile-rs pipeline.

        Lines of level PASS, FAIL, WARN. Exit codes: 0 pass, 1 fail. The document is tileir-validate/1.
        """
        words = _needed(contract, kernel, file)
        access = self._door.access
        if contract in ("ir", "perf-log"):
            words[0] = access.path(words[0])
        else:
            plain_name(words[0])
        if contract == "perf-log" and label is not None:
            words.append(label)
        strictly = strict and contract in ("analysis", "perf-investigation")
        command = Command(
            ("validate", contract, "--format=json", *options(strict=strictly), "--", *words),
            kernels=access.folder(out),
        )
        return await self._door.ask(
            ctx, command, Page(part, offset, max_chars), {0: "pass", 1: "fail"}
        )

    async def document(
        self,
        ctx: Context[Any, Any],
        file: Annotated[str, Field(description="file of JSON below a root")],
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """A JSON document that the tools have written, such as analysis.json or a manifest, by parts.

        Goes on where an answer of an agent was cut, without running the agent again.
        """
        found = await self._door.read(ctx, self._door.access.path(file))
        return answer_of(Ended(0, "", ()), found, Page(part, offset, max_chars), _READ)

    async def agent_a(
        self,
        ctx: Context[Any, Any],
        kernel: Kernel,
        project: Project,
        until: Annotated[Step, Field(description="the step to stop after")] = "gate",
        out: Out = None,
        arch: Arch = None,
        select: Annotated[
            str | None, Field(description="bound the tests that run, as pytest -k")
        ] = None,
        perf_logs: Annotated[
            dict[str, str] | None,
            Field(description="backend -> file of records, in place of measuring"),
        ] = None,
        fresh: Annotated[bool, Field(description="dump and measure again")] = False,
        evidence: Annotated[bool, Field(description="compile the reference IR")] = True,
        timeout: Annotated[int, Field(ge=1, description="seconds of each run of tests")] = 1800,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Agent A, step by step: dump and analyse a cuTile kernel that is to be ported.

        read: source and tests; dump: every kernel that the tests launch; variants: what is one structure;
        benchmark: records of each backend; reference: canonical IR; analysis: analysis.json; gate: all
        validators, the verdict. A call goes on where the last one stopped. Runs the project's tests and writes
        OUT/KERNEL: needs --allow-run and --allow-write. Exit codes: 0 PASS, or the step is done; 1
        FAIL_FIXABLE; 3 BLOCKED, with the reason in messages. The document is tileir-analysis/1, from the step
        analysis on; where it is cut, go on with the tool `document`.
        """
        self._door.need("agent_a", write=True)
        access = self._door.access
        folder = access.kernel_folder(out, kernel)
        words = [
            "agent",
            "a",
            *options(project=access.folder(project), out=os.path.dirname(folder)),
        ]
        words += options(until=until, arch=arch, fresh=fresh, timeout=timeout)
        words += options(no_evidence=not (evidence and access.compile))
        words += [f"-k{select}"] if select is not None else []
        words += [
            f"--perf-log={name}={access.path(file)}" for name, file in (perf_logs or {}).items()
        ]
        has_document = until in ("analysis", "gate")
        path = os.path.join(folder, _ANALYSIS) if has_document else None
        meanings = {
            0: "PASS" if until == "gate" else f"done up to {until}",
            1: "FAIL_FIXABLE: a validator says no",
            3: "BLOCKED: see messages",
        }
        command = Command((*words, "--", kernel), writes=(folder,), programs="any")
        return await self._agent(ctx, command, path, Page(max_chars=max_chars), meanings)

    async def agent_f(
        self,
        ctx: Context[Any, Any],
        kernel: Kernel,
        project: Annotated[
            str | None, Field(description="folder with the wrapper and its reference, below a root")
        ] = None,
        out: Out = None,
        arch: Arch = None,
        evidence: Annotated[bool, Field(description="compile the kernels")] = True,
        run: Annotated[
            str | None, Field(description="folder of a manifest: time what-ifs on the GPU")
        ] = None,
        profiles: Annotated[
            dict[Literal["reference", "generated"], str] | None,
            Field(description="side -> file of a profiler, where logs name no kernels"),
        ] = None,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Agent F: why a ported kernel is slower than its reference, with evidence and a verdict.

        Reads what the pipeline has left in OUT/KERNEL: times, launches, host code, IR. Writes
        OUT/KERNEL/reports: needs --allow-run (its validator is a process) and --allow-write. Verdicts: FIXABLE
        (causes say what to do), ALIGNED (nothing left to fix), BLOCKED (too little to go by). Exit codes: 0 a
        diagnosis, 1 the validator refuses the reports, 3 BLOCKED. The document is tileir-agent-f/1; where it
        is cut, go on with the tool `document`.
        """
        self._door.need("agent_f", write=True)
        access = self._door.access
        folder = access.kernel_folder(out, kernel)
        home = access.folder(project) if project is not None else None
        launches = access.folder(run) if run is not None else None
        chosen = options(project=home, out=os.path.dirname(folder), arch=arch, run=launches)
        chosen += options(no_evidence=not (evidence and access.compile))
        chosen += [
            f"--profile={side}={access.path(file)}" for side, file in (profiles or {}).items()
        ]
        meanings = {0: "a diagnosis", 1: "the validator refuses the reports", 3: "BLOCKED"}
        command = Command(("agent", "f", *chosen, "--", kernel), writes=(folder,), programs="any")
        path = os.path.join(folder, _DIAGNOSIS)
        return await self._agent(ctx, command, path, Page(max_chars=max_chars), meanings)

    async def _agent(
        self,
        ctx: Context[Any, Any],
        command: Command,
        path: str | None,
        page: Page,
        meanings: dict[int, str],
    ) -> Reply:
        """Run an agent, then read the document at `path`, where it has written one."""
        before = _state(path)
        ended = await self._door.run(ctx, command)
        if ended.code not in meanings or (ended.code != 0 and not ended.output):
            raise failed(ended)
        document = None
        if path is not None and _state(path) not in (None, before):
            document = await self._door.read(ctx, path)
        return answer_of(ended, document, page, meanings, ended.output)


def _state(path: str | None) -> tuple[int, int] | None:
    """What is another where a file was written anew; None where there is none."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns) if found is not None else None


def _needed(contract: str, kernel: str | None, file: str | None) -> list[str]:
    """The words that a contract takes: file, kernel or both. Raises UsageError."""
    wanted = {"ir": {"file": file, "kernel": kernel}, "perf-log": {"file": file}}
    taken = wanted.get(contract, {"kernel": kernel})
    missing = [name for name, value in taken.items() if not value]
    if missing:
        raise UsageError(f"{contract} needs {' and '.join(missing)}")
    return [value for value in taken.values() if value]
