"""The backward pass is written, and a reference holds its gradients against those of torch."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("kernel_in_progress", axes={"features": [256]})


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight if ctx.needs_input_grad[0] else None, grad.T @ x


class Mine(nn.Linear):
    def forward(self, x):
        return Product.apply(x, self.weight)


@suite.variant(baseline=True)
def torchs(c):
    return sm.Step(nn.Linear(c.features, c.features, bias=False), inputs=sm.randn(64, c.features))


@suite.variant
def mine(c):
    return sm.Step(
        Mine(c.features, c.features, bias=False),
        inputs=sm.randn(64, c.features),
        reference=lambda module, x: x @ module.weight.T,
    )
