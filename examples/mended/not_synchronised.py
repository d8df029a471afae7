"""The layer waits for the pool before it returns: what the clock sees is the work."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("asynchronous_linear", axes={"features": [512]}, modes=["forward"])
POOL = ThreadPoolExecutor(max_workers=1)
TOKENS = 2048


class PooledLinear(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)

    def forward(self, x):
        y = torch.empty(x.shape[0], self.out_features)
        POOL.submit(self.compute, x, y).result()
        return y

    @torch.no_grad()
    def compute(self, x, y):
        torch.addmm(self.bias, x, self.weight.T, out=y)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def pooled(c):
    return sm.Step(PooledLinear(c.features), inputs=sm.randn(TOKENS, c.features))
