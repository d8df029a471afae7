"""Inputs made: tensors from their descriptions, with the same values for every variant of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from stepmark.authoring.inputs import Input
from stepmark.errors import BenchFileError

ONE = (str, torch.nn.utils.rnn.PackedSequence)
"""Sequences that are one input and not several."""


def make_inputs(
    described: Any, *, device: torch.device, dtype: torch.dtype, seed: int
) -> tuple[torch.Tensor | Any, ...]:
    """Tensors on the device; made on the CPU so that every device sees the same values."""
    generator = torch.Generator().manual_seed(seed)
    several = isinstance(described, Sequence) and not isinstance(described, ONE)
    each = described if several else (described,)
    for one in each:
        _refuse_inside(one)
    return tuple(_make(one, device, dtype, generator) for one in each)


def _refuse_inside(one: Any) -> None:
    """What is inside something else is passed on as it is: no tensor would be made of a description there."""
    if isinstance(one, Mapping):
        inside: Iterable[Any] = one.values()
    else:
        inside = one if isinstance(one, list | tuple) else ()
    if any(isinstance(each, Input) for each in inside):
        raise ValueError(
            f"an input is described inside a {type(one).__name__}: inputs are passed by position, so give "
            "them side by side to a module that puts them together, or put tensors inside (torch.randn)"
        )


def _make(one: Any, device: torch.device, dtype: torch.dtype, generator: torch.Generator) -> Any:
    if isinstance(one, torch.Tensor):
        return one.detach().to(device).requires_grad_(one.requires_grad)
    if not isinstance(one, Input):
        return one
    chosen = torch_dtype(one.dtype) if one.dtype else dtype
    tensor = _values(one, generator).to(device=device, dtype=chosen)
    return tensor.requires_grad_(one.requires_grad)


def _values(one: Input, generator: torch.Generator) -> torch.Tensor:
    match one.fill:
        case "normal":
            return torch.randn(one.shape, generator=generator, dtype=torch.float32)
        case "uniform":
            return torch.rand(one.shape, generator=generator, dtype=torch.float32)
        case "integers":
            return torch.randint(one.low, one.high, one.shape, generator=generator)
        case "zeros":
            return torch.zeros(one.shape)
        case "ones":
            return torch.ones(one.shape)


def torch_dtype(name: str) -> torch.dtype:
    """`float32` as torch.float32."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise BenchFileError(f"torch has no dtype '{name}': write one like float32")
    return dtype
