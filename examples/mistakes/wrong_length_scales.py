"""The weight is quantised along its inputs; the kernel reads one scale an output, from the same vector.

In print: an int8 benchmark handed a scale vector of length dim_in to a kernel that indexes dim_out entries.
Where the vector was too short it read beyond its end; where it was too long nobody noticed.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "wrong-numbers"
VARIANT = "int8"

suite = sm.Suite("int8_linear", axes={"features": [256]}, modes=["forward"])
OUTPUTS = 128


def quantise(x, dim):
    scale = x.abs().amax(dim=dim) / 127
    return (x / scale.unsqueeze(dim)).round().to(torch.int8), scale


def product_with_scales(x8, w8, x_scale, w_scale):
    """As a kernel does: it reads as many scales as there are outputs."""
    outputs = w8.shape[0]
    return torch._int_mm(x8, w8.T.contiguous()) * x_scale[:, None] * w_scale[:outputs]


class Int8Linear(nn.Linear):
    def forward(self, x):
        x8, x_scale = quantise(x, dim=1)
        w8, w_scale = quantise(self.weight, dim=0)
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
