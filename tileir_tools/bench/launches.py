"""What ran on the GPU in one call: what each kernel is for, and what one side launches that the other does
not.

Place in the flow: records -> **launches** -> report; imports `records`, `analyze.symbols`. Launch counts
come before any theory about Tile IR: a kernel that is as fast as the reference's and launched twice is no
matter of its code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..analyze.symbols import demangle
from ..errors import UsageError
from .comparison import TOLERANCE
from .records import KernelTime, Measurement

# Kind -> what its names look like; the first that matches counts. What matches none is a kernel of the
# operation itself.
_KINDS: tuple[tuple[str, str], ...] = (
    ("canary", r"canary|_probe\b|warm_?up"),
    # PyTorch calls copies to another format after the half-precision one.
    (
        "cast",
        r"float(?:16|8)\w*_copy|LoadWithCast|StoreWithCast|cast_?kernel|convert_?(?:dtype|type|kernel)",
    ),
    ("copy", r"^(?:\[?CUDA )?memcpy|direct_co|CatArray|copy_?kernel|copy_device_to_device"),
    ("fill", r"^(?:\[?CUDA )?memset|FillFunctor|fill_kernel|zeros?_kernel|\barange|distribution_"),
    (
        "fallback",
        r"\bat::|2at6native|cublas|cutlass|nvjet|xmma|cudnn|flash_fwd|flash_bwd|splitKreduce|gemv|"
        r"(?:ampere|hopper|volta|turing|sm\d+)_\w*gemm|^(?:void )?gemm",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.I)) for kind, pattern in _KINDS)

# Symbols reach 500 characters, C++ signatures some thousands; more of a name says nothing.
_LONGEST = 4096

# What each kind does in a call that should launch one kernel.
KIND_MEANINGS: dict[str, str] = {
    "kernel": "the operation itself",
    "canary": "a trial launch in the measured call",
    "copy": "a copy: .contiguous(), .clone(), torch.cat or an assignment",
    "fill": "a fill: torch.zeros, torch.ones, .zero_() where torch.empty would do",
    "cast": "a conversion of a tensor to another number format",
    "fallback": "PyTorch or a library does work of its own",
}


class Row(NamedTuple):
    """Launches of one kind on both sides: kernels' names, launches in a call, mean time of a launch and sum
    of all in microseconds (0 launches: 0)."""

    kind: str
    reference_names: tuple[str, ...]
    generated_names: tuple[str, ...]
    reference_launches: int
    generated_launches: int
    reference_us: float
    generated_us: float

    @property
    def reference_per_launch_us(self) -> float:
        """Microseconds of one launch; 0 where there is none."""
        return self.reference_us / self.reference_launches if self.reference_launches else 0.0

    @property
    def generated_per_launch_us(self) -> float:
        """Microseconds of one launch; 0 where there is none."""
        return self.generated_us / self.generated_launches if self.generated_launches else 0.0


class LaunchComparison(NamedTuple):
    """Launches of one call on both sides.

    Attributes:
        rows: by kind, "kernel" first.
        verdict: "more launches", "slower kernel", "both", "fewer launches", or "aligned".
        reasons: what was seen, a sentence each.
    """

    rows: tuple[Row, ...]
    verdict: str
    reasons: tuple[str, ...]


def kind_of(name: str, kernel: str | None = None) -> str:
    """What a kernel is for: "kernel" or a key of KIND_MEANINGS.

    Args:
        name: as a record has it.
        kernel: function of the operation's own kernel, where it is known: its launches are "kernel"
            whatever they are called.
    """
    name = name[:_LONGEST]
    if kernel is not None and function_of(name) == kernel:
        return "kernel"
    # cuTile and cutile-rs mangle: a name that they made is no helper of PyTorch's.
    if demangle(name).convention.startswith("cutile") and not _PATTERNS[0][1].search(name):
        return "kernel"
    return next((kind for kind, pattern in _PATTERNS if pattern.search(name)), "kernel")


def function_of(name: str) -> str:
    """The function of a kernel's name, also where the name is cut within its mangling.

    A name that follows no convention is returned whole.
    """
    symbol = demangle(name)
    if len(name) > _LONGEST or symbol.convention != "plain" or not symbol.raw.isidentifier():
        return symbol.function
    at = name.rfind("_")
    while at > 0:
        shorter = demangle(name[:at])
        if shorter.convention.startswith("cutile_v"):
            return shorter.function
        at = name.rfind("_", 0, at)
    return name


def is_same_kernel(shown: KernelTime, symbol: str) -> bool:
    """Whether a record's kernel is that of a symbol; a name that was cut has to be its beginning.

    The symbol of an alias (`{op}__{real}`) stands for the kernel that it was made of, too.
    """
    found = demangle(symbol)
    spellings = (symbol, found.real_function + found.suffix)
    if shown.cut:
        return any(spelling.startswith(shown.name) for spelling in spellings)
    return shown.name in spellings


def compare_launches(
    reference: Measurement, generated: Measurement, kernel: str | None = None
) -> LaunchComparison:
    """What one call launches on each side.

    Args:
        reference: a measurement with kernels.
        generated: one of the same configuration, by the same method, with kernels.
        kernel: see `kind_of`.

    Raises:
        UsageError: another configuration or method; no kernels in a record.
    """
    _check(reference, generated)
    rows = _rows(reference.kernels, generated.kernels, kernel)
    reasons = [*_launch_reasons(rows)]
    if generated.whole_profile:
        reasons.append("launches are of whole profiles: both have to hold as many calls")
    slower = _slower_kernel(rows)
    if slower:
        reasons.append(slower)
    more = sum(r.generated_launches - r.reference_launches for r in rows)
    if more > 0 or any(_is_repeated(row) for row in rows):
        verdict = "both" if slower else "more launches"
    elif slower:
        verdict = "slower kernel"
    else:
        verdict = "fewer launches" if more < 0 else "aligned"
    return LaunchComparison(rows, verdict, tuple(reasons))


def _is_repeated(row: Row) -> bool:
    """Whether the operation's own kernel is launched more often, which fewer helpers do not make up for.

    A reference of library calls only has no such kernel.
    """
    return row.kind == "kernel" and 0 < row.reference_launches < row.generated_launches


def _check(reference: Measurement, generated: Measurement) -> None:
    for side, m in (("reference", reference), ("generated", generated)):
        if not m.kernels:
            raise UsageError(f"{side}: {m.place} names no kernels")
    if reference.method != generated.method:
        raise UsageError(
            f"launches of {reference.place} were measured by {reference.method}, those of "
            f"{generated.place} by {generated.method}; they are not comparable"
        )
    directions = {reference.direction, generated.direction} - {None}
    if reference.config != generated.config or len(directions) > 1:
        raise UsageError(
            f"{reference.place} measures {reference.config.label} {reference.direction or ''}, "
            f"{generated.place} measures {generated.config.label} {generated.direction or ''}"
        )


def _rows(
    reference: Iterable[KernelTime], generated: Iterable[KernelTime], kernel: str | None
) -> tuple[Row, ...]:
    left, right = _by_kind(reference, kernel), _by_kind(generated, kernel)
    kinds = [kind for kind in KIND_MEANINGS if kind in left or kind in right]
    return tuple(_row(kind, left.get(kind, ()), right.get(kind, ())) for kind in kinds)


def _by_kind(kernels: Iterable[KernelTime], kernel: str | None) -> dict[str, list[KernelTime]]:
    found: dict[str, list[KernelTime]] = {}
    for k in kernels:
        found.setdefault(kind_of(k.name, kernel), []).append(k)
    return found


def _row(kind: str, reference: Sequence[KernelTime], generated: Sequence[KernelTime]) -> Row:
    return Row(
        kind,
        tuple(k.name for k in reference),
        tuple(k.name for k in generated),
        sum(k.launches for k in reference),
        sum(k.launches for k in generated),
        sum(k.total_us for k in reference),
        sum(k.total_us for k in generated),
    )


def _launch_reasons(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        more = row.generated_launches - row.reference_launches
        if more > 0:
            yield (
                f"{row.kind}: {row.generated_launches} launches in a call, {row.reference_launches} in the "
                f"reference ({KIND_MEANINGS[row.kind]})"
            )
            if len({function_of(name) for name in row.generated_names}) < len(row.generated_names):
                yield f"{row.kind}: one function under several symbols: two configurations are launched"


def _slower_kernel(rows: Iterable[Row]) -> str | None:
    for row in rows:
        if row.kind != "kernel" or not row.reference_launches or not row.generated_launches:
            continue
        ratio = row.generated_per_launch_us / row.reference_per_launch_us
        if ratio > TOLERANCE:
            return (
                f"kernel: a launch takes {row.generated_per_launch_us:.2f} us, "
                f"{row.reference_per_launch_us:.2f} us in the reference ({ratio:.2f} times)"
            )
    return None
