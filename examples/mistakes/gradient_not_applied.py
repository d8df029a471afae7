"""Layers in a plain list: they run, forwards and backwards, and the optimizer never sees them."""

import torch
from torch import nn

import stepmark as sm

FINDING = "gradient-not-applied"
VARIANT = "deep"

suite = sm.Suite("deep", axes={"features": [64]})
LAYERS = 4


class Deep(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, features)
        self.others = [nn.Linear(features, features) for _ in range(LAYERS - 1)]

    def forward(self, x):
        x = self.first(x)
        for layer in self.others:
            x = layer(x.relu())
        return x


@suite.variant(baseline=True)
def sequential(c):
    layers = [nn.Sequential(nn.ReLU(), nn.Linear(c.features, c.features)) for _ in range(LAYERS - 1)]
    module = nn.Sequential(nn.Linear(c.features, c.features), *layers)
    return sm.Step(module, inputs=sm.randn(32, c.features), optimizer=torch.optim.AdamW)


@suite.variant
def deep(c):
    return sm.Step(Deep(c.features), inputs=sm.randn(32, c.features), optimizer=torch.optim.AdamW)
