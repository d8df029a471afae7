"""The layer keeps every output, so that they can be compared later: each call leaves some more behind."""

from torch import nn

import stepmark as sm

FINDING = "memory-grows"
VARIANT = "watched"

suite = sm.Suite("watching", axes={"features": [128]}, modes=["forward"])


class Watched(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        self.outputs = []

    def forward(self, x):
        y = super().forward(x)
        self.outputs.append(y.detach())
        return y


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def watched(c):
    return sm.Step(Watched(c.features), inputs=sm.randn(64, c.features))
