"""The layer gets standard normal numbers."""

from torch import nn

import stepmark as sm

suite = sm.Suite("activations", axes={"features": [256]}, modes=["forward"])


@suite.variant(baseline=True)
def relu(c):
    return sm.Step(nn.ReLU(), inputs=sm.randn(64, c.features))


@suite.variant
def gelu(c):
    return sm.Step(nn.GELU(), inputs=sm.randn(64, c.features))
