"""The weight is quantised by output, so that there is one scale for each."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("int8_linear", axes={"features": [256]}, modes=["forward"])
OUTPUTS = 128


def quantise(x, dim):
    scale = x.abs().amax(dim=dim) / 127
    return (x / scale.unsqueeze(dim)).round().to(torch.int8), scale


def product_with_scales(x8, w8, x_scale, w_scale):
    return torch._int_mm(x8, w8.T.contiguous()) * x_scale[:, None] * w_scale


class Int8Linear(nn.Linear):
    def forward(self, x):
        x8, x_scale = quantise(x, dim=1)
        w8, w_scale = quantise(self.weight, dim=1)
        return product_with_scales(x8, w8, x_scale, w_scale)


def step(kind, features):
    layer = kind(features, OUTPUTS, bias=False)
    layer.weight.data *= torch.rand(features)  # some inputs matter more than others
    return sm.Step(
        layer,
        inputs=sm.randn(64, features),
        reference=lambda module, x: x @ module.weight.T,
        tolerance=0.02,
    )


@suite.variant(baseline=True)
def dense(c):
    return step(nn.Linear, c.features)


@suite.variant
def int8(c):
    return step(Int8Linear, c.features)
