"""The layer knows its options by name and refuses others; the fused path runs."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("projections", axes={"features": [64]}, modes=["forward"])


class Projections(nn.Module):
    def __init__(self, features, *, fuse=False):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(features, features) for _ in range(3))
        self.fuse = fuse

    def forward(self, x):
        if self.fuse:
            return x @ torch.cat(list(self.weights), dim=1)
        return torch.cat([x @ weight for weight in self.weights], dim=1)


@suite.variant(baseline=True)
def apart(c):
    return sm.Step(Projections(c.features), inputs=sm.randn(32, c.features))


@suite.variant
def fused(c):
    return sm.Step(Projections(c.features, fuse=True), inputs=sm.randn(32, c.features))
