"""Every call turns the same array of numbers into a tensor again."""

import numpy
import torch
from torch import nn

import stepmark as sm

FINDING = "inputs-made-inside"
VARIANT = "weighted"

suite = sm.Suite("token_weights", axes={"features": [64]}, modes=["forward"])
TOKENS = 2048


class Weighted(nn.Linear):
    def __init__(self, features):
        super().__init__(features, features)
        positions = numpy.arange(TOKENS, dtype=numpy.float32)
        self.weights = numpy.tile(1 / (1 + positions), (features, 1)).T

    def forward(self, x):
        return super().forward(x) * torch.tensor(self.weights)


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(TOKENS, c.features))


@suite.variant
def weighted(c):
    return sm.Step(Weighted(c.features), inputs=sm.randn(TOKENS, c.features))
