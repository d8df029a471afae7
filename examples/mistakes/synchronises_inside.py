"""The layer asks for the value of a tensor in its forward pass: the host waits, and then the device does."""

from torch import nn

import stepmark as sm

FINDING = "synchronises-inside"
VARIANT = "clipped"
DEVICE = "cuda"

suite = sm.Suite("clipping", axes={"features": [4096]}, modes=["forward"])


class Clipped(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        largest = y.norm().item()
        return y / largest if largest > 1.0 else y


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(256, c.features))


@suite.variant
def clipped(c):
    return sm.Step(Clipped(c.features, c.features), inputs=sm.randn(256, c.features))
