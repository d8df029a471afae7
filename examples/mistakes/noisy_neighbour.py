"""Something else runs on the machine meanwhile: another job, a browser, a forgotten training run."""

from torch import nn

import stepmark as sm

FINDING = "noisy-neighbour"
VARIANT = "plain"
COMPANY = 2

suite = sm.Suite("beside_others", axes={"features": [256]}, modes=["forward"])


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))
