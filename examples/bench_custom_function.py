"""A layer with a hand-written backward pass, beside the one that autograd derives."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("swish", axes={"features": [512]})
TOKENS = 128


class FusedSwish(torch.autograd.Function):
    """Keeps its input alone, and computes the sigmoid again on the way back."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class RecomputedSwish(nn.Module):
    def forward(self, x):
        return FusedSwish.apply(x)


def step(activation, features):
    return sm.Step(
        nn.Sequential(nn.Linear(features, features), activation),
        inputs=sm.randn(TOKENS, features),
        optimizer=torch.optim.SGD,
        reference=lambda module, x: nn.functional.silu(module[0](x)),
    )


@suite.variant(baseline=True)
def derived(c):
    """Autograd keeps the input and the sigmoid."""
    return step(Swish(), c.features)


@suite.variant
def recomputed(c):
    """The backward pass is written by hand and keeps less."""
    return step(RecomputedSwish(), c.features)
