"""The layer lets others look."""

from torch import nn

import stepmark as sm

suite = sm.Suite("guards", axes={"features": [64]}, modes=["forward"])


class Guarded(nn.Linear):
    def forward(self, x):
        return super().forward(x)


@suite.variant(baseline=True)
def guarded(c):
    return sm.Step(Guarded(c.features, c.features), inputs=sm.randn(32, c.features))
