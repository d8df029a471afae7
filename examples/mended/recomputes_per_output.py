"""The hidden vector is computed once and used for every block of outputs."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("fused_lora", axes={"features": [128]}, modes=["forward"])
TOKENS, RANK, BLOCK = 32, 8, 8


class Adapter(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.a = nn.Parameter(torch.randn(features, RANK))
        self.b = nn.Parameter(torch.randn(RANK, features))

    def forward(self, x):
        return (x @ self.a) @ self.b


class FusedAdapter(Adapter):
    def forward(self, x):
        hidden = x @ self.a
        return torch.cat([hidden @ block for block in self.b.split(BLOCK, dim=1)], dim=1)


def step(module, features):
    useful = 2 * TOKENS * RANK * 2 * features
    return sm.Step(module, inputs=sm.randn(TOKENS, features), expects=sm.Expect(flops=useful))


@suite.variant(baseline=True)
def plain(c):
    return step(Adapter(c.features), c.features)


@suite.variant
def fused(c):
    return step(FusedAdapter(c.features), c.features)
