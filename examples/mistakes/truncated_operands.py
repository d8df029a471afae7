"""Operands are cast to int8 as they are: standard normal numbers become -3 to 3, mostly 0.

In print: an int8 benchmark made its operands with a plain cast of random half-precision tensors. The times of
a dense product do not mind; every statement about accuracy does.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "wrong-numbers"
VARIANT = "int8"

suite = sm.Suite("int8_product", axes={"features": [128]}, modes=["forward"])
TOLERANCE = 0.05


def cast(x):
    return x.to(torch.int8), torch.ones(x.shape[0], 1)


class Int8Linear(nn.Linear):
    def forward(self, x):
        x8, x_scale = cast(x)
        w8, w_scale = cast(self.weight)
        product = torch._int_mm(x8, w8.T.contiguous())
        return product * x_scale * w_scale.T


def step(kind, features):
    layer = kind(features, features, bias=False)
    nn.init.normal_(layer.weight)
    return sm.Step(
        layer,
        inputs=sm.randn(64, features),
        reference=lambda module, x: x @ module.weight.T,
        tolerance=TOLERANCE,
    )


@suite.variant(baseline=True)
def dense(c):
    return step(nn.Linear, c.features)


@suite.variant
def int8(c):
    return step(Int8Linear, c.features)
