"""The layer still runs the old path beside the new one; a check once compared them."""

from torch import nn

import stepmark as sm

FINDING = "dead-work"
VARIANT = "low_rank"

suite = sm.Suite("replacement", axes={"features": [256]}, modes=["forward"])


class Replacement(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.dense = nn.Linear(features, features)
        self.thin = nn.Sequential(nn.Linear(features, 16, bias=False), nn.Linear(16, features))

    def forward(self, x):
        expected = self.dense(x)
        output = self.thin(x)
        assert output.shape == expected.shape
        return output


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(64, c.features))


@suite.variant
def low_rank(c):
    return sm.Step(Replacement(c.features), inputs=sm.randn(64, c.features))
