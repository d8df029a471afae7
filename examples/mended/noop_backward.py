"""The fused operation takes its weights as inputs of its own and gives each of them a gradient."""

import torch
from torch import nn

import stepmark as sm

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
    def forward(ctx, x, a, b):
        hidden = x @ a
        ctx.save_for_backward(x, hidden, a, b)
        return hidden @ b

    @staticmethod
    def backward(ctx, grad):
        x, hidden, a, b = ctx.saved_tensors
        grad_hidden = grad @ b.T
        return grad_hidden @ a.T, x.T @ grad_hidden, hidden.T @ grad


class FusedAdapter(Adapter):
    def forward(self, x):
        return FusedLora.apply(x, self.a, self.b)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(Adapter(c.features), inputs=sm.randn(64, c.features, requires_grad=True))


@suite.variant
def fused(c):
    return sm.Step(
        FusedAdapter(c.features),
        inputs=sm.randn(64, c.features, requires_grad=True),
        reference=lambda module, x: (x @ module.a) @ module.b,
    )
