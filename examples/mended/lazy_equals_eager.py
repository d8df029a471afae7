"""The lazy variant uses what it knows of the graph: both factors are merged once, before anything runs."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("lazy_and_eager", axes={"features": [128]}, modes=["forward"])
RANK = 8


class Adapter(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK))
        self.b = nn.Parameter(torch.randn(RANK, features))

    def forward(self, x):
        return (x @ self.a) @ self.b


class MergedAdapter(nn.Module):
    def __init__(self, adapter):
        super().__init__()
        self.merged = nn.Parameter((adapter.a @ adapter.b).detach())

    def forward(self, x):
        return x @ self.merged


@suite.variant(baseline=True)
def eager(c):
    return sm.Step(Adapter(c.features), inputs=sm.randn(64, c.features))


@suite.variant
def lazy(c):
    return sm.Step(MergedAdapter(Adapter(c.features)), inputs=sm.randn(64, c.features))
