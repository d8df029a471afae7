"""Mode `forward` is inference: evaluation mode, no gradients, the forward pass alone."""

from torch import nn

import stepmark as sm

suite = sm.Suite("inference", axes={"features": [128]}, modes=["forward"])


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def low_rank(c):
    thin = nn.Sequential(nn.Linear(c.features, 16, bias=False), nn.Linear(16, c.features))
    return sm.Step(thin, inputs=sm.randn(32, c.features))
