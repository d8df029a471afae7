"""The layer hands its work to a thread pool and returns: the clock stops while the pool still computes.

In print: a LoRA benchmark on a GPU timed how fast its work could be enqueued. The queue pushed back now and
then, so the times looked like times, with wide intervals and the backlog of one case in the next one's clock.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import stepmark as sm

FINDING = "not-synchronised"
VARIANT = "pooled"

suite = sm.Suite("asynchronous_linear", axes={"features": [512]}, modes=["forward"])
POOL = ThreadPoolExecutor(max_workers=1)
MOST_IN_FLIGHT = 4
TOKENS = 2048


class PooledLinear(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        self.in_flight = deque()

    def forward(self, x):
        y = torch.empty(x.shape[0], self.out_features)
        if len(self.in_flight) == MOST_IN_FLIGHT:
            self.in_flight.popleft().result()
        self.in_flight.append(POOL.submit(self.compute, x, y))
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
