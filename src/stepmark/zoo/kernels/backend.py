"""Backends: whether a layer's product is computed by a Triton kernel or by plain torch."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from typing import Literal

import torch
from torch import Tensor
from torch.autograd import forward_ad

Backend = Literal["auto", "triton", "torch"]

LEAST_CAPABILITY = (8, 0)
"""Ampere: the first with bfloat16 in its matrix units."""


def check_backend(backend: str) -> None:
    """Refuse what is no backend."""
    if backend not in ("auto", "triton", "torch"):
        raise ValueError(f"expected backend 'auto', 'triton' or 'torch', got {backend!r}")


def check_one_device(*tensors: Tensor | None) -> None:
    """Kernels are given addresses, and do not see of which device."""
    devices = dict.fromkeys(str(one.device) for one in tensors if one is not None)
    if len(devices) > 1:
        raise ValueError(f"expected tensors on one device, got some on {' and some on '.join(devices)}")


def resolve(backend: Backend, x: Tensor) -> bool:
    """Whether Triton computes for this tensor. Asked for by name where it cannot, it says why."""
    if backend == "torch":
        return False
    if x.is_cuda:
        why_not = _why_not_on(x.device.index or 0)
    else:
        why_not = (
            None
            if is_interpreted()
            else f"a Triton kernel needs a CUDA tensor, and this one is on {x.device}"
        )
        if backend == "auto":
            return False
    if why_not and backend == "triton":
        raise ValueError(f"backend='triton' cannot be used: {why_not}")
    return not why_not


def resolve_on(backend: Backend, device: torch.device) -> bool:
    """The same for tensors of a device: to a compiler that traces, a constant."""
    return resolve(backend, torch.empty(0, device=device))


# As torch.compiler.assume_constant_result does, which imports the compiler, and with it Triton, here and now.
resolve_on._dynamo_marked_constant = True  # type: ignore[attr-defined]


def is_differentiated() -> bool:
    """Whether autograd must see the call: where gradients are off it may still differentiate forwards, and
    what a kernel has written would have no derivative, as if it were a constant."""
    return torch.is_grad_enabled() or forward_ad._current_level >= 0


@cache
def has_triton() -> bool:
    """Found, not imported: importing it takes a second."""
    return importlib.util.find_spec("triton") is not None


def is_interpreted() -> bool:
    """Whether kernels run in Triton's interpreter, on the CPU, for tests."""
    return has_triton() and os.environ.get("TRITON_INTERPRET") == "1"


@cache
def _why_not_on(device: int) -> str | None:
    if not has_triton():
        return "triton is not installed"
    if torch.version.hip is not None:
        return "the kernels were written and measured for NVIDIA GPUs"
    capability = torch.cuda.get_device_capability(device)
    if capability < LEAST_CAPABILITY:
        have, need = (".".join(map(str, version)) for version in (capability, LEAST_CAPABILITY))
        return f"the GPU has compute capability {have}, the kernels need {need}"
    return None
