"""Conditions: settings of the process that change what a number means, and whoever looks on besides us."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stepmark.instruments.torch_flags import torch_flags
from stepmark.records.evidence import Conditions

_DEBUGGING = (
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "PYTHONMALLOC",
    "TORCH_USE_CUDA_DSA",
    "TORCH_DISTRIBUTED_DEBUG",
)
"""Environment variables for debugging; some are set to something harmless."""
_HARMLESS = frozenset({"", "0", "pymalloc", "malloc", "default", "OFF", "INFO"})

_mkldnn: Any = torch.backends.mkldnn
_PRECISION: dict[str, Callable[[], object]] = {
    "cuda_matmul_allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "cudnn_allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "cuda_matmul_allow_fp16_reduced_precision_reduction": (
        lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    ),
    "cuda_matmul_allow_bf16_reduced_precision_reduction": (
        lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    ),
    "cuda_matmul_allow_fp16_accumulation": lambda: torch.backends.cuda.matmul.allow_fp16_accumulation,
    "mkldnn_matmul_fp32_precision": lambda: _mkldnn.matmul.fp32_precision,
    "mkldnn_conv_fp32_precision": lambda: _mkldnn.conv.fp32_precision,
    "flush_denormal": lambda: (torch.full((1,), 1e-310, dtype=torch.float64) * 1).item() == 0,
}


def conditions() -> Conditions:
    """As they are now."""
    return Conditions(
        flags=(*torch_flags().items(), *_precision_flags()),
        threads=torch.get_num_threads(),
        autocast=tuple(sorted(set(_autocast_now()))),
        tracers=tuple(_tracers()),
        anomaly=torch.is_anomaly_enabled(),
        debug=tuple(_debugging()),
    )


def _precision_flags() -> Iterator[tuple[str, str]]:
    for name, read in _PRECISION.items():
        try:
            yield name, str(read())
        except (AttributeError, RuntimeError, AssertionError):
            continue  # another version of torch, or settings that contradict each other


def _autocast_now() -> Iterator[str]:
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            yield str(torch.get_autocast_dtype(device)).removeprefix("torch.")


def _tracers() -> Iterator[str]:
    if sys.gettrace() is not None:
        yield "sys.settrace"
    if sys.getprofile() is not None:
        yield "sys.setprofile"
    if threading.gettrace() is not None and sys.gettrace() is None:
        yield "threading.settrace"
    monitoring: Any = getattr(sys, "monitoring", None)
    for tool in range(6) if monitoring else ():
        if (name := monitoring.get_tool(tool)) is not None:
            yield f"sys.monitoring: {name}"
    if torch._C._autograd._profiler_enabled():
        yield "torch.profiler"


def _debugging() -> Iterator[str]:
    for name in _DEBUGGING:
        if (value := os.environ.get(name, "")) not in _HARMLESS:
            yield f"{name}={value}"
    if sys.flags.dev_mode:
        yield "Python's development mode"
    if hasattr(sys, "gettotalrefcount"):
        yield "a debug build of Python"
    if torch.version.debug:
        yield "a debug build of torch"
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        yield "an address sanitizer"
