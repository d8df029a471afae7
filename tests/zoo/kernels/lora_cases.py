"""Cases of a LoRA layer's kernels: tensors, what float64 makes of them, and how near is near enough."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.lora_sizes import Adapted, Sizes
from stepmark.zoo.kernels.lora_ways import plan_for
from stepmark.zoo.lora import TOLERANCES
from stepmark.zoo.lora_reference import (
    lora_adapter_reference,
    lora_gradients_reference,
    lora_linear_reference,
)


class Case(NamedTuple):
    """One layer, its input and the gradient of its output."""

    x: Tensor
    g: Tensor
    layer: Adapted

    @property
    def sizes(self) -> Sizes:
        return plan_for(self.x, self.layer).sizes


class Truth(NamedTuple):
    """In float64, on the same values."""

    y: Tensor
    s: Tensor
    x: Tensor
    a: Tensor
    b: Tensor


def drawn(
    lead: tuple[int, ...],
    inputs: int,
    outputs: int,
    rank: int,
    *,
    dtype: torch.dtype,
    device: str,
    kind: str = "biased",
    scale: float = 2.0,
    magnitude: float = 1.0,
) -> Case:
    """kind is biased, linear or adapter."""
    generator = torch.Generator().manual_seed(hash((lead, inputs, outputs, rank)) % 2**31)

    def some(*shape: int, deviation: float = 1.0) -> Tensor:
        return (torch.randn(shape, generator=generator) * deviation).to(device=device, dtype=dtype)

    weight = some(outputs, inputs, deviation=inputs**-0.5) if kind != "adapter" else None
    bias = some(outputs, deviation=magnitude) if kind == "biased" else None
    a, b = some(inputs, rank, deviation=rank**-0.5), some(rank, outputs, deviation=rank**-0.5)
    x, g = some(*lead, inputs, deviation=magnitude), some(*lead, outputs, deviation=magnitude)
    return Case(x, g, Adapted(weight, bias, a, b, scale))


def truth_of(case: Case) -> Truth:
    weight, bias, a, b = (None if one is None else one.detach().double() for one in case.layer[:4])
    assert a is not None
    assert b is not None
    x, g, scale = case.x.detach().double(), case.g.double(), case.layer.scale
    if weight is None:
        y = lora_adapter_reference(x, a, b, scale=scale)
    else:
        y = lora_linear_reference(x, weight, bias, a, b, scale=scale)
    s = scale * (x.reshape(-1, x.shape[-1]) @ a)
    return Truth(y, s, *lora_gradients_reference(g, x, weight, a, b, scale=scale))


def assert_near(found: Tensor | None, expected: Tensor, dtype: torch.dtype) -> None:
    assert found is not None
    assert found.dtype == dtype
    assert found.shape == expected.shape
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    torch.testing.assert_close(
        found.detach().double(), expected, rtol=0.0, atol=TOLERANCES[dtype] * largest, check_device=True
    )
