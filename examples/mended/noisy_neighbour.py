"""The machine is left alone while it is measured."""

from torch import nn

import stepmark as sm

suite = sm.Suite("beside_others", axes={"features": [256]}, modes=["forward"])


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))
