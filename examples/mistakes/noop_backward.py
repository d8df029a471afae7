"""A fused operation tracks its input and not its weights: backward passes them by.

In print: a LoRA benchmark's fused kernel took only `x` as a tracked input. Its "backward" made a tensor of
ones, no adapter ever got a gradient, and the table called it a training step.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "backward-does-nothing"
VARIANT = "fused"

suite = sm.Suite("lora_training", axes={"features": [128]})
RANK = 8


class Adapter(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK) / RANK**0.5)
        self.b = nn.Parameter(torch.randn(RANK, features) / RANK**0.5)

    def forward(self, x):
        return (x @ self.a) @ self.b


class FusedLora(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.weights = weights
        a, b = weights
        return (x @ a) @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.weights
        return (grad @ b.T) @ a.T, None


class FusedAdapter(Adapter):
    def forward(self, x):
        return FusedLora.apply(x, (self.a, self.b))


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(Adapter(c.features), inputs=sm.randn(64, c.features, requires_grad=True))


@suite.variant
def fused(c):
    return sm.Step(FusedAdapter(c.features), inputs=sm.randn(64, c.features, requires_grad=True))
