"""The kernel's backward pass is still to be written: it returns zeros, and the step runs and is fast."""

import torch
from torch import nn

import stepmark as sm

FINDING = "backward-does-nothing"
VARIANT = "mine"

suite = sm.Suite("kernel_in_progress", axes={"features": [256]})


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, _):
        x, weight = ctx.saved_tensors
        return torch.zeros_like(x), torch.zeros_like(weight)


class Mine(nn.Linear):
    def forward(self, x):
        return Product.apply(x, self.weight)


@suite.variant(baseline=True)
def torchs(c):
    return sm.Step(nn.Linear(c.features, c.features, bias=False), inputs=sm.randn(64, c.features))


@suite.variant
def mine(c):
    return sm.Step(Mine(c.features, c.features, bias=False), inputs=sm.randn(64, c.features))
