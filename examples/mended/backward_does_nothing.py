"""A Step runs forward and backward itself, each in its own clock, on a graph of its own."""

from torch import nn

import stepmark as sm

suite = sm.Suite("norm_parts", axes={"features": [256]})


def parts(norm, features):
    return sm.Step(norm, inputs=sm.randn(64, features, requires_grad=True))


@suite.variant(baseline=True)
def normed(c):
    return parts(nn.LayerNorm(c.features), c.features)


@suite.variant
def root_mean_square(c):
    return parts(nn.RMSNorm(c.features), c.features)
