"""The variable is not set."""

from torch import nn

import stepmark as sm

suite = sm.Suite("layer", axes={"features": [64]})


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))
