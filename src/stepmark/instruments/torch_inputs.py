"""Inputs made: tensors from their descriptions, with the same values for every variant of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from stepmark.authoring.inputs import Input
from stepmark.errors import BenchFileError
from stepmark.instruments.random_values import RandomValues

ONE = (str, torch.nn.utils.rnn.PackedSequence)
"""Sequences that are one input and not several."""


def make_inputs(
    described: Any, *, device: torch.device, dtype: torch.dtype, seed: int
) -> tuple[torch.Tensor | Any, ...]:
    """Tensors on the device."""
    random = RandomValues(seed)
    several = isinstance(described, Sequence) and not isinstance(described, ONE)
    each = described if several else (described,)
    for one in each:
        _refuse_inside(one)
    return tuple(_make(one, device, dtype, random) for one in each)


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


def _make(one: Any, device: torch.device, dtype: torch.dtype, random: RandomValues) -> Any:
    if isinstance(one, torch.Tensor):
        return one.detach().to(device).requires_grad_(one.requires_grad)
    if not isinstance(one, Input):
        return one
    chosen = torch_dtype(one.dtype) if one.dtype else dtype
    return _values(one, device, chosen, random).requires_grad_(one.requires_grad)


def _values(one: Input, device: torch.device, dtype: torch.dtype, random: RandomValues) -> torch.Tensor:
    match one.fill:
        case "normal":
            return random.normal(one.shape, device, dtype)
        case "uniform":
            return random.uniform(one.shape, device, dtype)
        case "integers":
            return random.integers(one.low, one.high, one.shape, device, dtype)
        case "zeros":
            return torch.zeros(one.shape, device=device, dtype=dtype)
        case "ones":
            return torch.ones(one.shape, device=device, dtype=dtype)


def torch_dtype(name: str) -> torch.dtype:
    """`float32` as torch.float32."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise BenchFileError(f"torch has no dtype '{name}': write one like float32")
    return dtype
