"""The case says that it is compiled; a decorator left from a search for a bug keeps the compiler away."""

import torch
from torch import nn

import stepmark as sm

FINDING = "compiled-unannounced"
VARIANT = "compiled"

suite = sm.Suite("compilation", axes={"features": [64]}, modes=["forward"])


class Block(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, features), nn.GELU())

    @torch.compiler.disable
    def forward(self, x):
        return x + self.layers(x)


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Block(c.features), inputs=sm.randn(32, c.features))


@suite.variant
def compiled(c):
    return sm.Step(Block(c.features), inputs=sm.randn(32, c.features), compile={"backend": "aot_eager"})
