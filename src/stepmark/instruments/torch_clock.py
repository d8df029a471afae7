"""Torch instruments: the CPU's clock, the synchronised clock of an accelerator, and torch's global flags.

Timing model
------------
CPU: `time.perf_counter_ns`, about 50 ns a reading. Operators return when their work is done.
CUDA: events on the current stream, with the host's time beside them (event_clock.py).
Accelerators without events: the device is synchronised before each reading, so a phase includes the wait for
its own kernels and none of another's. Launch latency is inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch


class TorchInstrument:
    """The CPU's clock with torch's global flags."""

    queues = False
    mark: Callable[[], Any] = staticmethod(time.perf_counter_ns)

    def begin(self) -> None:
        """Nothing is under way."""

    def nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def host_nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def flags(self) -> Mapping[str, str]:
        return watched_flags()

    def restore(self, flags: Mapping[str, str]) -> None:
        current = watched_flags()
        for name, value in flags.items():
            if current[name] != value:
                _SETTERS[name](value)


class SynchronisedInstrument(TorchInstrument):
    """A clock that waits for the accelerator before it is read."""

    def __init__(self, device: str) -> None:
        self._synchronise = partial(torch.get_device_module(device).synchronize, device)

    def begin(self) -> None:
        self._synchronise()

    def mark(self) -> int:
        self._synchronise()
        return time.perf_counter_ns()


def instrument_for(device: str) -> TorchInstrument:
    """The instrument that measures this device."""
    if device == "cpu":
        return TorchInstrument()
    if device.partition(":")[0] != "cuda":
        return SynchronisedInstrument(device)
    from stepmark.instruments.event_clock import EventInstrument

    return EventInstrument(device)


def torch_flags() -> dict[str, str]:
    """Global settings that change what later operators do, about 2 µs to read."""
    return {
        "grad_enabled": str(torch.is_grad_enabled()),
        "default_dtype": str(torch.get_default_dtype()),
        "num_threads": str(torch.get_num_threads()),
        "float32_matmul_precision": float32_matmul_precision(),
        "deterministic_algorithms": str(torch.are_deterministic_algorithms_enabled()),
        "cudnn_benchmark": str(torch.backends.cudnn.benchmark),
        "autocast_cpu": str(torch.is_autocast_enabled("cpu")),
        "autocast_cuda": str(torch.is_autocast_enabled("cuda")),
    }


def watched_flags() -> dict[str, str]:
    """Also what is no fact of a run's beginning, by which stored runs are held against each other."""
    return {**torch_flags(), "cudnn_allow_tf32": cudnn_allow_tf32()}


def cudnn_allow_tf32() -> str:
    """Of convolutions and recurrent layers; `conv tf32, rnn ieee` where torch has no one word for both."""
    try:
        return str(torch.backends.cudnn.allow_tf32)
    except RuntimeError:
        each = {name: getattr(torch.backends.cudnn, name).fp32_precision for name in ("conv", "rnn")}
        return ", ".join(f"{name} {'ieee' if value == 'none' else value}" for name, value in each.items())


def set_cudnn_allow_tf32(value: str) -> None:
    """To what was read."""
    # Beside one of both words even two alike would have one.
    torch.backends.cudnn.allow_tf32 = value == "True" or "ieee" in value
    if "," in value:
        for name, precision in (each.split() for each in value.split(", ")):
            getattr(torch.backends.cudnn, name).fp32_precision = precision


def float32_matmul_precision() -> str:
    """torch's one word for it; `cuda tf32, mkldnn ieee` where backends were set one by one: torch has no word
    then, and raises."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        each = [(name, product.fp32_precision) for name, product in _products().items()]
        # A backend of which nothing was set computes as with ieee; "nothing" could not be set back where
        # a setting of all backends has come meanwhile.
        return ", ".join(f"{name} {'ieee' if value == 'none' else value}" for name, value in each)


def set_float32_matmul_precision(value: str) -> None:
    """To what was read."""
    if "," not in value:
        torch.set_float32_matmul_precision(value)
        return
    torch.set_float32_matmul_precision("highest")  # beside the other words some of these states have one
    for name, precision in (each.split() for each in value.split(", ")):
        _products()[name].fp32_precision = precision


def _products() -> dict[str, Any]:
    """Whose precision can be set by itself; torch 2.9 and later."""
    return {"cuda": torch.backends.cuda.matmul, "mkldnn": torch.backends.mkldnn.matmul}  # type: ignore[attr-defined]


def _set_cudnn_benchmark(value: str) -> None:
    torch.backends.cudnn.benchmark = value == "True"


_SETTERS: dict[str, Callable[[str], object]] = {
    "grad_enabled": lambda value: torch.set_grad_enabled(value == "True"),
    "default_dtype": lambda value: torch.set_default_dtype(getattr(torch, value.removeprefix("torch."))),
    "num_threads": lambda value: torch.set_num_threads(int(value)),
    "float32_matmul_precision": set_float32_matmul_precision,
    "deterministic_algorithms": lambda value: torch.use_deterministic_algorithms(value == "True"),
    "cudnn_benchmark": _set_cudnn_benchmark,
    "cudnn_allow_tf32": set_cudnn_allow_tf32,
    "autocast_cpu": lambda value: torch.set_autocast_enabled("cpu", value == "True"),
    "autocast_cuda": lambda value: torch.set_autocast_enabled("cuda", value == "True"),
}
