"""Two launches, to have a number quickly: two processes say nothing about the spread between processes."""

from torch import nn

import stepmark as sm

FINDING = "few-launches"
VARIANT = "plain"
LAUNCHES = 2

suite = sm.Suite("hasty", axes={"features": [64]}, modes=["forward"])


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))
