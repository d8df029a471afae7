"""Three launches are the least that an interval can be made of; ten are better."""

from torch import nn

import stepmark as sm

LAUNCHES = 3

suite = sm.Suite("hasty", axes={"features": [64]}, modes=["forward"])


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))
