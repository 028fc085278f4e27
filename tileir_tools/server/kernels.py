"""Tools about kernels: what is in a file, how two differ, why one is slower.

Place in the flow: client -> **tools** -> commands; imports `door`, `answers`, mcp.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from .answers import DEFAULT, MaxChars, Offset, Page, Part, Reply
from .calls import Command
from .door import Door, options

File = Annotated[
    str, Field(description="file of Tile IR below a root: text or bytecode, gzip allowed")
]
Arch = Annotated[str | None, Field(description="target, such as sm_90 or sm_100")]
Target = Annotated[str, Field(description="target, such as sm_90 or sm_100")]
Entry = Annotated[str | None, Field(description="take only entries whose symbol contains this")]
Strict = Annotated[bool, Field(description="make an unknown operation an error, not a message")]
Level = Literal["exact", "names", "hints", "dtype", "sizes", "structure"]

_READ = {0: "read"}


class KernelTools:
    """Tools that read kernels."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def show(
        self,
        ctx: Context[Any, Any],
        file: File,
        arch: Arch = None,
        evidence: Annotated[
            bool, Field(description="compile for arch too: registers, spills, instructions")
        ] = False,
        strict: Strict = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """What is known about each kernel in a file of CUDA Tile IR.

        Symbol and the Python function behind it, parameters, constants, hints resolved for a target, memory
        operations, matrix products, loops, reductions, conversions, promises, tiles, how block ids become
        indices, and fingerprints. The document is tileir-show/1.
        """
        words = ["show", "--format=json", *options(arch=arch, evidence=evidence, strict=strict)]
        command = Command(
            (*words, "--", self._door.access.path(file)), programs=self._door.programs(evidence)
        )
        return await self._door.ask(ctx, command, Page(part, offset, max_chars), _READ)

    async def diff(
        self,
        ctx: Context[Any, Any],
        reference: Annotated[str, Field(description="file, folder or pattern below a root")],
        generated: Annotated[str, Field(description="file, folder or pattern below a root")],
        arch: Arch = None,
        entry: Entry = None,
        policy: Annotated[
            str | None, Field(description="default, strict, legacy, or a TOML file below a root")
        ] = None,
        baseline: Annotated[
            str | None, Field(description="file of findings that do not count")
        ] = None,
        strict: Strict = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """In what a generated kernel differs from its reference, and whether it matters.

        Compares what kernels do, not how they are written: names, order and spelling make no difference. Each
        finding has a rule's code (ask `rules` for its meaning), a severity, a place on both sides and what to
        do. Verdicts and exit codes: PASS 0 (nothing that matters), FAIL_FIXABLE 1 (a CRITICAL finding: wrong
        results or much slower), PASS_WITH_NOTES 2 (only others), BLOCKED 3 (an input cannot be read). The
        document is tileir-diff/1; of many findings, page with part=/entries/0/findings.
        """
        access = self._door.access
        if policy is not None and policy not in ("default", "strict", "legacy"):
            policy = access.path(policy)
        known = access.path(baseline) if baseline is not None else None
        chosen = options(arch=arch, entry=entry, policy=policy, baseline=known, strict=strict)
        sides = (access.path(reference), access.path(generated))
        command = Command(("diff", "--format=json", *chosen, "--", *sides))
        meanings = {
            0: "PASS: nothing that matters differs",
            1: "FAIL_FIXABLE: a CRITICAL finding",
            2: "PASS_WITH_NOTES: no CRITICAL finding, but others",
            3: "BLOCKED: some file could not be read",
        }
        return await self._door.ask(ctx, command, Page(part, offset, max_chars), meanings)

    async def equal(
        self,
        ctx: Context[Any, Any],
        reference: File,
        generated: File,
        level: Annotated[
            Level,
            Field(
                description="what may differ, each level more: exact: places; names: symbols, order; hints; "
                "dtype: number formats; sizes: shapes, constants, promises; structure: arithmetic"
            ),
        ] = "names",
        arch: Arch = None,
        entry: Entry = None,
        strict: Strict = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Whether two kernels are equal at a level of detail, and the shortest reason if they are not.

        Exit codes: 0 equal, 1 not equal. The document is tileir-equal/1.
        """
        access = self._door.access
        chosen = options(level=level, arch=arch, entry=entry, strict=strict)
        sides = (access.path(reference), access.path(generated))
        command = Command(("equal", "--format=json", *chosen, "--", *sides))
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, command, page, {0: "equal", 1: "not equal"})

    async def verify(
        self,
        ctx: Context[Any, Any],
        file: File,
        arch: Arch = None,
        bytecode_version: Annotated[
            str | None, Field(description="check for a bytecode version, such as 13.3")
        ] = None,
        strict_hints: Annotated[
            bool, Field(description="hints that nobody knows are errors")
        ] = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Every rule of the cuda_tile dialect that a file breaks, each at its line and column.

        Also what cannot be parsed. Exit codes: 0 valid, 1 errors. A file that is no Tile IR is an error of
        the tool, which names what it is. The document is tileir-verify/1.
        """
        chosen = options(arch=arch, bytecode_version=bytecode_version, strict_hints=strict_hints)
        command = Command(("verify", "--format=json", *chosen, "--", self._door.access.path(file)))
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, command, page, {0: "valid", 1: "breaks rules"})

    async def variants(
        self,
        ctx: Context[Any, Any],
        inputs: Annotated[
            list[str], Field(min_length=1, description="files and folders of dumps below a root")
        ],
        arch: Arch = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Structural variants and dtype supplements among many dumped kernels, and what tells them apart.

        Exit codes: 0 all grouped, 1 some file could not be read (see messages). The document is
        tileir-variants/1.
        """
        paths = [self._door.access.path(one) for one in inputs]
        command = Command(("variants", "--format=json", *options(arch=arch), "--", *paths))
        meanings = {0: "all grouped", 1: "some file could not be read", 3: "nothing could be read"}
        return await self._door.ask(ctx, command, Page(part, offset, max_chars), meanings)

    async def explain(
        self,
        ctx: Context[Any, Any],
        reference: File,
        generated: File,
        arch: Target,
        entry: Entry = None,
        strict: Strict = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Why a generated kernel is slower than its reference, read off the machine code of both.

        Compiles both with NVIDIA's tileiras (no GPU): spills, TMA, tensor cores, loads in flight, reuse, each
        with numbers and the differences that can bring it about. Exit codes: 0 no cause found, 1 some cause.
        The document is tileir-explain/1.
        """
        access = self._door.access
        chosen = options(arch=arch, entry=entry, strict=strict)
        sides = (access.path(reference), access.path(generated))
        command = Command(
            ("explain", "--format=json", *chosen, "--", *sides),
            programs=self._door.programs(True),
        )
        meanings = {0: "no cause of slowness found", 1: "causes found"}
        return await self._door.ask(ctx, command, Page(part, offset, max_chars), meanings)

    async def what_if(
        self,
        ctx: Context[Any, Any],
        generated: File,
        reference: File,
        arch: Target,
        entry: Entry = None,
        run: Annotated[
            str | None,
            Field(
                description="folder of a manifest (tileir dump --call): time each copy on the GPU as it says"
            ),
        ] = None,
        kernel: Annotated[
            str | None, Field(description="with run: kernel of the manifest to launch as")
        ] = None,
        strict: Strict = False,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """Which difference matters: the reference's hints, padding, promises.. taken over one by one.

        Each changed copy is compiled with tileiras and its machine code compared. With `run`, which needs
        --allow-run and a GPU, each is launched and timed too. The document is tileir-what-if/1.
        """
        access = self._door.access
        programs = self._door.programs(True)
        if run is not None:
            self._door.need("run")
            run, programs = access.folder(run), "any"
        taken = {"from": access.path(reference), "arch": arch, "entry": entry}
        chosen = options(**taken, run=run, kernel=kernel, strict=strict)
        words = ("what-if", "--format=json", *chosen, "--", access.path(generated))
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, Command(words, programs=programs), page, {0: "tried"})

    async def rules(
        self,
        ctx: Context[Any, Any],
        code: Annotated[str | None, Field(description="such as HNT004; none: all rules")] = None,
        part: Part = "",
        offset: Offset = 0,
        max_chars: MaxChars = DEFAULT,
    ) -> Reply:
        """What a code in a finding of `diff` means, and what to do about it.

        The document is tileir-rules/1. Rules are resources, too: tileir://rules/HNT004.
        """
        words = ["rules", "--format=json", "--", *([code] if code is not None else [])]
        page = Page(part, offset, max_chars)
        return await self._door.ask(ctx, Command(tuple(words)), page, _READ)
