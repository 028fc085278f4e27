"""PyTorch that believes in a CUDA device where there is none, for programs that launch kernels.

Place in the flow: beside what runs cuda-tile; imports `devices`. Tensors that a program puts on `cuda` are made
on `meta` (no data: any size costs nothing) or on the CPU, and say that they are on `cuda:0`; the questions
about the device are answered for the architecture that is dumped for. Nothing is computed by a GPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from .devices import WARP, Device

# Bytes of memory that the pretended device says it has.
_MEMORY = 128 << 30
# Functions that make a tensor out of nothing that has a device.
_MAKERS = (
    "arange",
    "as_tensor",
    "empty",
    "empty_strided",
    "eye",
    "full",
    "linspace",
    "normal",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "tensor",
    "tril_indices",
    "zeros",
)


def pretend_cuda(device: Device, tensors: str) -> Any:
    """A context in which PyTorch pretends to have a device.

    Args:
        device: that is pretended.
        tensors: where tensors really are, "meta" or "cpu".

    Raises:
        ImportError: PyTorch is not installed.
    """
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch.overrides")
    _answer(torch, device)
    return _mode(torch, tensors)


def _mode(torch: Any, tensors: str) -> Any:
    """What PyTorch asks before every call of its own."""
    cuda = torch.device("cuda", 0)
    answers = {torch.Tensor.is_cuda.__get__: True, torch.Tensor.device.__get__: cuda}
    if tensors == "meta":
        # There are no numbers, so none are wrong.
        answers |= {torch.allclose: True, torch.equal: True}
        torch.testing.assert_close = _always(None)
    stays = {torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory}

    def moved(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device(tensors) if value.type in ("cuda", "cpu") else value
        if isinstance(value, str) and value.partition(":")[0] in ("cuda", "cpu"):
            return tensors
        return value

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            if function in answers:
                return answers[function]
            if function in stays:
                return args[0]
            if function is torch.device:
                # A name; what is made there is caught where it is made.
                return function(*args, **(kwargs or {}))
            given = {name: moved(value) for name, value in (kwargs or {}).items()}
            if tensors == "meta" and function in makers and "device" not in given:
                given["device"] = "meta"
            return function(*map(moved, args), **given)

    # A tensor made without a device is on the CPU; with data nowhere, it is made nowhere too.
    makers = {getattr(torch, name) for name in _MAKERS}
    return Mode()


def _answer(torch: Any, device: Device) -> None:
    """Let `torch.cuda` speak for the device."""
    properties = SimpleNamespace(
        name=f"pretended {device.name}",
        major=device.capability[0],
        minor=device.capability[1],
        multi_processor_count=device.multiprocessors,
        total_memory=_MEMORY,
        warp_size=WARP,
        max_threads_per_multi_processor=device.threads,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=device.block_shared,
        shared_memory_per_multiprocessor=device.shared,
        regs_per_multiprocessor=65536,
        L2_cache_size=50 << 20,
    )
    stream = SimpleNamespace(
        cuda_stream=0,
        device=torch.device("cuda", 0),
        synchronize=_always(None),
        wait_stream=_always(None),
        wait_event=_always(None),
        record_event=_always(None),
    )
    event = SimpleNamespace(
        record=_always(None),
        synchronize=_always(None),
        wait=_always(None),
        query=_always(True),
        elapsed_time=_always(0.0),
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": device.capability,
        "get_device_name": properties.name,
        "get_device_properties": properties,
        "current_stream": stream,
        "default_stream": stream,
        "Stream": stream,
        "Event": event,
        "is_current_stream_capturing": False,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "mem_get_info": (_MEMORY, _MEMORY),
        "get_arch_list": [device.arch],
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, _always(value))
    for name in ("init", "synchronize", "empty_cache", "set_device", "set_stream", "manual_seed"):
        setattr(torch.cuda, name, _always(None))
    for name in ("manual_seed_all", "seed", "seed_all", "reset_peak_memory_stats", "ipc_collect"):
        setattr(torch.cuda, name, _always(None))
    for name in ("stream", "device", "device_of"):
        setattr(torch.cuda, name, _always(nullcontext()))
    # A program has the profiler under any of these names.
    for name in ("torch.profiler", "torch.autograd.profiler"):
        home: Any = importlib.import_module(name)
        home.profile = _Profile


class _Profile:
    """Stands in the place of PyTorch's profiler: nothing ran on the device that is not there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.start = self.stop = self.step = _always(None)
        self.events = self.key_averages = _always([])

    def __enter__(self) -> _Profile:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _always(value: Any) -> Any:
    """A function of its own for each name: PyTorch keeps tables of its functions."""
    return lambda *args, **kwargs: value
