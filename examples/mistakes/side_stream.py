"""The layer works on a stream of its own; the clock waits for another one."""

import torch
from torch import nn

import stepmark as sm

FINDING = "not-synchronised"
VARIANT = "streamed"
DEVICE = "cuda"

suite = sm.Suite("streams", axes={"features": [8192]}, modes=["forward"])


class Streamed(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.stream):
            return super().forward(x)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(4096, c.features))


@suite.variant
def streamed(c):
    return sm.Step(Streamed(c.features), inputs=sm.randn(4096, c.features))
