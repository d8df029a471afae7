"""The number stays on the device, where the test is done too."""

from torch import nn

import stepmark as sm

suite = sm.Suite("clipping", axes={"features": [4096]}, modes=["forward"])


class Clipped(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return y / y.norm().clamp(min=1.0)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(256, c.features))


@suite.variant
def clipped(c):
    return sm.Step(Clipped(c.features, c.features), inputs=sm.randn(256, c.features))
