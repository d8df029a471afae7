"""The precision is set once, at the top, for all variants."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("gating", axes={"features": [128]}, modes=["forward"])
torch.set_float32_matmul_precision("high")


class Gated(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.up, self.gate = nn.Linear(features, features), nn.Linear(features, features)

    def forward(self, x):
        return nn.functional.silu(self.gate(x)) * self.up(x)


@suite.variant(baseline=True)
def plain(c):
    layers = nn.Sequential(nn.Linear(c.features, 2 * c.features), nn.SiLU())
    return sm.Step(layers, inputs=sm.randn(64, c.features))


@suite.variant
def gated(c):
    return sm.Step(Gated(c.features), inputs=sm.randn(64, c.features))
