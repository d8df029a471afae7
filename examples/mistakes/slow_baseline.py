"""The baseline has a block size for some widths and none for one: there a win is easy, and worth nothing.

In print: for one width of an int8 benchmark the half-precision product ran at 152 TFLOP/s, its neighbours at
250. That alone lifted the ratios there to 1.44 and more, above what int8 can give.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "slow-baseline"
VARIANT = "blocked"
LAUNCHES = 5

suite = sm.Suite("blocks", axes={"features": [192, 256, 320]}, modes=["forward"])
TOKENS = 64
ROWS = {192: 32, 320: 32}


class Blocked(nn.Linear):
    def forward(self, x):
        rows = ROWS.get(self.in_features, 1)
        return torch.cat([super(Blocked, self).forward(block) for block in x.split(rows)])


@suite.variant(baseline=True)
def blocked(c):
    return sm.Step(Blocked(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def whole(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))
