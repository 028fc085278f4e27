"""What a performance record holds, whatever wrote it.

Place in the flow: bytes -> **records** -> summary -> report; imports `node_ids`. Times are milliseconds for
a whole call and microseconds for one kernel, as the tools that write them have it.
"""

from __future__ import annotations

from typing import NamedTuple

from .node_ids import dtype_of

# How a time was taken. Numbers of two methods are never compared: for one kernel they differ by up
# to a factor of two.
METHODS: dict[str, str] = {
    "cupti": "time on the GPU of the kernels of one call (CUPTI activities)",
    "cuda_event": "between two CUDA events around a call",
    "cuda_graph": "between two CUDA events around a CUDA graph of many calls",
    "nsys": "all launches in a profile of Nsight Systems",
    "ncu": "launches replayed by Nsight Compute, clocks locked",
    "torch_profiler": "all launches in a profile of torch.profiler",
    "pytest_benchmark": "host clock around a call",
    "proton": "all launches in a profile of Triton's proton",
    "unknown": "the record does not say",
}


class KernelTime(NamedTuple):
    """One kernel of a record.

    Attributes:
        name: its symbol or C++ signature.
        launches: how often; in one call, or in the whole profile where the record is of one.
        per_launch_us, total_us: mean time of a launch and their sum, on the GPU.
        cut: whether the name is only the beginning of the real one.
    """

    name: str
    launches: int
    per_launch_us: float
    total_us: float
    cut: bool = False


class Config(NamedTuple):
    """What was measured.

    Attributes:
        test: `file.py::Class::function` of a test, a scope of a profile, or "".
        params: parameters of the test as pytest shows them, without the backend, in order.
    """

    test: str
    params: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """The number formats among the parameters, as Tile IR spells them ("f16"); "" for none."""
        return ",".join(dtype for dtype in map(dtype_of, self.params) if dtype)

    @property
    def shape(self) -> str:
        """The whole numbers among the parameters ("2-2048-2048"); "" for none."""
        return "-".join(p for p in self.params if p.isdecimal())

    @property
    def label(self) -> str:
        """The parameters as pytest joins them; the test's name where there are none."""
        return "-".join(self.params) or self.test.rpartition("::")[2] or "-"


class Measurement(NamedTuple):
    """One measured call, or one profile.

    Attributes:
        config: what was measured.
        backend: what did it ("cutile", "cutile_rs", "triton"..), None where the record does not say.
        direction: "forward", "backward", or None where the record does not say.
        method: a key of METHODS.
        place: `file:line`, or the file.
        median_ms: median of a call; may be nan, inf or 0 as recorded, None where there is none.
        mean_ms, std_ms, min_ms, max_ms: other statistics, None where the record has none.
        nrep: calls measured.
        kernels: what ran on the GPU, in the record's order.
        whole_profile: launches are those of a profile, not of one call.
        outcome: of its test, as CaseOutcome has it; "passed" where there is none.
    """

    config: Config
    backend: str | None
    direction: str | None
    method: str
    place: str
    median_ms: float | None = None
    mean_ms: float | None = None
    std_ms: float | None = None
    min_ms: float | None = None
    max_ms: float | None = None
    nrep: int | None = None
    kernels: tuple[KernelTime, ...] = ()
    whole_profile: bool = False
    outcome: str = "passed"

    @property
    def launches(self) -> int:
        """Launches of all kernels in one call, or in the profile."""
        return sum(kernel.launches for kernel in self.kernels)

    @property
    def kernels_us(self) -> float:
        """Time on the GPU of all kernels together, in microseconds."""
        return sum(kernel.total_us for kernel in self.kernels)


class CaseOutcome(NamedTuple):
    """One test of a log: its id, "passed", "failed", "skipped", "error", or "none" where the log ends
    before it; the line on which the outcome stands, 0 where the format has no lines."""

    test: str
    outcome: str
    line: int = 0


class PerformanceLog(NamedTuple):
    """Everything read from one file.

    Attributes:
        path, format: the file and what it is ("junit", "pytest log", "nsys csv"..).
        measurements: in the file's order.
        tests: of a test run, in the file's order.
        notes: what is missing or odd, each with its place.
        blocks: how many records the file opens, those without a median among them.
    """

    path: str
    format: str
    measurements: tuple[Measurement, ...]
    tests: tuple[CaseOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    blocks: int = 0
