"""The baseline has a sensible block size for every width."""

import torch
from torch import nn

import stepmark as sm

LAUNCHES = 5

suite = sm.Suite("blocks", axes={"features": [192, 256, 320]}, modes=["forward"])
TOKENS = 64
ROWS = 32


class Blocked(nn.Linear):
    def forward(self, x):
        return torch.cat([super(Blocked, self).forward(block) for block in x.split(ROWS)])


@suite.variant(baseline=True)
def blocked(c):
    return sm.Step(Blocked(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def whole(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))
