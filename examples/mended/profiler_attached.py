"""The profiler is gone; stepmark profile looks in a pass of its own."""

from torch import nn

import stepmark as sm

suite = sm.Suite("layers", axes={"features": [32]}, modes=["forward"])


@suite.variant(baseline=True)
def wide(c):
    return sm.Step(nn.Linear(c.features, 8 * c.features), inputs=sm.randn(16, c.features))


@suite.variant
def deep(c):
    layers = [nn.Linear(c.features, c.features) for _ in range(8)]
    return sm.Step(nn.Sequential(*layers), inputs=sm.randn(16, c.features))
