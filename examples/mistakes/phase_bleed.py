"""The forward pass compresses its activations in a thread; the backward pass waits for it, in its own clock.

The whole step is timed rightly. The forward phase looks cheaper than it is, and the backward phase dearer.
"""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import stepmark as sm

FINDING = "phase-bleed"
VARIANT = "compressed"

suite = sm.Suite("compressed_activations", axes={"features": [512]})
POOL = ThreadPoolExecutor(max_workers=1)
TOKENS = 32768


def compress(x):
    scale = x.abs().amax(dim=1, keepdim=True) / 127
    return (x / scale).round().to(torch.int8), scale


class Compressed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        y = x @ weight.T
        ctx.saved_input = POOL.submit(compress, x.detach())
        return y

    @staticmethod
    def backward(ctx, grad):
        values, scale = ctx.saved_input.result()
        (weight,) = ctx.saved_tensors
        return grad @ weight, grad.T @ (values * scale)


class CompressedLinear(nn.Linear):
    def forward(self, x):
        return Compressed.apply(x, self.weight)


def step(kind, features):
    layer = kind(features, 16, bias=False)
    return sm.Step(layer, inputs=sm.randn(TOKENS, features, requires_grad=True))


@suite.variant(baseline=True)
def plain(c):
    return step(nn.Linear, c.features)


@suite.variant
def compressed(c):
    return step(CompressedLinear, c.features)
