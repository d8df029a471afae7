"""One variant allows products of lower precision, which its neighbour is not given."""

import torch
from torch import nn

import stepmark as sm

FINDING = "precision-differs"
VARIANT = "gated"

suite = sm.Suite("gating", axes={"features": [128]}, modes=["forward"])


class Gated(nn.Module):
    def __init__(self, features):
        super().__init__()
        torch.set_float32_matmul_precision("high")
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
