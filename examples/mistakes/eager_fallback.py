"""A compiled layer asks for a number in the middle: the graph breaks there and goes on in Python."""

from torch import nn

import stepmark as sm

FINDING = "eager-fallback"
VARIANT = "compiled"

suite = sm.Suite("clipping", axes={"features": [64]}, modes=["forward"])


class Clipped(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        largest = y.abs().max().item()
        if largest > 1.0:
            y = y / largest
        return y


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Clipped(c.features, c.features), inputs=sm.randn(32, c.features))


@suite.variant
def compiled(c):
    layer = Clipped(c.features, c.features)
    return sm.Step(layer, inputs=sm.randn(32, c.features), compile={"backend": "aot_eager"})
