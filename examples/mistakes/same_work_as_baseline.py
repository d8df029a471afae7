"""The option that should choose the fused path is swallowed by `**options`: both variants run the same."""

import torch
from torch import nn

import stepmark as sm

FINDING = "same-work-as-baseline"
VARIANT = "fused"

suite = sm.Suite("projections", axes={"features": [64]}, modes=["forward"])


class Projections(nn.Module):
    def __init__(self, features, *, fuse=False, **options):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(features, features) for _ in range(3))
        self.fuse = fuse
        self.options = options

    def forward(self, x):
        if self.fuse:
            return x @ torch.cat(list(self.weights), dim=1)
        return torch.cat([x @ weight for weight in self.weights], dim=1)


@suite.variant(baseline=True)
def apart(c):
    return sm.Step(Projections(c.features), inputs=sm.randn(32, c.features))


@suite.variant
def fused(c):
    return sm.Step(Projections(c.features, fused=True), inputs=sm.randn(32, c.features))
