"""The old path is gone from the forward pass; the check belongs into a test."""

from torch import nn

import stepmark as sm

suite = sm.Suite("replacement", axes={"features": [256]}, modes=["forward"])


class Replacement(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.thin = nn.Sequential(nn.Linear(features, 16, bias=False), nn.Linear(16, features))

    def forward(self, x):
        return self.thin(x)


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def low_rank(c):
    return sm.Step(Replacement(c.features), inputs=sm.randn(64, c.features))
