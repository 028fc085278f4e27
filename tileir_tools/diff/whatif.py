"""What would each difference cost: the reference's hints, padding, rounding.. put into the generated kernel.

Place in the flow: findings and toolchain facts -> **what-if** -> report; imports `causes`, `correspond`,
`edits`, `toolchain`.

Every difference that can be taken over as an edit is made in a copy of the generated kernel, alone and all
together, and each copy is compiled: what the machine code then looks like says which difference matters.
With a GPU and a launch that was written down (`tileir dump --call`), each copy runs too: then time says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..errors import ToolError, UsageError
from ..model import Module
from ..toolchain.compiling import compile_module
from ..toolchain.timing import Compiled, Timing
from .causes import Cause, Side, causes_of, side_of
from .correspond import correspondences
from .edits import Edit, edits

# Gives the timings of machine code: the reference's first, then one for each copy that compiles.
Timer = Callable[[Sequence[Compiled]], Sequence[Timing]]


class Trial(NamedTuple):
    """One compiled copy of the generated kernel.

    Attributes:
        name: what was taken over; "nothing", "everything", or the edit.
        side: what the compiler made of it; None where it refuses.
        causes: what still makes it slower than the reference.
        error: why it was not compiled; None where it was.
        timing: of its launches, where they were timed.
    """

    name: str
    side: Side | None
    causes: tuple[Cause, ...]
    error: str | None = None
    timing: Timing | None = None


class WhatIf(NamedTuple):
    """All trials of one kernel.

    Attributes:
        reference, generated: symbols.
        wanted: what the compiler made of the reference.
        trials: "nothing" first, then each difference, those of a kind together, and "everything".
        timing: of the reference, where launches were timed.
        versions: of the tools.
    """

    reference: str
    generated: str
    wanted: Side
    trials: tuple[Trial, ...]
    timing: Timing | None
    versions: dict[str, str | None]


def what_if(
    reference: Module,
    generated: Module,
    arch: str,
    *,
    entry: str | None = None,
    timer: Timer | None = None,
) -> WhatIf:
    """Take differences over from the reference, one by one and together, and compile each copy.

    Args:
        reference: where differences are taken from.
        generated: what takes them; of the pairs of entries in both the first is tried.
        arch: target, such as `sm_90`.
        entry: only entries whose symbol contains this text.
        timer: launches what was compiled; None: nothing is launched.

    Raises:
        ToolError: a tool is missing; the reference, or the generated kernel as it is, does not compile.
        UsageError: no pair of entries.
    """
    found = next(
        (
            f
            for f in correspondences([reference], [generated], entry)
            if f.reference and f.generated
        ),
        None,
    )
    if found is None or found.reference is None or found.generated is None:
        raise UsageError("no pair of entries to try")
    one, other = found.reference.symbol, found.generated.symbol
    evidence = compile_module(reference, arch)
    wanted = side_of(reference, one, evidence, arch)
    code: list[Compiled] = [Compiled(one, evidence.cubin)]

    def trial(name: str, chosen: Sequence[Edit]) -> Trial:
        copy = _edited(generated, chosen)
        try:
            made = compile_module(copy, arch)
        except ToolError as error:
            if not chosen or error.kind != "failed":
                raise
            return Trial(name, None, (), str(error))
        code.append(Compiled(other, made.cubin))
        side = side_of(copy, other, made, arch)
        return Trial(name, side, causes_of(wanted, side))

    changes = edits(found, generated)
    trials = [trial("nothing", [])]
    trials += [trial(name, chosen) for name, chosen in _choices(changes)]
    return _timed(WhatIf(one, other, wanted, tuple(trials), None, evidence.versions), code, timer)


def _choices(changes: Sequence[Edit]) -> Iterator[tuple[str, Sequence[Edit]]]:
    """What is taken over together: each alone, all of a kind, and everything."""
    yield from ((edit.name, [edit]) for edit in changes)
    for kind in dict.fromkeys(edit.kind for edit in changes):
        alike = [edit for edit in changes if edit.kind == kind]
        if 1 < len(alike) < len(changes):
            yield f"all {kind}", alike
    if len(changes) > 1:
        yield "everything", changes


def _edited(module: Module, chosen: Sequence[Edit]) -> Module:
    """A copy with edits made, each on the operations that were there before any."""
    copy = module.clone()
    operations = list(copy.walk())
    for edit in chosen:
        edit.change(operations)
    return copy


def _timed(found: WhatIf, code: Sequence[Compiled], timer: Timer | None) -> WhatIf:
    if timer is None:
        return found
    first, *rest = timer(code)
    left = iter(rest)
    trials = [t if t.side is None else t._replace(timing=next(left, None)) for t in found.trials]
    return found._replace(trials=tuple(trials), timing=first)
