"""SwitchBack's passes as one node of autograd, which keeps what the forward pass leaves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels.switchback import Kept, backward, forward
from stepmark.zoo.kernels.undisturbed import without_autocast


class SwitchBack(torch.autograd.Function):
    """Of x, weight and bias; a Way, the Needs and where the weight's codes are kept (or None) follow."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        x, weight, bias, way, needs, codes_of = inputs
        y, kept = forward(x, weight, bias, way, needs=needs, codes_of=codes_of)
        ctx.way, ctx.needs = way, needs
        ctx.save_for_backward(*kept)
        return y

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return *backward(grad, Kept(*ctx.saved_tensors), ctx.way, needs=ctx.needs), None, None, None
