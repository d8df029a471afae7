"""Layers that are computed by kernels, and one forward and backward pass."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from stepmark.zoo.switchback import SwitchBackLinear
from stepmark.zoo.switchback_steps import Quantization

KINDS: list[tuple[Quantization, bool]] = [("vector", False), ("global", False), ("global", True)]


def layer_of(n: int, o: int, kind: tuple[Quantization, bool], **more: Any) -> SwitchBackLinear:
    return SwitchBackLinear(n, o, True, *kind, **{"backend": "triton"} | more)


def both_passes(layer: nn.Module, x: Tensor, grad: Tensor) -> list[Tensor]:
    """The output and the gradients of x, weight and bias."""
    x = x.detach().clone().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    y.backward(grad)
    found = [y.detach(), x.grad, *(parameter.grad for parameter in layer.parameters())]
    assert all(one is not None for one in found)
    return [one for one in found if one is not None]
