"""The input meets the thin factors one after the other."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("low_rank_order", axes={"features": [256]}, modes=["forward"])
TOKENS, RANK = 64, 8


class LowRank(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK))
        self.b = nn.Parameter(torch.randn(RANK, features))

    def forward(self, x):
        return (x @ self.a) @ self.b


@suite.variant(baseline=True)
def dense(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def low_rank(c):
    return sm.Step(
        LowRank(c.features),
        inputs=sm.randn(TOKENS, c.features),
        expects=sm.Expect(flops=2 * TOKENS * RANK * 2 * c.features),
    )
