"""The rules of wrappers, as data: code, what it is about, what it means, what to do.

Place in the flow: facts -> **findings**; imports nothing. The modules `launches`, `tuning`, `dispatch` and
`hints` decide which rule a wrapper breaks.
"""

from __future__ import annotations

from typing import NamedTuple

LAUNCHES, TUNING, DISPATCH, ALLOCATION, HINTS = "launches tuning dispatch allocation hints".split()


class WrapperRule(NamedTuple):
    """One rule: `consequence` is what a caller sees of it, in few words."""

    code: str
    about: str
    title: str
    consequence: str
    meaning: str
    action: str


# One row, one rule: the formatter would give every field a line of its own.
# fmt: off
_ROWS = (
    # -- launches
    WrapperRule("WRP001", LAUNCHES, "kernel launched on every call beside the tuned one", "extra launch",
                "A launch with a fixed configuration stands on the way of every call, before or after "
                "`autotune_launch`: each call runs the kernel twice.",
                "Take the launch out of the function that is registered; a canary belongs into a test."),
    WrapperRule("WRP002", LAUNCHES, "kernel launched repeatedly by the function that is tried", "extra launch",
                "The function that `autotune_launch` tries launches more often than the reference does: what "
                "is measured is the sum, and every call pays it.",
                "Leave one launch in `kernel_fn`."),
    WrapperRule("WRP003", LAUNCHES, "kernel of PyTorch in the function that is tried", "extra launch",
                "Filling, copying or computing with PyTorch inside of `kernel_fn` launches another kernel for "
                "every configuration and on every call, and is measured with the one that is tuned.",
                "Allocate with `torch.empty` in `kernel_fn`; do everything else before the search, once."),
    WrapperRule("WRP004", LAUNCHES, "PyTorch computes on the way of a call", "other kernels than the wrapper's",
                "A result is computed by PyTorch where the reference launches its kernel: what is tested and "
                "timed may not be the kernel at all.",
                "Raise for what the kernel cannot do; let the kernel do the rest."),
    # -- allocation
    WrapperRule("WRP005", ALLOCATION, "buffer filled on every call", "extra launch",
                "`torch.zeros` and its kin launch a kernel that writes the whole buffer; the reference does "
                "not.",
                "Allocate with `torch.empty`, or fill once and keep it."),
    WrapperRule("WRP006", ALLOCATION, "input copied on every call", "extra launch",
                "A tensor is copied before the launch and the reference takes it as it is. `.contiguous()` "
                "copies only what does not lie that way.",
                "Hand the strides on, or copy where the reference does."),
    WrapperRule("WRP007", ALLOCATION, "result copied after the launch", "extra launch",
                "The kernel writes one tensor, PyTorch copies it into another; the reference lets the kernel "
                "write the latter.",
                "Let the kernel write into the tensor that is given back."),
    WrapperRule("WRP008", ALLOCATION, "output allocated twice", "memory of two outputs",
                "An output is allocated before the search and another one in `kernel_fn`; no launch sees the "
                "first.",
                "Keep the allocation in `kernel_fn`."),
    # -- tuning
    WrapperRule("WRP010", TUNING, "nothing is tuned", "slower configuration",
                "The reference searches for its best configuration, the wrapper launches a fixed one.",
                "Call `autotune_launch` with the reference's configurations and key."),
    WrapperRule("WRP011", TUNING, "key lacks a size", "wrong cache hit",
                "What the reference remembers its best configuration by is no part of the wrapper's key: calls "
                "that differ in it share one configuration.",
                "Add it to `key` of `autotune_launch`."),
    WrapperRule("WRP012", TUNING, "key lacks the number format", "wrong cache hit",
                "Formats share the configuration that was best for the first of them.",
                "Add the `dtype` of the inputs to `key` of `autotune_launch`."),
    WrapperRule("WRP013", TUNING, "key lacks the variant", "wrong cache hit",
                "What chooses between kernels, or between lists of configurations, is no part of the key: a "
                "variant is launched with the configuration of another one.",
                "Add the flag to `key` of `autotune_launch`."),
    WrapperRule("WRP014", TUNING, "key lacks the device", "wrong cache hit",
                "GPUs of different kinds in one process share the configuration that was best on the first.",
                "Add `str(x.device)` to `key` of `autotune_launch`."),
    WrapperRule("WRP015", TUNING, "configurations of the reference are not tried", "slower configuration",
                "The reference tries configurations that the wrapper's search space lacks; for some shapes one "
                "of them may be the best.",
                "Add them to the function that makes the configurations."),
    WrapperRule("WRP016", TUNING, "knob of the reference is not tuned", "slower configuration",
                "The reference's configurations differ in a field that the wrapper's do not have.",
                "Add the field to the configurations and hand it on to the kernel."),
    WrapperRule("WRP017", TUNING, "best configuration is not tried", "slower configuration",
                "The analysis names the configuration that was best for the reference; the wrapper's search "
                "space lacks it.",
                "Add it to the function that makes the configurations."),
    # -- dispatch
    WrapperRule("WRP020", DISPATCH, "other variant than the reference's", "other kernel",
                "The condition under which `ffi.rs` launches an entry is not the one under which the reference "
                "launches the kernel of that name.",
                "Launch each entry under the reference's condition."),
    WrapperRule("WRP021", DISPATCH, "variant of the reference is missing", "other kernel",
                "The reference launches a kernel that no exported function launches.",
                "Write the entry, and launch it under the reference's condition."),
    WrapperRule("WRP022", DISPATCH, "number format is let through and not dispatched", "call fails",
                "The wrapper takes a format for which `ffi.rs` has no arm.",
                "Add the arm to the dispatch, or refuse the format."),
    WrapperRule("WRP023", DISPATCH, "number format is dispatched to another type", "wrong results",
                "The kernel reads the data of one format as another one.",
                "Dispatch every format to its own type."),
    WrapperRule("WRP024", DISPATCH, "arguments do not fit the exported function", "wrong results",
                "What is passed through the boundary is in another order or number than the declaration, or "
                "the declaration than `ffi.rs`. Nothing checks it: they are plain integers and pointers.",
                "Put the arguments into the order of the `extern \"C\"` function."),
    WrapperRule("WRP025", DISPATCH, "generics do not fit the entry", "wrong results",
                "What `.generics(..)` is given is in another order or number than the entry's generics.",
                "Put them into the order of the entry in `kernel.rs`."),
    # -- hints
    WrapperRule("WRP030", HINTS, "hint is not handed on", "slower configuration",
                "The reference launches with a hint; the wrapper does not hand it through the boundary.",
                "Pass the field of the configuration as the argument of that name."),
    WrapperRule("WRP031", HINTS, "hint is not applied", "slower configuration",
                "`ffi.rs` takes the hint and does not give it to `CompileOptions`, or gives it another one's "
                "value.",
                "Build the options from the parameters and pass them to `.compile_options(..)`."),
    WrapperRule("WRP032", HINTS, "hint of the kernel is lost or another", "slower configuration",
                "`@ct.kernel(..)` of the reference has a hint that neither the entry's `optimization_hints` "
                "nor the options have with that value.",
                "Write the hint into `#[cutile::entry(optimization_hints = ..)]`."),
    WrapperRule("WRP033", HINTS, "hint is set that the reference leaves open", "slower configuration",
                "A fixed value keeps the compiler from choosing.",
                "Pass -1, and leave the hint out of the entry."),
    WrapperRule("WRP034", HINTS, "grid and occupancy confused", "wrong grid",
                "The grid depends on a hint, or on the number of multiprocessors, and the reference's does "
                "not; or the other way round.",
                "Compute the grid as the reference does; hand hints on as hints only."),
)
# fmt: on

WRAPPER_RULES: dict[str, WrapperRule] = {rule.code: rule for rule in _ROWS}
