"""A Step builds one graph an iteration and goes through it once; backward has a clock of its own."""

from torch import nn

import stepmark as sm

suite = sm.Suite("backward_alone", axes={"features": [256]})


def backward_of(activation, features):
    return sm.Step(activation, inputs=sm.randn(64, features, requires_grad=True))


@suite.variant(baseline=True)
def gelu(c):
    return backward_of(nn.GELU(), c.features)


@suite.variant
def silu(c):
    return backward_of(nn.SiLU(), c.features)
