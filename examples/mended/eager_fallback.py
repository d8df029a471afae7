"""The number stays a tensor: one graph from end to end."""

from torch import nn

import stepmark as sm

suite = sm.Suite("clipping", axes={"features": [64]}, modes=["forward"])


class Clipped(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return y / y.abs().max().clamp(min=1.0)


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Clipped(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def compiled(c):
    layer = Clipped(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), compile={"backend": "aot_eager"})
