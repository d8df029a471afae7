"""The tensor is made once, when the layer is built, and moves with it."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("token_weights", axes={"features": [64]}, modes=["forward"])
TOKENS = 2048


class Weighted(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        positions = torch.arange(TOKENS, dtype=torch.float32)
        self.weights = nn.Buffer((1 / (1 + positions)).unsqueeze(1))

    def forward(self, x):
        return super().forward(x) * self.weights


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def weighted(c):
    return sm.Step(Weighted(c.features), inputs=sm.randn(TOKENS, c.features))
