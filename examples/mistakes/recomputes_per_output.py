"""A fused kernel computes the hidden vector anew for every block of outputs.

In print: each thread of a fused LoRA kernel recomputed the whole hidden vector for its one output: 249 to 993
times the useful work, 12 to 260 times slower than two plain products.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "more-work-than-needed"
VARIANT = "fused"

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
        blocks = self.b.split(BLOCK, dim=1)
        return torch.cat([(x @ self.a) @ block for block in blocks], dim=1)


def step(module, features):
    useful = 2 * TOKENS * RANK * 2 * features
    return sm.Step(module, inputs=sm.randn(TOKENS, features), expects=sm.Expect(flops=useful))


@suite.variant(baseline=True)
def plain(c):
    return step(Adapter(c.features), c.features)


@suite.variant
def fused(c):
    return step(FusedAdapter(c.features), c.features)
