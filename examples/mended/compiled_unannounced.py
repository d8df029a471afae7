"""The decorator is gone: what is called compiled is compiled."""

from torch import nn

import stepmark as sm

suite = sm.Suite("compilation", axes={"features": [64]}, modes=["forward"])


class Block(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, features), nn.GELU())

    def forward(self, x):
        return x + self.layers(x)


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Block(c.features), inputs=sm.randn(32, c.features))


@suite.variant
def compiled(c):
    return sm.Step(Block(c.features), inputs=sm.randn(32, c.features), compile={"backend": "aot_eager"})
