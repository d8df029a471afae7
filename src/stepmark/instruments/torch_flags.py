"""Torch's global flags: read, watched beside every block, and put back where a lane changed one.

Precision has two ways to be set: one word for all backends, and since torch 2.9 a word for each. Where the
second way was taken torch has no word for all, and raises when it is asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


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
    """Also those by which stored runs are not held against each other."""
    return {**torch_flags(), "cudnn_allow_tf32": cudnn_allow_tf32()}


def restore_flags(flags: Mapping[str, str]) -> None:
    """Set what differs: setting the number of threads, even to what it is, makes torch rebuild its pool."""
    current = watched_flags()
    for name, value in flags.items():
        if current[name] != value:
            _SETTERS[name](value)


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
